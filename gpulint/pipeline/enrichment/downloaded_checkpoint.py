"""Downloads: the checkpoint that an init container or a Job of the repository puts where a server looks for its weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import container_environment
from gpulint.catalog.architecture import names
from gpulint.facts import checkpoints
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

DEPTH = 16
CONTAINERS_MAX = 64
TEXT_MAX = 20_000
"""Characters of a container's command that are read."""
ID = r"[A-Za-z0-9][\w.-]{0,100}/[\w.-]{0,100}\w"
QUOTE = r"[\"']?"
HUB = (
    re.compile(
        rf"(?:huggingface-cli|\bhf)\s+download\s+(?:-[\w=./-]{{1,200}}+\s++){{0,6}}+{QUOTE}(?P<id>{ID}){QUOTE}(?=\s|$)"
    ),
    re.compile(rf"snapshot_download\(\s*(?:repo_id\s*=\s*)?[\"'](?P<id>{ID})[\"']"),
    re.compile(rf"git\s+(?:lfs\s+)?clone\s[^\n;&|]*?huggingface\.co/(?P<id>{ID}?)(?:\.git)?{QUOTE}(?=\s|$)"),
    re.compile(rf"huggingface\.co/(?P<id>{ID})/resolve/"),
)
"""Commands that download a release of the Hugging Face hub, by its id."""
STORED = re.compile(
    r"(?:\baws\s+s3\s+(?:cp|sync)|\bgsutil\s+(?:-m\s+)?(?:cp|rsync)|\bgcloud\s+storage\s+(?:cp|rsync)|\bmc\s+(?:cp|mirror)|\bs5cmd\s"
    r"|\brclone\s+(?:copy|sync)|\bazcopy\s+(?:cp|copy|sync)|\boras\s+pull|\bmodelcar\b)(?P<words>[^\n;&|]*)"
)
"""Commands that copy a folder out of a bucket or a registry, whose name may be that of a model."""
TARGET = re.compile(
    r"(?:--local[-_]dir|local_dir|--output|-o|--dir)[\s=]+[\"']?(?P<folder>/[\w./-]*)|\s[\"']?(?P<last>/[\w./-]+)[\"']?\s*$"
)
"""The folder that a command writes to."""
VARIABLE = re.compile(
    r"\$(?:\((?P<kubernetes>\w+)\)|\{(?P<braced>\w+)(?::?-(?P<otherwise>[^}]*))?\}|(?P<plain>[A-Za-z_]\w*))"
)
ASSIGNED = re.compile(r"(?:^|[\n;&])[ \t]*+(?:export[ \t]++)?(?P<name>[A-Za-z_]\w*+)=[\"']?(?P<value>[\w./:-]+)")


class Download(NamedTuple):
    """A checkpoint that a container downloads, and the folder that it writes to; empty if it names none."""

    reference: str
    folder: str
    container: str
    origin: Origin


