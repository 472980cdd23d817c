"""Join: the Dockerfile of the repository that builds an image, from files that say so, else from names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from gpulint.adapters.images import declared, layers
from gpulint.adapters.images.layers import Layer
from gpulint.catalog import capabilities, tables
from gpulint.engines import image_tags
from gpulint.source import excess
from gpulint.source.repository import Repository
from gpulint.workload import Build, Container

DOCKERFILES = r"(?:[Dd]ocker|[Cc]ontainer)file(?:[.-][\w.-]+)?|[\w.-]+\.(?:[Dd]ocker|[Cc]ontainer)file"
DOCKERFILES_MAX = 200
BASES_MAX = 5
COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose[^/]*$")
SYSTEM = ("/bin/", "/usr/", "/sbin/", "/opt/")
TEMPLATES = frozenset({"j2", "tmpl", "tpl", "template", "dockerignore", "md"})
ASIDE = frozenset({".devcontainer", "tests", "test", "docs", ".github", "third_party", "vendor", "ci"})
"""Folders whose Dockerfiles build what works on a repository, not what it deploys."""
BY_NAME = "the image is assumed to be the one that {} builds, which has its name"
ALONE = "the image is assumed to be the one that {} builds, the repository's only one"
BY_FILE = "the image is assumed to be the one that {} builds, the only one with {}"


def find(container: Container, near: str, repository: Repository) -> tuple[Layer, ...]:
    """Return the Dockerfile of a container's image and those of its base images; nothing if the repository builds it not."""
    build = container.build or _find_build(container, near, repository)
    return _read_layers(build, near, repository) if build is not None else ()


def list_dockerfiles(near: str, repository: Repository) -> list[str]:
    """Return the Dockerfiles of the repository."""
    found = [path for path in repository.find_named(DOCKERFILES, near) if path.rpartition(".")[2] not in TEMPLATES]
    excess.is_over(len(found), DOCKERFILES_MAX, "the repository has more than {} Dockerfiles")
    return found[:DOCKERFILES_MAX]


def _read_layers(build: Build, near: str, repository: Repository) -> tuple[Layer, ...]:
    """Return a Dockerfile and those of its base images, each once."""
    found: list[Layer] = []
    while (
        build is not None
        and len(found) < BASES_MAX
        and build.dockerfile not in {layer.build.dockerfile for layer in found}
    ):
        layer = layers.read(build, repository)
        if layer is None:
            break
        found.append(layer)
        base = layer.image.image.partition("@")[0].replace(":$built", "")
        paths = [path for path in list_dockerfiles(near, repository) if path != build.dockerfile]
        following = _find_stated(base, paths, near, repository) or _find_named(base, paths)
        if following is None:
            break
        build = following._replace(assumption="")
    return tuple(found)


def _find_build(container: Container, near: str, repository: Repository) -> Build | None:
    text = container.image.text or container.image.source_text
    paths = list_dockerfiles(near, repository)
    if not paths or not text:
        return None
    if stated := _find_stated(text, paths, near, repository):
        return stated
    if is_published(text):
        return None
    return (
        _find_named(text, paths)
        or _find_by_file(container, paths, repository)
        or _find_alone(container, paths, near, repository)
    )


def is_published(image: str) -> bool:
    """Return whether an image is one that an engine's maker or another publisher of the catalog builds."""
    if capabilities.compile_official_images().search(image) or image.startswith("nvcr.io/"):
        return True
    repository = image_tags.split_image(image)[0].removeprefix("docker.io/")
    return repository in tables.index_rows("published_images", "image")


# ---- files that say so


def _find_stated(image: str, paths: Sequence[str], near: str, repository: Repository) -> Build | None:
    """Return the one build that a file declares for an image; one with the same whole name comes first."""
    name = read_name(image)
    if not name:
        return None
    found: dict[bool, set[tuple[str, str | None, str, tuple[tuple[str, str], ...]]]] = {True: set(), False: set()}
    for one in list_declared(near, repository):
        if read_name(one.image) == name and (resolved := declared.resolve(one, paths)):
            whole = image_tags.split_image(one.image)[0] == image_tags.split_image(image)[0]
            found[whole].add((*resolved, one.target, one.arguments))
    chosen = found[True] or found[False]
    places = {(path, target) for path, _, target, _ in chosen}
    if len(places) != 1:
        return None
    contexts = {context for _, context, _, _ in chosen}
    arguments = {arguments for _, _, _, arguments in chosen}
    path, target = places.pop()
    return Build(
        path,
        contexts.pop() if len(contexts) == 1 else None,
        target,
        dict(arguments.pop()) if len(arguments) == 1 else {},
    )


