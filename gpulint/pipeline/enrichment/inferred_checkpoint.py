"""A model that only names suggest: those of a server, of its weights' storage, of a workload and its folders.

It is assumed where nothing states the checkpoint, or where the checkpoint is a local path that nobody can resolve.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.pods import container_environment
from gpulint.adapters.programs import gpu_tests
from gpulint.catalog import architecture, tables
from gpulint.catalog.architecture import Resolution, names
from gpulint.pipeline.enrichment import mentioned_checkpoint, produced_checkpoint
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Hint, Origin, Role, Unknown, Workload

FOLDERS_MAX = 3
"""Folders above a file whose names are read."""
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
VARIABLES = re.compile(
    r"(?:(?:VLLM|HF|LLM|SERVED?|INFERENCE|BASE|TRITON|SGLANG|TGI|DEFAULT|WHISPER|ASR|LANGUAGE)_)?MODEL"
    r"(?:_(?:NAME|ID|PATH|REPO|REPO_ID|REPOSITORY|URI|URL|DIR|TAG|SOURCE|SIZE))?|SERVED_MODEL_NAMES?|STORAGE_URI|HF_REPO(?:_ID)?",
    re.IGNORECASE,
)
"""Variables that name the model of a server."""
SERVED = re.compile(r"--served[-_]model[-_]name[=\s]+[\"']?(?P<name>[\w./:-]+)")
WRITTEN = ("command", "args")
"""Keys of a container whose words start its program."""
ID = "model_id"
"""The key of Ray Serve LLM under which a model is requested."""
OTHER_WORK = re.compile(
    r"train|fine-?_?tun|\bsft|lora|dpo|grpo|ppo|rlhf|(?:nemo|\b)[-_]?rl\b|nemorl|verl\b|bench|eval|quanti[sz](?!ed)|convert|download"
    r"|distill(?!-)|dataset|test-?_?gpu|jupyter|notebook|workbench",
    re.IGNORECASE,
)
"""Words of a workload that does something else than serve the model that it names."""


class Clue(NamedTuple):
    """A name that may mean a model, and what it names."""

    name: str
    place: str


def infer(role: Role, workload: Workload, repository: Repository, resolved: Resolution | None) -> Role | None:
    """Return a role with the checkpoint that names suggest; None if none do, or if they do not agree.

    What a server calls its model, and where its weights lie, precede the names of the workload, its image and its
    folders. Only a checkpoint of the catalog is assumed for a program that is not known to serve a model. What a README
    says of a folder of weights precedes the folder's name.
    """
    if (link := produced_checkpoint.find(role, workload, repository)) is not None:
        step = link.steps[0].origin
        return _add_hint(
            produced_checkpoint.apply(role, link), role, f"line {step.location().line} of {step.document.path}"
        )
    if not _is_open(role, resolved):
        return _infer_folder(role, workload, repository, resolved)
    is_server = workload.kind == "inference" or engines.find_purpose(role.text("engine")) == "inference"
    if not is_server and not _may_serve(role, workload):
        return None
    if is_server and not gpu_tests.describe(role) and (told := _find_mentioned(role, workload, repository)) is not None:
        return told
    stated = _find_meanings(_list_stated(role), is_server)
    found = stated or _find_meanings(_list_names(role, workload), is_server)
    if not found or not _agree(found) or not _completes(found[0][0], role):
        return None
    (reference, size), clue = found[0]
    said = f"{clue.place} {clue.name}" if clue.name != reference else clue.place
    assumed = (
        f"a model of {size:g} billion parameters is assumed" if size else f"the model is assumed to be {reference}"
    )
    source = f"{clue.place} {clue.name}"
    field = Field(reference, source=source, assumption=f"{assumed}, from {said}")
    fields = (
        {"checkpoint": field}
        if "/" in clue.name
        else {"checkpoint": field, **_assume_format(reference, role, workload)}
    )
    return _add_hint(role.having(**fields), role, source)


def _find_mentioned(role: Role, workload: Workload, repository: Repository) -> Role | None:
    """Return a server with the only release that the files around it name, if what it states names none or the same one."""
    meanings = _find_meanings(_list_stated(role), True)
    mention = mentioned_checkpoint.find(role, workload, repository)
    if mention is None or any(not _is_like(reference, size, mention.reference) for (reference, size), _ in meanings):
        return None
    return _assume_mentioned(role, mention)


def _is_like(reference: str, size: float | None, mentioned: str) -> bool:
    """Return whether a release has the network that a name means, or the size that is all it states."""
    if size:
        return architecture.find_size(mentioned) == size
    first, other = architecture.resolve(reference).architecture, architecture.resolve(mentioned).architecture
    return first is not None and other is not None and first.layers == other.layers and first.hidden == other.hidden


def _assume_mentioned(role: Role, mention: mentioned_checkpoint.Mention) -> Role:
    source = f"the only model that {mention.place} names"
    origins = role.fields["checkpoint"].origins if "checkpoint" in role.fields else ()
    said = f"the model is assumed to be {mention.reference}, {source}"
    return _add_hint(role.having(checkpoint=Field(mention.reference, origins, source, said)), role, source)


def _infer_folder(role: Role, workload: Workload, repository: Repository, resolved: Resolution | None) -> Role | None:
    """Return a role that trains or runs the weights of a folder with the checkpoint after which the folder is named."""
    path = role.text("checkpoint")
    is_known = resolved is not None and resolved.architecture is not None and resolved.architecture.is_known
    if is_known or role.text("part_of") or not names.is_folder(path) or len(path) > names.LETTERS_MAX:
        return None
    parts = [part for part in path.split("/") if part]
    reference, part = next(((found, part) for part in reversed(parts) if (found := names.find_within(part))), ("", ""))
    if not reference:
        mention = mentioned_checkpoint.find(role, workload, repository)
        return _assume_mentioned(role, mention) if mention is not None and not engines.is_training(role) else None
    source = f"{names.OF_FOLDER} {part}"
    said = f"the weights of {path} are assumed to be those of {reference}, from the folder's name"
    field = Field(reference, role.fields["checkpoint"].origins, source, said)
    stated = role.fields.keys() & {"weight_dtype", "quantization"}
    format_ = {} if stated else _assume_format(reference, role, workload)
    return _add_hint(role.having(checkpoint=field, **format_), role, source)


def _add_hint(found: Role, role: Role, source: str) -> Role:
    """Return a role with the hint that its checkpoint is assumed."""
    field = replace(found.fields["checkpoint"], source=source)
    stated = role.fields.get("checkpoint")
    hint = Hint(f"model={field.value}, from {source}", "name", "checkpoint", field, stated, role.anchor)
    return replace(found.having(checkpoint=field), hints=(*found.hints, hint))


def _assume_format(reference: str, role: Role, workload: Workload) -> dict[str, Field]:
    """Return the number format that weights most likely have of which only a name tells the model; it may be a smaller one.

    Quantised copies are often stored and served under the plain name.
    """
    known = architecture.resolve(reference).architecture
    if known is None or known.checkpoint_quantization or not known.is_known:
        return {}
    told = " ".join((workload.name, role.name, role.text("image"), workload.document.path, role.text("checkpoint")))
    assumed = "fp8" if architecture.REDUCED.search(told) else known.checkpoint_dtype or "bfloat16"
    return {"format_assumed": Field(assumed, source="only names tell the model")}


def _is_open(role: Role, resolved: Resolution | None) -> bool:
    """Whether a role on GPUs names no model, or only a place whose content is not known."""
    if engines.is_training(role) or role.text("part_of") or role.text("device") not in ("", "gpu"):
        return False
    if role.value("gpus_per_pod") == 0 or gpu_tests.describe(role) or _leaves_model_to_users(role):
        return False
    checkpoint = role.text("checkpoint")
    if checkpoint and (
        not names.LOCAL.match(checkpoint) or (resolved is not None and resolved.architecture is not None)
    ):
        return False
    return bool(role.fields.keys() & {"accelerator", "accelerator_resource", "gpus_per_pod", "engine"})


def _leaves_model_to_users(role: Role) -> bool:
    """Whether requests, or what users load, name the model of a server."""
    row = tables.index_rows("network_servers", "server").get(role.text("engine"))
    return role.text("engine") == "ollama" or bool(row and row["undecided"])


def _may_serve(role: Role, workload: Workload) -> bool:
    """Whether a program that is not known may serve the model that its workload names."""
    told = " ".join((workload.name, role.name, role.text("program"), role.text("image"), workload.document.path))
    waits = workload.adapter == "ray" and isinstance(role.value("engine"), Unknown)
    known = engines.find_purpose(role.text("engine")) or workload.kind == "training" or waits
    return not known and "accelerator_resource" in role.fields and not OTHER_WORK.search(told)


# ---- what names mean


Meaning = tuple[str, float | None]
"""A reference, and the billions of parameters that are all that is known of it."""


def _find_meanings(clues: Iterator[Clue], is_server: bool) -> list[tuple[Meaning, Clue]]:
    meanings = ((_find_meaning(clue.name, is_server), clue) for clue in clues)
    return [(meaning, clue) for meaning, clue in meanings if meaning is not None]


def _find_meaning(name: str, is_server: bool) -> Meaning | None:
    """Return the checkpoint of the catalog that a name means, else one of the size that it states."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    if HUB_ID.fullmatch(name) and names.is_release(name):
        return name, None
    if found := names.find(last) or names.find(name):
        return found, None
    size = architecture.find_size(last) if is_server else None
    return (last, size) if size else None


