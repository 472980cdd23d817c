"""The action: its steps as a runner would run them, on a clone as actions/checkout makes it, with a `gh` that only pretends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import action
import checkout
import pytest
from checkout import committed, git

MARKER = "<!-- gpulint report -->"
WRONG = (checkout.ROOT / "examples" / "70b-on-two-l4.yaml").read_text(encoding="utf-8")
RIGHT = (checkout.ROOT / "examples" / "right-two-node-group.yaml").read_text(encoding="utf-8")
SILENCED = WRONG.replace(
    "- --tensor-parallel-size=2", "- --tensor-parallel-size=2  # gpulint: ignore[weights-exceed-memory] it is fine"
)
pytestmark = [pytest.mark.first, pytest.mark.sweep]
GH = '''\
"""Keeps the comments of one pull request in a file."""
import json, os, re, sys
from pathlib import Path

words, state = sys.argv[1:], Path(os.environ["FAKE_GH"])
held = json.loads(state.read_text())
fields = dict(word.split("=", 1) for word in words if "=" in word and not word.startswith("-"))
query = fields.get("query", "")
held["calls"].append(words[:2])
state.write_text(json.dumps(held))
if not os.environ.get("GH_TOKEN"):
    sys.exit("gh: set GH_TOKEN")
if held["refuses"] and not query.startswith("query"):
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
if words[:2] == ["pr", "comment"]:
    assert words[2:5] == ["7", "--repo", "team/deploy"], words
    body = Path(words[words.index("--body-file") + 1]).read_text()
    held["comments"].append({"id": f"IC_{len(held['comments'])}", "viewerDidAuthor": True, "body": body})
elif query.startswith("query"):
    assert (fields["owner"], fields["name"], fields["number"]) == ("team", "deploy", "7"), fields
    asked = words[words.index("--jq") + 1]
    marker = re.search(r'select\\(.viewerDidAuthor and \\(.body \\| startswith\\("(.*?)"\\)\\)\\)', asked)[1]
    for one in held["comments"]:
        if one["viewerDidAuthor"] and one["body"].startswith(marker):
            print(one["id"])
elif "updateIssueComment" in query:
    (one,) = [one for one in held["comments"] if one["id"] == fields["id"]]
    one["body"] = Path(fields["body"].removeprefix("@")).read_text()
else:
    sys.exit(f"gh: {words}")
state.write_text(json.dumps(held))
'''


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return checkout.environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a runner downloads of this repository for `uses:`."""
    folder = tmp_path_factory.mktemp("action")
    checkout.copied(folder)
    return folder


