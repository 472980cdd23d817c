"""Logs: what an engine prints at start-up and a trainer reports of its memory, as facts with line
numbers.
"""