def _agree(found: Sequence[tuple[Meaning, Clue]]) -> bool:
    """Whether all names mean models of one size."""
    sizes = {size or architecture.find_size(reference) for (reference, size), _ in found}
    whole = {reference for (reference, size), _ in found if size is None}
    return len(sizes) == 1 and (sizes != {None} or len(whole) == 1)


def _completes(meaning: Meaning, role: Role) -> bool:
    """Whether a release begins with what a role states of its model's name, as acme/Chat- in acme/Chat-${size}."""
    field = role.fields.get("checkpoint")
    if field is None or not isinstance(field.value, Unknown) or not field.origins:
        return True
    known, opened, _ = field.origins[0].text().replace("{{", "${").partition("${")
    beginning = known.replace("=", " ").rpartition(" ")[2].strip("\"'")
    owner, slash, name = beginning.partition("/")
    if meaning[1] or not (opened and owner and slash and name):
        return True
    return meaning[0].lower().startswith(beginning.lower())


# ---- what a server states


def _list_stated(role: Role) -> Iterator[Clue]:
    """Yield what the first statement of a role names its model: under which name, from where, by which variable."""
    if served := _find_served_name(role):
        yield served
        return
    field = role.fields.get("checkpoint")
    if field is not None and isinstance(field.value, Unknown) and field.origins:
        origin = field.origins[0]
        text = origin.text()
        if text and len(text) <= names.LETTERS_MAX and names.find(text.rsplit("/", 1)[-1]):
            yield Clue(text, str(origin.path[-1]) if origin.path else "the address")
            return
    elif field is not None:
        yield from _list_parts(str(field.value))
    yield from _list_variables(role)


