"""Program: the name of what a command runs, where no engine claims it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from gpulint.engines import Argument, Invocation

PREPARES = frozenset(
    {
        *(
            "[",
            "[[",
            "alias",
            "apt",
            "apt-get",
            "awk",
            "cat",
            "cd",
            "chmod",
            "chown",
            "cp",
            "curl",
            "date",
            "df",
            "echo",
            "eval",
        ),
        *(
            "exit",
            "export",
            "false",
            "find",
            "git",
            "grep",
            "head",
            "hostname",
            "id",
            "kill",
            "let",
            "ln",
            "local",
            "ls",
        ),
        *(
            "mkdir",
            "mv",
            "pip",
            "pip3",
            "printf",
            "ps",
            "pwd",
            "read",
            "return",
            "rm",
            "sed",
            "set",
            "shift",
            "source",
            "tail",
        ),
        *(
            "tar",
            "tee",
            "test",
            "touch",
            "trap",
            "true",
            "ulimit",
            "uname",
            "unset",
            "unzip",
            "wait",
            "wget",
            "whoami",
            "yum",
        ),
        *(
            ".",
            ":",
            "conda",
            "break",
            "continue",
            "declare",
            "dnf",
            "module",
            "nproc",
            "python-config",
            "shopt",
            "sleep",
            "ldconfig",
            "service",
        ),
        *(
            "huggingface-cli",
            "hf",
            "ssh-keygen",
            "cmake",
            "make",
            "ninja",
            "sysctl",
            "tensorboard",
            "systemctl",
            "sudo",
            "uv",
            "until",
            "while",
            "apk",
            "aws",
            "gsutil",
        ),
    }
)
"""Commands that prepare a container or wait in it.

One of them is the program only if nothing else runs.
"""
PYTHON = re.compile(r"python[\d.]*")


def find_program(invocations: Iterable[Invocation]) -> Argument | None:
    """Return the program of a container: the first that does not merely prepare; None if the image
    decides.
    """
    names = [
        name for invocation in invocations if not invocation.entrypoint and (name := _find_name(invocation.arguments))
    ]
    running = (name for name in names if name.text not in PREPARES)
    return next(running, names[0] if names else None)


def _find_name(words: tuple[Argument, ...]) -> Argument | None:
    """Return the program's own name, or the module or script that an interpreter runs."""
    if not words or words[0].text is None:
        return None
    name = posixpath.basename(words[0].text)
    if not PYTHON.fullmatch(name):
        return words[0]._replace(text=name) if name else None
    for at, word in enumerate(words[1:], 1):
        if word.text == "-m" and at + 1 < len(words):
            return words[at + 1] if words[at + 1].text else None
        if word.text is None or not word.text.startswith("-"):
            return word._replace(text=posixpath.basename(word.text)) if word.text else None
        if word.text == "-c":
            break
    return words[0]._replace(text=name)
