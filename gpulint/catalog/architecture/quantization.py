"""The quantization_config of a config.json: the format, by its name in catalog/quantization.csv."""

from __future__ import annotations

from collections.abc import Callable

from gpulint.catalog.architecture.config import Config, Unread

GROUPS = {4: {32, 64, 128, -1}, 8: {128, -1}}
"""Group sizes of integer formats that the catalog has, by bits; -1 is one group a column."""
INT8 = "int8"


def find_format(top: Config) -> str | None:
    """Return the name of the checkpoint's quantised format; None in 16 or 32 bits; the method's own
    name if none fits.
    """
    settings = find_declaration(top)
    if settings is None:
        return None
    method = str(settings.value("quant_method") or settings.value("quant_algo") or "unknown").lower()
    reader = READERS.get(method)
    try:
        found = reader(settings) if reader else None
    except Unread:
        found = None
    return found or method


def find_declaration(top: Config) -> Config | None:
    """Return the quantization_config, on the top level or in the text model's."""
    for level in (top.stated, top.stated.get("text_config")):
        for key in ("quantization_config", "compression_config"):
            if isinstance(level, dict) and isinstance(value := level.get(key), dict):
                return Config(value, "")
    return None


# ---- methods


def _read_integer_format(bits: int, group: object) -> str | None:
    """Return int4-g128, int4-gcol, int8-g128 or int8, by bits and group size."""
    if not isinstance(group, int) or group not in GROUPS.get(bits, ()):
        return None
    if bits == 8 and group == -1:
        return INT8
    return f"int{bits}-g{group}" if group > 0 else f"int{bits}-gcol"


def _read_group_format(settings: Config) -> str | None:
    """Return the format of AWQ and GPTQ."""
    bits, group = settings.value("bits", "w_bit"), settings.value("group_size", "q_group_size")
    return _read_integer_format(bits if isinstance(bits, int) else 4, 128 if group is None else group)


def _fp8(settings: Config) -> str | None:
    return "fp8-block" if settings.value("weight_block_size") else "fp8"


def _fbgemm(_: Config) -> str | None:
    return "fp8-mlp"


def _bitsandbytes(settings: Config) -> str | None:
    four, eight = settings.flag("load_in_4bit", "_load_in_4bit"), settings.flag("load_in_8bit", "_load_in_8bit")
    if four == eight:
        return None
    if eight:
        return "int8-bnb"
    if settings.flag("bnb_4bit_use_double_quant"):
        return "int4-bnb"
    return "nf4" if settings.value("bnb_4bit_quant_type") == "nf4" else None


def _read_compressed_format(settings: Config) -> str | None:
    """Return the format of compressed-tensors, if one scheme covers all groups."""
    groups = settings.inner("config_groups")
    schemes = {_scheme(groups.inner(name).inner("weights")) for name in groups.stated}
    return schemes.pop() if len(schemes) == 1 else None


def _scheme(weights: Config) -> str | None:
    bits, kind, group = weights.value("num_bits"), weights.value("type"), weights.value("group_size")
    strategy = weights.value("strategy")
    if kind == "float" and bits == 4:
        return {16: "nvfp4", 32: "mxfp4"}.get(group if isinstance(group, int) else 0)
    if kind == "float" and bits == 8:
        return {"block": "fp8-block", "tensor": "fp8", "channel": "fp8"}.get(
            str(strategy)
        ) or _read_microscaling_format(group)
    if kind == "int" and isinstance(bits, int):
        found = _read_integer_format(bits, group if strategy == "group" else -1)
        grouped = found is not None and found.startswith("int4-g") and strategy == "group"
        return f"{found}-symmetric" if grouped and weights.value("symmetric") is not False else found
    return None


def _read_microscaling_format(group: object) -> str | None:
    return "mxfp8" if group == 32 else None


def _read_modelopt_format(settings: Config) -> str | None:
    """Return the format of NVIDIA's ModelOpt: named by its algorithm, or described as in
    compressed-tensors.
    """
    algorithm = str(settings.value("quant_algo") or "").upper()
    named_ = {"FP8": "fp8", "NVFP4": "nvfp4", "FP8_PB_WO": "fp8-block", "FP8_BLOCK_SCALES": "fp8-block"}.get(algorithm)
    return named_ or (_read_compressed_format(settings) if settings.states("config_groups") else None)


READERS: dict[str, Callable[[Config], str | None]] = {
    "awq": _read_group_format,
    "gptq": _read_group_format,
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _read_compressed_format,
    "modelopt": _read_modelopt_format,
    "modelopt_fp4": _read_modelopt_format,
    "nvfp4": _read_modelopt_format,
    "fp8_pb_wo": _read_modelopt_format,
    "mxfp4": lambda _: "mxfp4",
}
