"""Facility: the rooms, racks, feeds and servers of a site as one file states them, or as an inventory exports them."""