class Job(action.Runner):
    """A job on pull request 7 of a repository, whose origin lies beside it."""

    def __init__(self, source: Path, temp: Path, folder: Path, variables: dict[str, str]) -> None:
        self.origin, self.folder = folder / "origin", folder
        self.origin.mkdir()
        self.state = folder / "gh.json"
        self.remember(comments=[])
        program = folder / "bin" / "gh"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n" + GH, encoding="utf-8")
        program.chmod(0o755)
        own = {"FAKE_GH": str(self.state), "GITHUB_REPOSITORY": "team/deploy", "GITHUB_REF": "refs/pull/7/merge"}
        path = f"{program.parent}:{variables['PATH']}"
        super().__init__(source, folder / "clone", temp, {**variables, **own, "PATH": path})
        self.base = self.tip = ""
        self.code = 0

    def remember(self, comments: list[dict[str, object]], refuses: bool = False) -> None:
        self.state.write_text(json.dumps({"comments": comments, "calls": [], "refuses": refuses}), encoding="utf-8")

    @property
    def comments(self) -> list[str]:
        return [one["body"] for one in json.loads(self.state.read_text(encoding="utf-8"))["comments"]]

    def push(self, files: dict[str, str]) -> str:
        for path, text in files.items():
            (self.origin / path).parent.mkdir(parents=True, exist_ok=True)
            (self.origin / path).write_text(text, encoding="utf-8")
        return committed(self.origin, self.variables)

    def pull_request(self, base: dict[str, str], change: dict[str, str], depth: int = 1) -> None:
        """A branch that changes files, merged into its base as refs/pull/7/merge, and a clone of that."""
        self.base = self.push(base)
        self.run_git("checkout", "-q", "-b", "change")
        self.push(change)
        self.run_git("checkout", "-q", "--detach", "main")
        self.run_git("merge", "-q", "--no-ff", "-m", "merge", "change")
        self.tip = git(self.origin, self.variables, "rev-parse", "HEAD")
        self.run_git("update-ref", "refs/pull/7/merge", self.tip)
        self.run_git("checkout", "-q", "main")
        self.clone(depth)

    def clone(self, depth: int) -> None:
        self.workspace.mkdir()
        git(self.workspace, self.variables, "init", "-q")
        git(self.workspace, self.variables, "remote", "add", "origin", f"file://{self.origin}")
        git(self.workspace, self.variables, "fetch", "-q", f"--depth={depth}", "origin", self.tip)
        git(self.workspace, self.variables, "checkout", "-q", "--detach", self.tip)
        self.variables["GITHUB_SHA"] = self.tip

    def run_git(self, *words: str) -> None:
        git(self.origin, self.variables, *words)

    def checked(self, **given: str) -> int:
        """The exit code of the job on the pull request."""
        installed = ("install",) if (self.temp / "gpulint").exists() else ()
        event = {"github.event.pull_request.base.sha": self.base, "github.event.pull_request.number": "7"}
        known = {"steps.python.outputs.python-path": sys.executable, "inputs.token": "a token", **event}
        return self.run(
            {"token": "a token", **{name.replace("_", "-"): value for name, value in given.items()}}, known, installed
        )


