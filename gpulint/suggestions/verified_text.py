"""Written: alternatives carried out in the text of their file and judged there by the same rules, before anybody sees them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.report.model import Finding, Report, Suggestion
from gpulint.source import documents
from gpulint.source.documents import Loaded
from gpulint.source.repository import Source
from gpulint.suggestions.edits import apply as fix
from gpulint.suggestions.edits.apply import Files
from gpulint.suggestions.edits.splices import Inexact
from gpulint.suggestions.verification import Judge, Proof


def answered(
    found: Sequence[Finding],
    path: str,
    content: bytes,
    read: Callable[[str], bytes | None],
    linted: Callable[[Files], Report],
    judge: Judge,
) -> Iterator[Finding]:
    """Findings of a file with the alternatives that hold in its text, whose edits tell the characters that they change.

    One that has no exact place was checked by its facts, and stays; another word has no facts.
    """
    asked: dict[bytes, Report] = {}
    proven = Proof(Source(path, content), judge)

    def once(files: Files, alternatives: bool) -> Report:
        key = files[path]
        if len(files) > 1 or alternatives:
            return linted(files)
        if key not in asked:
            asked[key] = linted(files)
        return asked[key]

    for one in found:
        held = [each for each in one.suggestions if _holds(one, each, path, content, once, proven)]
        yield one._replace(suggestions=placed(held, path, content, read))


def placed(
    found: Iterable[Suggestion], path: str, content: bytes, read: Callable[[str], bytes | None]
) -> tuple[Suggestion, ...]:
    """Alternatives whose edits tell the characters that they change, in a file and in those that `read` reads."""

    @functools.cache
    def loaded(name: str) -> tuple[Loaded, str] | None:
        held = content if name == path else read(name)
        known = documents.load(name, held or b"")
        return (known, fix.decoded(held)) if held and known.documents else None

    return tuple(fix.placed(one, loaded) for one in found)


def _holds(finding: Finding, one: Suggestion, path: str, content: bytes, linted: fix.Linted, proven: Proof) -> bool:
    """Whether an alternative holds in the text: one of values by what rules say of the roles, another word by the report."""
    if one.values:
        return not proven.objection(one, [finding.rule], (finding.workload, finding.role))
    try:
        fix.written(one, {path: content})
    except Inexact:
        return False
    return fix.holds(finding, one, path, {path: content}, linted)
