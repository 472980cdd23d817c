"""Requested models: the names by which the files beside an Ollama server ask it for models.

An Ollama server is started without a model. What it runs, other files of the repository tell: commands that pull a
model, requests to its API, and the settings of its clients.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters.platforms import compose_devices
from gpulint.adapters.pods import runtime_class
from gpulint.catalog import architecture
from gpulint.engines.serving import ollama
from gpulint.source import dotenv
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown, Workload

ENGINE = "ollama"
FILES_MAX = 200
FILE_BYTES_MAX = 100_000
BYTES_MAX = 4_000_000
MENU_MAX = 3
"""Models of a file's settings that a server may be asked for. A file that names more offers a choice."""
SETTINGS = r"\.?env(?:[.-][\w.-]+)?|[\w.-]+\.env(?:\.[\w-]+)?"
STARTS = r"[\w.-]+\.(?:sh|bash|ps1|ya?ml)|(?:GNUm|[Mm])akefile|[Jj]ustfile|(?:Docker|Container)file[\w.-]*|[\w.-]+\.[Dd]ockerfile"
PROGRAMS = r"[\w.-]+\.(?:py|ipynb|ts|js|go|toml|json)"
TIERS = (SETTINGS, STARTS, PROGRAMS)
"""Names of files beside the server's own file, those first that say most surely what it is asked for."""
ASIDE = frozenset({"test", "tests", "node_modules", "docs", ".github", "examples"})
"""Folders whose files do not start or use the server of another folder."""

NAME = re.compile(r"[A-Za-z0-9][\w./-]{1,120}(?::[\w.-]{1,60})?")
PULLED = re.compile(r"\bollama[\"']?,?[ \t]+[\"']?(?:pull|run)[\"']?,?[ \t]+[\"']?(?P<written>[^\s\"';&|)\]]{2,160})")
"""A command that pulls or runs a model."""
ASKED = re.compile(
    r"/api/(?:pull|generate|chat|embed|embeddings)\b[^\n]{0,200}?"
    r"\\?[\"'](?:name|model)\\?[\"'][ \t]*:[ \t]*\\?[\"'](?P<written>[^\s\"'\\]{2,160})"
)
"""A request to the server's API."""
SET = re.compile(
    r"(?i)model(?:s|_?name|_?id|_?tag)?(?:_?(?:name|default))?[\"']?\]?[ \t]{0,9}(?::[ \t]{0,9}str[ \t]{0,9})?[:=,][ \t]{0,9}"
    r"(?:default[ \t]{0,3}=[ \t]{0,3})?(?:os\.(?:getenv|environ\.get)\([ \t]{0,3}[\"']\w{1,60}[\"'],[ \t]{0,3})?[\"']?"
    r"(?P<written>\$\{\w{1,60}:?-[^}\s]{2,160}\}|[A-Za-z0-9][\w./:-]{1,160})"
)
"""A setting, an argument or a key whose name ends in `model`."""
EVERY = frozenset({compose_devices.ALL, runtime_class.ALL})
"""Why the number of a server's GPUs is unknown if it gets all of its host."""
WORDS = ("odel", "MODEL", "ollama", "/api/")
"""Words without which a file names no model."""
VARIABLE = re.compile(r"\$\{(?P<braced>\w+)(?::?-(?P<otherwise>[^}]*))?\}|\$(?P<plain>[A-Za-z_]\w*)")
COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*")
CONTINUED = re.compile(r"\\\r?\n[ \t]*")


class Named(NamedTuple):
    """Models that one file names, and its path."""

    names: tuple[str, ...]
    path: str


