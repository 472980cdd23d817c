"""Contents of a checkpoint's files: each tensor's format and shape from safetensors headers, or the
total from the index.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.architecture.model import Architecture, Resolution

Head = Callable[[str, int], bytes | None]
"""The first bytes of a file beside config.json, at most so many; None where there is no such file to be read."""

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
FILES_MAX = 2_000
INDEX_BYTES_MAX = 64_000_000
"""DeepSeek-V3 in AWQ needs 12.4 million (github.com/kvcache-ai/sglang_awq)."""
HEADER_BYTES_MAX = 32_000_000
"""The format itself allows 100 million (safetensors v0.7.0 safetensors/src/tensor.rs, MAX_HEADER_SIZE)."""
TENSORS_MAX = 1_000_000
RANK_MAX = 16
SIZE_MAX = 2**48
FIRST_BYTES = 200_000
"""Enough for most headers, so that one request reads them."""
LENGTH_BYTES = 8
POINTER = b"version https://git-lfs"
SHARD = re.compile(r"[\w][\w.+-]*\.safetensors")
BITS: Mapping[str, int] = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
"""Bits of one element; safetensors v0.7.0 safetensors/src/tensor.rs, Dtype::bitsize."""
BYTE_BITS = 8
PLAIN = frozenset({"F16", "BF16", "F32", "F64"})
PACKED = frozenset({"I8", "U8", "I32", "U32", *(name for name in BITS if name.startswith(("F4", "F6_", "F8_")))})
NAMES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32"}
DTYPES = {"float16": 2, "bfloat16": 2, "float32": 4}

SCALES = re.compile(
    r"(?:^|[._])(?:scales|qzeros|g_idx|biases|SCB|(?:nested_)?absmax|(?:nested_)?quant_map|weight_format"
    r"|bitsandbytes__\w+|(?:weight|input|output|activation|[qkv]|kv)_(?:global_)?scale(?:_inv|_2|_ub)?"
    r"|(?:weight|input|output)_zero_point|weight_shape)$"
)
"""What quantised layouts store beside the packed weights: AutoGPTQ and AutoAWQ, bitsandbytes, fbgemm, ModelOpt,
compressed-tensors, MLX."""
BUFFERS = re.compile(r"rotary_emb\.inv_freq$|\.(?:attn|attention)\.masked_bias$|\.num_batches_tracked$")
"""Values that are computed again at load; transformers, _keys_to_ignore_on_load_unexpected of their families."""
MASK = re.compile(r"\.(?:attn|attention)\.bias$")
MASK_RANK = 4
"""GPT-2 and GPT-NeoX store their causal mask, 1 x 1 x n x n, under the name of a bias."""
PREDICTS_AHEAD = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|mtp_block|nextn)\.")
LAYER = re.compile(r"(?:(?:model|language_model|transformer)\.)*layers\.(\d+)\.")
TOP = re.compile(r"(?:(?:model|language_model)\.)*lm_head\.weight")
EMBEDDING = re.compile(r"(?:\w+\.)*(?:embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight")
SPEECH = re.compile(r"(?:talker|token2wav|code2wav)\.")
"""Parts that generate speech: some engines that generate text leave them out."""

AGREES = 0.01
LEAST = 0.9
"""How far the files may be from what config.json describes; some indexes keep the total of the copy they came from."""


class Unreadable(Exception):
    """The reason why a checkpoint's files do not show what they hold, as a sentence."""


