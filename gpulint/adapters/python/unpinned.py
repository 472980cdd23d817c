"""Unpinned images: what a program builds its image from without saying which release of the engine it takes."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.pods import image_tag
from gpulint.adapters.programs import package_names
from gpulint.adapters.python import releases
from gpulint.adapters.python.words import Reader, last_name
from gpulint.engines import Argument
from gpulint.source.python.values import Object, Value
from gpulint.workload import Field

INSTALLERS = frozenset({"pip_install", "uv_pip_install"})
"""Calls that install the packages of a list into an image: Modal."""


def read(image: Value | None, engine: str, pins: releases.Pins) -> dict[str, Field]:
    """Return the engine's package, or its image, that a later build may replace; nothing if a release is stated."""
    if engine in pins and not image_tag.moves(pins[engine].text or "", complete=True):
        return {}
    if named := pins.get(engine):
        return {"moving_image": Field(named.text, (named.origin,))}
    reader = Reader()
    for call in _list_calls(image):
        texts = list(releases.list_texts(call)) if last_name(call) in INSTALLERS else []
        if any(package_names.CONSTRAINED.search(str(text.value)) for text in texts):
            continue
        for text in texts:
            if engine in package_names.list_open(str(text.value)):
                place: Argument = reader.word(text, call.place)
                return {"unpinned_package": Field(engine, (place.origin,))}
    return {}


def _list_calls(image: Value | None) -> Iterator[Object]:
    """Yield the calls that build an image, the last one first."""
    for _ in range(releases.CHAIN_MAX):
        if not isinstance(image, Object):
            return
        yield image
        image = image.receiver