@pytest.fixture(scope="module")
def first_job(source: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The job that installs gpulint, in a repository of modules that no step may import, before it checks."""
    job = Job(source, tmp_path_factory.mktemp("runner"), tmp_path_factory.mktemp("first"), environment)
    trap = "import pathlib\npathlib.Path(__file__).with_name('trapped').touch()\n"
    modules = ("venv", "pip", "json", "secrets", "click", "gpulint", "sitecustomize", "subprocess")
    job.pull_request({"apps/right.yaml": RIGHT}, {f"{name}.py": trap for name in modules})
    job.code = job.checked()
    return job


@pytest.fixture(scope="module")
def temp(first_job: Job) -> Path:
    """The runner's folder, in which the first job installed gpulint for all."""
    return first_job.temp


@pytest.fixture
def job(source: Path, temp: Path, tmp_path: Path, environment: dict[str, str]) -> Job:
    return Job(source, temp, tmp_path, environment)


def test_a_pull_request_is_held_to_what_it_adds(job: Job) -> None:
    job.pull_request({"apps/old.yaml": WRONG, "apps/right.yaml": RIGHT}, {"apps/new.yaml": WRONG})
    assert job.checked(sarif="true") == 1, job.log
    (comment,) = job.comments
    assert comment.startswith(MARKER)
    assert "weights-exceed-memory" in comment
    assert "`apps/new.yaml:24`" in comment
    assert "| `apps/old.yaml" not in comment
    assert job.summary.read_text(encoding="utf-8") == comment
    assert "::error title=weights-exceed-memory,file=apps/new.yaml,line=24" in job.log
    assert "::error title=weights-exceed-memory,file=apps/old.yaml" not in job.log
    assert job.known["steps.check.outputs.findings"] == "1"
    assert job.known["steps.check.outputs.exit-code"] == "1"


def test_code_scanning_gets_a_file_of_its_own_format(job: Job) -> None:
    job.pull_request({"apps/right.yaml": RIGHT}, {"apps/new.yaml": WRONG})
    assert job.checked(sarif="true") == 1, job.log
    (_, upload) = job.used
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    found = json.loads(Path(upload["sarif_file"]).read_text(encoding="utf-8"))
    assert found["version"] == "2.1.0"
    assert [one["ruleId"] for one in found["runs"][0]["results"]] == ["weights-exceed-memory"]


def test_code_scanning_gets_nothing_that_is_waived(job: Job) -> None:
    job.tip = job.push({"apps/waived.yaml": SILENCED, "apps/wrong.yaml": WRONG})
    job.clone(1)
    job.variables["GITHUB_REF"] = "refs/heads/main"
    known = {"steps.python.outputs.python-path": sys.executable}
    installed = ("install",) if (job.temp / "gpulint").exists() else ()
    assert job.run({"sarif": "true"}, known, installed) == 1, job.log
    (run,) = json.loads(Path(job.used[-1]["sarif_file"]).read_text(encoding="utf-8"))["runs"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert places == ["apps/wrong.yaml"]
    assert run["results"][0]["suppressions"] == []


def test_a_change_that_adds_nothing_passes_and_its_comment_is_brought_up_to_date(job: Job) -> None:
    earlier = {"id": "IC_9", "viewerDidAuthor": True, "body": f"{MARKER}\n1 error"}
    strange = {"id": "IC_1", "viewerDidAuthor": False, "body": f"{MARKER}\nnot ours"}
    job.pull_request({"apps/old.yaml": WRONG}, {"apps/right.yaml": RIGHT})
    job.remember([strange, earlier])
    assert job.checked() == 0, job.log
    assert job.comments == [strange["body"], job.summary.read_text(encoding="utf-8")]
    assert [one["uses"].partition("@")[0] for one in job.used] == ["actions/setup-python"]


def test_a_change_that_is_nobodys_concern_gets_no_first_comment(job: Job) -> None:
    job.pull_request({"apps/old.yaml": WRONG}, {"README.md": "words\n"})
    assert job.checked() == 0, job.log
    assert job.comments == []


def test_a_change_below_the_threshold_gets_no_first_comment(job: Job) -> None:
    job.pull_request({"apps/old.yaml": WRONG}, {"apps/right.yaml": RIGHT})
    assert job.checked(comment_over="10000000") == 0, job.log
    assert job.comments == []


def test_two_gates_of_one_repository_have_a_comment_each(job: Job) -> None:
    other = {"id": "IC_1", "viewerDidAuthor": True, "body": f"{MARKER}\nthe other gate's"}
    job.pull_request({"apps/old.yaml": WRONG}, {"apps/right.yaml": RIGHT})
    job.remember([other])
    assert job.checked(comment_key="prod-eu") == 0, job.log
    assert [body.partition("\n")[0] for body in job.comments] == [MARKER, "<!-- gpulint report: prod-eu -->"]


def test_a_pull_request_cannot_waive_itself(job: Job) -> None:
    change = {"apps/new.yaml": SILENCED, "gpulint.yaml": "ignore: [weights-exceed-memory]\nfail-on: error\n"}
    job.pull_request({"apps/right.yaml": RIGHT}, change)
    assert job.checked() == 1, job.log
    assert "weights-exceed-memory" in job.comments[0]


def test_a_token_that_may_not_write_fails_nothing_and_the_summary_has_the_text(job: Job) -> None:
    job.pull_request({"apps/old.yaml": WRONG}, {"apps/right.yaml": RIGHT})
    job.remember([], refuses=True)
    assert job.checked() == 0, job.log
    assert job.comments == []
    assert "::notice title=gpulint::the comment could not be written" in job.log
    assert job.summary.read_text(encoding="utf-8").startswith(MARKER)


def test_what_is_not_wanted_is_left_out(job: Job) -> None:
    job.pull_request({"apps/right.yaml": RIGHT}, {"apps/new.yaml": WRONG})
    assert job.checked(comment="false", annotations="false", fail_on="error", outputs="junit:found.xml\n") == 1, job.log
    assert job.comments == []
    assert {"upload", "comment"} <= set(job.skipped)
    assert "::error title=weights" not in job.log
    assert "error[weights-exceed-memory]" in job.log
    assert "<testsuite" in (job.workspace / "found.xml").read_text(encoding="utf-8")


def test_no_line_of_a_file_is_a_command_for_the_runner(job: Job) -> None:
    hostile = WRONG.replace("metadata:\n  name: ", "metadata:\n  name: |-\n    x\n    ::error::boo\n  other: ", 1)
    job.pull_request({"apps/right.yaml": RIGHT}, {"apps/new.yaml": hostile, "::error::boo.yaml": WRONG})
    job.checked()
    stopped = re.search(r"^::stop-commands::(\w{32})$(.*?)^::\1::$", job.log, re.MULTILINE | re.DOTALL)
    assert stopped is not None
    outside = job.log.replace(stopped[0], "")
    assert not re.search(r"^::error::boo", outside, re.MULTILINE)


def test_what_lies_in_the_repository_is_not_imported_by_any_step(first_job: Job) -> None:
    assert first_job.code == 0, first_job.log
    assert "install" not in first_job.skipped
    assert not (first_job.workspace / "trapped").exists()


def test_without_a_pull_request_everything_is_told(job: Job) -> None:
    job.tip = job.push({"apps/old.yaml": WRONG})
    job.clone(1)
    job.variables["GITHUB_REF"] = "refs/heads/main"
    known = {"steps.python.outputs.python-path": sys.executable}
    installed = ("install",) if (job.temp / "gpulint").exists() else ()
    assert job.run({}, known, installed) == 1, job.log
    assert "::error title=weights-exceed-memory,file=apps/old.yaml" in job.log
    assert (job.comments, "comment" in job.skipped) == ([], True)


def test_a_base_that_cannot_be_had_is_said_with_what_to_do(job: Job) -> None:
    job.pull_request({"apps/right.yaml": RIGHT}, {"apps/new.yaml": WRONG})
    assert job.checked(base="0123456789012345678901234567890123456789") == 2, job.log
    assert "set fetch-depth: 2" in job.log
    assert job.comments == []


@pytest.mark.parametrize(
    ("given", "code"),
    [({"base": "none", "policy_from": "none"}, 1), ({"paths": "apps/right.yaml\n"}, 0), ({"fail_on": "nonsense"}, 2)],
    ids=str,
)
def test_inputs_reach_the_check(job: Job, given: dict[str, str], code: int) -> None:
    job.pull_request({"apps/right.yaml": RIGHT, "apps/old.yaml": WRONG}, {"README": "nothing\n"})
    assert job.checked(**given) == code, job.log


# ---- the files themselves


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.gitlab-ci", "integrations/gitlab/gpulint.gitlab-ci.yml"),
        ("vendor.github-workflows", "integrations/github/workflow.yml"),
    ],
)
def test_a_file_is_what_its_service_takes(schema: str, path: str) -> None:
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", schema, checkout.ROOT / path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_script_of_the_action_is_written_by_what_an_event_says() -> None:
    steps = action.YAML(typ="safe").load((checkout.ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    assert [step["id"] for step in steps if "${{" in step.get("run", "")] == []


def test_every_action_that_is_used_is_pinned_to_a_commit() -> None:
    files = (checkout.ROOT / "action.yml", checkout.ROOT / "integrations" / "github" / "workflow.yml")
    used = [name for file in files for name in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))]
    assert [
        name
        for name in used
        if not re.search(r"@[0-9a-f]{40}$", name) and not name.startswith("<organisation>/gpulint@")
    ] == []


def test_the_page_shows_the_workflow_and_every_input_as_they_are() -> None:
    page = (checkout.ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    workflow = (checkout.ROOT / "integrations" / "github" / "workflow.yml").read_text(encoding="utf-8")
    metadata = action.YAML(typ="safe").load((checkout.ROOT / "action.yml").read_text(encoding="utf-8"))
    assert f"```yaml\n{workflow}```\n" in page
    for name, one in [*metadata["inputs"].items(), *metadata["outputs"].items()]:
        assert re.search(rf"^\| `{name}` \|.* {re.escape(one['description'])} \|$", page, re.MULTILINE), name


def test_the_page_names_every_hook() -> None:
    page = (checkout.ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    hooks = action.YAML(typ="safe").load((checkout.ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [one["id"] for one in hooks if f"| `{one['id']}` |" not in page] == []
