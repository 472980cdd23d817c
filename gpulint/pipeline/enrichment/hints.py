"""Overrides: values from comments, annotations, gpulint.yaml and the command line."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gpulint import units
from gpulint.catalog import hardware, package_data
from gpulint.facts import objective_words
from gpulint.pipeline.enrichment.object_metadata import MAPS
from gpulint.policy.config.settings import Hint, NamedFabric
from gpulint.source.documents import Comment, Document, Loaded, places
from gpulint.workload import Field, Origin, Role, Unknown, Workload
from gpulint.workload import Hint as RoleHint

if TYPE_CHECKING:
    from gpulint.policy.waivers.base_branch import PendingMarker

QUANTITIES: Mapping[str, str] = {
    "model": "checkpoint",
    "accelerator": "accelerator",
    "gpus": "gpus_per_pod",
    "nodes": "pods_per_replica",
}
"""The keys of an override, and the quantity of each."""
OF_OTHERS: Mapping[str, frozenset[str]] = {
    "prefill": frozenset({"target_tpot_s", "target_tokens_per_s", "target_requests_per_s", "target_concurrency"}),
    "decode": frozenset({"target_ttft_s"}),
}
"""Objectives that a prefill or decode role leaves to the other phase, by the word in its name."""
LINKS: Mapping[str, str] = {
    "nvlink-bridge": "nvlink_bridge",
    "network": "network_bytes_per_s",
    "network-kind": "network_kind",
}
"""The keys about links of GPUs and nodes."""
OBJECT: Mapping[str, str] = {"namespace": "object_namespace", "labels": "labels", "annotations": "annotations"}
"""The keys about an object's metadata, for formats without metadata."""
AIMS = frozenset(
    {word for word, key in objective_words.WORDS.items() if key.quantity.startswith("target_")} - {"growth"}
)
"""The keys that declare an objective, not the load at which it is measured."""
WORDS = (*QUANTITIES, *LINKS, *OBJECT, *objective_words.WORDS)
COUNTS = frozenset({"gpus", "nodes"})
DIGITS_MAX = 12
FLAGS = {"yes": True, "true": True, "no": False, "false": False}


OWN_PREFIX = "gpulint/"
"""The prefix of annotations and labels that state hints."""
LEFT_OUT = "left out"
"""The kind of a hint that does not apply, because it was not found in the --policy-from commit."""


class Override(NamedTuple):
    """The values of one comment, its line, and the words that state them, by quantity."""

    line: int
    fields: Mapping[str, Field]
    words: Mapping[str, str] = {}
    comment: Comment | None = None


def read_comments(comments: Iterable[Comment]) -> tuple[list[Override], list[tuple[Comment, str]]]:
    """Return the overrides of a file's comments, and the comments that cannot be read with the
    reason.
    """
    found: list[Override] = []
    mistaken: list[tuple[Comment, str]] = []
    for comment in comments:
        from gpulint.policy.waivers import comments as waivers_comments

        words = waivers_comments.parse_hint(comment.text).split()
        wrong = next(filter(None, map(_find_error, words)), "")
        if wrong:
            mistaken.append((comment, wrong))
        elif words:
            parsed = dict(_parse_words(words, f"the comment on line {comment.line}"))
            by_quantity = {_find_quantity(word): word for word in words}
            found.append(Override(comment.line, parsed, by_quantity, comment))
    return found, mistaken


def _find_quantity(word: str) -> str:
    """Return the quantity of a valid word."""
    name = word.partition("=")[0]
    aim = objective_words.WORDS.get(name)
    return aim.quantity if aim else {**QUANTITIES, **LINKS, **OBJECT}[name]


def _find_error(word: str) -> str:
    """Return what is wrong with a word of an override; empty if nothing is."""
    name, equals, value = word.partition("=")
    if not equals or not value:
        return f"`{word}` has no value; write {' or '.join(f'{word_known}=…' for word_known in QUANTITIES)}"
    if name in objective_words.WORDS:
        return _find_objective_error(name, value)
    if name in LINKS:
        return _find_link_error(name, value)
    if name in MAPS:
        return "" if all(map(_parse_entry, value.split(","))) else f"write {name}=team:search,tier:gold, not {value}"
    if name in OBJECT:
        return ""
    if name not in QUANTITIES:
        return f"no hint is called {name}{objective_words.suggest_key(name, WORDS)}"
    if name in COUNTS and not (value.isdecimal() and len(value) <= DIGITS_MAX):
        return f"{name} must be a whole number, not {value[:40]}"
    return ""


