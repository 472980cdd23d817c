"""Rules: loaded, selected, evaluated, identified."""
