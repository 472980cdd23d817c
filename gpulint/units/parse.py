"""Parse: what people write, such as "80Gi", "500m" and "64k", into numbers in base units."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from fractions import Fraction

from gpulint.units.constants import BTU_PER_HOUR_W, CFM, GB, L_PER_MIN, MILLION, TERA, THOUSAND, TON_W

QUANTITY_DIGITS_MAX = 40
"""The most characters of a quantity; Kubernetes itself stops at 2^63."""
_POUND_KG = Fraction("0.45359237")
_FOOT_M = Fraction("0.3048")
_HEAT = {
    "btu/h": BTU_PER_HOUR_W,
    "btu/hr": BTU_PER_HOUR_W,
    "kbtu/h": 1000 * BTU_PER_HOUR_W,
    "ton": TON_W,
    "tons": TON_W,
}
_FLOWS = {
    "m3/s": Fraction(1),
    "m³/s": Fraction(1),
    "m3/h": Fraction(1, 3600),
    "m³/h": Fraction(1, 3600),
    "cfm": CFM,
    "l/s": Fraction(1, 1000),
    "l/min": L_PER_MIN,
    "lpm": L_PER_MIN,
    "gpm": Fraction("3.785411784") * L_PER_MIN,
}
_UNITS: dict[str, tuple[str, dict[str, Fraction]]] = {
    "a": ("a current such as 60 A", {"": Fraction(1), "a": Fraction(1)}),
    "v": ("a voltage such as 208 V", {"": Fraction(1), "v": Fraction(1), "kv": Fraction(1000)}),
    "va": (
        "an apparent power such as 17.3 kVA",
        {"": Fraction(1), "va": Fraction(1), "kva": Fraction(1000), "mva": Fraction(10**6)},
    ),
    "m": (
        "a length such as 30 m",
        {
            "": Fraction(1),
            "m": Fraction(1),
            "cm": Fraction(1, 100),
            "mm": Fraction(1, 1000),
            "km": Fraction(1000),
            "ft": _FOOT_M,
            "in": _FOOT_M / 12,
        },
    ),
    "k": (
        "a difference of temperatures such as 14 K or 25 F",
        {"": Fraction(1), "k": Fraction(1), "c": Fraction(1), "°c": Fraction(1)}
        | dict.fromkeys(("f", "°f"), Fraction(5, 9)),
    ),
    "m2": ("an area such as 0.72 m2", {"": Fraction(1), "m2": Fraction(1), "m²": Fraction(1), "ft2": _FOOT_M**2}),
    "kg": (
        "a weight such as 130 kg or 287 lb",
        {"": Fraction(1), "kg": Fraction(1), "g": Fraction(1, 1000), "t": Fraction(1000)}
        | dict.fromkeys(("lb", "lbs"), _POUND_KG)
        | {"oz": _POUND_KG / 16},
    ),
    "kg_per_m2": (
        "a floor load such as 1200 kg/m2 or 250 psf",
        {"": Fraction(1), "kg/m2": Fraction(1), "kg/m²": Fraction(1)}
        | dict.fromkeys(("psf", "lb/ft2", "lbs/ft2"), _POUND_KG / _FOOT_M**2)
        | dict.fromkeys(("kn/m2", "kn/m²", "kpa"), 1000 / Fraction("9.80665")),
    ),
    "db": ("a loss such as 1.9 dB", {"": Fraction(1), "db": Fraction(1)}),
    "m3_per_s": ("an airflow such as 1105 CFM or 520 L/s", _FLOWS),
    "liquid_m3_per_s": ("a flow such as 80 L/min or 21 gpm", _FLOWS),
}
"""How people write a physical quantity: an example for the message, and the size of each unit in base units."""
_SUFFIXES: dict[str, Fraction] = {
    **{suffix + "i": Fraction(2 ** (10 * (power + 1))) for power, suffix in enumerate("KMGTPE")},
    **{suffix: Fraction(10 ** (3 * (power + 1))) for power, suffix in enumerate("kMGTPE")},
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "u": Fraction(1, 10**6),
    "n": Fraction(1, 10**9),
}
_QUANTITY = re.compile(r"([+-]?)(\d++\.?+\d*+|\.\d++)(?:[eE]([+-]?\d{1,2})|([A-Za-z]*+))", re.ASCII)
_HUMAN_INT = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])", re.ASCII)
_BINARY = re.compile(r"(\d{1,20}(?:\.\d{1,20})?) ?(?:([kmgtp])(?:i?b)?|b)?", re.ASCII)
_DURATION_PART = re.compile(
    r"(\d{1,15}(?:\.\d{1,15})?) ?(us|µs|ms|s|sec|min|m|hours|hour|h|days|day|d|weeks|week|w)", re.ASCII
)
_SECONDS: dict[str, Fraction] = {
    **dict.fromkeys(("us", "µs"), Fraction(1, 10**6)),
    "ms": Fraction(1, 1000),
    **dict.fromkeys(("s", "sec"), Fraction(1)),
    **dict.fromkeys(("m", "min"), Fraction(60)),
    **dict.fromkeys(("h", "hour", "hours"), Fraction(3600)),
    **dict.fromkeys(("d", "day", "days"), Fraction(86400)),
    **dict.fromkeys(("w", "week", "weeks"), Fraction(7 * 86400)),
}
_BATCH_TIME = re.compile(r"(?:(?P<days>\d{1,5})-)?(?P<rest>\d{1,7}(?::\d{1,2}){0,2})", re.ASCII)
_AMOUNT = re.compile(r"(\d{1,20}(?:\.\d{1,20})?) ?([kMBT]?)", re.ASCII)
_AMOUNTS = {suffix: 10 ** (3 * power) for power, suffix in enumerate(("", "k", "M", "B", "T"))}
_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,20})?", re.ASCII)
_POWER = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([kM])?(?:W)?", re.ASCII)
_PHYSICAL = re.compile(r"(-?\d{1,12}(?:\.\d{1,6})?) ?(\S.{0,11})?")
_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([kMGT]?)(b|bit|B)(?:/s|ps)(?: (.+))?", re.ASCII)
_LINE_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) ?([GT])(?:bE|b/s|bps|bit/s)?", re.ASCII)
_RATE_PREFIXES = {"": 1, "k": THOUSAND, "M": MILLION, "G": GB, "T": TERA}
_DIRECTIONS = {"": 1, "per direction": 1, "one way": 1, "both ways": 2, "bidirectional": 2}
"""The number of directions that a figure adds up."""
_HUMAN_INT_FACTORS = {
    **{suffix: 10 ** (3 * (power + 1)) for power, suffix in enumerate("kmgt")},
    **{suffix: 2 ** (10 * (power + 1)) for power, suffix in enumerate("KMGT")},
}


def quantity(value: str | float) -> Fraction:
    """Read a Kubernetes quantity: "500m" is one half, "1" and 1 are one."""
    return _read_quantity(str(value).lower() if isinstance(value, bool) else str(value).strip())


def bytes_of(value: str | float) -> int:
    """Read a Kubernetes quantity of bytes; fractions are rounded up as in Kubernetes."""
    number = quantity(value)
    if number < 0:
        raise ValueError(f'"{value}" is negative; an amount of memory is zero or more')
    return math.ceil(number)


def binary_bytes(text: str | float) -> int:
    """Read a size as Docker does: "16gb", "16g" and "16 GiB" are 16 GiB, and a bare number is bytes."""
    match = _BINARY.fullmatch(str(text).strip().lower())
    if match is None:
        raise ValueError(f"{_quote(str(text))} is not a size such as 512m or 16gb")
    return math.ceil(Fraction(match[1]) * (1 << 10 * "bkmgtp".index(match[2] or "b")))


def seconds_of(value: str | float) -> float:
    """Read the seconds of a duration with its unit: "50ms", "1.5 s", "1h30m", "3d"."""
    text = str(value).strip()
    parts = list(_DURATION_PART.finditer(text)) if len(text) <= QUANTITY_DIGITS_MAX else []
    if not parts or _DURATION_PART.sub("", text).strip():
        number = f"; write {text}ms or {text}s" if _AMOUNT.fullmatch(text) else ", such as 50ms, 1.5s, 90m, 72h or 3d"
        raise ValueError(f"{_quote(text)} is not a time with its unit{number}")
    return float(sum(Fraction(part[1]) * _SECONDS[part[2]] for part in parts))


def batch_seconds(text: str) -> float:
    """Read the seconds of a time limit as sbatch does: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s."""
    match = _BATCH_TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{_quote(text)} is not a time limit such as 30, 08:00:00 or 2-12:00:00")
    days, parts = match["days"], [int(part) for part in match["rest"].split(":")]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        return float(int(days) * 86400 + hours * 3600 + minutes * 60 + seconds)
    if len(parts) == 3:
        return float(parts[0] * 3600 + parts[1] * 60 + parts[2])
    return float(parts[0] * 60 + (parts[1] if len(parts) == 2 else 0))


def amount_of(value: str | float) -> float:
    """Read a number with k, M, B or T for thousands to trillions: "300", "2k", "1.5T"."""
    text = str(value).replace("_", "").strip()
    match = _AMOUNT.fullmatch(text) if len(text) <= QUANTITY_DIGITS_MAX else None
    if match is None:
        raise ValueError(f"{_quote(text)} is not a number such as 300, 2k, 15M, 8B or 2T")
    number = Fraction(match[1]) * _AMOUNTS[match[2]]
    return int(number) if number.denominator == 1 else float(number)


def human_int(text: str) -> int:
    """Read an integer as vLLM does: "64k" is 64,000 and "64K" is 65,536."""
    word = text.strip()
    match = _HUMAN_INT.fullmatch(word) if len(word) <= QUANTITY_DIGITS_MAX else None
    if match is None:
        return _read_integer(word)
    number, suffix = match.groups()
    if suffix.isupper() and "." in number:
        raise ValueError(f'"{word}": {suffix} counts in steps of 1,024 and takes whole numbers; write {word.lower()}')
    return int(Fraction(number) * _HUMAN_INT_FACTORS[suffix])


def rate(text: str) -> float:
    """Read the bytes per second and direction of a link: "400 Gb/s", "50 GB/s", "900 GB/s both ways".

    A small b means bits, a capital B means bytes.

    >>> rate("400 Gb/s") / GB, rate("900 GB/s both ways") / GB, rate("3.2Tbps") / GB
    (50.0, 450.0, 400.0)
    """
    match = _RATE.fullmatch(text.strip())
    directions = _DIRECTIONS.get(match[4] or "") if match else None
    if match is None or directions is None:
        raise ValueError(f"{_quote(text)} is not a bandwidth; write 400 Gb/s, 50 GB/s or 900 GB/s both ways")
    bits = 1 if match[3] == "B" else 8
    return float(Fraction(match[1]) * _RATE_PREFIXES[match[2]] / bits / directions)


def line_rate(value: str | float) -> float:
    """Read the bytes per second and direction of a line rate: "400 Gb/s", "400G", "400GbE", "1.6T".

    >>> line_rate("400G") / GB, line_rate("1.6 Tb/s") / GB
    (50.0, 200.0)
    """
    match = _LINE_RATE.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{_quote(str(value))} is not the speed of a link such as 400 Gb/s or 400G")
    return _integer_if_whole(Fraction(match[1]) * _RATE_PREFIXES[match[2]] / 8)


def count(cell: str) -> int | None:
    """Read a whole number from a catalog cell; None if the cell is empty."""
    return int(cell) if cell else None


def scale(cell: str, factor: int | Fraction) -> float | None:
    """Read a catalog cell and multiply it by its unit; None if the cell is empty.

    >>> scale("3.35", 10**12), scale("", 1)
    (3350000000000.0, None)
    """
    if not cell:
        return None
    whole, _, decimals = cell.partition(".")  # without a Fraction, which takes ten times as long
    product: float = int(whole + decimals) * factor.numerator / (factor.denominator * 10 ** len(decimals))
    return product


def scale_to_bytes(cell: str, unit: int) -> int | None:
    """Read a catalog cell in a unit as whole bytes; None if the cell is empty."""
    if cell.isdigit():
        return int(cell) * unit
    return round(Fraction(cell) * unit) if cell else None


def parse(value: str | float, unit: str) -> float:
    """Read a value that people write for a quantity, into base units: the inverse of `human`.

    >>> parse("15 %", "ratio"), parse(0.15, "ratio"), parse("10G", "bytes"), parse("15m", "s"), parse("30 kW", "w")
    (0.15, 0.15, 10000000000, 900.0, 30000)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{str(value).lower() if isinstance(value, bool) else value} is not a number")
    return _READ.get(unit, amount_of)(value)


