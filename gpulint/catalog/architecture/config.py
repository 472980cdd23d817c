"""A Hugging Face config.json: its keys, and the family class's default for a missing key."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

from gpulint.catalog import tables

TRIGGERS = ("num_hidden_layers",)
LARGEST = 2**31
"""No size of a network is larger; what claims to be is not read."""
LAYERS_MAX = 2_000


class Unread(Exception):
    """The reason why a config.json gives no architecture, as a sentence."""


def load(text: str) -> Config:
    """Return the top level of a config.json."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Unread("the file is not JSON; gpulint reads a Hugging Face config.json") from None
    if not isinstance(data, dict):
        raise Unread("the file holds no mapping; gpulint reads a Hugging Face config.json")
    if "model_type" not in data:
        raise Unread("it has no model_type; gpulint reads only a Hugging Face config.json, not params.json")
    return Config(data, str(data["model_type"]))


class Config:
    """One level of a config.json."""

    def __init__(self, stated: Mapping[str, object], model_type: str) -> None:
        self.stated = stated
        self.model_type = model_type
        self.defaults = _load_defaults().get(model_type, {})

    def value(self, *names: str) -> object:
        """Return the value under the first of the names that the file has, else the class's
        default, else None.
        """
        for source in (self.stated, self.defaults):
            for name in names:
                if name in source:
                    return source[name]
        return None

    def states(self, *names: str) -> bool:
        """Return whether a name has a value, declared or by default."""
        return self.value(*names) is not None

    def count(self, *names: str) -> int:
        """Return a size of at least one."""
        found = self.whole(*names)
        if not found:
            raise Unread(f"{names[0]} is {'missing' if not self.states(*names) else '0'}")
        return found

    def whole(self, *names: str) -> int:
        """Return a size that may be missing or zero."""
        value = self.value(*names)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LARGEST:
            raise Unread(f"{names[0]} is not a size: {str(value)[:40]}")
        return value

    def flag(self, *names: str) -> bool:
        """Return a switch; off if it is missing."""
        value = self.value(*names)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise Unread(f"{names[0]} is neither true nor false: {str(value)[:40]}")

    def sequence(self, name: str) -> list[object] | None:
        """Return a list; None if it is missing."""
        value = self.value(name)
        if value is None or isinstance(value, list):
            return value
        raise Unread(f"{name} is not a list")

    def indices(self, name: str) -> frozenset[int]:
        """Return a list of layer indices."""
        return frozenset(index for index in self.sequence(name) or () if isinstance(index, int))

    def inner(self, *names: str, model_type: str = "") -> Config:
        """Return a mapping inside this one. Its own model_type, if declared, decides its defaults."""
        value = self.value(*names)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise Unread(f"{names[0]} is not a mapping")
        return Config(value, str(value.get("model_type") or model_type))

    # ---- what every decoder has, by all the names that families give it

    @property
    def layers(self) -> int:
        found = self.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
        if found > LAYERS_MAX:
            raise Unread(f"num_hidden_layers is not a size: {found}")
        return found

    @property
    def hidden(self) -> int:
        return self.count("hidden_size", "n_embd", "n_embed", "d_model", "dim")

    @property
    def heads(self) -> int:
        return self.count("num_attention_heads", "n_head", "n_heads", "num_heads")

    @property
    def kv_heads(self) -> int:
        return self.whole("num_key_value_heads") or self.heads

    @property
    def head_dim(self) -> int:
        return self.whole("head_dim", "attention_head_dim", "kv_channels") or _divide(self.hidden, self.heads)

    @property
    def width(self) -> int:
        """Return the width of the MLP: four times the residual stream if the family omits it."""
        names = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "hidden_dim", "d_ff")
        return self.whole(*names) or 4 * self.hidden

    @property
    def vocab(self) -> int:
        return self.count("vocab_size", "padded_vocab_size")


def _divide(whole: int, parts: int) -> int:
    if whole % parts:
        raise Unread(f"hidden_size {whole} is not a multiple of num_attention_heads {parts}")
    return whole // parts


@functools.cache
def _load_defaults() -> dict[str, dict[str, object]]:
    """Return the catalog's class defaults by model_type."""
    found: dict[str, dict[str, object]] = {}
    for row in tables.rows("config_defaults"):
        found.setdefault(row["model_type"], {})[row["key"]] = json.loads(row["value"])
    return found
