"""Weights, KV cache, budgets of a GPU, and host memory."""
