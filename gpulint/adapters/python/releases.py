"""Releases: the release of an engine that a program's image installs, or that its requirements pin.

A release is passed on as the engine's own image of it, so that whatever holds for that image holds for the program.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters.python.words import Reader, last_name, read_text, root
from gpulint.engines import Argument
from gpulint.source.documents import Document, Node
from gpulint.source.python.values import Constant, Items, Object, Value
from gpulint.source.repository import Repository
from gpulint.workload import Origin

PIN = re.compile(
    r"(?<![\w./-])(?P<package>vllm|sglang|lmdeploy|tensorrt[-_]llm)(?:\[[\w,-]{0,60}\])?"
    r"(?: ?== ?|[ \t]*=[ \t]*[\"']==)v?(?P<release>\d{1,4}(?:\.\d{1,4}){1,3}(?:\.?post\d{1,3})?)"
)
IMAGES = {
    "vllm": "vllm/vllm-openai:v",
    "sglang": "lmsysorg/sglang:v",
    "lmdeploy": "openmmlab/lmdeploy:v",
    "tensorrt_llm": "nvcr.io/nvidia/tensorrt-llm/release:",
}
"""The engine's own image of a release: docs.vllm.ai/en/latest/deployment/docker.html, docs.sglang.ai/start/install.html,
lmdeploy.readthedocs.io get_started/installation, NVIDIA/TensorRT-LLM docs/source/installation/containers.md."""
BASE = re.compile(r"(?:^|/)(?P<package>vllm|sglang|lmdeploy|tensorrt-llm)\b[\w./-]{0,80}:[\w.-]{1,80}$")
REGISTRIES = ("from_registry", "Image")
"""Calls that name the image which an image is built on: Modal, Beam and BentoML."""
FILES = (
    *("requirements.txt", "pyproject.toml", "environment.yml", "environment.yaml"),
    *("cerebrium.toml", "cog.yaml", "bentofile.yaml"),
)
NAMED = ("pip_install_from_requirements", "requirements_file", "uv_sync", "pip_install_from_pyproject")
CHARACTERS_MAX = 100_000
FOLDERS_MAX = 6
CHAIN_MAX = 40
Pins = Mapping[str, Argument]


def choose(image: Argument, pins: Pins, call: Object, words: Sequence[Argument]) -> Argument:
    """Return the image whose release holds for an engine: the stated one if it names the engine, else that of a pin."""
    said = {root(call), *(part for word in words[:3] for part in re.split(r"[./]", word.text or ""))}
    package = next((name for name in pins if name in said), None)
    if package is None or package.replace("_", "-") in (image.text or "").replace("_", "-"):
        return image
    return pins[package]


def read_image(image: Value | None, document: Document, repository: Repository) -> dict[str, Argument]:
    """Return what the image that a program builds installs: the last call that states a release holds."""
    found: dict[str, Argument] = {}
    reader = Reader()
    for _ in range(CHAIN_MAX):
        if not isinstance(image, Object):
            break
        for text in list_texts(image):
            at = reader.word(text, image.place)
            for package, release in _find(str(text.value)):
                found.setdefault(package, at._replace(text=f"{IMAGES[package]}{release}"))
            if last_name(image) in REGISTRIES and (named := BASE.search(str(text.value))):
                found.setdefault(named["package"].replace("-", "_"), at)
        if last_name(image) in NAMED:
            found = {**read_files(document.path, repository), **found}
        image = image.receiver
    return found


def read_texts(values: Sequence[Value | None], near: Object) -> dict[str, Argument]:
    """Return the releases that commands or lists of packages of a call install."""
    given = Object(near.name, near.place, [value for value in values if value is not None])
    reader = Reader()
    return {
        package: reader.word(text, near.place)._replace(text=f"{IMAGES[package]}{release}")
        for text in list_texts(given)
        for package, release in _find(str(text.value))
    }


def read_files(path: str, repository: Repository) -> dict[str, Argument]:
    """Return the releases that the requirements next to a program or in a folder above it pin."""
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_MAX):
        found = dict(_read_folder(folder, repository))
        if found or folder == posixpath.dirname(folder):
            return found
        folder = posixpath.dirname(folder)
    return {}


def _read_folder(folder: str, repository: Repository) -> Iterator[tuple[str, Argument]]:
    for name in FILES:
        path = posixpath.join(folder, name)
        content = repository.read(path) if repository.exists(path) else None
        if content is None or len(content) > CHARACTERS_MAX:
            continue
        text = content.decode("utf-8", "replace")
        document = Document(path, 0, text, Node("scalar", 0, len(text), text), "text", text)
        for match in PIN.finditer(text):
            if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip().startswith("#"):
                continue
            package = match["package"].replace("-", "_")
            place = Origin(document, (), match.span())
            yield package, Argument(f"{IMAGES[package]}{match['release']}", place)


def _find(text: str) -> Iterator[tuple[str, str]]:
    for match in PIN.finditer(text[:CHARACTERS_MAX]):
        yield match["package"].replace("-", "_"), match["release"]


def list_texts(call: Object) -> Iterator[Constant]:
    """Yield the texts that a call is given, also in lists."""
    for value in (*call.arguments, *call.keywords.values()):
        for part in value.items if isinstance(value, Items) else (value,):
            if isinstance(part, Constant) and read_text(part) is not None:
                yield part
