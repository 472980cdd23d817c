"""Format: values in base units as people read them, such as "14.96 GiB" and "3.35 TB/s"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from gpulint.units.constants import BILLION, CFM, GB, GBIT, GIB, KIB, KWH, L_PER_MIN, MIB, MILLION, TERA, THOUSAND


def human(value: object, unit: str) -> str:
    """Write a value in base units as people read it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return ", ".join(human(item, unit) for item in items)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={human(item, unit)}" for name, item in value.items()) or "none"
    if isinstance(value, (int, float, Fraction)):
        return _human_number(float(value) if isinstance(value, Fraction) else value, unit)
    return str(value)


def write_together(values: Sequence[float], unit: str) -> tuple[tuple[str, ...], str]:
    """Write values to compare with one another: all of them in the step that the largest reaches.

    >>> write_together((40_800, 17_292.6), "w"), write_together((900_000, 1_200_000), "va"), write_together((522, 1000), "kg")
    ((('40.8', '17.3'), 'kW'), (('0.9', '1.2'), 'MVA'), (('522', '1,000'), 'kg'))
    """
    steps = _STEPS.get(unit, ((1, unit),))
    largest = max(map(abs, values), default=0)
    size, name = next((step for step in steps if largest >= step[0]), steps[-1])
    return tuple(_plain(value / size) for value in values), name


