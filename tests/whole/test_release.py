"""`python .ci/release.py X.Y.Z` commits, tags and builds a version, or changes nothing."""

from __future__ import annotations

import datetime
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import committed, environment, git
from folders import ROOT

SCRIPT = ROOT / ".ci" / "release.py"
if not SCRIPT.exists():
    pytest.skip("a source archive has no release script", allow_module_level=True)

FILES = {
    ".gitignore": "dist/\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.2.0 (unreleased)\n\n- One thing.\n- Another.\n\n## 0.1.0 (2026-01-02)\n\n- The first.\n",
    "README.md": "rev: v0.1.0, not v0.1.01\n",
    "docs/integrations.md": "uses: gpulint@v0.1.0\n",
    "gpulint/__init__.py": "",
    "gpulint/version.py": '__version__ = "0.1.0"\n',
    "gpulint/cli.py": "from gpulint.version import __version__\n\n\ndef main():\n    print('gpulint', __version__)\n",
    "pyproject.toml": (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "gpulint"\ndynamic = ["version"]\n[project.scripts]\ngpulint = "gpulint.cli:main"\n'
        '[tool.hatch.version]\npath = "gpulint/version.py"\n'
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A small project with the release script, and the environment in which to call it."""
    (tmp_path / "home").mkdir()
    variables = environment(tmp_path / "home")
    root = tmp_path / "project"
    for name, text in {**FILES, ".ci/release.py": SCRIPT.read_text(encoding="utf-8")}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    committed(root, variables)
    for key in ("user.name", "user.email"):
        git(root, variables, "config", key, "releaser")
    return root, variables


def release(project: tuple[Path, dict[str, str]], *words: str) -> subprocess.CompletedProcess[str]:
    root, variables = project
    command = [sys.executable, str(root / ".ci" / "release.py"), *words]
    return subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)


def state(project: tuple[Path, dict[str, str]]) -> tuple[str, ...]:
    root, variables = project
    return tuple(
        git(root, variables, *words.split()) for words in ("rev-parse HEAD", "tag --list", "status --porcelain")
    )


@pytest.mark.sweep
def test_a_release_is_committed_tagged_and_built(project: tuple[Path, dict[str, str]]) -> None:
    root, variables = project
    before = git(root, variables, "rev-parse", "HEAD")
    done = release(project, "0.2.0")
    files = ("dist/gpulint-0.2.0-py2.py3-none-any.whl", "dist/gpulint-0.2.0.tar.gz")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == (
        "released 0.2.0 on main, as tag v0.2.0; now:\n  git push origin main v0.2.0\n"
        f"  publish {files[0]} and {files[1]}\n"
    )
    assert all((root / file).is_file() for file in files)
    today = datetime.date.today().isoformat()
    assert f"## 0.2.0 ({today})\n\n- One thing." in (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (root / "gpulint/version.py").read_text(encoding="utf-8") == '__version__ = "0.2.0"\n'
    assert (root / "README.md").read_text(encoding="utf-8") == "rev: v0.2.0, not v0.1.01\n"
    assert (root / "docs/integrations.md").read_text(encoding="utf-8") == "uses: gpulint@v0.2.0\n"
    assert git(root, variables, "rev-parse", "v0.2.0^{commit}") == git(root, variables, "rev-parse", "main")
    assert git(root, variables, "rev-parse", "main^") == before
    assert (
        git(root, variables, "tag", "--list", "--format=%(contents)").strip()
        == "gpulint 0.2.0\n\n- One thing.\n- Another."
    )
    assert git(root, variables, "status", "--porcelain") == ""


def test_a_release_that_cannot_be_built_changes_nothing(project: tuple[Path, dict[str, str]]) -> None:
    root, variables = project
    (root / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'missing'\n", encoding="utf-8")
    git(root, variables, "commit", "-qam", "broken")
    before = state(project)
    done = release(project, "0.2.0")
    assert (done.returncode, "-m build" in done.stderr) == (1, True)
    assert state(project) == before
    assert not (root / "dist").exists()


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.3.0", "CHANGELOG.md has no entries under '## 0.3.0 (unreleased)'"),
        ("0.1.0", "CHANGELOG.md has no entries under '## 0.1.0 (unreleased)'"),
        ("v0.2.0", "v0.2.0 is not a version such as 0.2.0 or 0.2.0rc1"),
    ],
)
def test_a_version_without_a_section_is_refused(
    project: tuple[Path, dict[str, str]], version: str, reason: str
) -> None:
    before = state(project)
    done = release(project, version)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"release: {reason}\n")
    assert state(project) == before


@pytest.mark.parametrize("name", ["README.md", "new.txt"])
def test_a_tree_with_changes_is_refused(project: tuple[Path, dict[str, str]], name: str) -> None:
    (project[0] / name).write_text("changed\n", encoding="utf-8")
    before = state(project)
    done = release(project, "0.2.0")
    assert (done.returncode, "the work tree has changes; commit them first:\n" in done.stderr) == (1, True)
    assert state(project) == before


def test_a_version_that_has_a_tag_is_refused(project: tuple[Path, dict[str, str]]) -> None:
    git(*project, "tag", "v0.2.0")
    assert release(project, "0.2.0").stderr == "release: the tag v0.2.0 exists\n"


def test_a_release_without_a_branch_is_refused(project: tuple[Path, dict[str, str]]) -> None:
    git(*project, "checkout", "-q", "--detach")
    assert release(project, "0.2.0").stderr == "release: no branch is checked out\n"


def test_no_version_or_two_are_a_mistake(project: tuple[Path, dict[str, str]]) -> None:
    assert [release(project, *words).returncode for words in ((), ("0.2.0", "0.3.0"))] == [2, 2]


def test_the_changelog_has_a_section_for_the_next_release() -> None:
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    root = SCRIPT.parent.parent
    version = module.DECLARED.search((root / "gpulint" / "version.py").read_text(encoding="utf-8"))["version"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert module.read_notes(changelog, version) or f"## {version} (20" in changelog
