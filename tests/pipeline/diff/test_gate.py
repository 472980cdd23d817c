"""The gate: what a change introduces counts, what stood before does not, and nothing is better for being unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import commits
import pytest
from click.testing import CliRunner
from gate_sides import EXCEEDS, RIGHT, WRONG, deployment, put, run, spoken

import gpulint
from gpulint.cli import main


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(commits.started(tmp_path / "repository"))
    return tmp_path / "repository"


@pytest.fixture
def changed(repository: Path) -> Callable[[dict[str, str], dict[str, str]], gpulint.Report]:
    """The report on a change from some files to others."""

    def report(before: dict[str, str], after: dict[str, str]) -> gpulint.Report:
        put(repository, before)
        base = commits.committed(repository)
        put(repository, after)
        commits.committed(repository)
        return gpulint.check(".", gpulint.Options(today="2026-11-22", base=base))

    return report


Changed = Callable[[dict[str, str], dict[str, str]], gpulint.Report]


# ---- what counts


def test_a_new_file_with_an_error_counts(changed: Changed) -> None:
    assert spoken(changed({"a.yaml": RIGHT}, {"a.yaml": RIGHT, "b.yaml": deployment("code", 2)})) == [
        (EXCEEDS, "b.yaml")
    ]


def test_an_error_that_stood_before_does_not_count_and_says_where_it_stood(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": "# a comment\n" + WRONG, "b.yaml": deployment("code")})
    assert spoken(report) == []
    (stood,) = [one for one in report.findings if one.rule == EXCEEDS]
    assert stood.suppressed is not None
    assert stood.suppressed.kind == "base"
    assert (stood.location.line, stood.suppressed.location.line if stood.suppressed.location else 0) == (15, 14)


def test_an_error_whose_value_changed_counts_and_the_old_one_is_not_called_fixed(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": deployment(ranks=4)})
    assert spoken(report) == [(EXCEEDS, "a.yaml")]
    assert report.comparison is not None
    assert EXCEEDS not in [one.rule for one in report.comparison.gone]


def test_a_second_object_with_the_same_error_in_one_file_counts(changed: Changed) -> None:
    assert spoken(changed({"a.yaml": WRONG}, {"a.yaml": f"{WRONG}---\n{deployment('code', 2)}"})) == [
        (EXCEEDS, "a.yaml")
    ]


def test_a_copy_of_an_object_with_an_error_counts_once(changed: Changed) -> None:
    assert spoken(changed({"a.yaml": WRONG}, {"a.yaml": WRONG, "overlay/a.yaml": WRONG})) == [
        (EXCEEDS, "overlay/a.yaml")
    ]


def test_an_error_in_another_overlay_is_not_hidden_by_the_cure_of_the_first(changed: Changed) -> None:
    report = changed({"dev/a.yaml": WRONG}, {"dev/a.yaml": RIGHT, "prod/a.yaml": WRONG})
    assert spoken(report) == [(EXCEEDS, "prod/a.yaml")]


def test_an_object_that_was_right_is_not_excused_by_a_wrong_one_that_was_removed(changed: Changed) -> None:
    report = changed({"dev/a.yaml": WRONG, "prod/a.yaml": RIGHT}, {"prod/a.yaml": WRONG})
    assert spoken(report) == [(EXCEEDS, "prod/a.yaml")]


def test_a_waiver_that_is_taken_away_lets_its_error_count(changed: Changed) -> None:
    waived = WRONG.replace(
        "          args:", f"          # gpulint: ignore[{EXCEEDS}] the operator patches it\n          args:"
    )
    assert spoken(changed({"a.yaml": waived}, {"a.yaml": waived})) == []
    assert spoken(changed({"a.yaml": waived}, {"a.yaml": WRONG})) == [(EXCEEDS, "a.yaml")]


def test_an_error_that_only_a_joined_file_causes_counts_where_it_stands(changed: Changed) -> None:
    server = deployment(gpus=2).replace("--tensor-parallel-size=1", "--tensor-parallel-size=$(RANKS)")
    server = server.replace(
        "          resources:", "          envFrom: [{configMapRef: {name: flags}}]\n          resources:"
    )
    flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {RANKS: '%d'}\n"
    report = changed(
        {"a.yaml": server, "flags.yaml": flags % 2},
        {"a.yaml": server, "flags.yaml": flags % 4},
    )
    assert (EXCEEDS, "a.yaml") in spoken(report)


# ---- what does not count


@pytest.mark.parametrize("there", ["b.yaml", "deep/er/a.yaml"])
def test_a_renamed_file_keeps_its_debt(changed: Changed, there: str) -> None:
    report = changed({"a.yaml": WRONG}, {there: WRONG})
    assert spoken(report) == []
    assert report.comparison is not None
    assert not any(report.comparison[2:])


def test_a_file_that_was_renamed_and_edited_keeps_its_debt(changed: Changed) -> None:
    assert spoken(changed({"a.yaml": WRONG}, {"new/b.yaml": "# moved\n" + WRONG})) == []


def test_an_object_that_moved_to_a_file_that_was_there_keeps_its_debt(changed: Changed) -> None:
    code = deployment("code")
    assert spoken(changed({"a.yaml": WRONG, "b.yaml": code}, {"a.yaml": code, "b.yaml": WRONG})) == []
    both = f"{code}---\n{WRONG}"
    assert spoken(changed({"a.yaml": both, "b.yaml": "a: 1\n"}, {"a.yaml": code, "b.yaml": WRONG})) == []


def test_a_renamed_script_keeps_its_debt_although_its_workload_is_called_after_it(changed: Changed) -> None:
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=h100:4\nvllm serve Qwen/Qwen3-8B --tensor-parallel-size 8\n"
    assert spoken(changed({}, {"first.sh": script})) != []
    assert spoken(changed({"first.sh": script}, {"second.sh": script})) == []


def test_line_ends_and_formatting_are_no_change(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": WRONG.replace("\n", "\r\n").replace("replicas: 1", "replicas:   1")})
    assert spoken(report) == []
    assert report.comparison is not None
    assert report.comparison.changes == ()


def test_nothing_changed_means_nothing_to_say(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": WRONG})
    assert spoken(report) == []
    assert report.comparison is not None
    assert not any(report.comparison[2:])


def named(text: str, namespace: str) -> str:
    return text.replace("metadata: {name: chat", f"metadata: {{namespace: {namespace}, name: chat", 1)


def test_an_object_with_another_namespace_keeps_its_debt(changed: Changed) -> None:
    assert named(WRONG, "prod") != WRONG
    report = changed({"a.yaml": named(WRONG, "prod")}, {"a.yaml": named(WRONG, "search"), "b.yaml": RIGHT})
    assert spoken(report) == []
    assert report.comparison is not None
    assert report.comparison.gone == ()


def test_an_accepted_object_with_another_namespace_is_not_new(repository: Path) -> None:
    put(repository, {"a.yaml": named(WRONG, "prod")})
    assert CliRunner().invoke(main, ["baseline"]).exit_code == 0
    accepted = (repository / ".gpulint-baseline.json").read_text()
    commits.committed(repository)
    put(repository, {"a.yaml": named(WRONG, "search"), ".gpulint-baseline.json": accepted})
    commits.committed(repository)
    done = run("--base", "HEAD^")
    assert (done.exit_code, "1 existed before" in done.stdout) == (0, True), done.stdout


def test_a_second_object_with_another_namespace_is_new(changed: Changed) -> None:
    both = f"{named(WRONG, 'prod')}---\n{named(WRONG, 'search')}"
    assert len(spoken(changed({"a.yaml": named(WRONG, "prod")}, {"a.yaml": both}))) == 1


def test_a_container_that_is_only_called_otherwise_keeps_its_debt(changed: Changed) -> None:
    other = "# above\n" + WRONG.replace("name: vllm", "name: server")
    report = changed({"a.yaml": WRONG}, {"a.yaml": other})
    assert spoken(report) == []
    assert report.comparison is not None
    assert not any(report.comparison[2:])


def test_a_further_container_with_the_same_error_counts_beside_one_that_is_called_otherwise(changed: Changed) -> None:
    container = WRONG[WRONG.index("        - name: vllm") :]
    both = WRONG.replace("name: vllm", "name: server") + container.replace("name: vllm", "name: second")
    assert spoken(changed({"a.yaml": WRONG}, {"a.yaml": both})).count((EXCEEDS, "a.yaml")) == 1


def test_the_only_object_of_its_kind_in_a_file_keeps_its_debt_under_another_name(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": "# above\n" + deployment("assistant", 2)})
    assert spoken(report) == []
    assert report.comparison is not None
    assert not any(report.comparison[2:])


def test_one_of_two_new_objects_in_place_of_another_is_none_of_them_under_another_name(changed: Changed) -> None:
    two = f"# above\n{deployment('one', 2)}---\n{deployment('two', 2)}"
    assert spoken(changed({"a.yaml": WRONG}, {"a.yaml": two})).count((EXCEEDS, "a.yaml")) == 2


def test_another_engine_under_another_name_is_another_workload(changed: Changed) -> None:
    other = (
        deployment("assistant", 2)
        .replace("name: vllm", "name: sglang")
        .replace("vllm/vllm-openai:v0.10.1", "lmsysorg/sglang:v0.4.9")
    )
    other = (
        other.replace("--model=", "--model-path=")
        .replace("--tensor-parallel-size=", "--tp=")
        .replace("--max-model-len", "--context-length")
    )
    report = changed({"a.yaml": RIGHT}, {"a.yaml": other})
    assert report.comparison is not None
    assert {one.workload for one in report.comparison.changes} == {"chat", "assistant"}


def test_a_job_whose_program_is_another_is_one_change(changed: Changed) -> None:
    script = "#!/bin/bash\n#SBATCH --job-name=run\n#SBATCH --nodes={}\n#SBATCH --gpus-per-node=h100:8\n{}\n"
    report = changed(
        {"run.sbatch": script.format(4, "srun torchrun --nproc_per_node=8 train.py")},
        {"run.sbatch": script.format(2, "srun ./start.sh")},
    )
    assert report.comparison is not None
    (change,) = report.comparison.changes
    assert (change.before and change.before.gpus, change.after and change.after.gpus) == (32, 16)


def test_a_workload_that_changed_its_name_and_its_replicas_is_one_change(changed: Changed) -> None:
    report = changed({"a.yaml": RIGHT}, {"a.yaml": deployment("assistant", replicas=3)})
    assert report.comparison is not None
    (change,) = report.comparison.changes
    assert (change.workload, change.before and change.before.gpus, change.after and change.after.gpus) == (
        "assistant",
        1,
        3,
    )


# ---- what ended


def test_a_cured_error_is_gone(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": RIGHT})
    assert report.comparison is not None
    assert EXCEEDS in [one.rule for one in report.comparison.gone]
    assert report.comparison.untold == ()


def test_an_error_of_a_deleted_file_is_gone(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG, "b.yaml": "a: 1\n"}, {"b.yaml": "a: 1\n"})
    assert report.comparison is not None
    assert EXCEEDS in [one.rule for one in report.comparison.gone]


@pytest.mark.parametrize(
    "unknown",
    [
        WRONG.replace("gpu: 1", "gpu: '{{ .Values.gpus }}'"),
        WRONG.replace("args: [", "args: [$(FURTHER), "),
        WRONG.replace("kind: Deployment", "kind: Deployment\n  indented: [wrongly"),
    ],
)
def test_an_error_that_head_cannot_tell_of_any_more_is_not_called_fixed(changed: Changed, unknown: str) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": unknown})
    assert report.comparison is not None
    assert EXCEEDS not in [one.rule for one in report.comparison.gone]
    assert EXCEEDS in [one.rule for one in (*report.comparison.untold, *report.findings)]


BROKEN = WRONG.replace("spec:\n  replicas", "<<<<<<< HEAD\nspec:\n  replicas")


def test_what_a_conflict_left_in_a_file_hides_is_not_called_fixed_or_removed(changed: Changed) -> None:
    report = changed({"a.yaml": WRONG}, {"a.yaml": BROKEN})
    assert report.comparison is not None
    assert EXCEEDS in [one.rule for one in report.comparison.untold]
    assert report.comparison.gone == ()
    (change,) = report.comparison.changes
    assert (change.workload, change.before and change.before.gpus, change.after) == (
        "chat",
        1,
        gpulint.report.model.Figures(),
    )


def test_a_changed_file_that_does_not_parse_counts_even_if_it_did_not_parse_before(changed: Changed) -> None:
    worse = BROKEN.replace("kind: Deployment", "kind: Deployment\n>>>>>>> topic")
    assert spoken(changed({"a.yaml": BROKEN}, {"a.yaml": worse})) == [("invalid-syntax", "a.yaml")]
    assert spoken(changed({"a.yaml": RIGHT}, {"a.yaml": worse})) == [("invalid-syntax", "a.yaml")]


def test_a_broken_file_that_the_change_leaves_alone_does_not_count(changed: Changed) -> None:
    assert spoken(changed({"a.yaml": BROKEN}, {"a.yaml": BROKEN, "b.yaml": RIGHT})) == []


def test_what_a_cured_file_holds_may_have_been_there_before(changed: Changed) -> None:
    report = changed({"a.yaml": BROKEN}, {"a.yaml": RIGHT})
    assert report.comparison is not None
    (change,) = report.comparison.changes
    assert (change.before, change.after and change.after.gpus) == (gpulint.report.model.Figures(), 1)


# ---- figures


def test_figures_count_all_replicas_and_what_is_not_known_is_not_zero(changed: Changed) -> None:
    new = deployment("new").replace("cloud.google.com/gke-accelerator: nvidia-l4", "nvidia.com/gpu.product: NVIDIA-L4")
    new = new.replace(", node.kubernetes.io/instance-type: g2-standard-4", "")
    report = changed(
        {"a.yaml": deployment(replicas=2), "gone.yaml": deployment("old", model="/models/own", machine="unknown")},
        {"a.yaml": deployment(replicas=5), "new.yaml": new},
    )
    assert report.comparison is not None
    chat, added, old = report.comparison.changes
    assert chat[:3] == ("chat", "inference", "a.yaml")
    assert chat.before is not None
    assert chat.after is not None
    assert (chat.before.gpus, chat.after.gpus) == (2, 5)
    assert round(chat.before.cost_usd_per_hour or 0, 2) == 1.41
    assert round(chat.after.cost_usd_per_hour or 0, 2) == 3.53
    assert chat.before.headroom == chat.after.headroom
    assert (added.before, added.after and added.after[:2]) == (None, (1, None))
    assert (old.path, old.after, old.before and old.before.headroom) == ("gone.yaml", None, None)


def test_a_moved_workload_is_no_change(changed: Changed) -> None:
    report = changed({"a.yaml": RIGHT}, {"b/c.yaml": "# moved\n" + RIGHT})
    assert report.comparison is not None
    assert report.comparison.changes == ()


def test_a_workload_without_gpus_is_in_no_table(changed: Changed) -> None:
    web = RIGHT.replace("limits: {nvidia.com/gpu: 1}", "limits: {cpu: 1}").replace("vllm/vllm-openai:v0.10.1", "nginx")
    report = changed({"a.yaml": RIGHT}, {"a.yaml": RIGHT, "web.yaml": web})
    assert report.comparison is not None
    assert report.comparison.changes == ()


# ---- commits


def test_base_is_where_head_left_the_branch(repository: Path) -> None:
    put(repository, {"a.yaml": WRONG})
    commits.committed(repository)
    commits.git(repository, "checkout", "-q", "-b", "topic")
    put(repository, {"a.yaml": WRONG, "b.yaml": deployment("code")})
    commits.committed(repository)
    commits.git(repository, "checkout", "-q", "main")
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    report = gpulint.check(".", gpulint.Options(base="main", head="topic"))
    assert spoken(report) == []
    assert report.comparison is not None
    assert [one.workload for one in report.comparison.changes] == ["code"]


def test_neither_the_work_tree_nor_the_index_matters_or_is_touched(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG, "b.yaml": WRONG})
    commits.git(repository, "add", "b.yaml")
    status = commits.git(repository, "status", "--porcelain")
    assert spoken(gpulint.check(".", gpulint.Options(base="HEAD"))) == []
    assert commits.git(repository, "status", "--porcelain") == status


def test_a_detached_work_tree_is_read_like_any_other(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG})
    commits.committed(repository)
    commits.git(repository, "worktree", "add", "-q", "--detach", "../beside", "HEAD")
    monkeypatch.chdir(repository.parent / "beside")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert spoken(gpulint.check(".", gpulint.Options(base="HEAD^"))) == [(EXCEEDS, "a.yaml")]


def test_paths_count_from_the_current_folder_and_one_side_may_lack_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repository, {"a.yaml": RIGHT, "deep/old.yaml": WRONG})
    commits.committed(repository)
    put(repository, {"a.yaml": deployment("other", 2), "deep/new.yaml": deployment("code", 2)})
    commits.committed(repository)
    monkeypatch.chdir(repository / "deep")
    assert spoken(gpulint.check(["old.yaml", "new.yaml"], gpulint.Options(base="HEAD^"))) == [(EXCEEDS, "new.yaml")]
    done = run("--base", "HEAD^", "never.yaml")
    assert (done.exit_code, done.stderr) == (2, "gpulint: neither commit has a file or folder never.yaml\n")


def test_links_submodules_and_odd_names_are_passed_by(repository: Path) -> None:
    inner = commits.started(repository.parent / "inner")
    put(inner, {"a.yaml": WRONG})
    commits.committed(inner)
    put(repository, {"a b.yaml": RIGHT})
    (repository / "binary.yaml").write_bytes(b"\x00\xff\xfe nvidia.com/gpu" * 9)
    (repository / "link.yaml").symlink_to(inner / "a.yaml")
    commits.committed(repository)
    commits.git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    put(repository / "x", {"a b.yaml": deployment("code", 2), "ü\n.yaml": deployment("odd", 2)})
    commits.committed(repository)
    report = gpulint.check(".", gpulint.Options(base="HEAD^"))
    assert spoken(report) == [(EXCEEDS, "x/a b.yaml"), (EXCEEDS, "x/ü\n.yaml")]
    assert report.failures == ()


def test_two_runs_say_the_same(repository: Path) -> None:
    put(repository, {f"{name}.yaml": deployment(name, 2) for name in "abcdef"})
    commits.committed(repository)
    put(repository, {f"{name}/{name}.yaml": deployment(name, 4, replicas=3) for name in "fedcba"})
    commits.committed(repository)
    first, second = (run("--base", "HEAD^", "--format", "json") for _ in range(2))
    assert first.exit_code == 1
    assert first.stdout == second.stdout


# ---- what cannot be read


def test_a_name_that_is_no_commit_is_told_how_to_be_fetched(repository: Path) -> None:
    done = run("--base", "HEAD")
    assert (done.exit_code, done.stderr) == (2, "gpulint: HEAD has no commit yet\n")
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    done = run("--base", "origin/main")
    assert done.exit_code == 2
    assert "git fetch --depth=1 origin main:refs/remotes/origin/main" in done.stderr
    commits.git(repository, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    assert run("--base", "trunk").stderr == "gpulint: no commit is called trunk; did you mean origin/trunk?\n"
    assert run("--base", "HEAD~3").stderr == "gpulint: no commit is called HEAD~3 in this clone\n"
    for odd in ("--output=x", "-p", "main:a.yaml", "a\nb", "", "HEAD^{tree}:"):
        assert run(f"--base={odd}").exit_code == 2
    assert not (repository / "x").exists()


def test_without_a_repository_there_is_nothing_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("--base", "main")
    assert (done.exit_code, done.stderr.partition(" is not ")[2]) == (
        2,
        "in a git repository, so there is no commit to compare with\n",
    )
    commits.git(tmp_path, "init", "-q", "--bare")
    assert "is a bare repository" in run("--base", "main").stderr


def test_without_git_it_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = run("--base", "main")
    assert (done.exit_code, "git is not installed" in done.stderr) == (2, True)


def test_a_shallow_clone_of_a_merge_knows_what_it_was_merged_into(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repository, {"a.yaml": WRONG})
    target = commits.committed(repository)
    commits.git(repository, "checkout", "-q", "-b", "topic")
    put(repository, {"a.yaml": WRONG, "b.yaml": deployment("code", 2)})
    commits.committed(repository)
    commits.git(repository, "checkout", "-q", "main")
    commits.git(repository, "merge", "-q", "--no-ff", "-m", "merge", "topic")
    commits.git(repository.parent, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    shallow = repository.parent / "shallow"
    monkeypatch.chdir(shallow)
    assert f"git fetch --depth=1 origin {target}" in run("--base", target).stderr
    commits.git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    commits.git(shallow, "fetch", "-q", "--depth=1", "origin", target)
    assert spoken(gpulint.check(".", gpulint.Options(base=target))) == [(EXCEEDS, "b.yaml")]


def test_a_clone_that_is_too_shallow_says_what_to_fetch(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        put(repository, {f"{name}.yaml": RIGHT})
        commits.committed(repository)
    commits.git(repository, "branch", "topic")
    commits.git(repository, "checkout", "-q", "HEAD~2")
    commits.git(repository, "branch", "old")
    commits.git(repository.parent, "clone", "-q", "--depth=1", "-b", "topic", f"file://{repository}", "shallow")
    shallow = repository.parent / "shallow"
    commits.git(shallow, "fetch", "-q", "--depth=1", "origin", "old:refs/remotes/origin/old")
    monkeypatch.chdir(shallow)
    done = run("--base", "origin/old")
    assert (done.exit_code, "git fetch --unshallow origin old" in done.stderr) == (2, True)


def test_a_partial_clone_fetches_nothing_and_says_what_it_lacks(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG})
    commits.committed(repository)
    commits.git(repository, "config", "uploadpack.allowFilter", "true")
    source = f"file://{repository}"
    commits.git(repository.parent, "clone", "-q", "--filter=blob:none", source, "partial")
    monkeypatch.chdir(repository.parent / "partial")
    done = run("--base", "HEAD^")
    assert (done.exit_code, "git fetch --refetch --no-filter origin" in done.stderr) == (2, True)
    assert run("--base", "HEAD").exit_code == 0


def test_a_clone_that_lost_objects_says_what_it_lacks(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT, "notes.csv": "1,2\n"})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG, "notes.csv": "1,2\n"})
    commits.committed(repository)
    lose(repository, "HEAD:notes.csv")
    assert run("--base", "HEAD^").exit_code == 1
    lose(repository, "HEAD^:a.yaml")
    done = run("--base", "HEAD^")
    assert (done.exit_code, "this clone lacks 1 file" in done.stderr) == (2, True)


def lose(repository: Path, named: str) -> None:
    id_ = commits.git(repository, "rev-parse", named).strip()
    (repository / ".git" / "objects" / id_[:2] / id_[2:]).unlink()


def test_a_failure_of_ours_on_base_is_counted_and_hides_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repository, {"a.yaml": WRONG})
    commits.committed(repository)
    put(repository, {"a.yaml": WRONG + "# head\n"})
    commits.committed(repository)
    from gpulint.source import documents

    load = documents.load

    def failing(path: str, content: bytes, *relevance: documents.Relevance) -> documents.Loaded:
        if b"# head" not in content:
            raise ZeroDivisionError("a fault")
        return load(path, content, *relevance)

    monkeypatch.setattr(documents, "load", failing)
    done = run("--base", "HEAD^", ".")
    assert done.exit_code == 3
    assert f"[{EXCEEDS}]" in done.stdout
    assert "internal error in HEAD^:a.yaml" in done.stdout


@pytest.mark.parametrize("words", [["--fix"], ["--diff"], ["--render", "helm"], ["-"]])
def test_commits_are_not_fixed_rendered_or_given_on_stdin(repository: Path, words: list[str]) -> None:
    assert run("--base", "HEAD", *words).exit_code == 2


def test_the_exit_code_is_that_of_what_counts(repository: Path) -> None:
    put(repository, {"a.yaml": WRONG})
    commits.committed(repository)
    commits.committed(repository)
    assert run(".").exit_code == 1
    assert run("--base", "HEAD^", ".").exit_code == 0
    put(repository, {"a.yaml": WRONG, "b.yaml": deployment("code", 2)})
    commits.committed(repository)
    assert run("--base", "HEAD^", ".").exit_code == 1
    assert run("--base", "HEAD^", "--head", "HEAD^", ".").exit_code == 0
    assert run("--head", "HEAD", ".").exit_code == 2


# ---- budgets


BUDGET = "budgets:\n  - {paths: ['*'], gpus: 4}\n"


@pytest.mark.parametrize(("before", "after", "counts"), [(6, 8, True), (6, 6, False), (6, 5, False), (3, 5, True)])
def test_a_budget_counts_where_it_is_exceeded_by_more_than_before(
    changed: Changed, before: int, after: int, counts: bool
) -> None:
    report = changed(
        {"gpulint.yaml": BUDGET, "a.yaml": deployment(replicas=before)},
        {"gpulint.yaml": BUDGET, "b.yaml": deployment(replicas=after)},
    )
    assert ("gpu-budget-exceeded" in [one.rule for one in report.open]) is counts
    assert "gpu-budget-exceeded" in [one.rule for one in report.findings]


@pytest.mark.parametrize(
    ("words", "quiet"), [([], False), (["--comment-over", "2000"], True), (["--comment-over", "100"], False)]
)
def test_the_comment_is_called_and_measured_as_the_command_line_or_the_policy_say(
    repository: Path, words: list[str], quiet: bool
) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": deployment(replicas=3)})
    commits.committed(repository)
    done = run("--base", "HEAD^", "--comment-key", "prod", "--select", "memory", "--output", "markdown:-", *words)
    lines = done.stdout.splitlines()
    assert lines[0] == "<!-- gpulint report: prod -->"
    assert ("<!-- gpulint: quiet -->" in lines) is quiet
    assert "### gpulint: +2 GPUs, +$1,032 a month, +0.09 kW; no findings" in lines
    put(repository, {"a.yaml": deployment(replicas=3), "gpulint.yaml": "comment: {usd-per-month: 5000}\n"})
    commits.committed(repository)
    told = run("--base", "HEAD^^", "--select", "memory", "--output", "markdown:-", *words).stdout.splitlines()
    assert ("<!-- gpulint: quiet -->" in told) is (not words or quiet)


FACILITY = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  racks:
    - name: r1
      units: 42
      servers: [{type: big, units: 8, count: COUNT}]
"""


