"""Explain a built-in pack of settings."""

from __future__ import annotations

from gpulint.cli.explain.parts import Code, Explanation, Text, make_sentence
from gpulint.policy.config import layer, packs


def explain(name: str) -> Explanation:
    """Return the explanation of a pack."""
    layer = packs.load_pack(name)
    summary = str(layer.stated.get("summary", name))
    usage = Text(f"To use it, write `extends: [{name}]` in a policy; the policy's own settings take precedence.")
    return Explanation(
        name, "pack", make_sentence(summary[:1].upper() + summary[1:]), (("", "pack"),), (usage, _text(layer))
    )


def _text(layer: layer.Layer) -> Code:
    return Code("Content", layer.document.text, "yaml")
