"""Declared builds: which files of a repository say that an image is built from a Dockerfile.

These are compose files, skaffold and bake files, workflows of GitHub and GitLab, Cloud Build, Makefiles and scripts.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.engines import image_tags
from gpulint.source import documents, recipes, shell
from gpulint.source.documents import Document

FILES_MAX = 200
BYTES_MAX = 2_000_000
COMMANDS_MAX = 2_000
FOLDERS_MAX = 12
NODES_MAX = 20_000
NAMES = (
    r"(?:docker-)?compose[\w.-]*\.ya?ml|skaffold[\w.-]*\.ya?ml|docker-bake[\w.-]*\.(?:hcl|json)|cloudbuild[\w.-]*\.ya?ml"
    r"|\.gitlab-ci[\w.-]*\.ya?ml|(?:GNUm|[Mm])akefile|[\w.-]+\.mk|[Jj]ustfile|[\w.-]+\.(?:sh|bash)|Taskfile\.ya?ml"
)
WORKFLOWS = ".github/workflows/"
TOOLS = re.compile(rb"docker|podman|buildah|nerdctl|kaniko|build[\"']?:|target[ \t]+\"")
BUILDS = re.compile(rb"\bbuild|\bbud\b|executor|target")
BUILDERS = frozenset({"docker", "podman", "nerdctl", "buildah"})
VERBS = frozenset({"build", "bud", "b"})
BETWEEN = frozenset({"buildx", "image", "builder"})
SWITCHES = frozenset(
    {"--push", "--load", "--no-cache", "--pull", "--rm", "--force-rm", "--squash", "-q", "--quiet", "-D"}
)
TAGS = frozenset({"-t", "--tag", "--destination", "-d"})
FILES = frozenset({"-f", "--file", "--dockerfile"})
SCRIPTS = frozenset({"run", "script", "before_script", "after_script", "cmds", "cmd"})
EXPRESSION = re.compile(r"\$\{\{[ \t]*env\.(\w+)[ \t]*\}\}")
ACTION = "docker/build-push-action"
METADATA = "docker/metadata-action"
RELEASES = re.compile(r"\btype=(?:sha|semver|pep440|match|schedule)\b")
"""Kinds of tags that stay with their build: github.com/docker/metadata-action, "tags input"."""


class Declared(NamedTuple):
    """A build as a file states it: the image, the folder of the file, and paths that are relative to it.

    `below_context` says that the Dockerfile's path is relative to the context. The image of a compose service without a
    name for it is empty.
    """

    image: str
    near: str
    context: str | None
    file: str
    target: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    below_context: bool = False
    is_service: bool = False
    """Whether the file that states the build also runs it, as compose does."""


@functools.lru_cache(maxsize=4)
def read(files: tuple[tuple[str, bytes], ...]) -> tuple[Declared, ...]:
    """Return the builds that files declare."""
    found: list[Declared] = []
    left = BYTES_MAX
    for path, content in files[:FILES_MAX]:
        left -= len(content)
        if left >= 0 and _may_build(content):
            found += _read_file(path, content)
    return tuple(dict.fromkeys(found))


def _may_build(content: bytes) -> bool:
    return TOOLS.search(content) is not None and BUILDS.search(content) is not None


def _read_file(path: str, content: bytes) -> Iterator[Declared]:
    near = posixpath.dirname(path)
    if recipes.find_dialect(path):
        text = content.decode("utf-8", "replace")
        for recipe in recipes.read(path, text):
            yield from _read_script(recipe.commands.text, near)
        return
    for document in documents.load(path, content).documents:
        if document.format == "shell":
            yield from _read_script(document.text, near)
        elif document.format == "hcl" or "docker-bake" in path:
            yield from _read_bake(document, near)
        elif isinstance(document.data, dict):
            root = path.partition(WORKFLOWS)[0].rstrip("/")
            yield from _read_data(document, root if WORKFLOWS in path else near)


def _read_data(document: Document, near: str) -> Iterator[Declared]:
    data = document.data if isinstance(document.data, dict) else {}
    services = data.get("services")
    for service in services.values() if isinstance(services, dict) else ():
        if isinstance(service, dict) and service.get("build"):
            build = service["build"]
            own = build if isinstance(build, dict) else {"context": build}
            one = _declare(service.get("image") or "", near, own, own.get("dockerfile"), "args", below_context=True)
            yield one._replace(is_service=True)
    yield from _read_skaffold(data, near)
    yield from _read_steps(data, near)


def _declare(
    image: object, near: str, own: Mapping[str, object], file: object, arguments: str, *, below_context: bool
) -> Declared:
    context = own.get("context")
    return Declared(
        str(image),
        near,
        str(context) if context is not None else ".",
        str(file) if file else "",
        str(own.get("target") or ""),
        tuple(_read_arguments(own.get(arguments))),
        below_context,
    )


def _read_arguments(stated: object) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a build that are stated, of a mapping, a list or lines."""
    if isinstance(stated, dict):
        yield from (
            (str(name), str(value)) for name, value in stated.items() if value is not None and "$" not in str(value)
        )
        return
    lines = stated if isinstance(stated, list) else str(stated or "").splitlines()
    for line in lines:
        name, equals, value = str(line).strip().partition("=")
        if equals and "$" not in value:
            yield name, value


