"""What a report says of a role that has no finding."""
