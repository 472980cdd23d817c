"""Words and paths that are markup or commands in a report."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    Case,
    one,
)
from hostile_cases.specs import (
    POD,
)

FORMATS = ("checkstyle", "concise", "github", "gitlab", "json", "junit", "markdown", "rdjson", "sarif", "text")
EVIL = "x\x1b]0;owned\x07\x1b[31m ]]><script>alert(1)</script> \"'&lt; <!-- --> | `t` ![i](http://e.example/x) @octocat \u202etxt\u2066 ::error::owned"
"""Words that are markup in some format."""


def list_cases() -> Iterator[Case]:
    """Yield inputs whose names a report prints."""
    for cases in (_words_in_reports(), _paths_in_reports()):
        yield from cases


def _words_in_reports() -> Iterator[Case]:
    quoted = json.dumps(EVIL)
    text = POD.replace("name: chat", f"name: {quoted}").replace("name: vllm", f"name: {quoted}")
    text = text.replace("--model=Qwen/Qwen3-8B", "--model=" + quoted[1:-1])
    for name in FORMATS:
        words = ("check", "--format", name, "pod.yaml")
        yield Case(f"words-{name}", "words in reports", CAUGHT, one("pod.yaml", text.encode()), words=words)


def _paths_in_reports() -> Iterator[Case]:
    evil = "a\n::error::owned \"'<b>]]>&`|\u202e@x\x1b[31m.yaml"
    for name in FORMATS:
        words = ("check", "--format", name, "--color", ".") if name == "text" else ("check", "--format", name, ".")
        yield Case(f"paths-{name}", "paths in reports", CAUGHT, one(evil, POD.encode()), words=words)
    yield Case(
        "path-not-utf-8", "paths in reports", CAUGHT, one("pod-\udcff\udcfe.yaml", POD.encode()), words=("check", ".")
    )
    yield Case(
        "path-of-dashes", "paths in reports", CAUGHT, one("--exit-zero.yaml", POD.encode()), words=("check", ".")
    )
    yield Case(
        "path-of-git-words",
        "paths in reports",
        CAUGHT,
        one(":(exclude)pod.yaml", POD.encode()),
        words=("check", "."),
        git=True,
    )
    yield Case(
        "path-of-percent",
        "paths in reports",
        CAUGHT,
        one("%0a::error::%0D.yaml", POD.encode()),
        words=("check", "--format", "github", "."),
    )