def _parse_entry(text: str) -> tuple[str, str] | None:
    """Return name and value of a label or annotation; None if either is missing."""
    name, colon, value = text.partition(":")
    return (name, value) if name and colon and value else None


def _find_link_error(name: str, value: str) -> str:
    """Return what is wrong with a word about links; empty if nothing is."""
    if name == "nvlink-bridge":
        return "" if value in FLAGS else f"{name} must be yes or no, not {value}"
    if name == "network-kind":
        kind = hardware.link(value)
        return "" if kind is not None and kind.kind == "network" else f"no network is called {value}"
    try:
        units.rate(value)
    except ValueError as error:
        return f"{name}: {error}"
    return ""


def _find_objective_error(word: str, value: str) -> str:
    try:
        objective_words.parse(word, value)
    except ValueError as error:
        return f"{word}: {error}"
    return ""


def _parse_words(words: Iterable[str], source: str) -> Iterator[tuple[str, Field]]:
    for word in words:
        name, _, value = word.partition("=")
        if name in objective_words.WORDS:
            yield _build_objective(name, value, source)
            continue
        quantity = _find_quantity(word)
        yield quantity, _build_field(quantity, _parse_value(name, value), source)


def _parse_value(word: str, value: str) -> str | float | bool | Mapping[str, str]:
    """Return the value of a valid word."""
    if word in MAPS:
        return dict(filter(None, map(_parse_entry, value.split(","))))
    if word in COUNTS:
        return int(value)
    if word == "network":
        return units.rate(value)
    return FLAGS[value] if word == "nvlink-bridge" else value


def _build_objective(word: str, value: str | float, source: str) -> tuple[str, Field]:
    """Return the quantity and field of an objective."""
    field = Field(
        objective_words.parse(word, value), source=source, assumption=f"{word} {value} ({source})", basis="stated"
    )
    return objective_words.WORDS[word].quantity, field


def _build_field(quantity: str, value: str | float | bool | Mapping[str, str], source: str) -> Field:
    """Return an override as a field; an accelerator that the catalog lacks stays unknown."""
    row = package_data.load_glossary()[quantity]
    named, shown = (
        str(row["meaning"]) if row["unit"] else quantity.replace("_", " "),
        units.human(value, str(row["unit"])),
    )
    assumption = f"{named} {shown} ({source})"
    if quantity != "accelerator":
        return Field(value, source=source, assumption=assumption, basis="stated")
    product = hardware.find_accelerator(str(value))
    if product is None:
        return Field(Unknown(f"unknown accelerator {value}"), source=source)
    return Field(product.id, source=source, assumption=assumption if source != "--accelerator" else "", basis="stated")


def leave_out(workload: Workload, vouched: frozenset[tuple[int, str]], marker: PendingMarker) -> Workload:
    """Return a workload without the hints of annotations that the --policy-from commit lacks.

    These are annotations of other files, and those that are spelled with escapes inside a text.
    """
    own = workload.document.path
    return replace(workload, roles=tuple(_leave_out(role, own, vouched, marker) for role in workload.roles))


def _leave_out(role: Role, own: str, vouched: frozenset[tuple[int, str]], marker: PendingMarker) -> Role:
    left = [
        RoleHint(_render_annotation(place), LEFT_OUT, name, field, None, place)
        for name, field in role.fields.items()
        if (place := find_annotation(field)) is not None and not _is_vouched(place, own, vouched, marker)
    ]
    names = {hint.quantity for hint in left}
    kept = {name: field for name, field in role.fields.items() if name not in names}
    return replace(role, fields=kept, hints=tuple(left)) if left else role


def _is_vouched(place: Origin, own: str, vouched: frozenset[tuple[int, str]], marker: PendingMarker) -> bool:
    if place.document.path == own:
        return (place.location().line, _render_annotation(place)) in vouched
    pending, _ = marker.leave_out(place.document.path, Loaded((place.document,)))
    return all(entry.declaration.path != place.path for entry in pending)


def find_annotation(field: Field) -> Origin | None:
    """Return the annotation or label for gpulint that states a field; None if something else does."""
    place = field.origins[0] if field.origins else None
    is_own = place is not None and place.path and str(place.path[-1]).startswith(OWN_PREFIX)
    return place if is_own else None


