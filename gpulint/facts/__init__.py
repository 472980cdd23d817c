"""Facts: named quantities of a role, resolved on demand in three scenarios."""
