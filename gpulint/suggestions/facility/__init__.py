"""Alternatives for racks, feeds and cables."""