def test_a_rack_that_was_too_full_and_takes_one_more_server_counts_and_one_that_stays_does_not(
    changed: Changed,
) -> None:
    def facility(count: int) -> dict[str, str]:
        return {"facility.yaml": FACILITY.replace("COUNT", str(count))}

    assert spoken(changed(facility(6), facility(7))) == [("rack-units-exceeded", "facility.yaml")]
    assert spoken(changed(facility(6), facility(6))) == []
    two = {"facility.yaml": facility(6)["facility.yaml"].replace("r1", "r[1-2]")}
    assert spoken(changed(facility(6), two)) == [("rack-units-exceeded", "facility.yaml")]
    assert spoken(changed(facility(6), {"hall.yaml": facility(6)["facility.yaml"]})) == []
    assert spoken(changed(facility(6), {"facility.yaml": "# the hall\n" + facility(6)["facility.yaml"]})) == []


def test_racks_that_did_not_change_stood_before_although_a_line_of_their_room_speaks_of_those_that_did(
    changed: Changed,
) -> None:
    head = FACILITY.partition("  racks:")[0] + "  units: 42\n  racks:\n"
    rack = "    - {name: NAME, servers: [{type: big, units: 8, count: COUNT}]}\n"

    def hall(first: int, second: int) -> dict[str, str]:
        one, other = (
            rack.replace("NAME", f"'{name}[1-2]'").replace("COUNT", str(count))
            for name, count in (("a", first), ("b", second))
        )
        return {"facility.yaml": head + one + other}

    def roles(report: gpulint.Report) -> list[str]:
        return [one.role for one in report.open]

    assert roles(changed(hall(6, 6), hall(7, 6))) == ["a1"]
    assert roles(changed(hall(6, 6), hall(6, 6))) == []
