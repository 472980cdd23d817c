"""Cables, connectors, switch ports, rack space and weight."""
