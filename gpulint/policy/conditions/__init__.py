"""Conditions in CEL: how one is checked and evaluated, what is wrong with it, and the conditions of waivers."""
