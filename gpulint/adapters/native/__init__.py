"""gpulint's own spec: an InferenceService or TrainingJob in glossary terms, for what no other format
states.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpulint import units
from gpulint.adapters.claim import Claim
from gpulint.catalog import hardware
from gpulint.facts import objective_words
from gpulint.facts.glossary import Quantity, glossary
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("gpulint/v1",)

if TYPE_CHECKING:
    import pydantic

API_VERSION = "gpulint/v1"
FACILITY = "Facility"
"""A kind of the same API that describes a facility; `facility` reads it."""
KINDS = {"InferenceService": "inference", "TrainingJob": "training"}
STATED = ("pod", "engine")
ROLE_ONLY = frozenset(
    {
        "gpu_limit",
        "gpu_request",
        "gpu_count_whole",
        "task",
        "max_model_len_stated",
        "max_num_seqs_stated",
        "unexpanded_variable",
        "arguments",
        "part_of",
        "request_stated",
    }
)
SHAPE = ("architecture", "checkpoint")
OBJECTIVE: Path = ("spec", "objective")
NUMBERS = frozenset({"int", "float", "str"})
"""The names that pydantic gives to the number types, at the end of the path of an invalid number."""


def claims(document: Document) -> Claim:
    return Claim.EXACT.where(document.get(("apiVersion",)) == API_VERSION and document.get(("kind",)) != FACILITY)


def problems(document: Document) -> Iterator[Problem]:
    """Yield the validation errors of a spec, each with its location."""
    import pydantic

    try:
        spec_model().model_validate(document.data)
    except pydantic.ValidationError as error:
        errors = error.errors()
        # A spec of another kind is not ours to check any further.
        of_kind = [issue for issue in errors if issue["loc"] == ("kind",)]
        problems_found = (
            _render_error(document, tuple(issue["loc"]), issue["type"], issue["msg"]) for issue in of_kind or errors
        )
        yield from dict.fromkeys(problems_found)
    else:
        yield from _find_unreadable(document)


def _find_unreadable(document: Document) -> Iterator[Problem]:
    """Yield numbers that cannot be parsed, in a spec of the right shape."""
    listed = document.get(("spec", "roles"))
    for at, role in enumerate(listed if isinstance(listed, list) else ()):
        for name in role.keys() & glossary().keys():
            try:
                _parse_value(role[name], glossary()[name])
            except ValueError as error:
                yield Problem("invalid-spec", f"{name}: {error}", document.locate(("spec", "roles", at, name)))
    for word in _list_objectives(document):
        try:
            objective_words.parse(word, document.get((*OBJECTIVE, word)))
        except ValueError as error:
            yield Problem("invalid-spec", f"{word}: {error}", document.locate((*OBJECTIVE, word)))


def _list_objectives(document: Document) -> list[str]:
    """Return the words of the spec's objective."""
    stated = document.get(OBJECTIVE)
    return [word for word, value in stated.items() if value is not None] if isinstance(stated, dict) else []


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    if any(problems(document)):
        return
    listed = document.get(("spec", "roles"))
    roles = tuple(_read_role(document, at) for at in range(len(listed) if isinstance(listed, list) else 0))
    kind = KINDS[str(document.get(("kind",)))]
    roles = tuple(role.having(task=Field(kind)) for role in roles)
    yield Workload(str(document.get(("metadata", "name"))), kind, "native", document, (), roles)


@functools.cache
def spec_model() -> type[pydantic.BaseModel]:
    """Return the spec as a pydantic model. Its fields are the glossary's rows."""
    import pydantic

    strict = pydantic.ConfigDict(extra="forbid", title="gpulint/v1")
    kinds = pydantic.Field(pattern=f"^({'|'.join(KINDS)})$", description="what the spec describes")
    shape = pydantic.create_model("Architecture", __config__=strict, **_model_fields(_list_shape_quantities()))  # type: ignore[call-overload]
    role = pydantic.create_model(  # type: ignore[call-overload]
        "Role",
        __config__=strict,
        name=(str, pydantic.Field(description="what to call it in reports")),
        architecture=(shape | None, pydantic.Field(None, description="the shape of a checkpoint no catalog lists")),
        **_model_fields(_list_quantities()),
    )
    metadata = pydantic.create_model("Metadata", name=(str, ...), __config__=pydantic.ConfigDict(extra="allow"))
    roles = (list[role], pydantic.Field(min_length=1))  # type: ignore[valid-type]
    words = {
        word.replace("-", "_"): (
            int | float | str | None,
            pydantic.Field(None, alias=word, description=objective_row.meaning),
        )
        for word, objective_row in objective_words.WORDS.items()
    }
    objective = pydantic.create_model("Objective", __config__=strict, **words)  # type: ignore[call-overload]
    aim = (objective | None, pydantic.Field(None, description="the target of the service or the training run"))
    spec = pydantic.create_model("Spec", __config__=strict, roles=roles, objective=aim)
    model: type[pydantic.BaseModel] = pydantic.create_model(
        "Workload",
        __config__=strict,
        apiVersion=(str, pydantic.Field(pattern=f"^{API_VERSION}$")),
        kind=(str, kinds),
        metadata=(metadata, ...),
        spec=(spec, ...),
    )
    return model


