"""Rules held against their samples."""