def apply(
    workload: Workload,
    comments_read: Sequence[Override],
    settings: Sequence[Hint],
    accelerator: str,
    stated: Workload | None = None,
) -> Workload:
    """Apply overrides: comments beat the file; settings and --accelerator fill gaps.

    `stated` is the workload as its file states it without annotations for gpulint, if it has any.
    """
    own = list(_select_about(comments_read, workload))
    further = [dict(_read_settings(hint)) for hint in settings if hint.matches(workload.document.path, workload.name)]
    if accelerator:
        further.append({"accelerator": _build_field("accelerator", accelerator, "--accelerator")})
    if own or further or stated is not None:
        plain = _pair_roles(workload, stated)
        workload = replace(
            workload,
            roles=tuple(_fill(role, own, further, bare) for role, bare in zip(workload.roles, plain, strict=True)),
        )
    workload = _add_objectives(workload)
    phases = _find_phases(workload)
    return replace(
        workload, roles=tuple(_mark_requests(_keep_phase(role, phases.get(role.name))) for role in workload.roles)
    )


def _add_objectives(workload: Workload) -> Workload:
    """Return the workload with the objectives declared for any of its roles."""
    words = tuple(
        word
        for word in objective_words.WORDS
        if word in AIMS and any(objective_words.WORDS[word].quantity in role.fields for role in workload.roles)
    )
    if not words:
        return workload
    field = Field(words, source="declared objectives")
    return replace(workload, roles=tuple(role.having(stated_objectives=field) for role in workload.roles))


def _mark_requests(role: Role) -> Role:
    """Mark a role whose typical request is declared."""
    stated = {"request_prompt_tokens", "request_output_tokens"} <= role.fields.keys()
    return role.having(request_stated=Field(True, source="declared prompt and output tokens")) if stated else role


def _find_phases(workload: Workload) -> Mapping[str, str]:
    """Return the phase of each role of a prefill and decode split, by the word in its name.

    Dynamo examples also name the workers of an unsplit graph after decoding. There, both phases
    must be present.
    """
    found = {
        role.name: next(
            (phase for name in (role.name, workload.name) for phase in OF_OTHERS if phase in name.lower()), ""
        )
        for role in workload.roles
        if role.value("task") != "training"
    }
    whole = workload.adapter == "dynamo" and not OF_OTHERS.keys() <= set(found.values())
    return {} if whole else {name: phase for name, phase in found.items() if phase}


def _keep_phase(role: Role, phase: str | None) -> Role:
    """Return a role of a prefill and decode split with its own objectives only."""
    if phase is None:
        return role
    kept = {name: field for name, field in role.fields.items() if name not in OF_OTHERS[phase]}
    if phase == "decode":
        kept.setdefault("prefill_apart", Field(True, source="the role's name"))
    return replace(role, fields=kept)


def apply_fabrics(workload: Workload, fabrics: Sequence[NamedFabric]) -> Workload:
    """Return the workload with the links and networks that `fabric:` of the settings declares."""
    if not fabrics:
        return workload
    return replace(workload, roles=tuple(_add_fabrics(role, workload, fabrics) for role in workload.roles))


def _add_fabrics(role: Role, workload: Workload, fabrics: Sequence[NamedFabric]) -> Role:
    cloud = role.text("cloud") or (machine.cloud if (machine := hardware.node(role.text("instance_type"))) else "")
    where = (workload.document.path, workload.name, cloud, role.text("node_pool"))
    stated: dict[str, Field] = {}
    for fabric in fabrics:
        if fabric.matches(*where):
            new = fabric.quantities.keys() - stated.keys() - role.fields.keys()
            stated.update(
                {name: _build_field(name, fabric.quantities[name], "fabric in gpulint.yaml") for name in sorted(new)}
            )
    return role.having(**stated) if stated else role


def _read_settings(hint: Hint) -> Iterator[tuple[str, Field]]:
    stated: dict[str, str | int] = {
        "accelerator": hint.accelerator,
        "checkpoint": hint.checkpoint,
        "gpus_per_pod": hint.gpus,
        "pods_per_replica": hint.nodes,
    }
    for quantity, value in stated.items():
        if value:
            yield quantity, _build_field(quantity, value, "hints in gpulint.yaml")
    for word, aim in hint.objective.items():
        yield _build_objective(word, aim, "objectives in gpulint.yaml")


def _select_about(comments_read: Sequence[Override], workload: Workload) -> Iterator[Override]:
    """Yield the comments within a workload, or above the whole content of its document."""
    if not comments_read:
        return
    document = workload.document
    first, last = _find_lines(document, None)
    begin, end = _find_lines(document, workload)
    content = places.find_line(document.text, document.root.start)
    near = bisect.bisect_left(comments_read, 0 if document.index == 0 else first, key=_line)
    for comment in comments_read[near : bisect.bisect_right(comments_read, last, key=_line)]:
        if begin <= comment.line <= end or comment.line < max(first, content):
            yield comment