def merge_requests(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the models that its Ollama servers are asked for, and the GPU that each of them takes."""
    named = _find_named(workload, repository) if any(_is_open(role) for role in workload.roles) else None
    return replace(workload, roles=tuple(_complete(role, named) for role in workload.roles))


def _complete(role: Role, named: Named | None) -> Role:
    if _is_open(role):
        return role if named is None else _apply(role, named)
    return role.having(**_place(role)) if role.text("engine") == ENGINE else role


def _is_open(role: Role) -> bool:
    return role.text("engine") == ENGINE and not role.text("checkpoint")


def _apply(role: Role, named: Named) -> Role:
    """Return a role with the largest of the models that it is asked for: each of them must run."""
    before = role.fields.get("checkpoint", Field(None)).origins or (role.anchor,)
    name = max(named.names, key=_measure)
    others = " and ".join(other for other in named.names if other != name)
    said = f"the model is {name}, which {named.path} names" + (f" beside {others}, which need less" if others else "")
    said = role.image_assumption or said
    found = {**ollama.read_model_name(name, before), **_place(role)}
    marked = {
        quantity: replace(field, assumption="; ".join(filter(None, (said, field.assumption))))
        for quantity, field in found.items()
    }
    return replace(role.having(**marked), image_assumption=said)


def _place(role: Role) -> dict[str, Field]:
    """Return one GPU for a server that gets all of its host: Ollama puts a model on one GPU if it fits (docs/faq)."""
    gpus = role.fields.get("gpus_per_pod")
    if gpus is None or not isinstance(gpus.value, Unknown) or gpus.value.reason not in EVERY:
        return {}
    one = Field(1, gpus.origins, assumption="Ollama puts the model on one of the host's GPUs")
    return {"gpus_per_pod": one, "gpus_per_replica": one}


def _measure(name: str) -> float:
    """Return the parameters of a listed model; 0 if they are not known."""
    reference = _find_checkpoint(name)
    known = architecture.resolve(reference).architecture if reference else None
    return float(known.parameters or 0) if known is not None else 0.0


def _find_checkpoint(name: str) -> str:
    """Return the checkpoint that a name of Ollama means; empty if the catalog does not list it."""
    found = ollama.read_model_name(name)["checkpoint"].value
    return found if isinstance(found, str) else ""


# ---- the files that name models


def _find_named(workload: Workload, repository: Repository) -> Named | None:
    """Return the models of the first file that names any: the server's own, its folder's, then others of the repository."""
    own = workload.document.path
    names = _read(workload.document.text, {})
    if names is None or names:
        return Named(names, own) if names else None
    folder, left = posixpath.dirname(own), BYTES_MAX
    known: dict[str, str] = {}
    for tier in TIERS:
        found: list[Named] = []
        for path in _list_near(repository.find_named(tier, own), folder):
            content = repository.read(path) if path != own else None
            if content is None or len(content) > FILE_BYTES_MAX or (left := left - len(content)) < 0:
                continue
            text = content.decode("utf-8", "replace")
            if tier == SETTINGS:
                known = dict(_list_variables(text)) | known
            names = _read(text, known)
            if names:
                found.append(Named(names, path))
        if found:
            return _merge(found, folder)
    return None


def _list_near(paths: Iterable[str], folder: str) -> Sequence[str]:
    """Return the files below the folder of the server, then the others, without those of tests and documents."""
    kept = [path for path in paths if not ASIDE & set(posixpath.relpath(path, folder or ".").split("/")[:-1])]
    return sorted(kept, key=lambda path: (posixpath.relpath(path, folder or ".").count("../"), path))[:FILES_MAX]


def _merge(found: Sequence[Named], folder: str) -> Named:
    """Return the models of all files that lie as near to the server as the nearest."""
    near = [named for named in found if _count_steps(named.path, folder) == _count_steps(found[0].path, folder)]
    names = tuple(dict.fromkeys(name for named in near for name in named.names))
    return Named(names, near[0].path) if len(names) <= MENU_MAX else near[0]


def _count_steps(path: str, folder: str) -> int:
    return posixpath.relpath(path, folder or ".").count("../")


# ---- the names in a text


def _read(text: str, known: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the models that a file pulls or asks for, else the listed ones that its settings name.

    None if it chooses a model at run time.
    """
    if not any(word in text for word in WORDS):
        return ()
    written, settings, own = _scan(text)
    variables = {**known, **dict(own)}
    asked = [_expand(word, variables) for word in written]
    if any("$" in name for name in asked):
        return None
    pulled = [name for name in asked if NAME.fullmatch(name) and (":" in name or _find_checkpoint(name))]
    filled = dict.fromkeys(_expand(word, variables) for word in settings)
    listed = [name for name in filled if NAME.fullmatch(name) and _is_spelled(name) and _find_checkpoint(name)]
    return tuple(dict.fromkeys(pulled)) or (tuple(listed) if len(listed) <= MENU_MAX else ())


@functools.lru_cache(maxsize=FILES_MAX)
def _scan(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the words that a text asks for, those that its settings name, and its variables."""
    plain = CONTINUED.sub(" ", COMMENT.sub("", text))
    asked = (match["written"] for pattern in (PULLED, ASKED) for match in pattern.finditer(plain))
    settings = (match["written"] for match in SET.finditer(plain))
    return tuple(asked), tuple(dict.fromkeys(settings)), tuple(_list_variables(plain))


def _is_spelled(name: str) -> bool:
    """Return whether a name is one of Ollama's own beyond doubt: it has a tag, a hub, or a number."""
    return ":" in name or any(character.isdigit() for character in name)


def _list_variables(text: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that lines of a file set, those of a Dockerfile too."""
    lines = re.sub(r"(?m)^(?:ARG|ENV)[ \t]+", "", text)
    yield from ((entry.name, entry.value) for entry in dotenv.parse(lines))


def _expand(written: str, variables: Mapping[str, str]) -> str:
    """Return a word with the variables that the files set."""

    def replace_variable(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        return variables.get(name) or match["otherwise"] or match[0]

    return VARIABLE.sub(replace_variable, written).strip("\"'")
