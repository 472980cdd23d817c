"""The snapshot: what a run saw first is what all of it sees; an overlay replaces the changed files alone."""

from __future__ import annotations

import os
import pathlib

import pytest
from trees import Opener, names, write

from gpulint.report.model import Skip
from gpulint.source.repository import Source, WorkTree
from gpulint.source.repository.work_tree import DiskSnapshot

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\n"


def paths(found: object) -> list[str]:
    return [one.path for one in getattr(found, "documents", found)]


def test_a_file_that_changes_is_seen_with_the_bytes_that_were_read_first(tree: pathlib.Path) -> None:
    write(tree, "a.yaml", "b.yaml")
    held = WorkTree(tree)
    assert held.read("a.yaml") == b"a: 1\n"
    write(tree, "a.yaml", content="a: 2\n")
    assert held.read("a.yaml") == b"a: 1\n"
    assert held.read_at_root("a.yaml") == b"a: 1\n"
    assert held.head("a.yaml", 4) == b"a: 1"
    assert next(held.sources(["a.yaml"])) == Source("a.yaml", b"a: 1\n")
    assert held.search("a: 2", "a.yaml") is None


def test_an_entry_that_appears_or_goes_later_changes_nothing(tree: pathlib.Path) -> None:
    write(tree, "sub/a.yaml", "b.yaml")
    held = WorkTree(tree)
    assert not held.exists("sub/c.yaml")
    assert names(held, ".") == ["b.yaml", "sub/a.yaml"]
    write(tree, "sub/c.yaml", "sub/d.yaml")
    (tree / "b.yaml").unlink()
    assert names(held, ".") == ["b.yaml", "sub/a.yaml"]
    assert not held.exists("sub/d.yaml")


def test_a_file_beyond_the_limit_that_changed_is_not_read_at_all(tree: pathlib.Path) -> None:
    write(tree, "a.yaml", "b.yaml")
    held = WorkTree(tree)
    held.snapshot = DiskSnapshot(str(tree), kept_bytes_max=5)
    assert (held.read("a.yaml"), held.read("b.yaml")) == (b"a: 1\n", b"a: 1\n")
    assert held.read("b.yaml") == b"a: 1\n"
    write(tree, "b.yaml", content="a: 2\n")
    assert held.read("b.yaml") is None
    reason = "cannot be read: it changed while gpulint ran"
    assert list(held.sources(["b.yaml"])) == [Skip("b.yaml", reason, "unreadable")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_could_not_be_read_stays_unread(tree: pathlib.Path) -> None:
    write(tree, "a.yaml")
    (tree / "a.yaml").chmod(0)
    held = WorkTree(tree)
    assert held.read("a.yaml") is None
    (tree / "a.yaml").chmod(0o600)
    assert [one.cause for one in held.sources(["."]) if isinstance(one, Skip)] == ["unreadable"]


def test_an_overlay_replaces_what_the_changed_files_say(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a/pod.yaml", content="apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\n")
    write(tree, "b/config.yaml", "c/config.yaml", content=CONFIG)
    held = opened(tree)
    assert paths(held.objects("ConfigMap", "flags", "a/pod.yaml")) == ["b/config.yaml", "c/config.yaml"]
    renamed = held.rewritten({"b/config.yaml": CONFIG.replace("flags", "words").encode()})
    assert paths(renamed.objects("ConfigMap", "flags", "a/pod.yaml")) == ["c/config.yaml"]
    assert paths(renamed.objects("ConfigMap", "words", "a/pod.yaml")) == ["b/config.yaml"]
    assert renamed.search("name: words", "a/pod.yaml") == "b/config.yaml"
    assert renamed.read("b/config.yaml") == CONFIG.replace("flags", "words").encode()
    assert held.search("name: words", "a/pod.yaml") is None
    assert paths(held.objects("ConfigMap", "flags", "a/pod.yaml")) == ["b/config.yaml", "c/config.yaml"]


def test_an_overlay_of_an_overlay_keeps_both_changes(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml", "b.yaml", "c.yaml", content="old: 1\n")
    first = opened(tree).rewritten({"a.yaml": b"new: 1\n"})
    second = first.rewritten({"b.yaml": b""})
    assert [one.content for one in second.sources(["."]) if isinstance(one, Source)] == [b"new: 1\n", b"", b"old: 1\n"]
    assert first.read("b.yaml") == b"old: 1\n"
    assert second.head("b.yaml", 3) == b""


def test_what_an_overlay_adds_is_found_in_the_order_of_the_files(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml", "b.yaml", "c.yaml", content="other: 1\n")
    write(tree, "d.yaml", "b.yaml", content=CONFIG)
    held = opened(tree)
    assert paths(held.gather("(?!)", "ConfigMap", "a.yaml")) == ["b.yaml", "d.yaml"]
    added = held.rewritten({"c.yaml": CONFIG.encode()})
    assert paths(added.gather("(?!)", "ConfigMap", "a.yaml")) == ["b.yaml", "c.yaml", "d.yaml"]
    assert paths(added.neighbours("ConfigMap", "flags", "a.yaml")) == ["b.yaml", "c.yaml", "d.yaml"]
    gone = held.rewritten({"b.yaml": b"other: 1\n"})
    assert paths(gone.gather("(?!)", "ConfigMap", "a.yaml")) == ["d.yaml"]


def test_an_overlay_shares_the_answers_that_no_changed_file_affects(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml", content=CONFIG)
    write(tree, "b.yaml")
    held = opened(tree)
    changed = held.rewritten({"b.yaml": b"b: 2\n"})
    assert changed.gather("(?!)", "ConfigMap", "a.yaml") is held.gather("(?!)", "ConfigMap", "a.yaml")
    assert changed.neighbours("ConfigMap", "", "a.yaml") is held.neighbours("ConfigMap", "", "a.yaml")
    assert changed.read_documents("a.yaml") is held.read_documents("a.yaml")


def test_more_than_twenty_thousand_files_are_all_searched(tree: pathlib.Path) -> None:
    for number in range(21):
        folder = tree / f"{number:02}"
        folder.mkdir()
        for inner in range(1_000):
            (folder / f"{inner}.yaml").touch()
    write(tree, "z.yaml", content=CONFIG)
    assert WorkTree(tree).search("name: flags", "00/0.yaml") == "z.yaml"
    assert len(WorkTree(tree).list_files(".")) == 21_001


def test_documents_of_a_missing_file_are_none(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml")
    assert opened(tree).read_documents("missing.sh") == ()


def test_excluded_files_are_joined_from_their_own_folder_alone(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a/x.yaml", "b/config.yaml", content=CONFIG)
    write(tree, "b/y.yaml", "c.yaml")
    held = opened(tree, ("b/config.yaml",))
    assert paths(held.objects("ConfigMap", "flags", "c.yaml")) == ["a/x.yaml"]
    assert paths(held.objects("ConfigMap", "flags", "b/y.yaml")) == ["b/config.yaml"]


def test_an_overlay_that_leaves_out_files_keeps_its_changes(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml", "b.yaml")
    held = opened(tree).rewritten({"a.yaml": CONFIG.encode()}).leaving_out(["b.yaml"])
    assert held.search("name: flags", "b.yaml") == "a.yaml"
    assert names(held, ".") == ["a.yaml"]
