"""Produced weights: the folder or file that a program writes, and the checkpoint that it makes it from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import NamedTuple

from gpulint.source.shell import HOLE
from gpulint.workload import Origin

PARTS_MAX = 16
SAME, ENDING, INSIDE = 3, 2, 1
"""How well two paths agree: the same, one the end of the other, or a file or a saved state below the folder."""
SAVED_STATE = re.compile(r"checkpoint-\w+")
"""A folder of the Trainer of Transformers below its output_dir (transformers/trainer_utils.py, PREFIX_CHECKPOINT_DIR)."""
WEIGHT_FILE = re.compile(r".*\.(?:gguf|safetensors|bin|pth?|ckpt)", re.IGNORECASE)
HOME = re.compile(r"~|\$\{?HOME\}?")
URL_ID = re.compile(
    r"https?://(?:huggingface\.co|hf-mirror\.com|(?:www\.)?modelscope\.cn(?:/models)?)/(?P<id>[\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


class Produced(NamedTuple):
    """Weights that a file of the repository writes.

    `path` is where, with holes for what is not known; `reference` is the id or the path that they come from. A
    `quantization` of None is that of the reference, and an empty one is none. `is_run` means that a training run writes
    further folders below the path, `is_assumed` that only an example in a README says so.
    """

    path: str
    reference: str
    how: str
    origin: Origin
    quantization: str | None = None
    is_adapter: bool = False
    is_run: bool = False
    is_assumed: bool = False


class Parts(NamedTuple):
    """A path by its folders; one with an open beginning is a relative path, or may lie below any folder."""

    names: tuple[str, ...]
    is_absolute: bool


def split(path: str) -> Parts:
    """Return the folders of a path without `.` and `..`; of one below a folder that is not known, those behind it.

    >>> split("./models//qwen/"), split("~/models/qwen").names
    (Parts(names=('models', 'qwen'), is_absolute=False), ('models', 'qwen'))
    """
    text = HOME.sub(HOLE, path.strip().strip("\"'").removeprefix("file://")).replace("\\", "/")
    names = tuple(name for name in posixpath.normpath(text or ".").split("/") if name not in ("", ".", ".."))
    if len(names) > PARTS_MAX:
        return Parts((), False)
    is_absolute = text.startswith("/")
    if names and names[0] == HOLE:
        return Parts(names[1:], False)
    return Parts(names, is_absolute)


def compare(wanted: Parts, written: Parts, produced: Produced) -> tuple[int, int]:
    """Return how well the path that a program reads agrees with one that a file writes, and how many folders they share.

    Without agreement, both numbers are 0.
    """
    if not wanted.names or not written.names or any(HOLE in name for name in written.names):
        return 0, 0
    if found := _compare_names(wanted, written):
        return found
    last = wanted.names[-1]
    is_inside = WEIGHT_FILE.fullmatch(last) or (produced.is_run and SAVED_STATE.fullmatch(last))
    if is_inside and len(wanted.names) > 1 and not WEIGHT_FILE.fullmatch(written.names[-1]):
        above = _compare_names(wanted._replace(names=wanted.names[:-1]), written)
        return (INSIDE, above[1]) if above else (0, 0)
    return 0, 0


def _compare_names(wanted: Parts, written: Parts) -> tuple[int, int] | None:
    if wanted == written:
        return SAME, len(wanted.names)
    if wanted.is_absolute and written.is_absolute:
        return None
    shared = min(len(wanted.names), len(written.names))
    if wanted.names[-shared:] != written.names[-shared:]:
        return None
    longer = wanted if len(wanted.names) > len(written.names) else written
    shorter = written if longer is wanted else wanted
    is_possible = not shorter.is_absolute and (longer.is_absolute or len(longer.names) - shared <= 1 or shared > 1)
    return (ENDING, shared) if is_possible else None


def is_telling(names: Sequence[str]) -> bool:
    """Return whether the shared folders of two paths are rather a name of one model than a general one.

    >>> is_telling(("models", "qwen2.5-7b")), is_telling(("outputs", "merged")), is_telling(("out", "checkpoint-500"))
    (True, False, False)
    """
    return any(re.search(r"\d", name) and not SAVED_STATE.fullmatch(name) for name in names)


def find_id(url: str) -> str:
    """Return the id of a release whose address is given; empty for any other text.

    >>> find_id("https://huggingface.co/Qwen/Qwen3-8B"), find_id("https://github.com/acme/tool")
    ('Qwen/Qwen3-8B', '')
    """
    match = URL_ID.fullmatch(url)
    return match["id"] if match else ""