def share_of(value: str | float) -> float:
    """Read a ratio that is written as a share or in percent: 0.15, "15 %"."""
    text = str(value).strip()
    percent = text.removesuffix("%").strip() if text.endswith("%") else None
    if not _NUMBER.fullmatch(text if percent is None else percent):
        raise ValueError(f"{_quote(text)} is not a share such as 0.15 or 15 %")
    share = Fraction(text) if percent is None else Fraction(percent) / 100
    return float(share)


def watts_of(value: str | float) -> float:
    """Read the watts of a power or a heat flow: 700, "700 W", "30 kW", "38,557 BTU/h", "10 tons"."""
    text = str(value).strip()
    heat = _PHYSICAL.fullmatch(text.replace(",", ""))
    if heat is not None and (factor := _HEAT.get((heat[2] or "").lower())) is not None:
        return float(Fraction(heat[1]) * factor)
    match = _POWER.fullmatch(text)
    if match is None:
        apparent = "; state what it carries in kW" if text.lower().endswith("va") else ""
        raise ValueError(f"{_quote(text)} is not a power such as 700 W or 30 kW{apparent}")
    watts = Fraction(match[1]) * {"": 1, "k": THOUSAND, "M": MILLION}[match[2] or ""]
    return int(watts) if watts.denominator == 1 else float(watts)


