"""Architecture: the shape of a model, and the steps from a checkpoint reference to its
architecture.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.architecture import whole
from gpulint.catalog.architecture.model import Architecture, Resolution

__all__ = ["Architecture", "Resolution", "architectures", "from_config", "ids", "resolve"]

BILLIONS = re.compile(r"(?<![A-Za-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)[bB](?![A-Za-z0-9])")
MILLIONS = re.compile(r"(?<![A-Za-z0-9.])(\d{2,4})[mM](?![A-Za-z0-9])")
"""Parameters of small models. A single digit is a context length: `-1M`."""
ACTIVE = re.compile(r"(?<![A-Za-z0-9])[aA]\d+(?:\.\d+)?[bB](?![A-Za-z0-9])")
TRILLIONS = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)[tT](?=[-_][aA]\d+(?:\.\d+)?[bB](?![A-Za-z0-9]))")
"""Trillions of parameters before those that are active: 2.4T-A95B. A number of tokens has no such second part."""
CACHED = re.compile(r"(?:.*/)?models--(?P<id>[\w.-]+)(?:/snapshots/[^/]+)?/?")
"""A folder of the Hugging Face cache (huggingface_hub v1.9.2 file_download.py, repo_folder_name); ids never hold `--`."""
HUB_ID = re.compile(r"(?P<owner>\w[\w.-]*)/\w[\w.-]*")
FOLDERS = frozenset({"checkpoints", "data", "mnt", "model", "models", "tmp", "weights", "workspace"})
"""Owners that are rather the folder of a relative path."""
REDUCED = re.compile(
    r"bit|quant|bnb|nf4|ggml|exl\d|mlx|aqlm|lora|qat|marlin|round|(?<![a-z])[wq]\d|int\d|fp\d", re.IGNORECASE
)
"""Words with which releases say that they were quantised; one that the catalog does not list leaves the format open."""


def resolve(
    reference: str, config: Callable[[str], str | None] | None = None, like: Mapping[str, str] | None = None
) -> Resolution:
    """Find an architecture, step by step:
    local config.json, exact id, listed copy, `like:`, last part of the path, that part without a
    format suffix, parameter count in the name, unknown.

    `config` reads the text of a checkpoint's config.json inside the repository, `like` maps references to known ids.
    """
    reference = reference.removeprefix("hf://")
    local = config(reference) if config else None
    if local is None and (cached := _parse_cache_folder(reference)) is not None and not (like and reference in like):
        origin = resolve(cached, None, like)
        said = f"{reference} is the Hugging Face cache of {cached}"
        return origin._replace(assumption="; ".join(filter(None, (said, origin.assumption))))
    if local is not None and (own := read_config(reference, local)) is not None:
        return Resolution(own, "config.json in the repository")
    if known := _find_listed(reference):
        return Resolution(known, "catalog")
    if like and (twin := like.get(reference)):
        found = _find_listed(twin)
        return Resolution(found, f"like {twin} in gpulint.yaml", f"{reference} has the shape of {twin} (gpulint.yaml)")
    if (guess := _find_by_basename(reference)) is not None:
        return Resolution(guess, "name", f"{reference} is {guess.id}, by the last part of its path")
    if (copy := _find_by_suffix(reference)) is not None:
        return copy
    if (tuned := _find_fine_tune(reference)) is not None:
        return tuned
    if (billions := _parse_billions(reference)) is not None:
        return _parse_name(reference, billions)
    return Resolution(None, "unknown")


def _parse_cache_folder(reference: str) -> str | None:
    """Return the id of a checkpoint whose folder in the Hugging Face cache is named.

    >>> _parse_cache_folder("/cache/hub/models--Qwen--Qwen3-8B/snapshots/main")
    'Qwen/Qwen3-8B'
    >>> _parse_cache_folder("models--gpt2"), _parse_cache_folder("/models/Qwen3-8B")
    ('gpt2', None)
    """
    folder = CACHED.fullmatch(reference)
    parts = folder["id"].split("--") if folder else []
    return "/".join(parts) if 1 <= len(parts) <= 2 and all(parts) else None


def _parse_name(reference: str, billions: float) -> Resolution:
    """Return what a name alone shows: a parameter count, and the number format in its suffix.

    Without a suffix a release of a hub is most likely in 16 bits, and a folder in any format: quantised copies are
    often stored under the plain name.
    """
    formats = tables.index_rows("checkpoint_suffixes", "suffix")
    words = re.split(r"[-_.]", reference.lower().rstrip("/").rsplit("/", 1)[-1])
    stated = next((formats[word]["quantization"] for word in reversed(words) if word in formats), None)
    shape = Architecture(
        id=reference,
        family="",
        named_parameters=billions * units.BILLION,
        checkpoint_dtype=None if stated == "" else "bfloat16",
        checkpoint_quantization=stated or None,
        format_assumed=_likely_format(reference) if stated is None else None,
    )
    format_ = stated if stated is not None else ASSUMED[_likely_format(reference)]
    said = f"{reference} has about {billions:g} billion parameters in {format_ or 'an unknown format'}, by its name"
    return Resolution(shape, "name", said)


ASSUMED = {"bfloat16": "16 bits, or fewer where it is quantised", "fp8": "4, 8 or 16 bits"}


def _likely_format(reference: str) -> str:
    hub = HUB_ID.fullmatch(reference)
    plain = hub is not None and hub["owner"].lower() not in FOLDERS and not REDUCED.search(reference)
    return "bfloat16" if plain else "fp8"


def load_architectures() -> tuple[Architecture, ...]:
    """Return all architectures of the catalog, by id."""
    return tuple(_base(row) for row in _rows().values())


def list_ids() -> tuple[str, ...]:
    """Return every checkpoint id of the catalog: bases and listed copies."""
    return tuple(sorted({*_rows(), *whole.list_ids(), *tables.index_rows("checkpoints", "checkpoint")}))


def is_listed(reference: str) -> bool:
    """Return whether the catalog knows a checkpoint by its id, or by the last part of its path."""
    return _find_listed(reference) is not None or _find_by_basename(reference) is not None


def _find_listed(reference: str) -> Architecture | None:
    copy = tables.index_rows("checkpoints", "checkpoint").get(reference)
    if copy is None:
        return _base_of(reference)
    base = _base_of(copy["architecture"])
    if base is None:
        raise LookupError(f"checkpoints.csv names the architecture {copy['architecture']}, which no table lists")
    return replace(
        base,
        id=reference,
        checkpoint_dtype=copy["dtype"] or base.checkpoint_dtype,
        checkpoint_quantization=copy["quantization"] or None,
        unquantised_parameters=units.count(copy["unquantised_parameters"]),
        parameters=units.count(copy["parameters"]) or base.parameters,
        trained_context=units.count(copy["trained_context"]) or base.trained_context,
        source=copy["source"],
    )


def _rows() -> Mapping[str, tables.Row]:
    return tables.index_rows("architectures", "id")


@functools.cache
def _base_of(name: str) -> Architecture | None:
    row = _rows().get(name)
    return _base(row) if row else whole.find(name)


def _base(row: tables.Row) -> Architecture:
    counts = {
        name: units.count(row[name])
        for name in (
            *("parameters", "active_parameters", "layers", "hidden", "intermediate", "attention_heads", "kv_heads"),
            *("head_dim", "vocab", "trained_context", "sliding_window", "sliding_layers", "linear_attention_layers"),
            *("kv_lora_rank", "qk_rope_head_dim", "experts", "experts_per_token", "moe_layers", "moe_intermediate"),
            *("moe_hidden",),
            *("shared_intermediate", "sliding_kv_heads", "sliding_head_dim", "kv_shared_layers", "state_elements"),
            *("encoder_layers", "encoder_tokens", "encoder_parameters", "indexer_head_dim"),
        )
    }
    return Architecture(
        id=row["id"],
        family=row["family"],
        gated_mlp=row["gated_mlp"] == "yes",
        tied_embeddings=row["tied_embeddings"] == "yes",
        checkpoint_dtype=row["dtype"],
        task=row["task"],
        modality=row["modality"],
        source=row["source"],
        **counts,  # type: ignore[arg-type]
    )


@functools.cache
def _index_basenames() -> dict[str, str | None]:
    """Return checkpoint ids by last path component, the vendor's own first; None if several differ
    in content.
    """
    found: dict[str, str | None] = {}
    for name in list_originals():
        last = name.rsplit("/", 1)[-1].lower()
        first = found.setdefault(last, name)
        if first is not None and first != name and not is_same(first, name):
            found[last] = None
    return found


def list_originals() -> tuple[str, ...]:
    """Return the checkpoint ids of the makers themselves, and then those of copies."""
    return tuple(sorted(list_ids(), key=lambda name: (not is_original(name), name)))


def is_same(first: str, copy: str) -> bool:
    """Return whether a copy has the architecture and stored format of the first.
    The vendor's own need not state what stays in 16 bits.
    """
    original, other = _shape(first), _shape(copy)
    if original is None or other is None or original == other:
        return original == other
    unsaid = other.unquantised_parameters is None and is_original(first)
    return unsaid and replace(original, unquantised_parameters=None) == other


def is_original(name: str) -> bool:
    """Return whether a checkpoint belongs to the organisation that published its architecture."""
    copy = tables.index_rows("checkpoints", "checkpoint").get(name)
    base = copy["architecture"] if copy else name
    return name.partition("/")[0] == base.partition("/")[0]


def _shape(name: str) -> Architecture | None:
    known = _find_listed(name)
    return known and replace(known, id="", source="")


def _find_by_basename(reference: str) -> Architecture | None:
    """Return the checkpoint that a path such as /models/Qwen3-8B/ names by its last component."""
    last = reference.rstrip("/").rsplit("/", 1)[-1]
    name = _index_basenames().get(last.lower())
    return _find_listed(name) if name else None


def _find_by_suffix(reference: str) -> Resolution | None:
    """Return a checkpoint named like a known 16-bit one plus a format, such as
    TheBloke/Yi-34B-Chat-AWQ.
    """
    last = reference.rstrip("/").rsplit("/", 1)[-1].lower()
    rows = tables.index_rows("checkpoint_suffixes", "suffix")
    for end in sorted((end for end in rows if last.endswith(end) and end not in UNSETTLED), key=len, reverse=True):
        stem = last.removesuffix(end)
        base = _find_unquantised(stem[:-1]) if stem[-1:] in SEPARATORS else None
        format_ = rows[end]["quantization"]
        if base is None or (base.encoder_parameters and format_ in TOWERS_TOO):
            continue
        said = f"{reference} is {base.id} in {format_ or 'a format that its name does not tell'}, by its name"
        shape = replace(base, id=reference, checkpoint_dtype=base.checkpoint_dtype if format_ else None)
        if format_ in PLAIN_FORMATS:
            return Resolution(replace(shape, checkpoint_dtype=format_), "name", said)
        return Resolution(replace(shape, checkpoint_quantization=format_ or None), "name", said)
    return None


CHANGED = re.compile(r"ct2|onnx|ggml|gguf|openvino|coreml|distil|prune|dec\d|adapter|peft", re.IGNORECASE)
"""Words with which fine-tunes say that they have another format, or fewer layers."""


def _find_fine_tune(reference: str) -> Resolution | None:
    """Return the network of speech that a fine-tune names first, such as acme/whisper-small-hi."""
    last = reference.rstrip("/").rsplit("/", 1)[-1].lower()
    base = max((name for name in _list_speech() if last.startswith((f"{name}-", f"{name}_"))), key=len, default=None)
    rest = last.removeprefix(base or "")
    shape = None if base is None or CHANGED.search(rest) or REDUCED.search(rest) else _find_by_basename(base)
    if shape is None:
        return None
    return Resolution(replace(shape, id=reference), "name", f"{reference} is a fine-tune of {shape.id}, by its name")


@functools.cache
def _list_speech() -> tuple[str, ...]:
    """Return the last parts of the ids of networks that transcribe."""
    return tuple(name.rsplit("/", 1)[-1].lower() for name, row in _rows().items() if row["task"] == "transcribe")


UNSETTLED = frozenset({"4bit", "adapter", "fp4", "lora", "mxfp4", "nvfp4"})
"""Adapters, and formats that name no layout: by their hub totals, copies keep up to half of a network in 16 bits."""
TOWERS_TOO = frozenset({"int4-bnb"})
"""Formats of which some releases hold their vision tower and others do not."""
SEPARATORS = ("-", "_", ".")
PLAIN_FORMATS = ("bfloat16", "float16", "float32")
CONVERTED = "-hf"
"""How the makers of Llama 2 and others call the release for Transformers, which copies drop from the name."""


def _find_unquantised(last: str) -> Architecture | None:
    """Return the architecture of the checkpoint whose id ends so, unless it is quantised itself."""
    names = (_index_basenames().get(name) for name in (last, last + CONVERTED))
    found = next((shape for name in names if name and (shape := _find_listed(name))), None)
    return found if found and found.checkpoint_quantization is None else None


def find_size(name: str) -> float | None:
    """Return the parameter count in a name that is no path, in billions; None if it has none, or several.

    >>> find_size("llama-3-8b-server"), find_size("Mixtral 8x7B"), find_size("gpu-pool")
    (8.0, None, None)
    """
    return _parse_billions(name.replace("/", " "))


def _parse_billions(reference: str) -> float | None:
    """Return the parameter count in a checkpoint's name, in billions; of a local path, in that of its nearest folder.

    >>> _parse_billions("acme/Foo-8x7B-chat"), _parse_billions("acme/bar-30B-A3B"), _parse_billions("acme/v2")
    (None, 30.0, None)
    >>> _parse_billions("/data/chat_27b_3/hf"), _parse_billions("acme/tiny-450M"), _parse_billions("acme/bar-7B-1M")
    (27.0, 0.45, 7.0)
    >>> _parse_billions("acme/big-2.4T-A95B"), _parse_billions("acme/big-step-3T")
    (2400.0, None)
    """
    if (trillions := TRILLIONS.findall(reference.rstrip("/").rpartition("/")[2])) and len(trillions) == 1:
        return float(trillions[0]) * 1000
    parts = (ACTIVE.sub("", part) for part in reversed(reference.rstrip("/").split("/")))
    is_path = reference.startswith("/")
    named = next((part for part in parts if BILLIONS.search(part) or MILLIONS.search(part) or not is_path), "")
    found = set(BILLIONS.findall(named))
    millions = set() if found else set(MILLIONS.findall(named))
    if len(millions) == 1:
        return float(millions.pop()) / 1000
    if len(found) != 1:
        return None
    factor, number = found.pop()
    return None if factor else float(number)


def read_config(reference: str, text: str) -> Architecture | None:
    """Return an architecture from the text of a Hugging Face config.json; None if its structure is
    not known.
    """
    from gpulint.catalog.architecture import config, network

    try:
        return network.read(reference, text).architecture
    except config.Unread:
        return None
