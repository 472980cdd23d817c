"""Layouts of ranks, collectives, and the links that they cross."""
