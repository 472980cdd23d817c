"""Right-sized alternatives: generated, verified, ranked and written."""
