"""DeepSpeed settings: a dict of a Python program, read as DeepSpeed's configuration file."""

from __future__ import annotations

import json

from gpulint.adapters.python.words import Reader, to_plain
from gpulint.adapters.trainers import deepspeed
from gpulint.source import documents
from gpulint.source.documents import Path
from gpulint.source.python.values import Mapping as Entries
from gpulint.source.python.values import Value
from gpulint.workload import Field, Origin


def read(config: Value | None, reader: Reader) -> dict[str, Field]:
    """Return what a dict of DeepSpeed's settings states."""
    plain = to_plain(config) if isinstance(config, Entries) else None
    if not isinstance(plain, dict) or not isinstance(config, Entries):
        return {}
    document = documents.load("deepspeed.json", json.dumps(plain).encode()).documents[0]
    fields = {"sharding": Field("deepspeed"), **deepspeed.read_mapping(document, ())}
    return {
        name: Field(field.value, _find_entry(config, field.origins[0].path if field.origins else (), reader))
        for name, field in fields.items()
    }


def _find_entry(config: Entries, path: Path, reader: Reader) -> tuple[Origin, ...]:
    """Return the places of an entry of a dict in the program, by its path in the dict."""
    value: Value = config
    for part in path:
        inner = value.entries.get(part) if isinstance(value, Entries) else None
        if inner is None:
            break
        value = inner
    return reader.origins(value, config.place)
