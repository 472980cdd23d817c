"""Servers, feeds, circuits, panels and what survives a failure."""
