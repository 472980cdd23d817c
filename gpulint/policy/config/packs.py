"""Resolve what a policy extends: a built-in pack, a file of its repository, or an installed package."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from gpulint.catalog import package_data
from gpulint.policy import did_you_mean
from gpulint.policy.config import validation
from gpulint.policy.config.files import DiskReader, Reader, RefusedFileError, SettingsError, normalise
from gpulint.policy.config.layer import Layer
from gpulint.policy.config.settings import FILE, PROJECT
from gpulint.source import documents

DEPTH_MAX = 16
LAYERS_MAX = 64
IN_PACKAGE = "package:"
PACKAGE = re.compile(r"[A-Za-z_]\w*")
REPOSITORY = "repository"


def load_layers(reader: Reader, path: str, table: str = "", folder: str | None = None) -> tuple[Layer, ...]:
    """Return a policy file and everything it extends, lowest precedence first. Each file appears once.

    Its globs are relative to `folder` if given, otherwise to its own folder.
    """
    place = posixpath.dirname(path) if folder is None else folder
    own = _layer(reader, path, REPOSITORY, place, tuple(table.split(".")) if table else ())
    found: dict[tuple[str, str, documents.Path], Layer] = {}
    _collect(own, (), found)
    return tuple(found.values())


def open_shipped() -> Reader:
    """Return a reader of the built-in packs."""
    return DiskReader(package_data.find_folder("packs"), "packs")


def list_names() -> list[str]:
    """Return the names of the built-in packs."""
    return [path.removesuffix(".yaml") for path in open_shipped().names("") if path.count("/") == 0]


def load_pack(name: str, folder: str = "") -> Layer:
    """Return a built-in pack by name."""
    return _layer(open_shipped(), f"{name}.yaml", "packs", folder)


def _collect(layer: Layer, chain: tuple[Layer, ...], found: dict[tuple[str, str, documents.Path], Layer]) -> None:
    chain = (*chain, layer)
    for index, word in enumerate(layer.stated.get("extends", ())):
        place = layer.place(("extends", index))
        base = _resolve(word, layer, place, chain[0])
        if base.identity in {link.identity for link in chain}:
            cycle = " → ".join(link.document.path for link in (*chain, base))
            raise SettingsError(f"{place}: extends forms a cycle: {cycle}")
        if len(chain) > DEPTH_MAX or len(found) > LAYERS_MAX:
            raise SettingsError(f"{place}: extends exceeds the limit of {DEPTH_MAX} levels or {LAYERS_MAX} files")
        if base.identity not in found:
            _collect(base, chain, found)
    found[layer.identity] = layer


def _resolve(word: str, layer: Layer, place: str, own: Layer) -> Layer:
    """Return the layer that a word under `extends` names."""
    if word.startswith(IN_PACKAGE):
        return _load_package(word.removeprefix(IN_PACKAGE), place, own)
    if "://" in word:
        raise SettingsError(
            f"{place}: gpulint downloads nothing: copy {word} into the repository or install a package that contains it"
        )
    if "/" in word or "\\" in word or word.endswith((".yaml", ".yml", ".toml")):
        return _load_file(word, layer, place, own)
    if word in list_names():
        return load_pack(word, own.folder)
    hint = did_you_mean.suggest_one(word.lower(), list_names()) or f"; there are {', '.join(list_names())}"
    beside = layer.resolve_path(f"{word}.yaml")
    if beside and layer.reader.read(beside) is not None:
        hint = f"; for the file in the same folder write ./{word}.yaml"
    raise SettingsError(f"{place}: no such pack: {word}{hint}")


def _load_file(word: str, layer: Layer, place: str, own: Layer) -> Layer:
    path = layer.resolve_path(word)
    if path is None:
        raise SettingsError(f"{place}: {word} is outside the {layer.realm}; a policy can extend only files inside it")
    inside = ("tool", "gpulint") if path.rpartition("/")[2] == PROJECT else ()
    try:
        if layer.reader.read(path) is None:
            below = posixpath.join(path, FILE)
            meant = f"; did you mean {word.rstrip('/')}/{FILE}?" if layer.reader.read(below) is not None else ""
            raise SettingsError(f"{place}: there is no file {layer.reader.render_path(path)}{meant}")
    except RefusedFileError as error:
        raise SettingsError(f"{place}: {error}") from None
    return _layer(layer.reader, path, layer.realm, _scope(layer.realm, path, own), inside)


def _scope(realm: str, path: str, own: Layer) -> str:
    """Return the folder to which a file's globs are relative: its own if it contains the policy, else the policy's."""
    folder = posixpath.dirname(path)
    contains_policy = realm == REPOSITORY and (not folder or f"{own.folder}/".startswith(f"{folder}/"))
    return folder if contains_policy else own.folder


def _load_package(word: str, place: str, own: Layer) -> Layer:
    name, _, file = word.partition("/")
    path = normalise(file or FILE)
    if not PACKAGE.fullmatch(name) or path is None:
        raise SettingsError(
            f"{place}: package:{word} is not a file of a top-level package; write package:NAME or package:NAME/FILE.yaml"
        )
    for folder in _find_package(name, place):
        if _is_supplied_by(folder, own.reader.root):
            raise SettingsError(
                f"{place}: the package {name} is in the repository, in {folder}; name its file instead, e.g. ./FILE.yaml"
            )
        reader = DiskReader(folder, f"{IN_PACKAGE}{name}")
        try:
            if reader.read(path) is not None:
                return _layer(reader, path, f"package {name}", own.folder)
        except RefusedFileError as error:
            raise SettingsError(f"{place}: {error}") from None
    raise SettingsError(f"{place}: the package {name} has no {path}")


def _find_package(name: str, place: str) -> list[Path]:
    """Return the folders of a package without importing it."""
    import importlib.util
    import sys

    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise SettingsError(
            f"{place}: the package {name} is not installed; install it into the environment of {sys.prefix}"
        )
    return [Path(folder).resolve() for folder in spec.submodule_search_locations or ()]


def _is_supplied_by(folder: Path, root: Path) -> bool:
    """True if the repository itself supplies a package. A virtual environment inside the repository does not count."""
    import sysconfig

    if not folder.is_relative_to(root.resolve()):
        return False
    environment = (Path(sysconfig.get_path(scheme)).resolve() for scheme in ("purelib", "platlib"))
    return not any(folder.is_relative_to(place) for place in environment)


def _layer(reader: Reader, path: str, realm: str, folder: str, inside: documents.Path = ()) -> Layer:
    content = reader.read(path)
    document = validation.load_document(reader.render_path(path), content or b"", SettingsError)
    return Layer(reader, path, realm, document, inside, validation.validate_policy(document, inside), folder)