def _list_parts(path: str) -> Iterator[Clue]:
    """Yield the last folder of a local path that names a model of the catalog."""
    folders = [part for part in path.rsplit("://", maxsplit=1)[-1].split("/") if part]
    found = next(
        ((part, name) for part in reversed(folders) if (name := names.find(part) or names.find_within(part))), None
    )
    if found:
        yield Clue(found[0] if names.find(found[0]) else found[1], names.OF_FOLDER)


def _list_variables(role: Role) -> Iterator[Clue]:
    """Yield the values of a container's variables that name a model."""
    document, container = role.anchor.document, _find_container(role.anchor)
    if container is None:
        return
    for name, argument in container_environment.read(document, container).items():
        if argument.text and VARIABLES.fullmatch(name) and len(argument.text) <= names.LETTERS_MAX:
            yield Clue(argument.text, name)


def _find_served_name(role: Role) -> Clue | None:
    """Return the first name under which the arguments of a container, or a configuration of Ray Serve, serve a model."""
    document, container = role.anchor.document, _find_container(role.anchor)
    written = [document.get((*container, key)) for key in WRITTEN] if container else []
    words = " ".join(str(word) for value in written for word in (value if isinstance(value, list) else [value]))
    served = SERVED.search(words)
    name, place = (served["name"], "--served-model-name") if served else (document.get((*role.anchor.path, ID)), ID)
    return Clue(name, place) if isinstance(name, str) and _find_meaning(name, True) else None


def _find_container(anchor: Origin) -> Path | None:
    """Return the mapping of an anchor that has variables or arguments."""
    for path in (anchor.path, anchor.path[:-1]):
        stated = anchor.document.get(path)
        if isinstance(stated, dict) and stated.keys() & {"env", "envFrom", "image", *WRITTEN}:
            return path
    return None


# ---- what is named after a model


def _list_names(role: Role, workload: Workload) -> Iterator[Clue]:
    """Yield the names of a workload and what they name: its own, its container's, its image's, its folders'."""
    yield Clue(role.text("workload_name") or workload.name, "the name")
    yield Clue(role.name.rsplit("/", 1)[-1], "the container")
    if image := role.text("image") or _find_image(role.anchor.document, role.anchor):
        yield Clue(image.rsplit("/", 1)[-1], "the image")
    *folders, file = workload.document.path.replace("\\", "/").split("/")
    yield Clue(posixpath.splitext(file)[0], "the file")
    for folder in reversed(folders[-FOLDERS_MAX:]):
        yield Clue(folder, "the folder")


def _find_image(document: Document, anchor: Origin) -> str:
    container = _find_container(anchor)
    image = document.get((*container, "image")) if container else None
    return image if isinstance(image, str) else ""
