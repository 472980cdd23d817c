"""Air, coolant and the capacity of cooling plants."""
