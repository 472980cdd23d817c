"""Settings files that say which weights a trainer writes, and the scripts within other files, such as those of containers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpulint.adapters.weights.produced import Produced
from gpulint.source.documents import Document
from gpulint.workload import Origin

MODEL = ("model_name_or_path", "base_model", "model_name", "model_id", "model")
OUTPUT = ("export_dir", "output_dir")
ADAPTER = ("finetuning_type", "adapter", "train_type", "use_peft", "use_lora", "lora_r", "lora_rank", "peft")
STARTS = frozenset({"command", "args", "entrypoint", "run", "setup", "script", "onstart"})
DEPTH_MAX, SCRIPTS_MAX = 14, 60


def read(document: Document) -> Iterator[Produced]:
    """Yield what the settings of LLaMA-Factory, Axolotl, TRL and the like write; an export merges adapters."""
    section = document.data
    if not isinstance(section, dict):
        return
    model = next((key for key in MODEL if isinstance(section.get(key), str)), None)
    output = next((key for key in OUTPUT if isinstance(section.get(key), str)), None)
    if model is None or output is None:
        return
    exports = output == "export_dir"
    named = " ".join(str(section[key]).lower() for key in ADAPTER if section.get(key) not in (None, False))
    is_adapter = not exports and bool(named) and "full" not in named
    how = document.path.rpartition("/")[2]
    origin = Origin(document, (output,))
    yield Produced(str(section[output]), str(section[model]), how, origin, None, is_adapter, not exports)


def list_scripts(document: Document) -> Iterator[str]:
    """Yield the commands of containers, tasks and steps that a file states, each as the text of a script."""
    for number, text in enumerate(_walk(document.data, DEPTH_MAX)):
        if number >= SCRIPTS_MAX:
            return
        yield text


def _walk(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _join(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in inner if depth else ():
        if isinstance(child, dict | list):
            yield from _walk(child, depth - 1)


def _join(section: dict[object, object]) -> Iterator[str]:
    """Yield the script of a section: of a shell its last word, else all words, and texts as they are."""
    words: list[str] = []
    for key in STARTS:
        stated = section.get(key)
        if isinstance(stated, str):
            yield stated
        elif isinstance(stated, list):
            words = [str(word) for word in stated if isinstance(word, str | int | float)]
            yield words[-1] if words and ("\n" in words[-1] or " " in words[-1]) else shlex.join(words)
