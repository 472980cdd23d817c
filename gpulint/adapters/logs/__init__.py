"""Logs: what an engine prints as it starts and what a trainer reports of its memory, read as facts with their lines."""
