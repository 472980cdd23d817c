"""Alternatives for training jobs."""