def _read_skaffold(data: Mapping[str, object], near: str) -> Iterator[Declared]:
    build = data.get("build")
    listed = build.get("artifacts") if isinstance(build, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("image"), str):
            own: dict[str, object] = next(
                (entry[key] for key in ("docker", "kaniko") if isinstance(entry.get(key), dict)), {}
            )
            both = {**own, "context": entry.get("context", ".")}
            yield _declare(entry["image"], near, both, own.get("dockerfile"), "buildArgs", below_context=True)


def _read_bake(document: Document, near: str) -> Iterator[Declared]:
    targets = document.get(("target",))
    for target in targets.values() if isinstance(targets, dict) else ():
        tags = target.get("tags") if isinstance(target, dict) else None
        for tag in tags if isinstance(tags, list) else ():
            yield _declare(tag, near, target, target.get("dockerfile"), "args", below_context=True)


# ---- workflows


def _read_steps(data: Mapping[str, object], near: str) -> Iterator[Declared]:
    """Yield the builds of the steps of a workflow, and of its scripts."""
    shared = _get_mapping(data, "env")
    for inner in _iterate(data):
        own = {**shared, **_get_mapping(inner, "env")}
        steps = inner.get("steps")
        listed = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        for step in listed:
            yield from _read_step(step, listed, own, near)
        for key in SCRIPTS & inner.keys():
            lines = inner[key]
            text = "\n".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
            yield from _read_script(_fill(text, own), near)


