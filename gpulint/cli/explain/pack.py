"""A pack of settings that comes with gpulint, explained: what a policy takes over that extends it."""

from __future__ import annotations

from gpulint.cli.explain.parts import Code, Explanation, Text, sentence
from gpulint.policy.config import packs


def explained(name: str) -> Explanation:
    """The pack of this name."""
    layer = packs.pack(name)
    summary = str(layer.stated.get("summary", name))
    taken = Text(f"To take it over, a policy says `extends: [{name}]`; what the policy says itself counts.")
    return Explanation(
        name, "pack", sentence(summary[:1].upper() + summary[1:]), (("", "pack"),), (taken, _text(layer))
    )


def _text(layer: packs.Layer) -> Code:
    return Code("What it says", layer.document.text, "yaml")
