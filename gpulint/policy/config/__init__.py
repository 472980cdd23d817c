"""gpulint.yaml: its schema, layers, packs and discovery."""
