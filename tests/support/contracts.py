"""The contracts in schemas/, as validators."""

from __future__ import annotations

import json

import jsonschema
from folders import ROOT

FOLDER = ROOT / "schemas"


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_bytes()))
