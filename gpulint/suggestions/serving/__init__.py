"""Alternatives for inference services."""
