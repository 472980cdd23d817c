"""Only what changed: by bytes, with what names it, and everything where a change reaches everything."""

from __future__ import annotations

from pathlib import Path

import commits
import pytest
from gate_sides import EXCEEDS, RIGHT, WRONG, deployment, put, run

import gpulint


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(commits.started(tmp_path / "repository"))
    return tmp_path / "repository"


def checked(before: dict[str, str], after: dict[str, str], base: str = "") -> tuple[list[str], gpulint.Report]:
    """The files in which something was found, or that hold a workload, and the report."""
    folder = Path.cwd()
    put(folder, before)
    commits.committed(folder)
    put(folder, after)
    if base:
        commits.committed(folder)
    report = gpulint.check(".", gpulint.Options(today="2026-11-22", base=base, changed=True))
    return sorted({one.location.path for one in report.workloads}), report


OTHER = deployment("code", 2)
SERVER = deployment("joined", gpus=2).replace(
    "          resources:", "          envFrom: [{configMapRef: {name: flags}}]\n          resources:"
)
SERVER = SERVER.replace("--tensor-parallel-size=1", "--tensor-parallel-size=$(RANKS)")
FLAGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {RANKS: '%d'}\n"


# ---- the work tree


def test_changed_added_and_untracked_files_are_checked_and_no_others(repository: Path) -> None:
    paths, report = checked({"a.yaml": RIGHT, "b.yaml": OTHER}, {"a.yaml": WRONG, "b.yaml": OTHER, "x/c.yaml": OTHER})
    assert paths == ["a.yaml", "x/c.yaml"]
    assert report.files == 2


def test_a_changed_file_is_told_with_all_that_is_wrong_with_it(repository: Path) -> None:
    _, report = checked({"a.yaml": WRONG}, {"a.yaml": "# a comment\n" + WRONG})
    assert EXCEEDS in [one.rule for one in report.open]
    assert report.comparison is None


def test_what_git_ignores_is_not_checked(repository: Path) -> None:
    ignore = {".gitignore": "local.yaml\n"}
    assert checked({"a.yaml": RIGHT, **ignore}, {"a.yaml": RIGHT, "local.yaml": OTHER, **ignore})[0] == []


def test_other_line_ends_are_no_change(repository: Path) -> None:
    assert checked({"a.yaml": WRONG}, {"a.yaml": WRONG.replace("\n", "\r\n")})[0] == []


def test_a_staged_file_counts_as_it_lies_on_the_disk(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG})
    commits.git(repository, "add", "a.yaml")
    assert run("--changed").exit_code == 1
    put(repository, {"a.yaml": RIGHT})
    done = run("--changed")
    assert (done.exit_code, done.stderr) == (0, "gpulint: no file that gpulint reads has changed\n")


def test_no_filter_and_no_hook_of_the_repository_runs(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT, ".gitattributes": "*.yaml filter=evil diff=evil\n"})
    commits.committed(repository)
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor"):
        commits.git(repository, "config", key, "touch evil; cat")
    put(repository, {"a.yaml": WRONG, ".gitattributes": "*.yaml filter=evil diff=evil\n"})
    assert run("--changed").exit_code == 1
    assert run("--base", "HEAD").exit_code == 0
    assert not (repository / "evil").exists()


@pytest.mark.parametrize("policy", ["gpulint.yaml", "x/gpulint.yaml"])
def test_everything_is_checked_where_a_policy_changed(repository: Path, policy: str) -> None:
    paths, _ = checked(
        {"a.yaml": RIGHT, "x/b.yaml": OTHER}, {"a.yaml": RIGHT, "x/b.yaml": OTHER, policy: "ignore: []\n"}
    )
    assert paths == ["a.yaml", "x/b.yaml"]


# ---- against a base


def test_the_gate_looks_at_what_differs(repository: Path) -> None:
    paths, report = checked(
        {"a.yaml": WRONG, "b.yaml": OTHER}, {"a.yaml": WRONG, "b.yaml": OTHER + "# more\n", "c.yaml": WRONG}, "HEAD^"
    )
    assert "b.yaml" in paths
    assert [(one.rule, one.location.path) for one in report.open] == [(EXCEEDS, "c.yaml")]


def test_the_gate_looks_at_what_names_a_changed_object(repository: Path) -> None:
    before = {"a.yaml": SERVER, "b.yaml": OTHER, "flags.yaml": FLAGS % 2}
    paths, report = checked(before, {**before, "flags.yaml": FLAGS % 4}, "HEAD^")
    assert paths == ["a.yaml"]
    assert EXCEEDS in [one.rule for one in report.open]


def test_a_deleted_object_is_looked_for_in_what_named_it(repository: Path) -> None:
    before = {"a.yaml": SERVER, "b.yaml": OTHER, "flags.yaml": FLAGS % 4}
    paths, report = checked(before, {"a.yaml": SERVER, "b.yaml": OTHER}, "HEAD^")
    assert paths == ["a.yaml"]
    assert report.comparison is not None
    assert EXCEEDS in [one.rule for one in report.comparison.untold]


def test_the_gate_looks_at_everything_where_pools_of_nodes_changed(repository: Path) -> None:
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: {template: {}}\n"
    before = {"a.yaml": RIGHT, "b.yaml": OTHER}
    assert checked(before, {**before, "pool.yaml": pool}, "HEAD^")[0] == ["a.yaml", "b.yaml"]


def test_a_label_that_names_a_queue_or_pool_is_no_pool(repository: Path) -> None:
    queued = RIGHT.replace("labels: {app: chat}", "labels: {app: chat, kueue.x-k8s.io/queue-name: team}")
    assert checked({"a.yaml": RIGHT, "b.yaml": OTHER}, {"a.yaml": queued, "b.yaml": OTHER}, "HEAD^")[0] == ["a.yaml"]


def test_the_gate_looks_at_nothing_where_nothing_changed(repository: Path) -> None:
    paths, report = checked({"a.yaml": WRONG}, {"a.yaml": WRONG}, "HEAD^")
    assert (paths, report.files) == ([], 0)


def test_a_full_gate_and_a_narrow_one_agree_on_what_counts(repository: Path) -> None:
    before = {"a.yaml": SERVER, "b.yaml": OTHER, "flags.yaml": FLAGS % 2, "old.yaml": WRONG}
    checked(before, {"a.yaml": SERVER, "b.yaml": RIGHT, "flags.yaml": FLAGS % 4, "x/new.yaml": WRONG}, "HEAD^")
    narrow, full = (
        gpulint.check(".", gpulint.Options(today="2026-11-22", base="HEAD^", changed=changed))
        for changed in (True, False)
    )
    assert narrow.open == full.open
    assert narrow.comparison == full.comparison
