"""Formulas of sizing, one topic a module: each public function is the fact of its name, its parameters the facts it needs."""
