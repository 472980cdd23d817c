"""Git: read commits through git's plumbing, without touching work tree, index, hooks, filters or
remotes.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.source import os_errors, programs

LIMIT_S = 120.0
AT_ONCE_BYTES, AT_ONCE = 16_000_000, 2_000
HELD_BYTES_MAX = 256_000_000
KEPT = ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
CLOSED = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Environment that keeps git from fetching missing objects of a partial clone; old releases know
only the first variable.
"""
ALWAYS = ("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
FETCH_ALL = "gpulint never fetches; fetch what the partial clone leaves out: git fetch --refetch --no-filter origin"
BRANCH = re.compile(r"[\w.][\w./+-]*")
ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
KINDS = {"100644": "file", "100755": "file", "100664": "file", "120000": "link", "160000": "submodule"}


class GitError(ValueError):
    """A question that git cannot answer, with advice."""


class Item(NamedTuple):
    """An entry of a commit at a path: a `file`, a `link` or a `submodule`, and the id of its
    bytes.
    """

    kind: str
    id: str


class Git:
    """Objects of one repository.

    What was read is kept, so that two commits share common content.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._sizes: dict[str, int] = {}
        self._held: dict[str, bytes] = {}
        self._held_bytes = 0
        self._order: list[str] = []
        self._at: dict[str, int] = {}
        if not os.path.lexists(root / ".git"):
            bare = (root / "objects").is_dir() and (root / "HEAD").is_file()
            raise GitError(_explain_outside(root, bare))

    def commit(self, name: str) -> str:
        """Return the id of the named commit."""
        if found := self._find_commit(name):
            return found
        raise GitError(self._explain_unknown(name))

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the best common ancestor of two commits; None if this clone has none.

        A shallow clone of a merge does not list its parents as commits, but the merge still names
        them.
        """
        if base in self._find_parents(head):
            return base
        done = self._run("merge-base", _check_id(base), _check_id(head), fine=(0, 1))
        return done.decode("ascii").split("\n")[0] or None

    def _find_parents(self, commit: str) -> list[str]:
        head, _, _ = self._run("cat-file", "commit", _check_id(commit)).partition(b"\n\n")
        return [line[7:].decode("ascii") for line in head.split(b"\n") if line.startswith(b"parent ")]

    def is_shallow(self) -> bool:
        """Return whether the clone lacks history."""
        return self._run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def items(self, commit: str) -> Iterator[tuple[str, Item]]:
        """Yield the entries of a commit with their paths from the root, in git's order."""
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", _check_id(commit))
        for line in listed.split(b"\0"):
            about, _, path = line.partition(b"\t")
            mode, _, name = about.decode("ascii").partition(" ")
            kind = KINDS.get(mode)
            if kind and not {b"", b".", b".."} & set(path.split(b"/")):
                yield os.fsdecode(path), Item(kind, name.split(" ")[1])

    def expect(self, commit: str, every: Iterable[str], soon: Sequence[str]) -> None:
        """Announce which sizes of a commit's objects will be needed, and which contents, in that
        order.
        """
        new = [id_ for id_ in dict.fromkeys(every) if id_ not in self._sizes]
        try:
            sizes = self._read_sizes(new)
        except GitError:
            lacking = self._find_missing(commit)
            sizes = self._read_sizes([id_ for id_ in new if id_ not in lacking])
        self._sizes.update(sizes)
        if lacks := {id_ for id_ in soon if id_ not in self._sizes}:
            raise GitError(f"this clone lacks {len(lacks)} files of {commit[:10]}; {FETCH_ALL}")
        for id_ in soon:
            if id_ not in self._at and self._sizes[id_] < AT_ONCE_BYTES:
                self._at[id_] = len(self._order)
                self._order.append(id_)

    def _read_sizes(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the sizes of objects.

        If the clone lacks one, git reports it or fails on all of them.
        """
        output = self._run("cat-file", "--batch-check", "--buffer", told=_join_lines(ids)).decode("ascii")
        words = (line.split(" ") for line in output.split("\n"))
        return {line[0]: int(line[2]) for line in words if len(line) == 3}

    def _find_missing(self, commit: str) -> set[str]:
        """Return the objects of a commit that a partial clone has not fetched."""
        output = self._run("rev-list", "--objects", "--missing=print", "--no-object-names", "-n1", _check_id(commit))
        return {line[1:] for line in output.decode("ascii").split("\n") if line.startswith("?")}

    def size(self, id_: str) -> int:
        """Return the size of an object in bytes; raise OSError if a partial clone lacks it."""
        if id_ not in self._sizes:
            raise OSError("this clone lacks it")
        return self._sizes[id_]

    def content(self, id_: str) -> bytes:
        """Return the bytes of an object and read those that are expected next with it."""
        if id_ not in self._held:
            self._read(self._find_batch(id_))
        return self._held[id_]

    def head(self, id_: str, length: int) -> bytes:
        """Return the first bytes of an object of any size."""
        if self.size(id_) <= AT_ONCE_BYTES:
            return self.content(id_)[:length]
        with self._start("cat-file", "blob", _check_id(id_)) as running:
            watch = threading.Timer(LIMIT_S, running.kill)
            watch.start()
            try:
                return running.stdout.read(length) if running.stdout else b""
            finally:
                watch.cancel()
                running.kill()

    def _find_batch(self, id_: str) -> list[str]:
        """Return an object and the expected ones after it, up to the size of one batch."""
        wanted, size = [id_], self.size(id_)
        at = self._at.get(id_)
        for following in self._order[at + 1 : at + AT_ONCE] if at is not None else ():
            if following in self._held:
                continue
            size += self._sizes[following]
            if size > AT_ONCE_BYTES:
                break
            wanted.append(following)
        return wanted

    def _read(self, wanted: Sequence[str]) -> None:
        output = self._run("cat-file", "--batch", "--buffer", told=_join_lines(wanted))
        at = 0
        for id_ in wanted:
            end = output.index(b"\n", at)
            words = output[at:end].split(b" ")
            at = end + 1 + int(words[2])
            self._held[id_] = output[end + 1 : at]
            self._held_bytes += int(words[2])
            at += 1
        while self._held_bytes > HELD_BYTES_MAX and len(self._held) > len(wanted):
            self._held_bytes -= len(self._held.pop(next(iter(self._held))))

    def _find_commit(self, name: str) -> str | None:
        if not name or not name.isprintable():
            return None
        output = self._run("cat-file", "--batch-check", told=os.fsencode(name) + b"^{commit}\n")
        words = output.decode("utf-8", "replace").split()
        return words[0] if len(words) == 3 and words[1] == "commit" else None

    def _explain_unknown(self, name: str) -> str:
        shown = "".join(character if character.isprintable() else "\ufffd" for character in name)
        if name == "HEAD":
            return "HEAD has no commit yet"
        if self._find_commit(f"origin/{name}"):
            return f"no commit is called {shown}; did you mean origin/{shown}?"
        if ID.fullmatch(name):
            return f"the commit {shown} is not in this clone; fetch it: git fetch --depth=1 origin {shown}"
        if not BRANCH.fullmatch(name):
            more = "; the clone is shallow, fetch its history: git fetch --unshallow" if self.is_shallow() else ""
            return f"no commit is called {shown} in this clone{more}"
        branch = shown.removeprefix("origin/")
        fetch = f"git fetch --depth=1 origin {branch}:refs/remotes/origin/{branch}"
        return f"no commit is called {shown} in this clone; if it is a branch of origin, fetch it: {fetch}"

    def _run(self, *words: str, told: bytes = b"", fine: Sequence[int] = (0,)) -> bytes:
        with self._start(*words) as running:
            try:
                output, troubles = running.communicate(told, LIMIT_S)
            except subprocess.TimeoutExpired:
                running.kill()
                raise GitError(f"git {words[0]} took longer than {LIMIT_S:.0f} s") from None
        if running.returncode in fine:
            return output
        lines = troubles.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"git {words[0]}: {_summarize_error(lines)}")

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        place = {"GIT_CEILING_DIRECTORIES": str(self.root.parent), "PATH": programs.trusted_path(self.root)}
        pipe = subprocess.PIPE
        program = programs.find("git", self.root)
        if program is None:
            raise GitError("git is not installed; install it, or check without --base")
        try:
            return subprocess.Popen(  # noqa: S603  no word of it is a stranger's: names go to its stdin
                [program, *ALWAYS, *words],
                cwd=self.root,
                env=kept | CLOSED | place,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as error:
            raise GitError(f"{program} cannot be started: {os_errors.explain(error)}") from None


def _check_id(text: str) -> str:
    """Return a verified object id."""
    if not ID.fullmatch(text):
        raise GitError(f"{text!r} is not an object id")
    return text


def _join_lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{_check_id(id_)}\n" for id_ in ids).encode("ascii")


def _summarize_error(lines: Sequence[str]) -> str:
    """Return git's error: its first line and the command that it advises."""
    advised = [line.strip() for line in lines[1:] if line.startswith("\tgit ")]
    return "; ".join([*lines[:1], *(f"run {line}" for line in advised)]) or "it failed without an error message"


def _explain_outside(root: Path, bare: bool) -> str:
    if bare:
        return f"{root} is a bare repository without a work tree; add one: git worktree add DIR HEAD"
    return f"{root} is not in a git repository, so there is no commit to compare with"
