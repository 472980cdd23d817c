"""Inference servers, one module each, with the table of its command line."""
