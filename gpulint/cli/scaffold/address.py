"""The address of the repository that this gpulint comes from, for the hook that `gpulint init` writes."""

from __future__ import annotations

import json
import re
from importlib import metadata

from gpulint.version import PROJECT

ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s:@]*+(?:@[^\s@]+|[^\s@]*)|[\w.-]+@[\w.-]+:[^\s]+")
"""What git clones from: a URL without a password, or user@host:path."""
LABELS = ("source", "repository", "sourcecode", "github", "homepage")
"""The labels of a package's addresses that may lead to its repository, the surest first."""


def find() -> str:
    """The address that gpulint, or the metadata of the installed package, declares; empty where neither does."""
    address = PROJECT or _find_declared() or _find_origin()
    return address if is_address(address) else ""


def is_address(text: str) -> bool:
    """Whether git can clone from a text, and it holds no password."""
    return bool(ADDRESS.fullmatch(text))


def _find_declared() -> str:
    """The repository among the Project-URL lines of the installed package."""
    try:
        lines = metadata.metadata("gpulint").get_all("Project-URL") or ()
    except metadata.PackageNotFoundError:
        return ""
    by_label = {
        re.sub(r"\W", "", label).lower(): url.strip() for label, _, url in (line.partition(",") for line in lines)
    }
    return next((by_label[label] for label in LABELS if label in by_label), "")


def _find_origin() -> str:
    """The repository that pip installed gpulint from, as pip wrote it down."""
    try:
        record = metadata.distribution("gpulint").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ""
    origin = json.loads(record) if record else {}
    return str(origin.get("url", "")) if origin.get("vcs_info", {}).get("vcs") == "git" else ""