class Tensor(NamedTuple):
    """One tensor of a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * BITS[self.dtype] // BYTE_BITS


Each = Callable[[Callable[[str], tuple[Tensor, ...] | None], Sequence[str]], Iterable[tuple[Tensor, ...] | None]]
"""How the headers of several files are read: one after the other, as `map` does, or several at a time."""


class StoredWeights(NamedTuple):
    """The contents of the files: their tensors, or only names and the total if no header could be
    read.
    """

    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    total_bytes: int
    source: str


class LoadedWeights(NamedTuple):
    """The tensors that engines load, and their bytes in memory, where unquantised tensors take 16
    bits.
    """

    bytes_by_dtype: Mapping[str, int]
    parameters: int | None
    unquantised_parameters: int | None
    total_bytes: int
    source: str

    @property
    def is_quantised(self) -> bool:
        return self.unquantised_parameters is not None


# ---- reading


def read_stored(head: Head, each: Each = map) -> StoredWeights | None:
    """Return the contents of the files next to a config.json; None if there are none."""
    listed = head(INDEX, INDEX_BYTES_MAX + 1)
    if listed is None:
        alone = read_header(WHOLE, head)
        return None if alone is None else _merge_headers({WHOLE: alone})
    total, places = read_index(listed)
    files = sorted(set(places.values()))
    if len(files) > FILES_MAX:
        raise Unreadable(f"{INDEX} names more than {FILES_MAX} files")
    headers = _read_headers(files, head, each)
    if headers is None:
        return StoredWeights(tuple(places), (), total, INDEX) if total else None
    found = _merge_headers(headers)
    if lacking := sorted(set(places) - set(found.names)):
        raise Unreadable(f"{INDEX} names {lacking[0]}, but {places[lacking[0]]} does not hold it")
    return _select_indexed(found, places)


def read_index(content: bytes) -> tuple[int, Mapping[str, str]]:
    """Return the total bytes in an index (0 if it has none), and the file of each tensor.

    >>> read_index(b'{"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}')
    (8, {'a': 'model-00001-of-00002.safetensors'})
    """
    if len(content) > INDEX_BYTES_MAX:
        raise Unreadable(f"{INDEX} is larger than {INDEX_BYTES_MAX // 1_000_000} MB")
    data = _mapping(content, INDEX)
    places, metadata = data.get("weight_map"), data.get("metadata")
    if not isinstance(places, dict) or not places:
        raise Unreadable(f"{INDEX} has no weight_map")
    for name, file in places.items():
        if not isinstance(file, str) or not SHARD.fullmatch(file):
            raise Unreadable(
                f"{INDEX} places {_short(name)} in {_short(file)}, which is not a safetensors file next to it"
            )
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    return (total if isinstance(total, int) and total > 0 else 0), places


def read_header(file: str, head: Head) -> tuple[Tensor, ...] | None:
    """Return the tensors of one safetensors file; None if the file, or more than its Git LFS
    pointer, is missing.
    """
    content = head(file, FIRST_BYTES)
    if content is None or content.startswith(POINTER):
        return None
    length = _length(file, content)
    if length + LENGTH_BYTES > len(content):
        content = head(file, length + LENGTH_BYTES) or b""
    text = content[LENGTH_BYTES : length + LENGTH_BYTES]
    if len(text) < length:
        raise Unreadable(f"{file} ends inside its header")
    entries = _mapping(text, file)
    return tuple(_tensor(file, name, entry) for name, entry in entries.items() if name != "__metadata__")


def _length(file: str, content: bytes) -> int:
    if len(content) < LENGTH_BYTES:
        raise Unreadable(f"{file} is not a safetensors file: it ends before its header")
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    if length > HEADER_BYTES_MAX:
        raise Unreadable(f"{file} is not a safetensors file: its header would have {length:,} bytes")
    return length


def _tensor(file: str, name: str, entry: object) -> Tensor:
    if not isinstance(entry, dict):
        raise Unreadable(f"{file}: {_short(name)} is not a tensor")
    dtype, shape, place = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        raise Unreadable(f"{file}: {_short(name)} has an unknown number format {_short(dtype)}")
    if not isinstance(shape, list) or len(shape) > RANK_MAX or not all(_is_size(size) for size in shape):
        raise Unreadable(f"{file}: {_short(name)} has no shape")
    found = Tensor(name, dtype, tuple(shape))
    if not isinstance(place, list) or len(place) != 2 or not all(type(offset) is int for offset in place):
        raise Unreadable(f"{file}: {_short(name)} has no data_offsets")
    if place[1] - place[0] != found.bytes:
        raise Unreadable(f"{file}: {_short(name)} has {place[1] - place[0]} bytes, but its shape needs {found.bytes}")
    return found


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= SIZE_MAX


def _mapping(content: bytes, file: str) -> dict[str, object]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise Unreadable(f"{file} is not readable: its JSON is malformed") from None
    if not isinstance(data, dict):
        raise Unreadable(f"{file} is not readable: its JSON is not a mapping")
    return data


def _read_headers(files: Sequence[str], head: Head, each: Each) -> dict[str, tuple[Tensor, ...]] | None:
    """Return the headers of all files; None if one of them is missing."""
    found: dict[str, tuple[Tensor, ...]] = {}
    count = 0
    for file, tensors in zip(files, each(lambda file: read_header(file, head), files), strict=True):
        if tensors is None:
            return None
        found[file] = tensors
        count += len(tensors)
        if count > TENSORS_MAX:
            raise Unreadable(f"the files hold more than {TENSORS_MAX:,} tensors")
    return found


def _merge_headers(headers: Mapping[str, tuple[Tensor, ...]]) -> StoredWeights:
    tensors = tuple(tensor for held in headers.values() for tensor in held)
    names = tuple(tensor.name for tensor in tensors)
    source = f"headers of {len(headers)} safetensors files" if len(headers) > 1 else f"header of {next(iter(headers))}"
    return StoredWeights(names, tensors, sum(tensor.bytes for tensor in tensors), source)


def _select_indexed(found: StoredWeights, places: Mapping[str, str]) -> StoredWeights:
    """Return the tensors that the index names. Files may hold more, which is not loaded."""
    tensors = tuple({tensor.name: tensor for tensor in found.tensors if tensor.name in places}.values())
    return StoredWeights(tuple(places), tensors, sum(tensor.bytes for tensor in tensors), found.source)


def _short(value: object) -> str:
    return str(value)[:80]


# ---- what engines load of it


def select_loaded(held: StoredWeights, config: str, tied: bool) -> LoadedWeights:
    """Return the tensors that an engine loads.
    Layers that predict ahead, tied heads stored twice, and buffers are left out.
    """
    layers = _count_layers(config)
    if any(SPEECH.match(name) for name in held.names):
        raise Unreadable("the files hold speech-output parts, which text engines may leave out")
    copied = tied and any(EMBEDDING.fullmatch(name) for name in held.names)
    left = {name for name in held.names if _is_left(name, layers, copied)}
    if held.tensors:
        return _count_bytes(
            [tensor for tensor in held.tensors if tensor.name not in left and not _is_buffer(tensor)], held.source
        )
    if left:
        raise Unreadable(f"the index's total includes {min(left)}, which is not loaded")
    return LoadedWeights({}, None, None, held.total_bytes, held.source)


def _count_bytes(tensors: Iterable[Tensor], source: str) -> LoadedWeights:
    by_dtype: Counter[str] = Counter()
    packed, plain, quantised = 0, 0, False
    for tensor in tensors:
        by_dtype[tensor.dtype] += tensor.bytes
        scale = SCALES.search(tensor.name) is not None
        quantised = quantised or scale or tensor.dtype in PACKED
        if tensor.dtype in PLAIN and not scale:
            plain += tensor.elements
        else:
            packed += tensor.bytes
    parameters, kept = (None, plain) if quantised else (plain, None)
    held = dict(by_dtype.most_common())
    return LoadedWeights(held, parameters, kept, packed + plain * DTYPES["bfloat16"], source)


def _is_left(name: str, layers: int | None, copied: bool) -> bool:
    if PREDICTS_AHEAD.search(name) or (copied and TOP.fullmatch(name)):
        return True
    numbered = LAYER.match(name)
    return numbered is not None and layers is not None and int(numbered[1]) >= layers


def _is_buffer(tensor: Tensor) -> bool:
    mask = MASK.search(tensor.name) and len(tensor.shape) == MASK_RANK
    return bool(mask or BUFFERS.search(tensor.name))


def _count_layers(config: str) -> int | None:
    """Return the number of the text model's layers in config.json."""
    top = _mapping(config.encode("utf-8", "replace"), "config.json")
    levels = [level for level in (top.get("text_config"), top) if isinstance(level, dict)]
    layers = next((level["num_hidden_layers"] for level in levels if "num_hidden_layers" in level), None)
    return layers if type(layers) is int else None