def celsius_of(value: str | float) -> float:
    """Read the degrees Celsius of a temperature: 24, "24 C", "75 F"."""
    match = _PHYSICAL.fullmatch(str(value).strip().replace("°", ""))
    scale = (match[2] or "c").lower() if match else ""
    if match is None or scale not in ("c", "f"):
        raise ValueError(f"{_quote(str(value))} is not a temperature such as 24 C or 75 F")
    degrees = Fraction(match[1])
    return _integer_if_whole((degrees - 32) * Fraction(5, 9) if scale == "f" else degrees)


def _read_physical(unit: str, value: str | float) -> float:
    """Read a physical quantity with its unit, or a bare number in base units."""
    example, factors = _UNITS[unit]
    match = _PHYSICAL.fullmatch(str(value).strip())
    factor = factors.get((match[2] or "").lower()) if match else None
    if match is None or factor is None:
        hint = "; state the one between lines" if unit == "v" and "/" in str(value) else ""
        raise ValueError(f"{_quote(str(value))} is not {example}{hint}")
    return _integer_if_whole(Fraction(match[1]) * factor)


def _integer_if_whole(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)


def _read_quantity(text: str) -> Fraction:
    match = _QUANTITY.fullmatch(text) if len(text) <= QUANTITY_DIGITS_MAX else None
    if match is None:
        raise ValueError(f"{_quote(text)} is not a quantity; write a number such as 1, 500m or 80Gi")
    sign, digits, exponent, suffix = match.groups()
    factor = Fraction(10) ** int(exponent) if exponent else _SUFFIXES.get(suffix or "")
    if factor is None:
        raise ValueError(
            f'"{text}" is not a quantity: the suffix "{suffix}" is unknown{_suggest_spelling(digits, suffix)}'
        )
    return Fraction(digits) * factor * (-1 if sign == "-" else 1)


