"""gpulint checks GPU deployment specs against what the hardware can do."""

__version__ = "0.1.0"
