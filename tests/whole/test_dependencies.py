"""Dependencies: the page has a reason for each, and the lock files hold what pyproject.toml asks for, with hashes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from folders import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = ROOT / "requirements"
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>[^\s;\\]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pinned(name: str) -> dict[str, str]:
    """The releases of a lock file by name."""
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    return {canonicalize_name(found["name"]): found["version"] for found in PINNED.finditer(text)}


def required(name: str) -> Sequence[str]:
    """What a lock file is made from."""
    found = project()
    extras = found["project"]["optional-dependencies"]
    return {
        "run": found["project"]["dependencies"],
        "dev": [*found["project"]["dependencies"], *extras["dev"], *extras["docs"]],
        "build": ["build>=1.2", *found["build-system"]["requires"]],
    }[name]


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_a_lock_file_holds_what_is_required_in_a_release_that_is_allowed(name: str) -> None:
    locked = pinned(name)
    wrong = [
        text
        for text in required(name)
        if not Requirement(text).specifier.contains(locked.get(canonicalize_name(Requirement(text).name), "0.dev0"))
    ]
    assert wrong == [], "run .ci/lock"


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_every_entry_of_a_lock_file_has_a_hash_and_nothing_else_is_in_it(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ").split("\n")
    assert [entry for entry in entries if entry.strip() and not (PINNED.match(entry) and HASH.search(entry))] == []


def test_the_tests_run_with_the_releases_that_users_get() -> None:
    dev = pinned("dev")
    assert {name: dev.get(name) for name in pinned("run")} == pinned("run")


def test_the_page_has_the_reason_for_each_dependency_and_for_nothing_else() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert [row[0].strip("| `") for row in rows] == [Requirement(text).name for text in required("run")]
    assert [row for row in rows if len(row) != 5 or not all(cell.strip(" |") for cell in row)] == []
    reasons = page.partition("## Why not our own code")[2].partition("\n## ")[0]
    assert [name for text in required("run") if f"`{(name := Requirement(text).name)}`" not in reasons] == [
        "tree-sitter-bash",
        "tree-sitter-hcl",
        "tree-sitter-toml",
    ]
