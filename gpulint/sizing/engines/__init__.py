"""Formulas of single engines: where one differs from the general formula, its module here decides."""
