"""The GitLab template: its job on a merge request, with a server that keeps notes as GitLab's API does."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import checkout
import pytest
from checkout import committed, git
from ruamel.yaml import YAML

MARKER = "<!-- gpulint report -->"
WRONG = (checkout.ROOT / "examples" / "70b-on-two-l4.yaml").read_text(encoding="utf-8")
RIGHT = (checkout.ROOT / "examples" / "right-two-node-group.yaml").read_text(encoding="utf-8")
NOTES = "/api/v4/projects/42/merge_requests/7/notes"


class Server(http.server.ThreadingHTTPServer):
    """What GitLab answers: a user, and the notes of one merge request, a hundred a page."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.notes: list[dict[str, object]] = []
        self.refuses = False
        self.moved = ""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def answer(self, said: object, code: int = 200) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b"" if said is None else json.dumps(said).encode())

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if self.server.moved:
            self.send_response(302)
            self.send_header("Location", self.server.moved)
            self.end_headers()
            return
        if self.headers["PRIVATE-TOKEN"] != "a token":
            self.answer({"message": "401 Unauthorized"}, 401)
        elif path == "/api/v4/user":
            self.answer({"id": 5})
        else:
            assert path == NOTES, path
            page = int(query.rpartition("page=")[2])
            self.answer(self.server.notes[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if self.server.refuses:
            self.answer({"message": "403 Forbidden"}, 403)
            return
        if self.path == NOTES:
            self.server.notes.append(note(len(self.server.notes), 5, body))
        else:
            self.found()["body"] = body
        self.answer({})

    do_PUT = do_POST  # noqa: N815

    def do_DELETE(self) -> None:
        self.server.notes.remove(self.found())
        self.answer(None, 204)

    def found(self) -> dict[str, object]:
        (one,) = [one for one in self.server.notes if self.path == f"{NOTES}/{one['id']}"]
        return one

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def note(number: int, author: int, body: str) -> dict[str, object]:
    return {"id": number, "author": {"id": author}, "body": body}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


@pytest.fixture
def variables(tmp_path: Path, server: Server) -> dict[str, str]:
    own = {
        "PYTHONPATH": str(checkout.ROOT),
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4",
        "CI_MERGE_REQUEST_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "a token",
        "GPULINT_PATHS": ".",
    }
    return {**checkout.environment(tmp_path / "home"), **own}


def request(folder: Path, variables: dict[str, str], base: dict[str, str], change: dict[str, str]) -> None:
    """A repository on the branch of a merge request."""
    for files in (base, change):
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
        commit = committed(folder, variables)
        variables.setdefault("CI_MERGE_REQUEST_DIFF_BASE_SHA", commit)


def run(folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    script = checkout.ROOT / "integrations" / "gitlab" / "check.sh"
    return subprocess.run(["bash", script], cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "clone").mkdir()
    return tmp_path / "clone"


def test_a_merge_request_is_held_to_what_it_adds(clone: Path, variables: dict[str, str], server: Server) -> None:
    server.notes = [note(number, 9, f"{MARKER}\nsomebody's") for number in range(120)]
    request(clone, variables, {"old.yaml": WRONG}, {"new.yaml": WRONG})
    done = run(clone, variables)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "--> new.yaml:24" in done.stdout
    assert "--> old.yaml:24" not in done.stdout
    assert [one["body"] for one in server.notes[120:]] == [(clone / "gpulint.md").read_text(encoding="utf-8").strip()]


def test_code_quality_has_what_stood_before_too_since_gitlab_compares_by_itself(
    clone: Path, variables: dict[str, str]
) -> None:
    request(clone, variables, {"old.yaml": WRONG}, {"new.yaml": WRONG})
    run(clone, variables)
    found = json.loads((clone / "gpulint.codequality.json").read_text(encoding="utf-8"))
    assert sorted((one["location"]["path"], one["check_name"]) for one in found) == [
        ("new.yaml", "weights-exceed-memory"),
        ("old.yaml", "weights-exceed-memory"),
    ]


def test_the_note_of_an_earlier_pipeline_is_brought_up_to_date(
    clone: Path, variables: dict[str, str], server: Server
) -> None:
    server.notes = [
        note(0, 9, "thanks"),
        *(note(number, 9, "more") for number in range(1, 101)),
        note(101, 5, MARKER),
    ]
    request(clone, variables, {"right.yaml": RIGHT}, {"new.yaml": WRONG})
    assert run(clone, variables).returncode == 1
    assert len(server.notes) == 102
    assert "weights-exceed-memory" in str(server.notes[101]["body"])


@pytest.mark.parametrize("lost", ["GITLAB_TOKEN", "CI_MERGE_REQUEST_IID"])
def test_without_a_token_or_a_merge_request_no_note_is_written(
    clone: Path, variables: dict[str, str], server: Server, lost: str
) -> None:
    request(clone, variables, {"right.yaml": RIGHT}, {"new.yaml": WRONG})
    del variables[lost]
    assert (run(clone, variables).returncode, server.notes) == (1, [])


def test_a_note_that_cannot_be_written_does_not_change_the_verdict(
    clone: Path, variables: dict[str, str], server: Server
) -> None:
    server.refuses = True
    request(clone, variables, {"right.yaml": RIGHT}, {"other.yaml": RIGHT})
    done = run(clone, variables)
    assert (done.returncode, server.notes) == (0, []), done.stderr
    assert "gpulint: the note could not be written" in done.stderr


# ---- a merge request that prepares the checkout

SECRET = "[remote]\nurl = https://token@example.com/deploy\n"
NAMES = ("gpulint.md", "gpulint.codequality.json")


def prepared(clone: Path, variables: dict[str, str], how: str) -> None:
    """A merge request whose change brings files under the names of the reports, and a secret beside the checkout."""
    (clone.parent / "secret").write_text(f"{MARKER}\n{SECRET}", encoding="utf-8")
    (clone / "right.yaml").write_text(RIGHT, encoding="utf-8")
    variables["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = committed(clone, variables)
    for name in NAMES:
        if how == "link":
            (clone / name).symlink_to("../secret")
        elif how == "file":
            (clone / name).write_text(f"{MARKER}\nall is well\n", encoding="utf-8")
        else:
            (clone / name).mkdir()
            (clone / name / "link").symlink_to("../../secret")
    (clone / "new.yaml").write_text(WRONG, encoding="utf-8")
    committed(clone, variables)


@pytest.mark.parametrize("how", ["link", "file", "folder"])
def test_only_what_this_run_wrote_is_posted_and_kept(
    clone: Path, variables: dict[str, str], server: Server, how: str
) -> None:
    prepared(clone, variables, how)
    done = run(clone, variables)
    assert done.returncode == 1, done.stdout + done.stderr
    (note_,) = [str(one["body"]) for one in server.notes]
    assert "weights-exceed-memory" in note_
    assert "token@example.com" not in note_
    assert (clone.parent / "secret").read_text(encoding="utf-8") == f"{MARKER}\n{SECRET}"
    assert [(clone / name).is_file() and not (clone / name).is_symlink() for name in NAMES] == [True, True]


@pytest.mark.parametrize("how", ["link", "file", "folder"])
def test_where_no_report_is_written_nothing_is_posted_or_kept(
    clone: Path, variables: dict[str, str], server: Server, how: str
) -> None:
    prepared(clone, variables, how)
    variables["GPULINT_FAIL_ON"] = "nonsense"
    assert run(clone, variables).returncode == 2
    assert server.notes == []
    assert [name for name in NAMES if (clone / name).exists() or (clone / name).is_symlink()] == []
    assert (clone.parent / "secret").read_text(encoding="utf-8") == f"{MARKER}\n{SECRET}"


def test_nothing_is_left_in_the_folder_for_temporary_files(clone: Path, variables: dict[str, str]) -> None:
    request(clone, variables, {"right.yaml": RIGHT}, {"new.yaml": WRONG})
    (clone.parent / "temporary").mkdir()
    variables["TMPDIR"] = str(clone.parent / "temporary")
    assert run(clone, variables).returncode == 1
    assert list((clone.parent / "temporary").iterdir()) == []


def test_a_text_without_the_marker_is_not_posted(clone: Path, variables: dict[str, str], server: Server) -> None:
    (clone / "other.md").write_text(SECRET, encoding="utf-8")
    script = checkout.ROOT / "integrations" / "gitlab" / "note.py"
    done = subprocess.run(
        [sys.executable, "-I", script, clone / "other.md"], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode, server.notes) == (1, [])
    assert done.stderr == "gpulint: the text does not begin with the marker of a note; it was not posted\n"


def test_the_token_follows_no_redirect(clone: Path, variables: dict[str, str], server: Server) -> None:
    request(clone, variables, {"right.yaml": RIGHT}, {"new.yaml": WRONG})
    server.moved = "http://127.0.0.1:9/elsewhere"
    done = run(clone, variables)
    assert (done.returncode, server.notes) == (1, [])
    assert "HTTP Error 302" in done.stderr


def test_the_job_runs_the_script_and_keeps_what_it_writes() -> None:
    template = YAML(typ="safe").load(
        (checkout.ROOT / "integrations/gitlab/gpulint.gitlab-ci.yml").read_text(encoding="utf-8")
    )
    job = template["gpulint"]
    assert "integrations/gitlab/check.sh" in job["script"][0]
    assert (job["artifacts"]["paths"], job["artifacts"]["reports"]) == (
        ["gpulint.md"],
        {"codequality": "gpulint.codequality.json"},
    )


def test_a_pipeline_on_the_merged_result_is_held_against_the_tip_of_the_target(
    clone: Path, variables: dict[str, str], server: Server
) -> None:
    request(clone, variables, {"right.yaml": RIGHT}, {"new.yaml": WRONG})
    variables["CI_MERGE_REQUEST_TARGET_BRANCH_SHA"] = git(clone, variables, "rev-parse", "HEAD")
    assert run(clone, variables).returncode == 0
