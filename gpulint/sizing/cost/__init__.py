"""Prices, energy and oversizing."""