# ---- the architecture with it


def weigh(shape: Architecture, found: LoadedWeights) -> Architecture:
    """Return an architecture with the weights of its checkpoint's files. Raise Unreadable if they
    contradict it.
    """
    if found.bytes_by_dtype and shape.checkpoint_dtype is None:
        widest = max(found.bytes_by_dtype, key=lambda name: (name in NAMES, found.bytes_by_dtype[name]))
        shape = replace(shape, checkpoint_dtype=NAMES.get(widest))
    quantised = found.is_quantised if found.bytes_by_dtype else shape.checkpoint_quantization is not None
    if quantised != (shape.checkpoint_quantization is not None):
        if quantised:
            raise Unreadable("the files hold quantised tensors, but config.json does not declare their format")
        raise Unreadable("config.json declares quantised tensors, but the files hold none")
    if quantised:
        _agrees(found.total_bytes, *_total_bounds(shape))
        kept = found.unquantised_parameters or shape.unquantised_parameters
        return replace(shape, stored_bytes=found.total_bytes, unquantised_parameters=kept)
    if found.parameters is None:
        return replace(shape, parameters=_apply_total(shape, found.total_bytes))
    if shape.parameters is not None:
        _agrees(found.parameters, shape.parameters * (1 - AGREES), shape.parameters * (1 + AGREES), "parameters")
    return replace(shape, parameters=found.parameters, format_assumed=None)


