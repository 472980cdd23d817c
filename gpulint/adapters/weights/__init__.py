"""Weights: which checkpoints the files of a repository download, merge, train or convert, and which folders they write."""
