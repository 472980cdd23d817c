"""Sizing formulas, one topic per module. Each public function is the fact of its name, and its
parameters are the facts that it needs.
"""
