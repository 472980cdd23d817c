"""Release: `python .ci/release.py X.Y.Z` commits and tags a version, and builds its wheel and source archive into dist/.

Everything is made and tried in a clone; the branch moves and the tag appears only after that.
"""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
DECLARED = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)
PINNED = ("README.md", "docs", "integrations")
"""The files that show users which tag to install."""


class ReleaseError(Exception):
    """The release cannot be made as asked; nothing was changed."""


def run(folder: Path, *words: str | Path) -> str:
    """What a command prints; ReleaseError with its output where it fails."""
    done = subprocess.run(words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, words))} failed:\n{done.stdout.strip()}")
    return done.stdout.strip()


def check(root: Path, version: str) -> str:
    """Return the notes of a version that may be released from the branch that is checked out."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version} is not a version such as 0.2.0 or 0.2.0rc1")
    if changes := run(root, "git", "status", "--porcelain"):
        raise ReleaseError(f"the work tree has changes; commit them first:\n{changes}")
    if not run(root, "git", "branch", "--show-current"):
        raise ReleaseError("no branch is checked out")
    if run(root, "git", "tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists")
    notes = read_notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not notes:
        raise ReleaseError(f"CHANGELOG.md has no entries under '## {version} (unreleased)'")
    return notes


def read_notes(changelog: str, version: str) -> str:
    """Return the entries of the section of a version that is not released; empty where there are none."""
    section = re.search(
        rf"^## {re.escape(version)} \(unreleased\)$(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return section[1].strip() if section else ""


def write_version(root: Path, version: str, today: str) -> None:
    """Set the version, date its section, and name its tag where users are told what to install."""
    module = root / "gpulint" / "version.py"
    text = module.read_text(encoding="utf-8")
    declared = DECLARED.search(text)
    if declared is None:
        raise ReleaseError(f"{module} declares no __version__")
    module.write_text(DECLARED.sub(f'__version__ = "{version}"', text), encoding="utf-8")
    changelog = root / "CHANGELOG.md"
    dated = changelog.read_text(encoding="utf-8").replace(f"## {version} (unreleased)", f"## {version} ({today})", 1)
    changelog.write_text(dated, encoding="utf-8")
    if declared["version"] != version:
        rename_tag(root, f"v{declared['version']}", f"v{version}")


def rename_tag(root: Path, old: str, new: str) -> None:
    """Replace a tag where README, docs and integrations name it."""
    for name in run(root, "git", "ls-files", *PINNED).splitlines():
        file = root / name
        content = file.read_bytes()
        if old.encode() in content:
            file.write_bytes(re.sub(rf"{re.escape(old)}(?![\d.]*\d)".encode(), new.encode(), content))


def build(root: Path, version: str, work: Path) -> list[Path]:
    """Return the wheel and the source archive of a clone, after the wheel has run in an environment of its own."""
    run(root, sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "dist", root)
    run(work, sys.executable, "-m", "venv", work / "user")
    (wheel,) = (work / "dist").glob("*.whl")
    scripts = work / "user" / ("Scripts" if sys.platform == "win32" else "bin")
    run(work, scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    if (shown := run(work, scripts / "gpulint", "--version")) != f"gpulint {version}":
        raise ReleaseError(f"the wheel says {shown}, not gpulint {version}")
    return sorted((work / "dist").iterdir())


def release(root: Path, version: str, today: str) -> list[Path]:
    """Commit, build and tag a version; return the files to publish."""
    notes = check(root, version)
    branch = run(root, "git", "branch", "--show-current")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        clone = work / "gpulint"
        run(work, "git", "clone", "--quiet", "--no-hardlinks", root, clone)
        for key in ("user.name", "user.email"):
            run(clone, "git", "config", key, run(root, "git", "config", key))
        write_version(clone, version, today)
        run(clone, "git", "commit", "--quiet", "--all", "--message", f"Release {version}")
        made = build(clone, version, work)
        message = f"gpulint {version}\n\n{notes}"
        run(clone, "git", "tag", "--annotate", f"v{version}", "--cleanup=whitespace", "--message", message)
        run(root, "git", "fetch", "--quiet", "--no-tags", clone, branch)
        run(root, "git", "merge", "--quiet", "--ff-only", "FETCH_HEAD")
        run(root, "git", "fetch", "--quiet", clone, f"refs/tags/v{version}:refs/tags/v{version}")
        (root / "dist").mkdir(exist_ok=True)
        return [Path(shutil.copy(file, root / "dist")) for file in made]


def main(words: list[str]) -> int:
    """Release the version that the command line names."""
    if len(words) != 1:
        print("usage: python .ci/release.py X.Y.Z", file=sys.stderr)
        return 2
    root = Path(__file__).resolve().parent.parent
    try:
        files = release(root, words[0], datetime.date.today().isoformat())
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    branch = run(root, "git", "branch", "--show-current")
    print(f"released {words[0]} on {branch}, as tag v{words[0]}; now:")
    print(f"  git push origin {branch} v{words[0]}")
    print(f"  publish {' and '.join(str(file.relative_to(root)) for file in files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
