"""Unread variables: names of an engine's own form that no release of it reads, or that later releases no longer read.

`catalog/variable_names.csv` lists the names that an engine reads, `unread_variables.csv` what sets the same as a name that
it does not read. A variable that is named after an argument is read from that argument only: vLLM has no rule that forms
names of variables from those of arguments (vllm/envs.py), and llama.cpp and Text Generation Inference, which have, are not
checked here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from gpulint.catalog import slips, tables
from gpulint.engines import Argument, Invocation, command_line, image_tags
from gpulint.workload import Field, gather

PREFIXES = {"vllm": "VLLM_", "ollama": "OLLAMA_"}
"""The first word of the names that an engine reads."""
LIBRARIES = {"vllm": "vLLM", "ollama": "Ollama"}
OFFICIAL = {
    "vllm": re.compile(r"(?:^|/)vllm/vllm-openai(?:[:@]|$)"),
    "ollama": re.compile(r"(?:^|/)ollama/ollama(?:[:@]|$)"),
}
"""The makers' images. Others may start a script that reads names of its own, and builds for other devices read more."""
LISTED_COMPLETELY = frozenset({"ollama"})
"""Engines for which the table of names is complete, so that any other name is unread."""
NEWEST = "9999"
"""The release of an image whose tag moves with the releases."""
ELSEWHERE = "ollama serve --help lists the variables that it reads"


def find(engine: str, release: str, invocation: Invocation) -> dict[str, Field]:
    """Return the variables of a program that are named after its engine and that the engine does not read."""
    prefix = PREFIXES.get(engine)
    if prefix is None or not any(name.startswith(prefix) for name in invocation.environment):
        return {}
    if not _is_the_engine(engine, invocation):
        return {}
    official = OFFICIAL[engine].search(invocation.image.text or "")
    newest = not release and official is not None and not image_tags.is_pinned(invocation.image)
    return gather(_list_unread(engine, NEWEST if newest else release, invocation.environment))


def _is_the_engine(engine: str, invocation: Invocation) -> bool:
    """Return whether the engine itself gets the variables, and not a script of an image that nobody has read."""
    if OFFICIAL[engine].search(invocation.image.text or ""):
        return True
    return engine == "vllm" and not invocation.entrypoint and bool(invocation.arguments)


def _list_unread(engine: str, release: str, environment: Mapping[str, Argument]) -> Iterator[dict[str, Field]]:
    for name, argument in environment.items():
        written = argument.origin.document.text
        if (
            not name.startswith(PREFIXES[engine]) or name not in written
        ):  # a file of variables serves other programs too
            continue
        instead = _find_instead(engine, name, release)
        if instead and not is_used(name, written):
            yield {
                "unread_engine_variable": Field(name, (argument.origin,)),
                "unread_engine_variable_instead": Field(instead),
            }


def _find_instead(engine: str, name: str, release: str) -> str:
    """Return what to do about a variable that an engine does not read; empty if it may read it."""
    row = _load_unread().get((engine, name))
    if row is not None:
        gone = tables.release(row["until"])
        known = tables.release(release)
        return row["instead"] if not gone or (known is not None and known >= gone) else ""
    if name in _load_read(engine) or slips.find_nearest(name, _load_read(engine)):  # a slip is reported as one
        return ""
    if engine == "vllm":
        flag = f"--{name.removeprefix(PREFIXES[engine]).lower().replace('_', '-')}"
        found = command_line.flags(engine).get(flag)
        return f"its argument {flag} sets this" if found is not None and not found.until else ""
    return ELSEWHERE if engine in LISTED_COMPLETELY else ""


def is_used(name: str, text: str) -> bool:
    """Return whether a text reads a variable by its name, other than to pass it on under the same name.

    >>> is_used("VLLM_DTYPE", "vllm serve --dtype $VLLM_DTYPE"), is_used("VLLM_DTYPE", "VLLM_DTYPE=${VLLM_DTYPE:-auto}")
    (True, False)
    """
    passed = rf"\b{name}[\"']?\s*[=:]\s*[\"']?\$\{{?{name}\b"
    read = rf"\$[\{{(]?{name}\b|(?:environ|getenv)\W{{1,6}}(?:get\W{{1,3}})?{name}\b"
    return len(re.findall(read, text)) > len(re.findall(passed, text))


@functools.cache
def _load_unread() -> Mapping[tuple[str, str], tables.Row]:
    return {(row["engine"], row["variable"]): row for row in tables.rows("unread_variables")}


@functools.cache
def _load_read(engine: str) -> frozenset[str]:
    library = LIBRARIES[engine]
    return frozenset(
        name for row in tables.rows("variable_names") if row["library"] == library for name in row["names"].split()
    )
