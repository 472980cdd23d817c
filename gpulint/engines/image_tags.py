"""Images: the engine release that an image tag implies, and whether the image is the vendor's own
build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from gpulint.catalog import tables
from gpulint.engines import Argument
from gpulint.workload import Field

BUILD = (
    r"(?:openai|server|serving|serve|inference|api|engine|image|base|custom|fork|patched|dev|nightly|release|slim|cache"
    r"|kvcache|gpu|cuda|cu\d+|rocm[\d.]*|cpu|ubi\d*|rhel\d*|ubuntu[\d.]*|python[\d.]*|py\d+|fips|nonroot|amd64|arm64"
    r"|x86|x86_64|aarch64)"
)
"""Words that tell how an engine is built; a repository with other words beside the engine's name has its own releases."""
PLATFORM = re.compile(
    r"(?<![a-z0-9])(?:(?:cuda|cu|rocm|ubuntu|ubi|py|python)\d[\d.]*|mi3\d+x?|gfx\w+|g?b[23]00|x86_64|amd64|arm64|aarch64)"
    r"(?![a-z0-9])"
)
"""Words with a number that tell nothing of a release."""


INSTALLED = "+"
"""A mark before a package and its release that the repository's own Dockerfile installs: `base@built+vllm==0.9.1`."""
TAGGED = re.compile(r"(?<!\(\?):")
"""Stands between the name and the tag in a pattern of images."""


class Numbering(NamedTuple):
    """How an engine's releases appear in images.
    It holds the engine's name in sentences and, as patterns, its name before a number, the vendor's
    `name:tag` of a release, repositories named for the engine, a numbering of its own, prefixes of
    a number, and numbers of other packages.
    """

    title: str
    word: str
    plain: str
    named: str
    number: str
    lead: str = "v"
    others: str = r"(?!)"


class ImageRelease(NamedTuple):
    """What an image implies: the release, whether it is the vendor's plain image of it, whether its
    tag names one build, and whether it is the vendor's at all.
    """

    release: str
    plain: bool
    pinned: bool
    makers: bool = True

    @property
    def version(self) -> tuple[int, ...] | None:
        """Return the release as numbers."""
        return tables.release(self.release)

    @property
    def certain(self) -> tuple[int, ...] | None:
        """Return the release of a vendor's image, whose arguments are definitely those of the
        release.
        """
        return self.version if self.plain else None


def parse_release(image: Argument, numbering: Numbering) -> ImageRelease:
    """Return the release that an image implies: definitely by the vendor's tag, or by another tag
    with the engine's own numbering.
    """
    if installed := re.search(rf"@\S*\+{numbering.word}==(?P<release>{numbering.number})(?![\d.])", image.text or ""):
        return ImageRelease(installed["release"], plain=True, pinned=True, makers=False)
    repository, tag = split_image(image.text)
    if plain := re.search(f"(?:^|/)(?:{numbering.plain})$", f"{repository}:{tag}"):
        return ImageRelease(plain["release"], plain=True, pinned=True)
    release = _parse_release(repository, tag, numbering)
    makers = TAGGED.split(numbering.plain, maxsplit=1)[0]
    named = bool(re.search(f"(?:^|/)(?:{makers})$", repository))
    return ImageRelease(release, plain=False, pinned=bool(release) or is_pinned(image), makers=named)


def split_image(image: str | None) -> tuple[str, str]:
    """Split an image into repository and tag.

    >>> split_image("registry.example.com:5000/vllm/vllm-openai:v0.10.1@sha256:00ff")
    ('registry.example.com:5000/vllm/vllm-openai', 'v0.10.1')
    """
    path, slash, last = (image or "").partition("@")[0].rpartition("/")
    name, _, tag = last.partition(":")
    return f"{path}{slash}{name}", tag


def is_pinned(image: Argument) -> bool:
    """Return whether an image may name one build: by a digest, by a number in its tag, or by an
    unreadable tag.
    """
    _, tag = split_image(image.text)
    by_digest = "@" in (image.text or "")
    return by_digest or bool(re.search(r"[\d${<]", PLATFORM.sub("", tag)))


def build_field(image: Argument, told: ImageRelease, title: str) -> dict[str, Field]:
    """Return the release as a field. It is an assumption if the image is not the vendor's."""
    if not told.release:
        return {}
    assumption = "" if told.plain else f"the image is built on {title} {told.release}, by its tag"
    return {"engine_version": Field(told.release, (image.origin,), assumption=assumption)}


def filter_notices(notices: Mapping[str, Field], told: ImageRelease) -> dict[str, Field]:
    """Drop the advice to pin a release from notices if it is pinned or another object chooses it."""
    kept = dict(notices)
    removed = kept.pop("removed_argument", None)
    if removed is None or told.pinned:
        return kept
    name = "removed_argument" if told.makers else "outdated_argument"
    occurrences = [{"removed_argument": removed}, *map(dict, removed.further)]
    renamed = ({name if key == "removed_argument" else key: value for key, value in one.items()} for one in occurrences)
    first, *others = renamed
    further = tuple(tuple(one.items()) for one in others)
    return {**kept, name: replace(first[name], further=further)}


def _parse_release(repository: str, tag: str, numbering: Numbering) -> str:
    """Return a number right after the engine's name, else one in the tag of a repository named for
    the engine.
    """
    number = rf"(?P<release>{numbering.number})(?!\.?\d)"
    name = repository.rsplit("/", 1)[-1]
    for text in (tag, name):
        if beside := re.search(rf"(?<![a-z]){numbering.word}[-_]?v?{number}", text):
            return beside["release"]
    if not re.search(f"(?:^|/)(?:{numbering.named})$", repository):
        return ""
    tag = re.sub(numbering.others, "", tag)
    if first := re.match(f"{numbering.lead}?{number}", tag):
        return first["release"]
    behind = {found["release"] for found in re.finditer(f"[-_]{numbering.lead}{number}", tag)}
    return behind.pop() if len(behind) == 1 else ""
