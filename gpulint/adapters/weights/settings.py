"""Settings files that say which weights a trainer writes, and the scripts within other files, such as those of containers."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator

from gpulint.adapters.weights.produced import Produced
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin

MODEL = (
    "model_name_or_path",
    "base_model",
    "base_model_id",
    "model_name",
    "model_id",
    "model",
    "model.name",
    "model.id",
)
OUTPUT = ("export_dir", "output_dir")
ADAPTER = ("finetuning_type", "adapter", "train_type", "use_peft", "use_lora", "lora", "peft", "lora_r", "lora_rank")
OF_PEFT = "base_model_name_or_path"
"""The key of adapter_config.json: huggingface/peft src/peft/config.py, PeftConfig."""
STARTS = frozenset({"command", "args", "entrypoint", "run", "setup", "script", "onstart"})
DEPTH_MAX, SCRIPTS_MAX = 14, 60


def read(document: Document) -> Iterator[Produced]:
    """Yield what the settings of LLaMA-Factory, Axolotl, TRL and the like write; an export merges adapters."""
    if not isinstance(document.data, dict):
        return
    settings = _flatten(document.data)
    how = posixpath.basename(document.path)
    base = settings.get(OF_PEFT)
    if base is not None and how == "adapter_config.json" and isinstance(base[1], str):
        yield Produced(posixpath.dirname(document.path), base[1], how, Origin(document, base[0]), None, True)
        return
    model = next((settings[key][1] for key in MODEL if key in settings and isinstance(settings[key][1], str)), None)
    output = next((key for key in OUTPUT if key in settings and isinstance(settings[key][1], str)), None)
    if model is None or output is None:
        return
    exports = output == "export_dir"
    named = " ".join(f"{key}={settings[key][1]}".lower() for key in ADAPTER if _is_set(settings.get(key)))
    is_adapter = not exports and bool(named) and "full" not in named
    path, folder = settings[output]
    yield Produced(str(folder), str(model), how, Origin(document, path), None, is_adapter, not exports)


def _is_set(entry: tuple[Path, object] | None) -> bool:
    return entry is not None and entry[1] not in (None, False, 0, "")


def _flatten(data: dict[object, object]) -> dict[str, tuple[Path, object]]:
    """Return the keys of a mapping and of its sections, each with its path and value; `section.key` where it is short."""
    found: dict[str, tuple[Path, object]] = {}
    for key, value in data.items():
        if not isinstance(key, str):
            continue
        found[key] = (key,), value
        if isinstance(value, dict):
            inner = {name: entry for name, entry in value.items() if isinstance(name, str)}
            found |= {f"{key}.{name}": ((key, name), entry) for name, entry in inner.items()}
            found = {**{name: ((key, name), entry) for name, entry in inner.items()}, **found}
    return found


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
