"""Config file: the settings file of a server, as the equivalent arguments.

vLLM and SGLang put a file's keys before the arguments of the command line, so that the latter win
(vllm v0.11.0 vllm/utils/__init__.py FlexibleArgumentParser; sglang v0.5.4
python/sglang/srt/server_args_config_parser.py). trtllm-serve and Dynamo's worker around it let the
file win (TensorRT-LLM 1.0 tensorrt_llm/commands/serve.py).
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping

from gpulint.adapters.objects import config_maps, embedded
from gpulint.adapters.programs.launchers import Launch
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin

FIRST = ("vllm", "sglang")
LAST = ("trtllm-serve", "dynamo.trtllm")
OPTIONS = {
    **dict.fromkeys(FIRST, ("--config",)),
    "trtllm-serve": ("--extra_llm_api_options", "--config"),
    "dynamo.trtllm": ("--extra-engine-args",),
}
NAMES_A_FILE = frozenset({"training_config", "deepspeed_config"})
OF_PYTHON = frozenset({"-m", "-u"})
OF_TENSORRT_LLM: Mapping[tuple[str, ...], str] = {
    ("tensor_parallel_size",): "--tp_size",
    ("pipeline_parallel_size",): "--pp_size",
    ("moe_expert_parallel_size",): "--ep_size",
    ("max_batch_size",): "--max_batch_size",
    ("max_num_tokens",): "--max_num_tokens",
    ("max_seq_len",): "--max_seq_len",
    ("max_beam_width",): "--max_beam_width",
    ("kv_cache_config", "free_gpu_memory_fraction"): "--kv_cache_free_gpu_memory_fraction",
}
"""Keys of the LLM API, by the equivalent option of trtllm-serve; other keys are not read."""


def expand(invocation: Invocation, find: Callable[[str], Origin | None]) -> Invocation:
    """Return the invocation with its settings file as arguments.

    `find` returns the location of a file's text.
    """
    words = invocation.arguments
    engine = _identify_engine(invocation)
    at = next((at for at, word in enumerate(words) if _name_option(word) in OPTIONS.get(engine, ())), None)
    if at is None:
        return invocation
    joined = "=" in (words[at].text or words[at].flag)
    stated = words[at]._replace(text=(words[at].text or "").partition("=")[2] or None) if joined else None
    file = stated or (words[at + 1] if at + 1 < len(words) else words[at])
    others = (*words[:at], *words[at + (1 if joined else 2) :])
    file_settings = _read_settings_file(file, find)
    if file_settings is None:
        return invocation
    settings = tuple(_render_settings(engine, file_settings, file))
    if engine in LAST:
        return invocation._replace(arguments=(*others, *settings))
    begins = (at for at, word in enumerate(others) if _name_option(word).startswith("-") and word.text not in OF_PYTHON)
    first = next(begins, len(others))
    return invocation._replace(arguments=(*others[:first], *settings, *others[first:]))


def find_in_repository(repository: Repository, folder: str, name: str) -> Origin | None:
    """Return a settings file of the repository, by its path from a folder."""
    if name.startswith(("/", "~")) or "://" in name:
        return None
    path = posixpath.normpath(posixpath.join(folder, name))
    loaded = repository.read_documents(path)
    return Origin(loaded[0], ()) if len(loaded) == 1 else None


def find_in_parents(repository: Repository, folder: str, name: str) -> Origin | None:
    """Return a settings file from a folder or one above it, where commands are often run."""
    origin = find_in_repository(repository, folder, name)
    above = posixpath.dirname(folder)
    return origin if origin is not None or above == folder else find_in_parents(repository, above, name)


def merge_trainer_files(reading: Reading | None, find: Callable[[str], Origin | None]) -> Reading | None:
    """Return a trainer's reading merged with the configuration files that its command names."""
    if reading is None or not NAMES_A_FILE & reading.fields.keys():
        return reading
    from gpulint.adapters import trainers

    return trainers.merge_files(reading, lambda name: _read_document(find(name)))


def read_accelerate(launched: Launch, find: Callable[[str], Origin | None]) -> dict[str, Field]:
    """Return the fields of `accelerate launch` and of the file that it names."""
    step = next((step for step in launched.steps if step.launcher == "accelerate"), None)
    if step is None:
        return {}
    from gpulint.adapters.trainers import accelerate_launch

    named = step.last("config_file")
    config = _read_document(find(named.text)) if named is not None and named.text else None
    fields = accelerate_launch.fields(step, lambda name: _read_document(find(name)))
    return fields if config is None else {**fields, **accelerate_launch.counts(step, config)}


def _read_document(place: Origin | None) -> Document | None:
    """Return the document in a file of a container or of the repository."""
    if place is None:
        return None
    return embedded.document(place.document, place.path) if place.path else place.document


def _identify_engine(invocation: Invocation) -> str:
    """Return the server whose settings file is known, by its program, else by its image."""
    named = [word.text or "" for word in invocation.arguments[:6]] + [invocation.image.text or ""]
    return next((engine for engine in (*LAST, *FIRST) if any(engine in word for word in named)), "")


def _name_option(word: Argument) -> str:
    return (word.text or word.flag).partition("=")[0]


def _read_settings_file(file: Argument, find: Callable[[str], Origin | None]) -> Document | None:
    """Return the settings of a file; None if it cannot be read.

    The engine takes such a file for unknown arguments.
    """
    document = _read_document(find(file.text)) if file.text else None
    return document if document is not None and isinstance(document.data, dict) else None


def render(engine: str, document: Document) -> Iterator[Argument]:
    """Yield the settings of a file of vLLM or SGLang as arguments, at their places in the file."""
    for path in _list_paths(engine, document):
        yield from _render_words(engine, document, path)


def _render_settings(engine: str, document: Document, file: Argument) -> Iterator[Argument]:
    for path in _list_paths(engine, document):
        yield from (config_maps.relocate(word, file.origin) for word in _render_words(engine, document, path))


def _list_paths(engine: str, document: Document) -> Iterator[Path]:
    if engine in LAST:
        yield from (path for path in OF_TENSORRT_LLM if document.get(path) is not None)
    elif isinstance(document.data, dict):
        yield from ((str(key),) for key in document.data if key != "config")


def _render_words(engine: str, document: Document, path: Path) -> Iterator[Argument]:
    flag = OF_TENSORRT_LLM[tuple(map(str, path))] if engine in LAST else f"--{str(path[-1]).replace('_', '-')}"
    value, origin = document.get(path), Origin(document, path)
    node = document.node(path)
    if isinstance(value, bool):
        yield from (Argument(flag, origin._replace(key=True)),) if value else ()
    elif isinstance(value, dict | list):
        yield from (Argument(flag, origin._replace(key=True)), Argument(json.dumps(value), origin))
    elif value is not None:
        text = node.value if node is not None and isinstance(node.value, str) else str(value)
        yield from (Argument(flag, origin._replace(key=True)), Argument(text, origin))