def _quote(text: str) -> str:
    return f'"{text}"' if len(text) <= QUANTITY_DIGITS_MAX else f'"{text[:QUANTITY_DIGITS_MAX]}…"'


def _suggest_spelling(digits: str, suffix: str) -> str:
    """Suggest the spelling that was probably meant, for the end of a message."""
    if re.fullmatch("[kmgtpe]i?b?", suffix.lower()):
        letter = suffix[0].upper()
        return f"; write {digits}{letter.replace('K', 'k')} or {digits}{letter}i"
    return "; write a number such as 1, 500m or 80Gi"


def _read_integer(word: str) -> int:
    try:
        return int(word if len(word) <= QUANTITY_DIGITS_MAX else "")
    except ValueError:
        raise ValueError(f"{_quote(word)} is not a whole number such as 65536, 64k or 64K") from None


_READ: dict[str, Callable[[str | float], float]] = {
    "bytes": bytes_of,
    "bytes_per_s": lambda value: rate(str(value)),
    "ratio": share_of,
    "s": seconds_of,
    "w": watts_of,
    "c": celsius_of,
    "line_bytes_per_s": line_rate,
    **{unit: functools.partial(_read_physical, unit) for unit in _UNITS},
}
"""How the quantities of a unit are read; all others are plain numbers."""
