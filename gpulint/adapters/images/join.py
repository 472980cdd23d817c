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
KUSTOMIZATIONS = r"kustomization\.ya?ml|Kustomization"
KUSTOMIZATIONS_MAX = 100
BASES_MAX = 5
COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose[^/]*$")
SYSTEM = ("/bin/", "/usr/", "/sbin/", "/opt/")
TEMPLATES = frozenset({"j2", "tmpl", "tpl", "template", "dockerignore", "md"})
ASIDE = frozenset({".devcontainer", "tests", "test", "docs", ".github", "third_party", "vendor", "ci"})
"""Folders whose Dockerfiles build what works on a repository, not what it deploys."""
BY_NAME = "the image is assumed to be the one that {} builds: the file or its folder has the name of the image"
ALONE = "the image is assumed to be the one that {} builds: it is the only Dockerfile outside folders such as tests and docs"
ELSEWHERE = "the image is assumed to be the one that {} builds: that image has the same name in another registry"
ALIKE, COMPATIBLE, SAME = 1, 2, 3
"""How far the names of two images agree."""
BY_FILE = "the image is assumed to be the one that {} builds: no other Dockerfile of the repository adds {}"

_Stated = tuple[str, str | None, str, tuple[tuple[str, str], ...]]
"""A Dockerfile, its context, the stage and the arguments of a build."""


def find(container: Container, near: str, repository: Repository) -> tuple[Layer, ...]:
    """Return the Dockerfile of a container's image and those of its base images; nothing if the repository builds it not."""
    build = container.build or find_build(container, near, repository)
    return read_layers(build, near, repository) if build is not None else ()


def list_dockerfiles(near: str, repository: Repository) -> list[str]:
    """Return the Dockerfiles of the repository."""
    found = [path for path in repository.find_named(DOCKERFILES, near) if path.rpartition(".")[2] not in TEMPLATES]
    excess.is_over(len(found), DOCKERFILES_MAX, "the repository has more than {} Dockerfiles")
    return found[:DOCKERFILES_MAX]


def read_layers(build: Build, near: str, repository: Repository) -> tuple[Layer, ...]:
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


def is_deployable(path: str) -> bool:
    """Return whether a Dockerfile is none that only builds what works on the repository, such as its tests."""
    return not ASIDE & set(path.split("/")[:-1])


def find_build(container: Container, near: str, repository: Repository) -> Build | None:
    text = container.image.text or container.image.source_text
    paths = list_dockerfiles(near, repository)
    if not paths or not text:
        return None
    for name in (text, *_list_renamed(text, near, repository)):
        if stated := _find_stated(name, paths, near, repository):
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
    """Return the one build that a file declares for an image; one with the same whole name comes first.

    If only the last part of the name is the same, the build is assumed, and an image of a known publisher is another one.
    """
    found: dict[int, set[_Stated]] = {}
    for one in list_declared(near, repository) if read_name(image) else ():
        likeness = _compare(one.image, image)
        if likeness and (resolved := declared.resolve(one, paths)):
            found.setdefault(likeness, set()).add((*resolved, one.target, one.arguments))
    if not found or (max(found) < SAME and is_published(image)):
        return None
    chosen = found[max(found)]
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
        ELSEWHERE.format(path) if max(found) == ALIKE else "",
    )


def _list_renamed(image: str, near: str, repository: Repository) -> Iterator[str]:
    """Yield the names that Kustomizations of the repository give an image."""
    for path in repository.find_named(KUSTOMIZATIONS, near)[:KUSTOMIZATIONS_MAX]:
        if b"newName" not in (repository.read(path) or b""):
            continue
        for document in repository.read_documents(path):
            listed = document.get(("images",))
            for entry in listed if isinstance(listed, list) else ():
                if isinstance(entry, dict) and entry.get("name") == image_tags.split_image(image)[0]:
                    yield str(entry.get("newName") or "")


def _compare(declared_image: str, image: str) -> int:
    """Return how far two names agree: not at all, in the last part, as far as both are stated, or wholly."""
    if not read_name(image) or read_name(declared_image) != read_name(image):
        return 0
    first, second = (_strip(name).split("/") for name in (declared_image, image))
    if first == second:
        return SAME
    pairs = list(zip(reversed(first), reversed(second), strict=False))
    stated = next((at for at, pair in enumerate(pairs) if "$" in pair[0] or "{" in pair[1]), len(pairs))
    return COMPATIBLE if all(one == other for one, other in pairs[:stated]) else ALIKE


def _strip(image: str) -> str:
    """Return an image without its tag, and with a mark for each expression of a workflow."""
    return image_tags.split_image(re.sub(r"\$\{\{[^}]*\}\}", "$", image.strip("\"'")))[0].lower()


def list_declared(near: str, repository: Repository) -> tuple[declared.Declared, ...]:
    names = [*repository.find_named(declared.NAMES, near)]
    names += [path for path in repository.find_named(r"[\w.-]+\.ya?ml", near) if declared.WORKFLOWS in f"/{path}"]
    contents = ((path, repository.read(path)) for path in names[: declared.FILES_MAX])
    return declared.read(tuple((path, content) for path, content in contents if content is not None))


def read_name(image: str) -> str:
    """Return the last part of an image's name; empty if a variable decides it."""
    last = _strip(image).rpartition("/")[2]
    return "" if re.search(r"[${<]", last) else last


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
    own = [path for path in paths if is_deployable(path)]
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
