"""Objects of operators that run inference or training."""
