"""Users: whether another file of the repository runs the image of a Dockerfile, or builds another image on it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.adapters.images import declared, join
from gpulint.engines import Argument
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Build, Container, Origin

FILES_MAX = 400
BYTES_MAX = 4_000_000
IMAGES_MAX = 200
"""The most images of other files that are compared with one Dockerfile."""
SPECS = (
    r"[\w.-]+\.(?:ya?ml|json|toml|tf|tfvars|hcl|nomad|sh|bash|sbatch|slurm|mk|container|service)"
    r"|(?:GNUm|[Mm])akefile|[Jj]ustfile"
)
IMAGE = re.compile(
    r"(?m)^[ \t-]*[\"']?(?:image|repository|newName|(?:\w[\w-]*)?IMAGE)[\"']?[ \t]*[:=][ \t]*[\"']?(?P<image>[\w][^\s\"',}]*)"
)
"""A key that names an image in a manifest, in values of a chart, in a Kustomization or among variables."""
STARTS = re.compile(r"\b(?:docker|podman|nerdctl)\b[^\n]*\brun\b")
BUILT_FROM = re.compile(r"(?i)\bdocker_?file(?:_?path)?[\"']?[ \t]*[:=][ \t]*[\"']?(?P<path>[\w./-]+)")
"""A key of a platform that builds and runs a Dockerfile: fly.toml, render.yaml, cerebrium.toml, railway.json."""
GPUS = re.compile(r"(?i)gpu|nvidia")


class Named(NamedTuple):
    """What the specs of a repository name: images, whether beside a word about GPUs, Dockerfiles, and texts of scripts."""

    images: tuple[tuple[str, str, bool], ...]
    dockerfiles: frozenset[str]
    scripts: tuple[str, ...]


def is_used(path: str, repository: Repository) -> bool:
    """Return whether a file of the repository runs the image of a Dockerfile, or builds another one on it."""
    near = join.list_declared(path, repository)
    builds = [one for one in near if declared.resolve(one, (path,)) is not None]
    if any(one.is_service for one in builds):
        return True
    named = repository.keep("what runs images", _collect, path)
    if path in named.dockerfiles or any(
        _runs(image, spec, beside, path, repository) for spec, image, beside in named.images
    ):
        return True
    names = {join.read_name(one.image) for one in builds} | set(join.list_names(path)) - {"", "docker"}
    return any(_mentions(text, names) for text in named.scripts) or _is_base(path, repository)


def _collect(repository: Repository) -> Named:
    images: dict[tuple[str, str, bool], None] = {}
    dockerfiles: set[str] = set()
    scripts = []
    left = BYTES_MAX
    for spec in repository.find_named(SPECS, "")[:FILES_MAX]:
        content = repository.read(spec) or b""
        left -= len(content)
        if left < 0:
            break
        text = content.decode("utf-8", "replace")
        beside = GPUS.search(text) is not None
        images |= dict.fromkeys((spec, match["image"], beside) for match in IMAGE.finditer(text))
        dockerfiles |= set(_list_paths(spec, text))
        if STARTS.search(text):
            scripts.append(text)
    return Named(tuple(images)[:IMAGES_MAX], frozenset(dockerfiles), tuple(scripts))


def _list_paths(spec: str, text: str) -> Iterator[str]:
    """Yield the Dockerfiles that a spec names, by their paths from its folder and from the root."""
    for match in BUILT_FROM.finditer(text):
        for folder in (posixpath.dirname(spec), ""):
            yield posixpath.normpath(posixpath.join(folder, match["path"]))


def _runs(image: str, spec: str, beside: bool, path: str, repository: Repository) -> bool:
    """Return whether the image that a spec names is the one of a Dockerfile, as far as names and builds tell.

    An image of a spec without a word about GPUs is not assumed to be that of the only Dockerfile.
    """
    if join.is_published(image):
        return False
    place = Origin(Document(spec, 0, "", Node("scalar", 0, 0, ""), "shell", ""), ())
    build = join.find_build(Container(Argument(image, place), None, None), spec, repository)
    return build is not None and build.dockerfile == path and (beside or build.assumption != join.ALONE.format(path))


def _mentions(text: str, names: set[str]) -> bool:
    return any(name and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) for name in names)


def _is_base(path: str, repository: Repository) -> bool:
    """Return whether another Dockerfile builds on the image of this one."""
    others = (other for other in join.list_dockerfiles(path, repository) if other != path)
    return any(
        layer.build.dockerfile == path
        for other in others
        for layer in join.read_layers(Build(other), path, repository)[1:]
    )
