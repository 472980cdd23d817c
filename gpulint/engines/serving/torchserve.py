"""TorchServe: only the server is recognised; its models are in its model store."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading
from gpulint.workload import Field, Value

MENTIONS = ("torchserve",)
PROGRAM = "torchserve"
IMAGE = re.compile(r"(?:^|/)(?:torchserve(?:-kfs|-nightly)?)(?=$|[:@])")
RELEASE = re.compile(r"pytorch/torchserve:v?(\d+\.\d+\.\d+)(?=$|-)")
ON_CPU = re.compile(r"-cpu$|-cpu-")
IN_STORE = "what TorchServe serves is in its model store"


def read(invocation: Invocation) -> Reading | None:
    """Return the engine of a TorchServe server; None for any other invocation."""
    image, words = invocation.image.text or "", invocation.arguments
    first = (words[0].text or "").rsplit("/", 1)[-1] if words else ""
    by_image = invocation.entrypoint and IMAGE.search(image) and first in ("", "serve")
    if not (by_image or (first == PROGRAM and any(word.text == "--start" for word in words))):
        return None
    origins = (invocation.image.origin,) if image else ()
    fields = {"engine": Field("torchserve", origins)}
    if release := RELEASE.search(image):
        fields["engine_version"] = Field(release.group(1), origins)
    if ON_CPU.search(image):
        fields["device"] = Field("cpu", origins)
    return Reading(fields, words[-1].origin if words else None, IN_STORE)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: no argument of TorchServe sets a quantity of the served model."""
    return None
