"""Images: the release of an engine that the tag of an image tells, and whether it is the maker's own build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gpulint.catalog import tables as catalog
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


TAGGED = re.compile(r"(?<!\(\?):")
"""Stands between the name and the tag in a pattern of images."""


class Numbering(NamedTuple):
    """How an engine's releases stand in images: its name in sentences and, as patterns, its name right before a number,
    the maker's `name:tag` of one release, repositories named for the engine, a number of its own numbering, what leads
    one, and numbers of other packages.
    """

    title: str
    word: str
    plain: str
    named: str
    number: str
    lead: str = "v"
    others: str = r"(?!)"


class Told(NamedTuple):
    """What an image tells: the release, if it is the maker's plain image of it, if its tag stands for one build, and if
    it is the maker's at all.
    """

    release: str
    plain: bool
    pinned: bool
    makers: bool = True

    @property
    def version(self) -> tuple[int, ...] | None:
        """The release as numbers."""
        return catalog.release(self.release)

    @property
    def certain(self) -> tuple[int, ...] | None:
        """The release where the image is the maker's, so that its arguments are those of the release."""
        return self.version if self.plain else None


def told(image: Argument, numbering: Numbering) -> Told:
    """The release that an image tells: of its maker's tag surely, of another's tag by the engine's own numbering."""
    repository, tag = split(image.text)
    if plain := re.search(f"(?:^|/)(?:{numbering.plain})$", f"{repository}:{tag}"):
        return Told(plain["release"], plain=True, pinned=True)
    release = _release(repository, tag, numbering)
    makers = TAGGED.split(numbering.plain, maxsplit=1)[0]
    named = bool(re.search(f"(?:^|/)(?:{makers})$", repository))
    return Told(release, plain=False, pinned=bool(release) or pinned(image), makers=named)


def split(image: str | None) -> tuple[str, str]:
    """Repository and tag.

    >>> split("registry.example.com:5000/vllm/vllm-openai:v0.10.1@sha256:00ff")
    ('registry.example.com:5000/vllm/vllm-openai', 'v0.10.1')
    """
    path, slash, last = (image or "").partition("@")[0].rpartition("/")
    name, _, tag = last.partition(":")
    return f"{path}{slash}{name}", tag


def pinned(image: Argument) -> bool:
    """Whether an image may stand for one build: by a digest, by a number in its tag, or by a tag that cannot be read."""
    _, tag = split(image.text)
    by_digest = "@" in (image.text or "")
    return by_digest or bool(re.search(r"[\d${<]", PLATFORM.sub("", tag)))


def field(image: Argument, told: Told, title: str) -> dict[str, Field]:
    """The release as a field; of an image that is not the maker's it is an assumption."""
    if not told.release:
        return {}
    assumption = "" if told.plain else f"the image is built on {title} {told.release}, by its tag"
    return {"engine_version": Field(told.release, (image.origin,), assumption=assumption)}


def believed(notices: Mapping[str, Field], told: Told) -> dict[str, Field]:
    """Notices of arguments without the advice to pin a release that is pinned, or that another object chooses."""
    kept = dict(notices)
    removed = kept.pop("removed_argument", None)
    if removed is None or told.pinned:
        return kept
    return {**kept, "removed_argument" if told.makers else "outdated_argument": removed}


def _release(repository: str, tag: str, numbering: Numbering) -> str:
    """A number right behind the engine's name, else one in the tag of a repository named for the engine."""
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