def _list_quantities() -> list[Quantity]:
    return [quantity for quantity in glossary().values() if quantity.of in STATED and quantity.name not in ROLE_ONLY]


def _list_shape_quantities() -> list[Quantity]:
    return [
        quantity
        for quantity in glossary().values()
        if quantity.of in SHAPE and quantity.name not in ("architecture", "checkpoint")
    ]


def _model_fields(quantities: list[Quantity]) -> dict[str, tuple[object, object]]:
    import pydantic

    types = {"number": int | float | str, "flag": bool, "text": str}
    return {
        quantity.name: (types[quantity.type] | None, pydantic.Field(None, description=_describe(quantity)))
        for quantity in quantities
    }


def _describe(quantity: Quantity) -> str:
    return f"{quantity.meaning} [{units.name_base(quantity.unit)}]" if quantity.unit else quantity.meaning


def _render_error(document: Document, path: Path, kind: str, message: str) -> Problem:
    """Return a validation error in plain words.

    An unknown key gets the nearest known one as a hint.
    """
    if path and path[-1] in NUMBERS:
        return Problem("invalid-spec", f"{path[-2]}: write a number", document.locate(path[:-1]))
    if kind != "extra_forbidden":
        return Problem(
            "invalid-spec", f"{path[-1] if path else 'the spec'}: {_simplify(kind, message)}", document.locate(path)
        )
    if path[:-1] == OBJECTIVE:
        hint = objective_words.suggest_key(str(path[-1]))
        return Problem("invalid-spec", f"unknown key {path[-1]}{hint}", document.locate(path, key=True))
    known_names = [
        quantity.name for quantity in (_list_shape_quantities() if "architecture" in path else _list_quantities())
    ]
    near = difflib.get_close_matches(
        str(path[-1]), [*known_names, "name", "architecture", "roles", "objective", "metadata"], n=1
    )
    hint = f"; did you mean {near[0]}?" if near else ""
    return Problem("invalid-spec", f"unknown key {path[-1]}{hint}", document.locate(path, key=True))


def _simplify(kind: str, message: str) -> str:
    """Return the validator's message in plain words."""
    if kind == "string_pattern_mismatch":
        return f"write one of {', '.join((*KINDS, FACILITY))}" if "|" in message else f"write {API_VERSION}"
    words = {
        "missing": "is missing",
        "too_short": "is empty",
        "string_type": "write text",
        "bool_type": "write true or false",
    }
    return words.get(kind, message[:1].lower() + message[1:])


def _read_role(document: Document, at: int) -> Role:
    path: Path = ("spec", "roles", at)
    stated = document.get(path)
    fields: dict[str, Field] = {"device": Field("gpu", source="default: a GPU")}
    for word in _list_objectives(document):
        stated_at = (Origin(document, (*OBJECTIVE, word)),)
        aim = objective_words.parse(word, document.get((*OBJECTIVE, word)))
        fields[objective_words.WORDS[word].quantity] = Field(aim, stated_at)
    for name, value in stated.items() if isinstance(stated, dict) else ():
        if name == "architecture" and isinstance(value, dict):
            stated_parts = (part for part, inner in value.items() if inner is not None)
            fields.update((part, _read_field(document, (*path, name, part), part)) for part in stated_parts)
        elif name != "name" and value is not None:
            fields[name] = _read_field(document, (*path, name), name)
    if "max_model_len" in fields or fields.get("engine"):
        fields["max_model_len_stated"] = Field("max_model_len" in fields)
        fields["max_num_seqs_stated"] = Field("max_num_seqs" in fields)
    fields.setdefault("pods_per_replica", Field(1, source="default: one pod"))
    fields.setdefault("replicas", Field(1, source="default: one replica"))
    fields.setdefault("gpus_per_replica", _count_gpus(fields))
    anchor = Origin(document, (*path, "name"))
    return Role(str(document.get((*path, "name"))), anchor, fields, arguments=anchor._replace(key=True))


def _count_gpus(fields: dict[str, Field]) -> Field:
    per_pod, pods = (fields[name].value if name in fields else None for name in ("gpus_per_pod", "pods_per_replica"))
    if isinstance(per_pod, int | float) and isinstance(pods, int):
        return Field(per_pod * pods, fields["gpus_per_pod"].origins)
    return Field(Unknown("gpus_per_pod is not stated"))


def _read_field(document: Document, path: Path, name: str) -> Field:
    origin = (Origin(document, path),)
    value = document.get(path)
    if name == "accelerator":
        product = hardware.find_accelerator(str(value))
        return Field(product.id if product else Unknown(f"the catalog has no accelerator {value}"), origin)
    try:
        return Field(_parse_value(value, glossary()[name]), origin)
    except ValueError as error:
        return Field(Unknown(str(error)), origin)


def _parse_value(value: object, quantity: Quantity) -> Value:
    """Read a value. A number may have a unit ("80Gi", "64k")."""
    if quantity.type == "number" and (
        isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))
    ):
        raise ValueError(f"{value} is not a number")
    if quantity.type == "number" and isinstance(value, float) and value.is_integer() and not quantity.unit:
        return int(value)
    if quantity.type != "number" or not isinstance(value, str):
        return value  # type: ignore[return-value]
    if quantity.unit == "s":
        return units.seconds_of(value)
    return units.bytes_of(value) if quantity.unit == "bytes" else units.human_int(value)
