"""Insertions: how to declare a quantity that a file leaves at its default, as a new argument or
key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpulint import engines
from gpulint.catalog import tables
from gpulint.report.model import Edit
from gpulint.suggestions.edits import exact_places
from gpulint.workload import Origin, Role, Value

UNNEEDED = frozenset({"tensor_parallel", "pipeline_parallel", "data_parallel"})
"""Sizes that default to one."""
ASSIGNED = re.compile(r"(?:^|[\s;&|(])[A-Za-z_]\w*=[\"']?$")
"""A variable assignment in front of a word; other commands may use the variable too."""
QUOTES = ("'", '"')
NUMBERS = frozenset({"int", "from-zero"})
"""Kinds of a configuration key that takes a number."""
WHOLE_ARGUMENT = re.compile(r"--[\w-]+=")


def insert(role: Role, name: str, value: Value) -> Sequence[Edit] | None:
    """Return the edits that add a quantity; None if there is no certain place for it."""
    if name in UNNEEDED and value == 1:
        return ()
    if name == "gpu_limit":
        return _add_limit(role, value)
    if name == "accelerator":
        return [Edit(name, None, role.text("accelerator"), str(value))]
    written = str(value).lower() if isinstance(value, bool) else str(value)
    if role.arguments and role.arguments.key:
        return [Edit(name, role.arguments.location(), "", f"{name}: {written}", "key")]
    if role.arguments is None or role.text("training_config"):  # LLaMA-Factory takes no flags beside a file
        key = insert_key(role, name, written)
        return [key] if key else None
    return _add_argument(role, role.arguments, name, value)


def _add_argument(role: Role, last: Origin, name: str, value: Value) -> Sequence[Edit] | None:
    """Return the edit that adds an engine argument after the last one, or after another whole
    argument of its list.
    """
    argument = engines.render_argument(role.text("engine"), role.text("engine_version"), name, value)
    beside = next(filter(_takes_words, (last, *_find_siblings(role, last))), None)
    if argument is None or beside is None:
        return None
    written = _quote(argument, beside)
    return None if written is None else [Edit(name, beside.location(), "", written, "argument")]


def add_argument_list(role: Role, name: str, value: Value) -> Sequence[Edit] | None:
    """Return the edit that adds the list of arguments with its first one to a Model of KubeAI; None for other objects."""
    document = role.anchor.document
    of_kubeai = str(document.get(("apiVersion",))).startswith("kubeai.org/")
    argument = engines.render_argument(role.text("engine"), role.text("engine_version"), name, value)
    spec = document.get(("spec",))
    if not of_kubeai or argument is None or " " in argument or not isinstance(spec, dict) or "args" in spec:
        return None
    beside = exact_places.locate(Origin(document, ("spec", next(iter(spec), "")), key=True))
    return [Edit(name, beside.location, "", f"args: [{argument}]", "key")] if beside else None


def _quote(argument: str, beside: Origin) -> str | None:
    """Return an argument as one word, quoted where a shell reads it.

    None means that the quotes would end those of the file.
    """
    several = " " in argument and not argument.partition(" ")[2].startswith("--")
    if not several or (beside.span is None and beside.document.format != "shell"):
        return argument
    node = None if beside.document.format == "shell" else beside.document.node(beside.path)
    flag, _, words = argument.partition("=")
    return None if node is not None and node.style in QUOTES else f'{flag}="{words}"'


def _find_siblings(role: Role, last: Origin) -> Iterator[Origin]:
    """Yield further arguments of the same list that contain their values."""
    if not last.path or not isinstance(last.path[-1], int):
        return
    for origin in (origin for field in role.fields.values() for origin in field.origins):
        listed = origin.document is last.document and origin.path[:-1] == last.path[:-1] and origin.span is None
        if listed and WHOLE_ARGUMENT.match(origin.text()):
            yield origin


def _takes_words(beside: Origin) -> bool:
    """Return whether an argument can follow a place: an item of a list, or a word of a script or
    command.
    """
    place = exact_places.locate(beside)
    if place is None:
        return False
    if beside.span is not None or beside.document.format == "shell":
        return not ASSIGNED.search(place.before)
    if not beside.path:
        return False
    if place.before.rstrip("\"' ").endswith(("-", "[", ",")):
        return True
    node, listed = beside.document.node(beside.path), beside.document.node(beside.path[:-1])
    return (
        listed is not None
        and node is not None
        and listed.kind == "sequence"
        and listed.start <= node.start < listed.end
    )


def _add_limit(role: Role, value: Value) -> Sequence[Edit] | None:
    request = role.fields["gpu_request"].origins[0]
    if request.path[-2:-1] != ("requests",) or exact_places.locate(request) is None:
        return None  # a chart's own key, whose limits stand under another
    beside = exact_places.locate(Origin(request.document, request.path[:-1], key=True))
    if beside is None or beside.text != "requests":
        return None
    return [Edit("gpu_limit", beside.location, "", f"limits: {{{request.path[-1]}: {value}}}", "key")]


# ---- keys of a trainer's configuration file

OWN = "own"
"""The format of a repository's own settings in the table of keys."""


def insert_key(role: Role, name: str, value: str) -> Edit | None:
    """Return the edit that adds the key next to a known one of the same mapping;

    None if that is not certain.
    """
    rows = [row for row in tables.rows("setting_keys") if row["format"] != OWN]  # an own program may not know the key
    declared = [(row["format"], at) for row in rows for at in _locate_keys(role, row)]
    counts = {format: sum(format == row_format for row_format, _ in declared) for format, _ in declared}
    formats = {format for format, count in counts.items() if count == max(counts.values())}
    wanted = {
        tuple(row["key"].split(".")): row
        for row in reversed(rows)
        if row["format"] in formats and row["quantity"] == name
    }
    if len(wanted) != 1 or len({row["format"] for row in rows if row["quantity"] == name} & formats) != len(formats):
        return None
    ((path, row),) = wanted.items()
    word = _find_word(row["kind"], value)
    sibling = next((at for _, at in declared if at.path[:-1] == path[:-1] and _starts_line(at)), None)
    if word is None or sibling is None or sibling.document.node(path) is not None:
        return None
    return Edit(name, sibling.location(), "", f"{path[-1]}: {word}", "key")


def _locate_keys(role: Role, row: tables.Row) -> Iterator[Origin]:
    """Yield where a YAML file declares a row's quantity by the row's key."""
    field = role.fields.get(row["quantity"])
    for origin in field.origins if field else ():
        if origin.document.format == "yaml" and origin.path == tuple(row["key"].split(".")):
            yield Origin(origin.document, origin.path, key=True)


def _starts_line(origin: Origin) -> bool:
    """Return whether a key is the first on its line, as in a block mapping."""
    place = origin.location()
    return not place.text[: place.column - 1].strip()


def _find_word(kind: str, value: Value) -> str | None:
    """Return a value in the spelling of the key's kind; None if no single word fits."""
    kind, _, words = kind.partition(":")
    if kind in NUMBERS:
        return str(value)
    pairs = (pair.partition("=") for pair in words.split(";")) if kind == "word" else ()
    spelled = [word for word, _, meaning in pairs if meaning == value and word not in ("*", "")]
    return spelled[0] if len(spelled) == 1 else None
