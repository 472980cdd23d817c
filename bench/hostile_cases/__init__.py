"""Hostile inputs and pull requests, each with the outcome that must follow; big ones are generated when they are run."""