def merge_downloads(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the checkpoints that its files download to where its servers look for them."""
    if not any(_is_local(role, workload, repository) for role in workload.roles):
        return workload
    own = list(_read_document(workload.document))
    roles = tuple(
        _apply(role, own or list(_read_jobs(workload, repository))) if _is_local(role, workload, repository) else role
        for role in workload.roles
    )
    return replace(workload, roles=roles)


def _is_local(role: Role, workload: Workload, repository: Repository) -> bool:
    """Whether a role reads its weights from a folder or a volume of which nothing tells the content."""
    value = role.value("checkpoint")
    if role.text("part_of") or engines.is_training(role) or role.value("gpus_per_pod") == 0:
        return False
    if isinstance(value, Unknown):
        return value.category == "another object"
    if not isinstance(value, str) or not value.startswith("/") or value.endswith(".gguf"):
        return False
    resolved = checkpoints.resolve(role, workload.document.path, repository, None)
    return resolved is None or resolved.architecture is None or not resolved.architecture.is_known


def _apply(role: Role, downloads: Sequence[Download]) -> Role:
    path = role.text("checkpoint").rstrip("/")
    near = [found for found in downloads if _is_inside(path, found.folder)] or downloads
    if len({found.reference for found in near}) != 1:
        return role
    found = near[0]
    written = f" to {found.folder}" if found.folder else ""
    said = f"the model is {found.reference}, which {found.container} downloads{written}"
    before = role.fields["checkpoint"].origins
    return role.having(checkpoint=Field(found.reference, (found.origin, *before), assumption=said, basis="joined"))


def _is_inside(path: str, folder: str) -> bool:
    """Whether a folder holds a path, or is one of its subfolders."""
    outer = folder.rstrip("/")
    return bool(path and outer) and (f"{path}/".startswith(f"{outer}/") or f"{outer}/".startswith(f"{path}/"))


# ---- where containers are


def _read_document(document: Document) -> Iterator[Download]:
    """Yield what the init containers of a document download."""
    for at, container in enumerate(_find_containers(document, document.data, (), DEPTH, ("initContainers",))):
        if at < CONTAINERS_MAX:
            yield from read_container(document, container)


def _read_jobs(workload: Workload, repository: Repository) -> Iterator[Download]:
    """Yield what Jobs and pods in the folder of a workload download to a claim that it mounts."""
    claims = set(_list_claims(workload.document.data, DEPTH))
    if not claims:
        return
    for kind in ("Job", "Pod"):
        beside = workload.document.find_beside(kind)
        nearby = (*beside, *repository.neighbours(kind, "", workload.document.path).documents)
        for job in dict.fromkeys(nearby):
            if claims & set(_list_claims(job.data, DEPTH)):
                listed = _find_containers(job, job.data, (), DEPTH, ("initContainers", "containers"))
                for _, container in zip(range(CONTAINERS_MAX), listed, strict=False):
                    yield from read_container(job, container)


def _find_containers(
    document: Document, value: object, path: Path, depth: int, keys: tuple[str, ...]
) -> Iterator[Path]:
    """Yield the paths of the containers that lists of these keys hold."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        if key in keys and isinstance(child, list):
            yield from pod_templates.items(document, (*path, key))
        elif depth and isinstance(child, dict | list):
            yield from _find_containers(document, child, (*path, key), depth - 1, keys)


def _list_claims(value: object, depth: int) -> Iterator[str]:
    """Yield the names of the claims that an object mounts, also in the addresses of weights."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key == "claimName" and isinstance(child, str):
                yield child
            elif isinstance(child, str) and child.startswith("pvc://"):
                yield child.removeprefix("pvc://").partition("/")[0]
            elif depth:
                yield from _list_claims(child, depth - 1)
    elif isinstance(value, list) and depth:
        for child in value:
            yield from _list_claims(child, depth - 1)


# ---- what a container downloads


def read_container(document: Document, container: Path) -> Iterator[Download]:
    """Yield the checkpoints that the command of a container downloads."""
    key = "args" if document.get((*container, "args")) else "command"
    origin, name = Origin(document, (*container, key)), str(document.get((*container, "name")) or container[-1])
    words = _list_words(document, container)
    environment = container_environment.read(document, container)
    known = {variable: argument.text or "" for variable, argument in environment.items()}
    text = _expand("\n".join(words)[:TEXT_MAX], known)
    found = [Download(reference, folder, name, origin) for reference, folder in _find_downloads(text)]
    yield from found or _find_in_words([_expand(word, known) for word in words], name, origin)


def _list_words(document: Document, container: Path) -> list[str]:
    listed = (document.get((*container, key)) for key in ("command", "args"))
    return [
        str(word) for value in listed for word in (value if isinstance(value, list) else [value]) if word is not None
    ]


def _expand(text: str, known: dict[str, str]) -> str:
    """Return a text with the variables that are known, or that it sets itself to a plain word."""
    joined = re.sub(r"\\\n\s*", " ", text)
    values = {match["name"]: match["value"] for match in ASSIGNED.finditer(joined)} | known

    def replace_variable(match: re.Match[str]) -> str:
        name = match["kubernetes"] or match["braced"] or match["plain"]
        return values.get(name) or match["otherwise"] or match[0]

    return VARIABLE.sub(replace_variable, joined)


def _find_downloads(text: str) -> Iterator[tuple[str, str]]:
    """Yield each checkpoint that a text downloads, with its folder."""
    for pattern in HUB:
        for match in pattern.finditer(text):
            ends = ")" if "snapshot" in match[0] else "\n;&|"
            yield (
                match["id"],
                _find_target(re.split(f"[{ends}]", text[match.start() : match.start() + TEXT_MAX], maxsplit=1)[0]),
            )
    for match in STORED.finditer(text):
        parts = [
            part for word in match["words"].split() if "/" in word for part in re.split(r"[/]+", word.strip("\"'"))
        ]
        named = next((found for part in parts if (found := names.find(part))), "")
        if named:
            yield named, _find_target(match["words"])


def _find_target(command: str) -> str:
    found = list(TARGET.finditer(command))
    return (found[-1]["folder"] or found[-1]["last"] or "") if found else ""


def _find_in_words(words: Sequence[str], name: str, origin: Origin) -> Iterator[Download]:
    """Yield each checkpoint that the words of a script name beside a folder."""
    folders = [word for word in words if re.fullmatch(r"/[\w./-]+", word)]
    ids = [word for word in words if re.fullmatch(ID, word) and names.is_release(word)]
    if len(ids) == 1 and folders:
        yield Download(ids[0], folders[-1], name, origin)
