"""Head against base: which findings a change adds."""