def _line(comment: Override) -> int:
    return comment.line


def _find_lines(document: Document, workload: Workload | None) -> tuple[int, int]:
    """Return the first and last line of a workload, or of a document without those of other
    documents.
    """
    node = document.node(workload.path) if workload else document.root
    if workload is None or not workload.path or node is None:
        begin, end = document.start, _find_end(document)
        return places.find_line(document.text, begin), places.find_line(document.text, max(begin, end - 1))
    return document.locate(workload.path).line, places.find_line(document.text, node.end)


def _find_end(document: Document) -> int:
    """Return the offset where the next document of the file begins."""
    if document.until is not None:
        return document.until
    others = (other for other in document.beside if other.path == document.path and other.index > document.index)
    return min((other.start for other in others), default=len(document.text))


def _pair_roles(workload: Workload, stated: Workload | None) -> tuple[Role, ...]:
    """Return each role as its file states it."""
    plain = stated.roles if stated is not None else workload.roles
    alike = [role.name for role in plain] == [role.name for role in workload.roles]
    return plain if alike else tuple(replace(role, fields={}) for role in workload.roles)


def _fill(role: Role, own: Iterable[Override], further: Iterable[Mapping[str, Field]], bare: Role) -> Role:
    """Return the role with its own overrides, and with the others for what it does not declare."""
    stated: dict[str, Field] = {}
    found = [*role.hints, *_list_annotated(role, bare)]
    for comment in own:
        found += _list_commented(comment, bare)
        stated.update(
            {name: _merge(field, stated.get(name) or role.fields.get(name)) for name, field in comment.fields.items()}
        )
    for fields in further:
        for name, field in fields.items():
            if name not in stated and (role.value(name) is None or isinstance(role.value(name), Unknown)):
                stated[name] = field
                text = f"{_find_word(name)}={field.value}"
                found.append(RoleHint(text, field.source, name, field, bare.fields.get(name)))
    if role.text("mig_profile"):
        stated.pop("accelerator", None)
        found = [hint for hint in found if hint.quantity != "accelerator"]
    filled = replace(role.having(**stated), hints=tuple(found))
    return filled.having(**_count_instance(filled)) if stated.keys() & {"gpus_per_pod", "pods_per_replica"} else filled


def _list_annotated(role: Role, bare: Role) -> Iterator[RoleHint]:
    """Yield the hints in annotations and labels that a role was read with."""
    for name, field in role.fields.items():
        if (place := find_annotation(field)) is not None:
            yield RoleHint(_render_annotation(place), "annotation", name, field, bare.fields.get(name), place)


def _render_annotation(place: Origin) -> str:
    """Return an annotation as a comment would state it."""
    return f"{str(place.path[-1]).removeprefix(OWN_PREFIX)}={place.text().strip()}"


def _list_commented(comment: Override, bare: Role) -> Iterator[RoleHint]:
    for name, field in comment.fields.items():
        yield RoleHint(comment.words.get(name, name), "comment", name, field, bare.fields.get(name), comment.comment)


def _find_word(quantity: str) -> str:
    """Return the word of a quantity."""
    aims = {key.quantity: word for word, key in objective_words.WORDS.items()}
    named = {name: word for word, name in {**QUANTITIES, **LINKS, **OBJECT}.items()}
    return {**aims, **named}.get(quantity, quantity)


def _merge(override: Field, before: Field | None) -> Field:
    """Return an override; its labels and annotations are merged with the declared ones."""
    if before is None or not isinstance(override.value, Mapping) or not isinstance(before.value, Mapping):
        return override
    return replace(override, value={**before.value, **override.value}, origins=before.origins)


def _count_instance(role: Role) -> dict[str, Field]:
    """Return the GPUs of an instance from those of its pods: a hint of GPUs without nodes is about one."""
    gpus, pods = role.value("gpus_per_pod"), role.value("pods_per_replica")
    if not isinstance(gpus, int) or not isinstance(pods, int) or role.text("part_of"):
        return {}
    stated, origins = replace(role.fields["pods_per_replica"], basis="stated"), role.fields["gpus_per_pod"].origins
    whole = Field(gpus * pods, origins, source="a hint", basis="stated")
    return {"pods_per_replica": stated, "gpus_per_replica": whole}
