"""Packs: what a policy extends, by the name of a shipped pack, as a file of its repository, or in an installed package."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpulint.catalog import package_data as shipped
from gpulint.policy.config import did_you_mean as spelling
from gpulint.policy.config import validation as contracts
from gpulint.policy.config.files import Disk, Reader, Refused, within
from gpulint.policy.config.settings import FILE, PROJECT, SettingsError
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import ignored

DEPTH_MAX = 16
LAYERS_MAX = 64
GLOBS_MAX = 5_000
IN_PACKAGE = "package:"
PACKAGE = re.compile(r"[A-Za-z_]\w*")
REPOSITORY = "repository"


class Layer(NamedTuple):
    """One file of a policy: what it states, each at its place, and the folder that its globs are relative to.

    `realm` is what holds the file and all that it may name: the repository, a package, or the shipped packs.
    """

    reader: Reader
    path: str
    realm: str
    document: Document
    inside: documents.Path
    stated: Mapping[str, Any]
    folder: str

    def place(self, path: documents.Path, key: bool = False) -> str:
        """Where what is stated at a path stands."""
        while path and self.document.node((*self.inside, *path)) is None:
            path = path[:-1]
        at = self.document.locate((*self.inside, *path), key=key)
        return f"{at.path}:{at.line}:{at.column}"

    def beside(self, stated: str) -> str | None:
        """A path that is relative to this file, from the root; None where it leads out of the realm."""
        if posixpath.isabs(stated) or "\\" in stated:
            return None
        return within(posixpath.join(posixpath.dirname(self.path), stated))

    def globs(self, path: documents.Path) -> Iterator[str]:
        """The lines at a path, as they stand in a .gitignore of the root; SettingsError for one that matches nothing."""
        lines: Any = self.stated
        for step in path:
            lines = lines.get(step, ()) if isinstance(lines, dict) else lines[step]
        if len(lines) > GLOBS_MAX:
            raise SettingsError(f"{self.place(path)}: {len(lines):,} lines, more than {GLOBS_MAX:,}")
        for index, line in enumerate(lines):
            found = ignored.rooted(self.folder, line)
            if why := ignored.refused(line) or ignored.refused(found):
                raise SettingsError(f"{self.place((*path, index))}: {line!r} {why}")
            yield found

    @property
    def identity(self) -> tuple[str, str, documents.Path]:
        return self.realm, self.path, self.inside


def layers(reader: Reader, path: str, table: str = "", folder: str | None = None) -> tuple[Layer, ...]:
    """A policy file and all that it extends, the least first; each file once, where it is first named.

    Its globs are relative to `folder`, where that is said, else to its own.
    """
    place = posixpath.dirname(path) if folder is None else folder
    own = _layer(reader, path, REPOSITORY, place, tuple(table.split(".")) if table else ())
    found: dict[tuple[str, str, documents.Path], Layer] = {}
    _collect(own, (), found)
    return tuple(found.values())


def shipped_packs() -> Reader:
    """The packs that come with gpulint."""
    return Disk(shipped.folder("packs"), "packs")


def names() -> list[str]:
    """The names of the packs that come with gpulint."""
    return [path.removesuffix(".yaml") for path in shipped_packs().names("") if path.count("/") == 0]


def pack(name: str, folder: str = "") -> Layer:
    """A pack that comes with gpulint, by its name."""
    return _layer(shipped_packs(), f"{name}.yaml", "packs", folder)


def _collect(layer: Layer, chain: tuple[Layer, ...], found: dict[tuple[str, str, documents.Path], Layer]) -> None:
    chain = (*chain, layer)
    for index, word in enumerate(layer.stated.get("extends", ())):
        place = layer.place(("extends", index))
        base = _named(word, layer, place, chain[0])
        if base.identity in {one.identity for one in chain}:
            told = " → ".join(one.document.path for one in (*chain, base))
            raise SettingsError(f"{place}: extends goes round in a circle: {told}")
        if len(chain) > DEPTH_MAX or len(found) > LAYERS_MAX:
            raise SettingsError(f"{place}: extends more than {DEPTH_MAX} files deep, or more than {LAYERS_MAX} in all")
        if base.identity not in found:
            _collect(base, chain, found)
    found[layer.identity] = layer


def _named(word: str, layer: Layer, place: str, own: Layer) -> Layer:
    """The layer that a word under `extends` names."""
    if word.startswith(IN_PACKAGE):
        return _of_package(word.removeprefix(IN_PACKAGE), place, own)
    if "://" in word:
        raise SettingsError(
            f"{place}: gpulint fetches nothing: keep {word} in the repository, or install a package that holds it"
        )
    if "/" in word or "\\" in word or word.endswith((".yaml", ".yml", ".toml")):
        return _of_file(word, layer, place, own)
    if word in names():
        return pack(word, own.folder)
    told = spelling.nearest(word.lower(), names()) or f"; there are {', '.join(names())}"
    beside = layer.beside(f"{word}.yaml")
    if beside and layer.reader.read(beside) is not None:
        told = f"; for the file beside this one write ./{word}.yaml"
    raise SettingsError(f"{place}: no pack is called {word}{told}")


def _of_file(word: str, layer: Layer, place: str, own: Layer) -> Layer:
    path = layer.beside(word)
    if path is None:
        raise SettingsError(f"{place}: {word} lies outside the {layer.realm}; gpulint extends files inside it only")
    inside = ("tool", "gpulint") if path.rpartition("/")[2] == PROJECT else ()
    try:
        if layer.reader.read(path) is None:
            below = posixpath.join(path, FILE)
            meant = f"; did you mean {word.rstrip('/')}/{FILE}?" if layer.reader.read(below) is not None else ""
            raise SettingsError(f"{place}: there is no file {layer.reader.shown(path)}{meant}")
    except Refused as error:
        raise SettingsError(f"{place}: {error}") from None
    return _layer(layer.reader, path, layer.realm, _scope(layer.realm, path, own), inside)


def _scope(realm: str, path: str, own: Layer) -> str:
    """The folder that a file's globs are relative to: its own where that holds the policy, else the policy's."""
    folder = posixpath.dirname(path)
    holds = realm == REPOSITORY and (not folder or f"{own.folder}/".startswith(f"{folder}/"))
    return folder if holds else own.folder


def _of_package(word: str, place: str, own: Layer) -> Layer:
    name, _, file = word.partition("/")
    path = within(file or FILE)
    if not PACKAGE.fullmatch(name) or path is None:
        raise SettingsError(
            f"{place}: package:{word} names no file of a top-level package; write package:NAME or package:NAME/FILE.yaml"
        )
    for folder in _installed(name, place):
        if _lies_inside(folder, own.reader.root):
            raise SettingsError(
                f"{place}: the package {name} lies inside the repository, in {folder}; name its file instead, as ./FILE.yaml"
            )
        reader = Disk(folder, f"{IN_PACKAGE}{name}")
        try:
            if reader.read(path) is not None:
                return _layer(reader, path, f"package {name}", own.folder)
        except Refused as error:
            raise SettingsError(f"{place}: {error}") from None
    raise SettingsError(f"{place}: the package {name} holds no {path}")


def _installed(name: str, place: str) -> list[Path]:
    """The folders of a package, found without importing it."""
    import importlib.util
    import sys

    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise SettingsError(
            f"{place}: no package called {name} is installed beside gpulint; install it into the environment of {sys.prefix}"
        )
    return [Path(one).resolve() for one in found.submodule_search_locations or ()]


def _lies_inside(folder: Path, root: Path) -> bool:
    """Whether the repository itself supplies a package; an environment that gpulint is installed in may lie in it."""
    import sysconfig

    if not folder.is_relative_to(root.resolve()):
        return False
    environment = (Path(sysconfig.get_path(scheme)).resolve() for scheme in ("purelib", "platlib"))
    return not any(folder.is_relative_to(place) for place in environment)


def _layer(reader: Reader, path: str, realm: str, folder: str, inside: documents.Path = ()) -> Layer:
    content = reader.read(path)
    document = contracts.document(reader.shown(path), content or b"", SettingsError)
    return Layer(reader, path, realm, document, inside, contracts.policy(document, inside), folder)
