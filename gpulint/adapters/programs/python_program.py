"""Python program: which script or module of the repository a command starts, and with which words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.adapters.programs import launchers
from gpulint.adapters.programs.launchers import AS_MODULE, PYTHON, PYTHON_VALUES
from gpulint.engines import Argument, Invocation
from gpulint.workload import Command

FILE = re.compile(r"[^\s=]+\.(?:py|ipynb)")
APPLICATION = re.compile(r"(?P<module>[A-Za-z_][\w.]*)(?::[\w.()]+)?")
SERVERS = frozenset({"uvicorn", "gunicorn", "hypercorn", "granian"})
"""Servers that import `module:application`."""
RUNNERS = frozenset({"streamlit", "fastapi", "modal", "papermill", "chainlit", "solara", "marimo", "ipython", "runpod"})
VERBS = frozenset({"run", "serve", "dev", "deploy", "shell"})
VALUES = re.compile(
    r"--?(?:w|workers|b|bind|k|worker-class|host|port|t|timeout|c|config|log-level|chdir|app-dir|reload-dir|e|env)"
)
MODULE = "-m"


class Started(NamedTuple):
    """A program: the word that names it, the path or module that it names, and the words behind it.

    An `imported` one is a module that a server imports under its own name.
    """

    word: Argument
    path: str
    words: tuple[Argument, ...]
    is_module: bool = False
    imported: bool = False


def find(words: Sequence[Argument]) -> Started | None:
    """Return the Python program that a command without launchers starts; None if it starts none."""
    if not words:
        return None
    name = launchers.base(words[0])
    if words[0].text in AS_MODULE and len(words) > 1:
        return _name_module(words[1:])
    if PYTHON.fullmatch(name):
        return _find_behind(words[1:])
    if name in SERVERS:
        return _find_application(words[1:])
    if name in RUNNERS or (name == "serve" and len(words) > 1 and words[1].text == "run"):
        return _find_run(words[1:])
    if FILE.fullmatch(words[0].source_text):
        return Started(words[0], words[0].source_text, tuple(words[1:]))
    return None


def _find_behind(words: Sequence[Argument]) -> Started | None:
    """Return the script or the module that an interpreter gets."""
    at = 0
    while at < len(words):
        text = words[at].source_text
        if text == MODULE:
            inner = words[at + 1 :]
            server = launchers.base(inner[0]) if inner else ""
            return _find_application(inner[1:]) if server in SERVERS else _name_module(inner)
        if text == "-c":
            return None
        if not text.startswith("-"):
            return Started(words[at], text, tuple(words[at + 1 :])) if FILE.fullmatch(text) else None
        at += 2 if text in PYTHON_VALUES else 1
    return None


def _name_module(words: Sequence[Argument]) -> Started | None:
    named = words[0].text if words else None
    if not named or not re.fullmatch(r"[A-Za-z_][\w.]*", named):
        return None
    return Started(words[0], named, tuple(words[1:]), is_module=True)


def _find_application(words: Sequence[Argument]) -> Started | None:
    """Return the module that a server of web applications imports."""
    at = 0
    while at < len(words):
        text = words[at].text or ""
        match = APPLICATION.fullmatch(text)
        if match and (":" in text or "." in text or len(words) == 1):
            return Started(words[at], match["module"], (), is_module=True, imported=True)
        at += 2 if VALUES.fullmatch(text) else 1
    return None


def _find_run(words: Sequence[Argument]) -> Started | None:
    """Return the file behind `streamlit run` and the like."""
    behind = [word for word in words if word.text not in VERBS]
    word = next((word for word in behind if FILE.fullmatch(word.source_text.partition("::")[0])), None)
    if word is None:
        return _find_application(behind)
    return Started(word, word.source_text.partition("::")[0], ())


def choose(invocations: Iterable[Invocation]) -> Command | None:
    """Return the command of the last of a container's programs that is one of Python."""
    found = None
    for invocation in invocations:
        words = launchers.unwrap(invocation.arguments).words
        if find(words) is not None:
            variables = {**invocation.environment, **invocation.exported}
            found = Command(invocation.image, words, variables, invocation.further_environment)
    return found
