"""Names: the checkpoint that a name of somebody's own means, such as that of a service, an image or a volume."""

from __future__ import annotations

import functools
import itertools
import re

from gpulint.catalog import architecture, tables

LOCAL = re.compile(r"[/~.$]|(?:pvc|file|s3|gs|gcs|oci|docker|models|pvc\\+hf|az|azblob|https?)://")
"""Checkpoints that name a place, and no release of a hub."""
FOLDER = re.compile(r"model|weight|checkpoint|ckpt|output|result|save|merge|export|adapter|pretrain", re.IGNORECASE)
"""Words of folders that hold weights."""
OF_FOLDER = "the folder of the weights"
"""What a name is that of, where a checkpoint is assumed from it."""
LETTERS_MAX = 200
"""Characters of a name that are read."""
SEPARATORS = re.compile(r"[^a-z0-9.]+|\.(?!\d)|(?<!\d)\.")
VERSION = re.compile(r"(?<=[a-z])-(?=\d+(?:-|$))")
"""The hyphen between a family and its version: llama-3 and llama3 are one."""
DOTS_MAX = 3
MAKERS = ("meta-", "nvidia-")
"""Makers that some ids begin with, and that names leave out."""
TAILS = (
    "-hf",
    "-diffusers",
    "-base-1-0",
    "-instruct",
    "-chat",
    "-it",
    "-pt",
    "-base",
    "-v0-1",
    "-v0-2",
    "-v0-3",
    "-bf16",
)
"""Endings of ids that do not change the network, and that names leave out."""
FURTHER = frozenset(
    re.findall(
        r"\w+",
        """
        vllm sglang tgi tei triton server serving service svc serve deployment deploy inference infer predictor model
        models modelcar llm isvc inferenceservice endpoint api openai runtime engine pod job app demo example sample
        test prod dev main weights storage cache data pvc volume claim gpu gpus cuda nvidia decode prefill worker leader
        head router gateway hf repo latest quantized quantised release chatbot local k8s kserve knative llmd download
        downloader loader init fetch ray rayservice rayserve simple basic single multi node nodes container stack
        platform playground workload statefulset values the my our
        """,
    )
)
"""Words around a model's name that say where or how it runs."""
ADAPTERS = frozenset({"lora", "adapter"})
TAG = re.compile(r"(?<=[A-Za-z0-9])[:@](?:v?[\d.]+|latest|main|sha256.*)$")
"""The tag or digest of an image."""
OTHER_NETWORKS = frozenset(
    re.findall(
        r"\w+",
        "reward reranker rerank embedding embed guard classifier ocr vl vision audio omni moe draft eagle eagle3 speculator",
    )
)
"""Words of a release with another head, or with further networks, than the one of the same name and size."""
SIZE = re.compile(r"\d+[bm]")
WORDS_MAX = 24
TELLING = 3
"""Words of a name without a digit that are enough to mean a checkpoint."""


def find(name: str) -> str:
    """Return the reference of the checkpoint that a name means; empty if it means none of the catalog, or several.

    >>> find("vllm-qwen2-5-7b-instruct"), find("meta-llama3-8b-instruct"), find("chat-server")
    ('Qwen/Qwen2.5-7B-Instruct', 'meta-llama/Meta-Llama-3-8B-Instruct', '')
    >>> find("modelcar-llama32-3b-instruct-fp8:1.5"), find("qwen2-57b"), find("llama-2-7b-medical")
    ('RedHatAI/Llama-3.2-3B-Instruct-FP8', '', '')
    """
    words = _normalize(TAG.sub("", name[:LETTERS_MAX]))
    if found := _look_up_trimmed(words):
        return found
    words = words[slice(*_find_core(words))]
    formats = tables.index_rows("checkpoint_suffixes", "suffix")
    for count in (2, 1):
        suffix = "-".join(words[-count:])
        if len(words) > count and suffix in formats and suffix not in ADAPTERS:
            found = _look_up_trimmed(words[:-count])
            return f"{found}-{suffix}" if found else ""
    return ""


def find_within(name: str) -> str:
    """Return the reference of the checkpoint whose name, with its size, is a part of the name of a folder of weights.

    Fine-tuning keeps the network. A folder of adapters holds no network, unless they were merged. Some words around the name
    mean another network, such as reward.

    >>> find_within("merged-qwen2.5-7b"), find_within("llama-3-8b-medical-awq"), find_within("qwen2.5-7b-lora")
    ('Qwen/Qwen2.5-7B', 'meta-llama/Meta-Llama-3-8B-awq', '')
    """
    if found := find(name):
        return found
    words = _normalize(name[:LETTERS_MAX])[:WORDS_MAX]
    if ADAPTERS & set(words) and not any(word.startswith("merge") for word in words):
        return ""
    parts = ((first, last) for first in range(len(words)) for last in range(first + 1, len(words) + 1))
    longest = sorted(parts, key=lambda part: part[0] - part[1])
    sized = (part for part in longest if any(SIZE.fullmatch(word) for word in words[slice(*part)]))
    found, (first, end) = next(
        ((found, part) for part in sized if (found := _look_up(words[slice(*part)]))), ("", (0, len(words)))
    )
    if not found or OTHER_NETWORKS & {*words[:first], *words[end:]}:
        return ""
    formats = tables.index_rows("checkpoint_suffixes", "suffix")
    suffix = next((word for word in reversed(words[end:]) if word in formats and word not in ADAPTERS), "")
    return f"{found}-{suffix}" if suffix else found