def _get_mapping(data: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _read_step(
    step: Mapping[str, object], steps: Sequence[Mapping[str, object]], variables: Mapping[str, object], near: str
) -> Iterator[Declared]:
    arguments, tool = step.get("args"), str(step.get("name", "")).rpartition("/")[2].partition(":")[0]
    if isinstance(arguments, list) and tool in ("docker", "executor"):
        yield from _read_words([tool, *map(str, arguments)], near)
    given = step.get("with")
    if not str(step.get("uses", "")).startswith(ACTION) or not isinstance(given, dict):
        return
    tags = given.get("tags")
    lines = [
        line.strip() for text in (tags if isinstance(tags, list) else [tags]) for line in re.split(r"[\n,]", str(text))
    ]
    named = [_fill(line, variables) for line in lines if line and "steps." not in line]
    if not named:
        named = [_fill(image, variables) for other in steps for image in _list_metadata(other)]
    context = str(given.get("context") or ".")
    own = {**given, "context": "." if "{{" in context or "://" in context else context}
    for image in named:
        yield _declare(image, near, own, given.get("file"), "build-args", below_context=False)


def _list_metadata(step: Mapping[str, object]) -> Iterator[str]:
    """Yield the images that an action names for a step after it."""
    given = step.get("with")
    if str(step.get("uses", "")).startswith(METADATA) and isinstance(given, dict):
        tag = ":$release" if RELEASES.search(str(given.get("tags") or "")) else ""
        lines = re.split(r"[\n,]", str(given.get("images") or ""))
        yield from (f"{line.strip()}{tag}" for line in lines if line.strip())


def read_tag(image: str) -> str:
    """Return the tag that a build gives an image, with a mark for each expression of a workflow."""
    return image_tags.split_image(re.sub(r"\$\{\{[^}]*\}\}", "$", image.strip("\"'")))[1]


def _fill(text: str, variables: Mapping[str, object]) -> str:
    """Return a text with the workflow's own variables filled in."""
    return EXPRESSION.sub(lambda match: str(variables.get(match[1], match[0])), text)


def _iterate(data: object) -> Iterator[Mapping[str, object]]:
    """Yield the mappings within some data."""
    waiting: list[object] = [data]
    for _ in range(NODES_MAX):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


# ---- commands


def _read_script(text: str, near: str) -> Iterator[Declared]:
    if not _may_build(text.encode("utf-8", "replace")):
        return
    for command in shell.read_commands(re.sub(r"\$\{\{[^}]*\}\}", "$UNKNOWN", text))[:COMMANDS_MAX]:
        yield from _read_words(
            [word.text if word.text is not None else word.raw.strip("\"'") for word in command.words], near
        )


def _read_words(words: Sequence[str], near: str) -> Iterator[Declared]:
    """Yield the builds of a command: one for each tag."""
    behind = _strip_builder(list(words))
    if behind is None:
        return
    options: dict[str, list[str]] = {}
    positional: list[str] = []
    at = 0
    while at < len(behind):
        name, equals, value = behind[at].partition("=")
        takes_next = not equals and name.startswith("-") and name not in SWITCHES
        if not name.startswith("-"):
            positional.append(behind[at])
        elif equals or takes_next:
            options.setdefault(name, []).append(value if equals else "".join(behind[at + 1 : at + 2]))
        at += 2 if takes_next else 1
    tags = [tag for name in TAGS for tag in options.get(name, ())]
    file = next((path for name in FILES for path in options.get(name, ())), "")
    target = next(iter(options.get("--target", ())), "")
    context = next(iter((*options.get("--context", ()), *options.get("-c", ()), *positional)), None)
    unknown = context is None or "$" in context or "://" in context
    for tag in tags:
        yield Declared(
            tag,
            near,
            None if unknown else context,
            file,
            target,
            tuple(_read_arguments(options.get("--build-arg", []))),
        )


def _strip_builder(words: list[str]) -> list[str] | None:
    """Return the words behind `docker build` or kaniko's executor; None of any other command."""
    names = [word.rpartition("/")[2] for word in words[:5]]
    first = next((at for at, name in enumerate(names) if name in BUILDERS or name == "executor"), None)
    if first is None or any(name not in ("sudo", "time", "exec") for name in names[:first]):
        return None
    if names[first] == "executor":
        return words[first + 1 :]
    at = first + 1
    while at < len(words) and (words[at] in BETWEEN):
        at += 1
    return words[at + 1 :] if at < len(words) and words[at] in VERBS else None


def resolve(declared: Declared, dockerfiles: Iterable[str]) -> tuple[str, str | None] | None:
    """Return the Dockerfile and the context of a declared build; None if the repository has no such Dockerfile.

    A path is relative to the folder of the file that states it, or to one above it.
    """
    known = set(dockerfiles)
    folder = declared.near
    for _ in range(FOLDERS_MAX):
        for named in (declared.file, "" if declared.file else "Containerfile"):
            context = None if declared.context is None else posixpath.normpath(posixpath.join(folder, declared.context))
            context = "" if context == "." else context
            base = context if declared.below_context or not declared.file else folder
            name = named or "Dockerfile"
            path = posixpath.normpath(posixpath.join(base or "", name))
            if path in known:
                return path, context
            if (
                declared.file
                and context is not None
                and (path := posixpath.normpath(posixpath.join(context, name))) in known
            ):
                return path, context
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return None
