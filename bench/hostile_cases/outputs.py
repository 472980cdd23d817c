"""What a run printed: the JSON report read strictly, and the words that must not reach what reads another format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that reverse text."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CODE = re.compile(r"^(`{3,}).*?^\1`*$|(`+)[^`\n](?:.*?[^`])?\2(?!`)", re.MULTILINE | re.DOTALL)
"""Code of Markdown, in which nothing is markup."""
JSON_FORMATS = frozenset({"gitlab", "json", "rdjson", "sarif"})
XML_FORMATS = frozenset({"checkstyle", "junit"})
COMMANDS = ("::error ", "::warning ", "::notice ", "::group::", "::endgroup::")


class Finding(NamedTuple):
    """A finding of a report: its rule, its path, and whether it fails the run."""

    rule: str
    path: str
    is_failing: bool


class Found(NamedTuple):
    """A report: its findings, the paths that were skipped, what is invalid about its JSON, and the hints of a change."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[str, ...] = ()
    invalid: str = ""
    hints: tuple[str, ...] = ()


def read_report(path: Path) -> Found | None:
    """Return a JSON report; None if there is none."""
    if not path.is_file():
        return None
    try:
        data = parse_strictly(path.read_text(encoding="utf-8"))
    except ValueError as error:
        return Found(invalid=str(error)[:200])
    assert isinstance(data, dict)
    found = (entry for entry in data["findings"] if entry["suppressed"] is None)
    findings = [Finding(entry["rule"], entry["path"], entry["severity"] == "error") for entry in found]
    hints = tuple(entry["text"] for entry in (data["comparison"] or {}).get("hints", ()))
    return Found(tuple(findings), tuple(entry["path"] for entry in data["skipped"]), hints=hints)


def parse_strictly(text: str) -> object:
    """Return JSON; raise ValueError for NaN, Infinity and a key that is stated twice."""
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_build_object)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("a key is stated twice")
    return built


def find_faults(format: str, printed: bytes) -> Iterator[str]:
    """Yield what in the output of a format could be taken for something else."""
    text = printed.decode("utf-8", "replace")
    body = text.partition("\ngpulint: ")[0]
    shown = COLOURS.sub("", text) if format == "text" else text
    if unsafe := UNSAFE.search(shown.replace("\r\n", "\n")):
        yield f"its output holds the control character U+{ord(unsafe[0]):04X}"
    if format in JSON_FORMATS:
        yield from _find_json_faults(body)
    elif format in XML_FORMATS:
        yield from _find_xml_faults(body)
    elif format == "github":
        lines = [line for line in text.splitlines() if line.startswith("::") and not line.startswith(COMMANDS)]
        yield from ("a name became a workflow command" for line in lines if "owned" in line[:40])
    elif format == "markdown":
        shown = CODE.sub("", text)
        words = (word for word in ("<script", "![i](", "<img") if word in shown)
        yield from (f"the comment holds {word!r}" for word in words)
    if any(line.startswith("::error::owned") for line in text.splitlines()):
        yield "a name became a workflow command"


def _find_json_faults(text: str) -> Iterator[str]:
    try:
        parse_strictly(text[: text.rfind("}" if text.startswith("{") else "]") + 1])
    except ValueError as error:
        yield f"its output is invalid: {str(error)[:100]}"


def _find_xml_faults(text: str) -> Iterator[str]:
    try:
        ElementTree.fromstring(text[: text.rfind(">") + 1])
    except ElementTree.ParseError as error:
        yield f"its output is invalid: {error}"
