"""Files about machines: the output of nvidia-smi, records of runs and inventories of hosts that a repository keeps."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator

from gpulint.catalog import hardware
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.repository import Repository

OUTPUT = re.compile(
    r"(?i)(?:^|/)[^/]*(?:nvidia[-_]?smi|gpu[-_]?info|system[-_]?info|hardware)[^/]*\.(?:txt|log|md|out)$"
)
"""Files that may keep the output of nvidia-smi."""
INVENTORY = re.compile(
    r"(?i)(?:^|/)(?:(?:hosts|inventory)(?:[-_.][\w-]+)?(?:\.(?:ini|ya?ml|cfg))?|(?:inventory|inventories)/[^/]+(?:/hosts)?(?:\.(?:ini|ya?ml))?"
    r"|ssh[-_.]?config|\.ssh/config)$"
)
"""Inventories of Ansible, and settings of ssh."""
FILES_MAX, CHARACTERS_MAX = 8, 60_000
PRINTED = re.compile(
    r"^\|[ \t]++\d++[ \t]++(?P<table>(?:NVIDIA|Tesla|Quadro|GeForce|TITAN)"
    r"(?:[^|\r\n \t]++|[ \t]++(?!(?:On|Off|N/A)[ \t]*+\|))*+)[ \t]++(?:On|Off|N/A)[ \t]*+\|"
    r"|^GPU \d+: (?P<line>[^()\r\n]+) \(UUID",
    re.MULTILINE,
)
"""A GPU in the table of nvidia-smi, and in the output of `nvidia-smi -L`."""
RUN = re.compile(r"(?:^|/)wandb-metadata\.json$")
"""Records of runs that Weights & Biases keeps beside a program."""
RAN_ON = re.compile(r"\"gpu\"\s*+:\s*+\"(?P<name>[^\"]{1,80})\"")
RAN_WITH = re.compile(r"\"gpu_count\"\s*+:\s*+(?P<gpus>\d{1,4})\b")
HOST = re.compile(
    r"^[ \t]*(?:-[ \t]+|Host[ \t]+|HostName[ \t]+)?(?P<name>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*)(?=[ \t:\r\n]|$)",
    re.MULTILINE,
)
"""The first name of a line: a host of an inventory, or behind `Host`."""


def find(path: str, repository: Repository) -> Iterator[Evidence]:
    """Yield what the output of nvidia-smi and the hosts of an inventory say, in the repository of a file."""
    yield from _find_below(find_top(path, repository), repository)  # type: ignore[arg-type]


def find_top(path: str, repository: Repository) -> str:
    """Return the topmost folder of the repository above a file."""
    folder, top = posixpath.dirname(path), ""
    while folder and repository.exists(folder):
        folder, top = posixpath.dirname(folder) if folder != "/" else "", folder
    return "." if not path.startswith("/") else top


@functools.lru_cache(maxsize=4)
def _find_below(folder: str, repository: Repository) -> tuple[Evidence, ...]:
    paths = tuple(repository.list_files(folder))
    return (*_find_output(paths, repository), *_find_runs(paths, repository), *_find_hosts(paths, repository))


def _find_runs(paths: tuple[str, ...], repository: Repository) -> Iterator[Evidence]:
    """Yield the one accelerator on which all recorded runs were made."""
    found = [
        (path, name["name"], RAN_WITH.search(text))
        for path, text in _read(paths, RUN, repository)
        if (name := RAN_ON.search(text))
    ]
    products = {hardware.find_accelerator(name) for _, name, _ in found}
    product = next(iter(products)) if len(products) == 1 else None
    if product is not None:
        counts = {int(count["gpus"]) for _, _, count in found if count}
        gpus = next(iter(counts)) if len(counts) == 1 else None
        yield Evidence((product.id,), f"the run recorded in {found[0][0]}", gpus if gpus == 1 else None)


def _find_output(paths: tuple[str, ...], repository: Repository) -> Iterator[Evidence]:
    for path, text in _read(paths, OUTPUT, repository):
        names = {(match["table"] or match["line"]).strip() for match in PRINTED.finditer(text)}
        products = {product.id for name in names if (product := hardware.find_accelerator(name)) is not None}
        if len(products) == 1 and names:
            yield Evidence(tuple(products), f"the output of nvidia-smi in {path}")


def _find_hosts(paths: tuple[str, ...], repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator after which all hosts of an inventory are named that are named after any."""
    for path, text in _read(paths, INVENTORY, repository):
        named = {
            match["name"]: found
            for match in HOST.finditer(text)
            if re.search(r"\d", match["name"])
            and (found := hardware.find_in_site_name(match["name"].partition(".")[0]))
        }
        if len(set(named.values())) == 1:
            name, products = next(iter(named.items()))
            yield Evidence(products, f"the host name {name} in {path}")


def _read(paths: tuple[str, ...], pattern: re.Pattern[str], repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the files whose name fits, with their text."""
    fitting = [path for path in paths if pattern.search(posixpath.join("/", path))]
    for path in fitting[:FILES_MAX]:
        content = repository.read(path)
        if content is not None and b"\0" not in content[:CHARACTERS_MAX]:
            yield path, content[:CHARACTERS_MAX].decode("utf-8", "replace")
