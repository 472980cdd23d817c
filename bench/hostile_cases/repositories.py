"""Checkouts of hostile cases: files, links, pipes and commits in a new folder, made by git with an identity of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hostile_cases.model import EXECUTED, OUTSIDE, Case, Change, Content, Files, Link, Pipe, Submodule
from hostile_cases.specs import POD, SCRIPT

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-11-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-11-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
CANARY = f"{OUTSIDE}-content"
BESIDE = {
    "pod.yaml": POD.replace("chat", CANARY),
    "lib.sh": f"export MODEL={CANARY}\n{SCRIPT}",
    "config.json": f'{{"model_type": "{CANARY}", "findings": "{CANARY}"}}',
    "gpulint.yaml": f"{CANARY}: 1\n",
}
"""Files beside the checkout, none of which may be read."""


def build(case: Case | Change, work: Path) -> tuple[list[str], int]:
    """Build a case below a folder; return the words of its command and the number of its files."""
    checkout = work / "checkout"
    for folder in (checkout, work / "out", work / OUTSIDE):
        folder.mkdir()
    for name, text in BESIDE.items():
        (work / OUTSIDE / name).write_text(text, encoding="utf-8")
    if isinstance(case, Case):
        return _build_input(case, checkout)
    return _build_change(case, checkout)


def _build_input(case: Case, checkout: Path) -> tuple[list[str], int]:
    files = case.files()
    write(checkout, files)
    if case.git:
        _start(checkout)
        commit(checkout)
    named = [os.fsdecode(path) for path in files]
    return list(case.words) or ["check", *named], max(1, len(named))


def _build_change(case: Change, checkout: Path) -> tuple[list[str], int]:
    _start(checkout)
    base, head = case.base(), case.head()
    write(checkout, base)
    first = commit(checkout)
    run_git(checkout, "checkout", "-q", "-b", "change")
    write(checkout, head)
    last = commit(checkout)
    words = ["check", "--base", first, "--head", last]
    if case.prepare:
        words = PREPARATIONS[case.prepare](checkout, first, last) or words
    given = [first if word == "BASE" else word for word in case.words]
    return [*words, *given], max(1, len({*base, *head}))


# ---- files


def write(checkout: Path, files: Files) -> None:
    """Write the files of a case; None removes one."""
    removed = [path for path, content in files.items() if content is None]
    for path in removed:
        os.unlink(_locate(checkout, path))
        _remove_empty(checkout, path)
    for path, content in files.items():
        if content is not None:
            _write(checkout, _locate(checkout, path), content)


def _locate(checkout: Path, path: str) -> bytes:
    return os.path.join(os.fsencode(checkout), os.fsencode(path))


def _remove_empty(checkout: Path, path: str) -> None:
    folder = os.path.dirname(_locate(checkout, path))
    while folder != os.fsencode(checkout) and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def _write(checkout: Path, place: bytes, content: Content) -> None:
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.lexists(place) and not isinstance(content, Submodule):
        os.unlink(place)
    match content:
        case Link(target):
            os.symlink(target, place)
        case Pipe():
            os.mkfifo(place)
        case Submodule():
            _add_submodule(checkout, place)
        case bytes():
            with open(place, "wb") as stream:
                stream.write(content)


def _add_submodule(checkout: Path, place: bytes) -> None:
    if os.path.lexists(place):
        os.unlink(place)
    relative = os.path.relpath(os.fsdecode(place), checkout)
    first = run_git(checkout, "rev-parse", "HEAD")
    os.makedirs(place)
    run_git(checkout, "update-index", "--add", "--cacheinfo", f"160000,{first},{relative}")
    link = f'[submodule "x"]\n\tpath = {relative}\n\turl = ext::sh -c "touch {EXECUTED}"\n'
    (checkout / ".gitmodules").write_text(link, encoding="utf-8")


# ---- git


def run_git(checkout: Path, *words: str) -> str:
    """Return what git prints, without the end of the last line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=checkout, env={**kept, **IDENTITY}, capture_output=True, check=True)
    return os.fsdecode(done.stdout).rstrip("\n")


def _start(checkout: Path) -> None:
    run_git(checkout, "init", "-q", "-b", "main")


def commit(checkout: Path) -> str:
    """Commit all files, those that .gitignore matches too; return the id."""
    has_submodule = (checkout / ".gitmodules").exists()
    words = ("add", "-f", ".gitmodules") if has_submodule else ("add", "-A", "-f", ".")
    run_git(checkout, *words)
    run_git(checkout, "commit", "-q", "--allow-empty", "--no-verify", "-m", "change")
    return run_git(checkout, "rev-parse", "HEAD")