def list_declared(near: str, repository: Repository) -> tuple[declared.Declared, ...]:
    names = [*repository.find_named(declared.NAMES, near)]
    names += [path for path in repository.find_named(r"[\w.-]+\.ya?ml", near) if declared.WORKFLOWS in f"/{path}"]
    contents = ((path, repository.read(path)) for path in names[: declared.FILES_MAX])
    return declared.read(tuple((path, content) for path, content in contents if content is not None))


def read_name(image: str) -> str:
    """Return the last part of an image's name; empty if a variable decides it."""
    last = image_tags.split_image(re.sub(r"\$\{\{[^}]*\}\}", "$", image.strip("\"'")))[0].rpartition("/")[2]
    return "" if re.search(r"[${<]", last) else last.lower()


# ---- names


def _find_named(image: str, paths: Sequence[str]) -> Build | None:
    """Return the one Dockerfile whose folder or file has the image's name."""
    name = read_name(image)
    found = [path for path in paths if name and name in list_names(path)]
    return Build(found[0], assumption=BY_NAME.format(found[0])) if len(found) == 1 else None


def list_names(path: str) -> Iterator[str]:
    folder, file = posixpath.split(path.lower())
    before, after = file.partition(".")[0], file.partition(".")[2]
    yield after if before in ("dockerfile", "containerfile") else before
    if not after:
        yield posixpath.basename(folder)


def _find_by_file(container: Container, paths: Sequence[str], repository: Repository) -> Build | None:
    """Return the one Dockerfile whose image has the script that a container starts."""
    word = next(iter(container.entrypoint or ()), None)
    if word is None or not (word.text or "").startswith("/"):
        return None
    found = []
    for path in paths:
        layer = layers.read(Build(path), repository)
        if layer is not None and layers.find_file((layer,), word.text or "", "", repository):
            found.append(path)
    return Build(found[0], assumption=BY_FILE.format(found[0], word.text)) if len(found) == 1 else None


def _find_alone(container: Container, paths: Sequence[str], near: str, repository: Repository) -> Build | None:
    """Return the only Dockerfile of a repository, if nothing says that its image is another one.

    An image of a publisher on whose images the Dockerfile builds is not built here.
    """
    own = [path for path in paths if not ASIDE & set(path.split("/")[:-1])]
    image = container.image.text or ""
    if len(own) != 1 or _is_taken(own[0], image, near, repository):
        return None
    layer = layers.read(Build(own[0]), repository)
    if layer is None or _is_contradicted(container, layer, repository):
        return None
    base = image_tags.split_image(layer.image.image)[0]
    stated = image_tags.split_image(image)[0]
    maker = stated.rpartition("/")[0]
    if (
        stated == base
        or (maker and maker == base.rpartition("/")[0])
        or capabilities.compile_gpu_images().search(stated)
    ):
        return None
    return Build(own[0], assumption=ALONE.format(own[0]))


def _is_contradicted(container: Container, layer: Layer, repository: Repository) -> bool:
    """Return whether a container starts a file that the Dockerfile's image does not have."""
    word = next(iter(container.entrypoint or ()), None)
    path = (word.text if word is not None else None) or ""
    return path.startswith("/") and not path.startswith(SYSTEM) and not layers.find_file((layer,), path, "", repository)


def _is_taken(path: str, image: str, near: str, repository: Repository) -> bool:
    """Return whether a file says that a Dockerfile builds another image, or that of another service of compose."""
    for one in list_declared(near, repository):
        resolved = declared.resolve(one, (path,))
        name = read_name(one.image)
        if resolved and (name not in ("", read_name(image)) or (not one.image and COMPOSE.search(near))):
            return True
    return False
