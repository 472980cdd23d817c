"""gpulint checks GPU deployment specs against what the hardware can do."""