def _human_number(value: float, unit: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "unknown" if math.isnan(value) else ("-" if value < 0 else "") + "unlimited"
    return _FORMATS.get(unit, _plain)(value)


def _plain(value: float) -> str:
    """Write a number with thousands separators, and decimals up to three significant digits."""
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{round(value):,}"
    if abs(value) < 0.001:
        return f"{float(value):.3g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return _trim(f"{float(value):.{decimals}f}")


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _write_in_steps(*steps: tuple[int, str], base: str) -> Callable[[float], str]:
    """Make a formatter that takes the largest step that a value reaches, with up to two decimals."""

    def write(value: float) -> str:
        for size, name in steps:
            if abs(value) >= size:
                return f"{_trim(f'{float(value / size):,.2f}')} {name}"
        return f"{_plain(value)} {base}"

    return write


def _duration(value: float) -> str:
    """Write milliseconds below a second, and hours or days for many seconds."""
    for least, size, name in ((2 * 86400, 86400, "days"), (7200, 3600, "h"), (1, 1, "s"), (1e-3, 1e-3, "ms")):
        if abs(value) >= least:
            return f"{_plain(value / size)} {name}"
    return f"{_plain(value / 1e-6)} µs" if value else "0 s"


def _cents(value: float) -> str:
    """Write a price with two decimals, or two significant digits below ten cents."""
    return f"{float(value):,.2f}" if abs(value) >= 0.1 else f"{float(value):.2g}"


_watts = _write_in_steps((MILLION, "MW"), (THOUSAND, "kW"), base="W")


def _write_with_suffix(suffix: str) -> Callable[[float], str]:
    return lambda value: f"{_plain(value)}{suffix}"


def _parameters(value: float) -> str:
    """Write a count of parameters in trillions, billions or millions.

    >>> _parameters(70_553_706_496), _parameters(1_026_470_731_056), _parameters(41_943_040), _parameters(8192)
    ('70.6 B', '1.03 T', '41.9 M', '8,192')
    """
    for size, name in ((TERA, "T"), (BILLION, "B"), (MILLION, "M")):
        if abs(value) >= size:
            return f"{_plain(value / size)} {name}"
    return _plain(value)


_LARGE = ((4, "Y"), (3, "Z"), (2, "E"), (1, "P"), (0, "T"))
"""Prefixes of the International System of Units, by the power of a thousand above tera."""
_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    **{unit: ((MILLION, f"M{name}"), (THOUSAND, f"k{name}"), (1, name)) for unit, name in (("w", "W"), ("va", "VA"))},
    "u": ((1, "U"),),
    "kg_per_m2": ((1, "kg/m²"),),
    "liquid_m3_per_s": ((float(L_PER_MIN), "L/min"),),
    "m3_per_s": ((float(CFM), "CFM"),),
}
"""The steps in which values of a unit are compared, largest first."""
_FORMATS: dict[str, Callable[[float], str]] = {
    "bytes": _write_in_steps((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), base="B"),
    "bytes_per_s": _write_in_steps((TERA, "TB/s"), (GB, "GB/s"), (MILLION, "MB/s"), (THOUSAND, "kB/s"), base="B/s"),
    "flop_per_s": _write_in_steps((TERA * THOUSAND, "PFLOP/s"), (TERA, "TFLOP/s"), (GB, "GFLOP/s"), base="FLOP/s"),
    "flop": _write_in_steps(
        *((TERA * THOUSAND**power, f"{prefix}FLOP") for power, prefix in _LARGE), (GB, "GFLOP"), base="FLOP"
    ),
    "parameters": _parameters,
    "ratio": lambda value: f"{value * 100:.0f} %",
    "capability": lambda value: f"{value:.1f}",
    "w": lambda value: _watts(value) if abs(value) >= 10 * THOUSAND else f"{_plain(value)} W",
    "s": _duration,
    "tokens_per_s": _write_with_suffix(" tokens/s"),
    "requests_per_s": _write_with_suffix(" requests/s"),
    "gpus": _write_with_suffix(" GPUs"),
    "gpu_hours": _write_with_suffix(" GPU-hours"),
    "usd": lambda value: f"${float(value):,.2f}",
    "usd_per_million_tokens": lambda value: f"${_cents(value)} per million tokens",
    "usd_per_billion_tokens": lambda value: f"${_cents(value)} per billion tokens",
    "usd_per_kwh": lambda value: f"${_cents(value)}/kWh",
    "kg_per_hour": _write_with_suffix(" kg/h"),
    "kg_per_kwh": _write_with_suffix(" kg/kWh"),
    "j": _write_in_steps((THOUSAND * KWH, "MWh"), (KWH, "kWh"), base="J"),
    "usd_per_hour": lambda value: f"${float(value):,.2f}/h",
    "a": lambda value: f"{_plain(round(value, 2))} A",
    "v": _write_with_suffix(" V"),
    "va": _write_in_steps((MILLION, "MVA"), (THOUSAND, "kVA"), base="VA"),
    "c": _write_with_suffix(" °C"),
    "k": lambda value: f"{_plain(round(value, 1))} K",
    "m": _write_with_suffix(" m"),
    "db": _write_with_suffix(" dB"),
    "line_bytes_per_s": _write_in_steps((TERA // 8, "Tb/s"), (GBIT, "Gb/s"), base="B/s"),
    "m2": _write_with_suffix(" m²"),
    "kg": _write_with_suffix(" kg"),
    "kg_per_m2": _write_with_suffix(" kg/m²"),
    "m3_per_s": lambda value: f"{round(value / float(CFM)):,} CFM",
    "liquid_m3_per_s": lambda value: f"{_plain(round(value * 60 * THOUSAND, 1))} L/min",
}


BASE_UNITS: Mapping[str, str] = {
    "": "",
    "w": "W",
    "a": "A",
    "v": "V",
    "va": "VA",
    "c": "°C",
    "m2": "m²",
    "kg_per_m2": "kg/m²",
    "m3_per_s": "m³/s",
    "liquid_m3_per_s": "m³/s",
    "j": "J",
    "usd": "USD",
    "flop": "FLOP",
    "gpu_hours": "GPU-hours",
    "capability": "compute capability",
    "flop_per_s": "FLOP/s",
    "line_bytes_per_s": "bytes/s",
    "db": "dB",
    "kg_per_kwh": "kg/kWh",
    "usd_per_kwh": "USD/kWh",
    "usd_per_hour": "USD/h",
    "kg_per_hour": "kg/h",
    "usd_per_million_tokens": "USD per million tokens",
    "usd_per_billion_tokens": "USD per billion tokens",
}
"""Base units whose usual notation is not their name."""


def name_base(unit: str) -> str:
    """Return a base unit in its usual notation.

    >>> name_base("w"), name_base("tokens_per_s"), name_base("")
    ('W', 'tokens/s', '')
    """
    return BASE_UNITS.get(unit, unit.replace("_per_", "/"))
