"""The documentation as a folder of Markdown: generated pages and, where asked for, the pages written by hand."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from gpulint.cli.explain import reference_pages
from gpulint.cli.progress import show_progress
from gpulint.policy.rules import rule
from gpulint.version import PROJECT

MANIFEST = ".gpulint-docs"
"""The file that lists what gpulint wrote into a folder, one path a line."""
LISTED_MAX = 3
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?P<label>[^\]]*)\]\((?P<target>[^)\s]+)\)|`(?P<code>[^`\n]+)`")
EXPLAIN = "gpulint explain "
NOUNS = ("rule", "fact", "engine", "adapter")
"""What a name may be, in the order in which a page is looked for."""

Contents = Mapping[str, bytes]
"""The files of a site by their path in it."""


class SiteError(Exception):
    """The site cannot be written as asked; nothing was written."""


def collect(handwritten: Path | None) -> Contents:
    """Every file of the site, with the hand-written pages of a folder among them."""
    generated = dict(show_progress(reference_pages.render_all(), "pages written"))
    if handwritten is None:
        return {path: _remove_dead_links(path, text, generated).encode() for path, text in generated.items()}
    files = {path: text.encode() for path, text in generated.items()}
    for path, content in _read(handwritten):
        tables = reference_pages.render_engine_tables(path)
        if path in generated and tables is None:
            raise SiteError(f"{handwritten / path} has the name of a generated page; rename it")
        adapted = adapt(path, content, handwritten.name) if path.endswith(".md") else content
        files[path] = adapted if tables is None else adapted.rstrip() + b"\n\n" + tables.encode()
    return files


def check_target(folder: Path, handwritten: Path | None) -> None:
    """Raise SiteError unless the folder is new, empty, or holds only what an earlier run wrote."""
    target = folder.resolve()
    if target.exists() and not target.is_dir():
        raise SiteError(f"{folder} is not a folder")
    if Path.cwd().is_relative_to(target):
        raise SiteError(f"{folder} is or contains the current folder; choose another folder")
    if handwritten:
        pages = handwritten.resolve()
        if pages.is_relative_to(target) or target.is_relative_to(pages):
            raise SiteError(f"one of {folder} and {handwritten} contains the other; choose a folder elsewhere")
    written = _list_written(target)
    foreign = (path for path in _list_files(target) if path not in written)
    if shown := tuple(itertools.islice(foreign, LISTED_MAX)):
        raise SiteError(f"{folder} contains files that gpulint docs did not write, such as {', '.join(sorted(shown))}")


def write(folder: Path, contents: Contents) -> None:
    """Replace the folder by one with these files; after a failure it is as it was."""
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as work:
        staged, earlier = Path(work, "new"), Path(work, "old")
        manifest = "".join(f"{path}\n" for path in sorted(contents))
        for path, content in (*contents.items(), (MANIFEST, manifest.encode())):
            place = staged / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        if target.exists():
            os.rename(target, earlier)
        try:
            os.rename(staged, target)
        except BaseException:
            if earlier.exists() and not target.exists():
                os.rename(earlier, target)
            raise


def adapt(path: str, content: bytes, folder: str) -> bytes:
    """A hand-written page with links to generated pages, and with none to files outside its folder."""
    link = reference_pages.links_from(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise SiteError(f"{folder}/{path} is not UTF-8") from None
    return _replace_links(text, lambda found: _adapt_link(found, path, folder, link)).encode()


def _replace_links(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    """A page with other links, but for those inside code blocks."""
    prose, blocks = BLOCK.split(text), [*BLOCK.findall(text), ""]
    return "".join(LINK.sub(replace, part) + block for part, block in zip(prose, blocks, strict=True))


def _adapt_link(found: re.Match[str], path: str, folder: str, link: Callable[[str, str], str]) -> str:
    if code := found["code"]:
        target = _explain(code, link)
        return f"[`{code}`]({target})" if target else found[0]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found["target"]))
    if ":" in found["target"] or not target.startswith("../"):
        return found[0]
    address = posixpath.normpath(posixpath.join(folder, target))
    return f"[{found['label']}]({PROJECT}/blob/main/{address})" if PROJECT else found["label"]


def _explain(code: str, link: Callable[[str, str], str]) -> str:
    """The link from the name of a rule, or from `gpulint explain NAME`; empty where there is no page."""
    if code.startswith(EXPLAIN):
        return next(filter(None, (link(noun, code.removeprefix(EXPLAIN)) for noun in NOUNS)), "")
    return link("rule", code) if code in rule.load_shipped() else ""


def _remove_dead_links(path: str, text: str, pages: Collection[str]) -> str:
    """A generated page that names the hand-written pages in place of linking to them."""

    def replace(found: re.Match[str]) -> str:
        file = (found["target"] or "").partition("#")[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        is_dead = file.endswith(".md") and ":" not in file and target not in pages
        return f"`docs/{target}`" if is_dead else found[0]

    return _replace_links(text, replace)


def _read(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.is_file() and not any(step.startswith(".") for step in path.split("/")):
            yield path, file.read_bytes()


def _list_files(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*"):
        if not file.is_dir() or file.is_symlink():
            yield file.relative_to(folder).as_posix()


def _list_written(folder: Path) -> frozenset[str]:
    manifest = folder / MANIFEST
    written = manifest.read_text(encoding="utf-8", errors="replace").splitlines() if manifest.is_file() else ()
    return frozenset((MANIFEST, *written)) if written else frozenset()