# ---- repositories that are prepared further; each returns other words of the command, or none


def _merge(checkout: Path, first: str, last: str) -> Sequence[str]:
    """The change is a merge commit whose second parent is wrong."""
    run_git(checkout, "checkout", "-q", "main")
    (checkout / "README.md").write_text("words\n", encoding="utf-8")
    commit(checkout)
    run_git(checkout, "merge", "-q", "--no-ff", "-m", "merge", "change")
    return ["check", "--base", first, "--head", "main"]


def _shallow(checkout: Path, first: str, last: str) -> Sequence[str]:
    """The checkout is a shallow clone that still holds both commits."""
    source = checkout.rename(checkout.parent / "source")
    run_git(checkout.parent, "clone", "-q", "--depth=2", "--branch=change", f"file://{source}", str(checkout))
    return ["check", "--base", first, "--head", last]


def _hooks(checkout: Path, first: str, last: str) -> Sequence[str]:
    """Every hook touches a file."""
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):
        hook = checkout / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {EXECUTED}\n", encoding="utf-8")
        hook.chmod(0o755)
    return ()


def _attributes_filter(checkout: Path, first: str, last: str) -> Sequence[str]:
    """A filter, a diff driver and fsmonitor of the configuration touch a file."""
    command = f"touch {EXECUTED}"
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "attributes").write_text(
        "*.yaml filter=evil diff=evil merge=evil\n", encoding="utf-8"
    )
    for key in (
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
        "core.pager",
    ):
        run_git(checkout, "config", key, command)
    return ()


def _working_tree_encoding(checkout: Path, first: str, last: str) -> Sequence[str]:
    """The file is UTF-16 in a work tree, and UTF-8 in the commit."""
    (checkout / ".gitattributes").write_text("*.yaml working-tree-encoding=UTF-16 ident\n", encoding="utf-8")
    (checkout / "pod.yaml").write_bytes(POD.encode("utf-16"))
    return ["check", "--base", first, "--head", commit(checkout)]


def _replace_refs(checkout: Path, first: str, last: str) -> Sequence[str]:
    """A replacement reference shows the base's content under the id of the head's."""
    run_git(
        checkout,
        "replace",
        run_git(checkout, "rev-parse", f"{last}:pod.yaml"),
        run_git(checkout, "rev-parse", f"{first}:pod.yaml"),
    )
    return ()


def _executable_mode(checkout: Path, first: str, last: str) -> Sequence[str]:
    (checkout / "pod.yaml").chmod(0o755)
    return ["check", "--base", first, "--head", commit(checkout)]


def _case_twins(checkout: Path, first: str, last: str) -> Sequence[str]:
    """Two files differ only in the case of their names."""
    (checkout / "Pod.yaml").write_text(POD.replace("chat", "twin"), encoding="utf-8")
    return ["check", "--base", first, "--head", commit(checkout)]


def _branch_names(checkout: Path, first: str, last: str) -> Sequence[str]:
    """A branch has the name of a commit's abbreviation, another the name of a path."""
    run_git(checkout, "branch", last[:10], first)
    run_git(checkout, "branch", "pod.yaml", first)
    return ()


def _annotated_tag(checkout: Path, first: str, last: str) -> Sequence[str]:
    run_git(checkout, "tag", "-a", "-m", "release", "v1", last)
    return ["check", "--base", "main", "--head", "v1"]


def _packed(checkout: Path, first: str, last: str) -> Sequence[str]:
    run_git(checkout, "gc", "-q")
    return ()


def _worktree_differs(checkout: Path, first: str, last: str) -> Sequence[str]:
    """The files on disk are right; only the commit is wrong."""
    (checkout / "pod.yaml").write_text("a: b\n", encoding="utf-8")
    return ()


def _unrelated_index(checkout: Path, first: str, last: str) -> Sequence[str]:
    """The index is not one of git."""
    (checkout / ".git" / "index").write_bytes(b"DIRC\xff\xff\xff\xff")
    return ()


def _unrelated_history(checkout: Path, first: str, last: str) -> Sequence[str]:
    run_git(checkout, "checkout", "-q", "--orphan", "other")
    return ["check", "--base", first, "--head", commit(checkout)]


PREPARATIONS = {
    name.removeprefix("_"): function
    for name, function in list(globals().items())
    if getattr(function, "__annotations__", {}).keys() == {"checkout", "first", "last", "return"}
}
