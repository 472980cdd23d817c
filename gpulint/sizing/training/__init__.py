"""Memory, time and traffic of a training step."""
