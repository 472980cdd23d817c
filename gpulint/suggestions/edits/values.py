"""Rendered values: the text of another value in place of a number, word, device list or switch."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint import units
from gpulint.catalog import tables
from gpulint.suggestions.edits.exact_places import ExactLocation
from gpulint.workload import Unknown, Value

FLAG = r"(?:--?[A-Za-z][\w.-]*=|[+~]*[A-Za-z][\w./-]*=|-[A-Za-z](?=\d))?"
"""`--nodes=`, `trainer.nnodes=` of hydra, and `-N` in front of its number."""
NUMBER = re.compile(
    rf"(?P<head>{FLAG}[\"']?(?:[A-Za-z][\w.-]*:)*)(?P<number>\d[\d_]*(?:\.\d+)?(?:e-?\d+)?[kKmM]?|\.\d+)(?P<tail>[\"']?)"
)
WORD = re.compile(rf"(?P<head>{FLAG}[\"']?)(?P<word>[\w.:+/-]*)(?P<tail>[\"']?)")
DEVICES_MAX = 64
"""No node has more GPUs."""
LEFT_OPEN = frozenset({"auto", "-1"})
"""Words that let an engine choose a length or a share."""
DEVICES = re.compile(
    r"(?i)(?:(?:visible_devices|device_?ids?|gpu[_-]?ids?|--include)[\"']?(?:\s*+[:=]|\s)|\bdevice=)\s*+[\"'\[({]*+(?:[\w.-]++:)?[\d,\s]*+$"
)
INDICES = re.compile(r"(?P<head>[\"']?)(?P<indices>\d+(?:,\d+)*)(?P<tail>[\"']?)")
DEFAULT = re.compile(r"\$\{\w+:?-[\"']?$")
"""A default value that the caller may override."""
SWITCHES: Mapping[str, str] = {"true": "false", "yes": "no", "on": "off", "1": "0"}
PROFILE = re.compile(r"(?<![\w.])(?P<profile>\d+g\.\d+gb(?:\+\w+)?)(?![\w+])")
HYBRID: Mapping[str, str] = {"FULL_SHARD": "HYBRID_SHARD", "full_shard": "hybrid_shard", "1": "4"}
"""FSDP strategies that shard over all ranks, and those that shard within a node:
torch.distributed.fsdp, accelerate.
"""


def render(name: str, place: ExactLocation, now: Value | Unknown, value: Value) -> str | None:
    """Return the text of a quantity's new value;

    None if the place does not plainly declare the present one.
    """
    if name == "mig_profile":
        return render_profile(place.text, str(now), str(value))
    if name == "hybrid_sharding":
        return HYBRID.get(place.text)
    if lists_devices(place):
        return render_devices(place, now, value)
    if place.text != now and (spelled := _render_key_word(name, place, value)) is not None:
        return spelled or None
    if isinstance(value, bool):
        return render_switch(place.text, now, value)
    if isinstance(value, int | float):
        return render_number(place.text, now, value)
    return render_word(place.text, now, value)


def render_number(old: str, now: Value | Unknown, value: float) -> str | None:
    """Return another number after the same flag or name: `8`, `--tp=8`, `gpu:a100:8`."""
    found = NUMBER.fullmatch(old)
    if found and _is_same(found["number"], now):
        return f"{found['head']}{value}{found['tail']}"
    left = WORD.fullmatch(old)
    return f"{left['head']}{value}{left['tail']}" if left and left["word"] in LEFT_OPEN else None


def parse_number(old: str) -> float | None:
    """Return the number in a text."""
    found = NUMBER.fullmatch(old)
    return _parse_number(found["number"]) if found else None


def _is_same(written: str, now: Value | Unknown) -> bool:
    return isinstance(now, int | float) and not isinstance(now, bool) and _parse_number(written) == now


def _parse_number(written: str) -> float | None:
    try:
        return units.human_int(written) if written[-1].isalpha() else float(written.replace("_", ""))
    except ValueError:
        return None


def render_word(old: str, now: Value | Unknown, value: Value) -> str | None:
    """Return another word after the same flag."""
    found = WORD.fullmatch(old)
    if found is None or not isinstance(now, str) or found["word"].lower() != now.lower():
        return None
    return f"{found['head']}{value}{found['tail']}"


def render_switch(old: str, now: Value | Unknown, value: bool) -> str | None:
    """Return the other position of a switch in the file's spelling;

    None for a flag without a value.
    """
    found = WORD.fullmatch(old)
    if found is None or not isinstance(now, bool) or found["word"].lower() not in {*SWITCHES, *SWITCHES.values()}:
        return None
    pairs = {**SWITCHES, **{off: on for on, off in SWITCHES.items()}}
    if now is value or (found["word"].lower() in SWITCHES) is not now:
        return None
    other = pairs[found["word"].lower()]
    spelled = other.title() if found["word"].istitle() else other.upper() if found["word"].isupper() else other
    return f"{found['head']}{spelled}{found['tail']}"


def lists_devices(place: ExactLocation) -> bool:
    """Return whether a place lists devices by number: `CUDA_VISIBLE_DEVICES=0,1`, `device_ids:
    ["0"]`.
    """
    path, document = place.origin.path, place.origin.document
    if path[-1:] == ("value",) and "DEVICES" in str(document.get((*path[:-1], "name"))):
        return True
    if any("DEVICES" in str(part) or str(part) in ("device_ids", "gpu_ids") for part in path):
        return place.origin.span is None or not place.before.rstrip().endswith(":")
    return DEVICES.search(place.before) is not None


def render_devices(place: ExactLocation, now: Value | Unknown, value: Value) -> str | None:
    """Return the first devices of a node as one text, if today's list also starts at the first."""
    found = INDICES.fullmatch(place.text)
    if found is None or not isinstance(now, int) or not isinstance(value, int):
        return None
    if max(now, value) > DEVICES_MAX:
        return None
    listed = bool(place.origin.path) and isinstance(place.origin.path[-1], int) and place.origin.span is None
    if listed or DEFAULT.search(place.before) or found["indices"] != ",".join(map(str, range(now))):
        return None
    return f"{found['head']}{','.join(map(str, range(value)))}{found['tail']}"


def render_profile(old: str, now: str, value: str) -> str | None:
    """Return another slice in a resource name, a label value, or alone."""
    found = list(PROFILE.finditer(old))
    if len(found) != 1 or found[0]["profile"] != now or "+" in value:
        return None
    return old[: found[0].start()] + value + old[found[0].end() :]


def _render_key_word(name: str, place: ExactLocation, value: Value) -> str | None:
    """Return a configuration key's word for a value; empty if it has none, None if no such key
    decides.
    """
    path = [part for part in place.origin.path if isinstance(part, str)]
    if place.origin.span is not None or not path:
        return None
    rows = (row for row in tables.rows("setting_keys") if row["quantity"] == name)
    kinds = {row["kind"] for row in rows if row["kind"].startswith("word:") and row["key"].split(".")[-1] == path[-1]}
    if not kinds:
        return None
    spelled = {find_spelling(kind, value) for kind in kinds}
    return (spelled.pop() or "") if len(spelled) == 1 else ""


def find_spelling(kind: str, value: Value) -> str | None:
    """Return the first word of a key's kind for a value; None if it has none."""
    pairs = (pair.partition("=") for pair in kind.partition(":")[2].split(";"))
    meant = str(value).lower() if isinstance(value, bool) else value
    return next((word for word, _, meaning in pairs if meaning == meant and word not in ("*", "")), None)
