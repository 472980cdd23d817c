"""Searches for inputs that crash, stall or escape gpulint: `python -m fuzz TARGET`."""