def find_maker(reference: str) -> str:
    """Return the maker's own release that a copy of it is named like, else the same reference.

    >>> find_maker("unsloth/llama-3-8b"), find_maker("Qwen/Qwen3-8B")
    ('meta-llama/Meta-Llama-3-8B', 'Qwen/Qwen3-8B')
    """
    found = find(reference.rpartition("/")[2])
    is_copy = found and not architecture.is_original(reference) and architecture.is_original(found)
    return found if is_copy and architecture.is_same(found, reference) else reference


def is_release(reference: str) -> bool:
    """Return whether an id of a hub is of the catalog, or has the form in which releases are named.

    >>> is_release("acme/Chat-v1.2"), is_release("acme/own-8B"), is_release("bin/sh")
    (True, True, False)
    """
    last = reference.rpartition("/")[2]
    return re.search(r"-v?\d|\d[bB]\b", last) is not None or architecture.resolve(reference).architecture is not None


def is_folder(path: str) -> bool:
    """Return whether a reference is a path, and no id of a hub.

    >>> is_folder("hf_models/own-7b"), is_folder("out/a/own-7b"), is_folder("acme/own-7b"), is_folder("s3://a/own-7b")
    (True, True, False, False)
    """
    if "://" in path or not path:
        return False
    return bool(LOCAL.match(path)) or path.count("/") > 1 or bool(FOLDER.search(path.rpartition("/")[0]))


def _normalize(name: str) -> list[str]:
    """Return the words of a name; a point inside a number separates two words."""
    return _join_version(SEPARATORS.sub("-", name.lower()).replace(".", "-").strip("-")).split("-")


def _join_version(text: str) -> str:
    return VERSION.sub("", text)


def _look_up_trimmed(words: list[str]) -> str:
    """Return the checkpoint of the longest part of a name around which only words like server and deployment stand."""
    start, end = _find_core(words)
    parts = ((first, last) for first in range(start + 1) for last in range(end, len(words) + 1))
    longest = sorted(parts, key=lambda part: part[0] - part[1])
    return next((found for part in longest if (found := _look_up(words[slice(*part)]))), "")


def _find_core(words: list[str]) -> tuple[int, int]:
    """Return where the words begin and end that are left without those that do not belong to a model's name."""
    own = [at for at, word in enumerate(words) if word not in FURTHER]
    return (own[0], own[-1] + 1) if own else (0, 0)


def _look_up(words: list[str]) -> str:
    key = "-".join(words)
    is_telling = any(map(str.isdigit, key)) or len(words) >= TELLING
    return (_index().get(key) or "") if is_telling else ""


@functools.cache
def _index() -> dict[str, str | None]:
    """Return checkpoint ids by each way to spell them; None if a spelling means several of different content.

    Whole names precede those that leave an ending out, and a maker's own release precedes copies of it.
    """
    found: dict[str, str | None] = {}
    names = architecture.list_originals()
    for depth in range(3):
        own: dict[str, str | None] = {}
        for name in names:
            for key in _list_spellings(name, depth):
                first = own.setdefault(key, name)
                if first is not None and first != name and not architecture.is_same(first, name):
                    own[key] = None
        found = {**own, **found, **_choose_makers(own, found)}
    return found


def _choose_makers(own: dict[str, str | None], found: dict[str, str | None]) -> dict[str, str | None]:
    """Return the makers' own releases that a spelling means as well as a copy of them."""
    pairs = ((key, own[key], found[key]) for key in own.keys() & found.keys())
    return {
        key: name
        for key, name, copy in pairs
        if name
        and copy
        and name != copy
        and architecture.is_original(name)
        and not architecture.is_original(copy)
        and architecture.is_same(name, copy)
    }


def _list_spellings(name: str, depth: int) -> set[str]:
    """Return the spellings of a checkpoint id that leave out as many endings."""
    last = name.rsplit("/", 1)[-1].lower()
    dots = [at for at, letter in enumerate(last) if letter == "."]
    keys = set()
    for kept in itertools.product(("-", ""), repeat=min(len(dots), DOTS_MAX)):
        text = "".join(kept[dots.index(at)] if at in dots[:DOTS_MAX] else letter for at, letter in enumerate(last))
        key = "-".join(word for word in re.split(r"[^a-z0-9]+", text) if word)
        keys |= {key, *(key.removeprefix(maker) for maker in MAKERS)}
    for _ in range(depth):
        keys = {key.removesuffix(tail) for key in keys for tail in TAILS if key.endswith(tail)}
    owner = re.sub(r"[^a-z0-9]+", "-", name.partition("/")[0].lower())
    return {_join_version(key) for spelled in keys for key in (spelled, f"{owner}-{spelled}")}