def _apply_total(shape: Architecture, total: int) -> int:
    """Return parameters from an index's total, which counts only if it agrees with config.json."""
    size = DTYPES.get(shape.checkpoint_dtype or "")
    if shape.parameters is None or size is None:
        raise Unreadable("the index has a total, but the number format of the tensors is unknown")
    _agrees(total, shape.parameters * size * (1 - AGREES), shape.parameters * size * (1 + AGREES))
    return total // size


def _total_bounds(shape: Architecture) -> tuple[float, float]:
    """Return the minimum and maximum bytes of a quantised checkpoint. The total of the 16-bit
    original lies outside.
    """
    if shape.parameters is None:
        return 0, float("inf")
    row = tables.index_rows("quantization", "quantization").get(shape.checkpoint_quantization or "")
    least = float(row["bytes_per_weight"]) if row else 0
    return shape.parameters * least * LEAST, shape.parameters * DTYPES["bfloat16"] * (1 - AGREES)


def _agrees(held: int, least: float, most: float, unit: str = "bytes") -> None:
    if not least <= held <= most:
        described = f"{least:,.0f} to {most:,.0f}"
        raise Unreadable(f"the files hold {held:,} {unit}, but config.json describes {described}")


# ---- the ladder's last step


def apply_files(resolved: Resolution, config: str, head: Head, each: Each = map) -> Resolution:
    """Return a resolved architecture with the contents of its checkpoint's files.
    If they fail, it is unchanged and the reason is noted.
    """
    shape = resolved.architecture
    try:
        held = read_stored(head, each)
        if shape is None or held is None:
            return resolved
        found = select_loaded(held, config, shape.tied_embeddings is True)
        exact = weigh(shape, found)
    except Unreadable as reason:
        said = f"weights follow from config.json alone: {reason}"
        return resolved._replace(assumption="; ".join(filter(None, (resolved.assumption, said))))
    by_name = found.parameters is not None and shape.named_parameters is not None
    assumption = "" if by_name else resolved.assumption
    return resolved._replace(
        architecture=replace(exact, stored_formats=describe(found, exact.parameters)), assumption=assumption
    )


def describe(found: LoadedWeights, parameters: int | None) -> str:
    """Return what is loaded, by number format, largest first, and the share of parameters that is
    not quantised.

    >>> describe(LoadedWeights({"F8_E4M3": 3 * 2**30, "BF16": 2**30}, None, 2**29, 2**32, "header of model.safetensors"), 2**32)
    'F8_E4M3 3 GiB, BF16 1 GiB (header of model.safetensors); 12.5% of the parameters are not quantised'
    """
    held = found.bytes_by_dtype or {"in all": found.total_bytes}
    parts = ", ".join(f"{name} {units.human(size, 'bytes')}" for name, size in held.items())
    if found.unquantised_parameters is None or not parameters:
        return f"{parts} ({found.source})"
    share = found.unquantised_parameters / parameters
    return f"{parts} ({found.source}); {share:.1%} of the parameters are not quantised"
