"""Contradictions: hints that replace what the file or its repository states."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint import units
from gpulint.catalog import hardware, package_data, resource_names
from gpulint.catalog.architecture import Architecture
from gpulint.facts import checkpoints, objective_words
from gpulint.pipeline.enrichment import hints
from gpulint.source.repository import Repository
from gpulint.workload import Field, Hint, Role, Unknown, Value

AIMS = frozenset(key.quantity for key in objective_words.WORDS.values())
"""Objectives and loads, which are the user's to state."""
SHAPE = ("layers", "hidden", "attention_heads", "kv_heads", "experts")
EXACT = ("catalog", "config.json")
"""How an architecture is found if the file states it; a name that only suggests one states none."""
DEFAULTED = re.compile(r"\$\{[^{}]*-")
"""A variable with a default, such as ${GPUS:-8}, which the environment may replace."""
HALVES = frozenset({"bfloat16", "float16"})
"""Number formats of the same size, which engines convert into each other."""


def find_stated(hint: Hint, role: Role, repository: Repository) -> str:
    """Return what the file states instead of a hint; empty if the hint contradicts nothing."""
    stated = hint.stated
    if hint.quantity in AIMS:
        return ""
    if hint.quantity == "accelerator" and (resource := _find_resource(hint, role)):
        return resource
    if stated is None or hints.find_annotation(stated) is not None:
        return ""
    if isinstance(stated.value, Unknown):
        choices = stated.value.choices
        return f"one of {', '.join(choices)}" if choices and hint.field.value not in choices else ""
    if stated.assumption or not is_written(stated):
        return ""
    return "" if _is_same(hint, stated, role, repository) else render(hint, stated.value)


def is_written(field: Field) -> bool:
    """Whether the text of a file has a value, so that it is no default and not left to a variable."""
    if field.value is None or isinstance(field.value, Unknown) or not field.origins:
        return False
    text = field.origins[0].text()
    if DEFAULTED.search(text):
        return False
    counted = isinstance(field.value, int) and not isinstance(field.value, bool)
    return not counted or bool(re.search(rf"(?<![\d.]){field.value}(?![\d.])", text))


def render(hint: Hint, value: Value | Unknown) -> str:
    """Return a value that the file states as users read it; of labels only those that the hint names."""
    named = hint.field.value
    if isinstance(value, Mapping) and isinstance(named, Mapping):
        return ", ".join(f"{key}: {value[key]}" for key in named if value.get(key, named[key]) != named[key])
    return units.human(value, str(package_data.load_glossary()[hint.quantity]["unit"]))


def _is_same(hint: Hint, stated: Field, role: Role, repository: Repository) -> bool:
    """Whether a hint means what the file states, or only says it more exactly."""
    value, named = stated.value, hint.field.value
    if value == named:
        return True
    if isinstance(value, Mapping) and isinstance(named, Mapping):
        return all(value.get(key, text) == text for key, text in named.items())
    if hint.quantity == "accelerator":
        return _names_only_family(stated, str(named))
    if hint.quantity == "checkpoint":
        return not _is_other_model(str(named), stated, role, repository)
    return False


def _find_resource(hint: Hint, role: Role) -> str:
    """Return the resource that a pod requests if another vendor makes the accelerator of the hint."""
    product = hardware.accelerator(str(hint.field.value))
    resource = role.text("accelerator_resource")
    vendor = resource_names.find_vendor(resource) if resource else ""
    return resource if product is not None and vendor and vendor != product.vendor else ""


def _names_only_family(stated: Field, named: str) -> bool:
    """Whether a file names only the family of an accelerator, such as h100, and the hint one of its products."""
    family = named.partition("-")[0]
    words = re.findall(r"[\w.-]+", stated.origins[0].text().lower())
    product = hardware.find_accelerator(family)
    return family in words and product is not None and product.id == stated.value


def _is_other_model(named: str, stated: Field, role: Role, repository: Repository) -> bool:
    """Whether the file states a known model, and the hint names one with another shape or number format."""
    if str(stated.value).lower() == named.lower() or _holds_name(stated.origins[0].text(), named):
        return False
    path = role.anchor.document.path
    own = checkpoints.resolve(role.having(checkpoint=stated), path, repository, None)
    if own is None or own.architecture is None or not own.how.startswith(EXACT):
        return False
    other = checkpoints.resolve(role.having(checkpoint=Field(named)), path, repository, None)
    return other is None or other.architecture is None or _differs(own.architecture, other.architecture)


def _holds_name(text: str, named: str) -> bool:
    """Whether a text has the last part of a model's name as a word, as an image or a folder may."""
    last = re.escape(named.rstrip("/").rpartition("/")[2])
    return bool(re.search(rf"(?<![\w.-]){last}(?![\w.-])", text, re.IGNORECASE))


def _differs(own: Architecture, other: Architecture) -> bool:
    pairs = [(getattr(own, name), getattr(other, name)) for name in SHAPE]
    if any(one != two for one, two in pairs if one is not None and two is not None) or not other.is_known:
        return True
    formats = {own.checkpoint_dtype or "bfloat16", other.checkpoint_dtype or "bfloat16"}
    quantized = (own.checkpoint_quantization or "") != (other.checkpoint_quantization or "")
    return quantized or (len(formats) > 1 and not formats <= HALVES)
