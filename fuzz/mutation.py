"""Mutation: values, keys and subtrees of a parsed document, words and tokens of a text, or raw bytes."""

from __future__ import annotations

import json
import random
import re

from fuzz import seeds

TOKEN = re.compile(rb"[A-Za-z_][\w./-]*|-?\d[\w.+-]*|\"[^\"\n]*\"|'[^'\n]*'|\S")
LONGEST = 30_000
NUMBERS = (
    b"0", b"-1", b"1", b"3", b"7", b"8", b"1000003", b"2147483648", b"9223372036854775808", b"99999999999", b"1e308", b"1e999",
    b".nan", b".inf", b"NaN", b"Infinity", b"1.5", b"0x10", b"010", b"1_000", b"80Gi", b"-0.0", b"5e-324", b"9" * 400,
)  # fmt: skip
WORDS = (
    b"", b"null", b"~", b"true", b"[]", b"{}", b"[x]", b"{a: b}", b"''", b"$(X)", b"${X:-8}", b"{{ .Values.x }}", b"*x", b"&x y", b"!!binary eA==",
    b"auto", b"all", b"-", b"- ", b": ", b"\n", b"\n---\n", b"# gpulint: gpus=8", b"\xef\xbb\xbf", b"\0", b"\xff", b"\r\n", b"\t", b"%", b"<<: ",
    b"\\x67pu", "\u202e".encode(), b"../..", b"/", b"a:b:c", b"@", b"=", b"--", b"'", b'"', b"`", b"$((1/0))", b"{1..9}", b"|", b">",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 3, 8, 1000003, 2**31, 2**63, 10**30, 1.5, 1e308, float("nan"), float("inf"), 5e-324, "", " ", "auto", "8", "-8",
    "1e999", "nan", "0x10", "80Gi", "1.5h", [], {}, [[]], [None], [8, "x"], {"a": None}, {"": {}}, "x" * 2000, "$(X)", "{{ x }}", "\u202e\0",
)  # fmt: skip


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Return a changed input: the tree of it where it has one, its tokens, or its bytes."""
    choice = chance.random()
    if choice < 0.35 and (tree := _mutate_tree(data, chance)) is not None:
        return tree[:LONGEST]
    for _ in range(1 + int(chance.expovariate(0.7))):
        data = _mutate_tokens(data, chance) if chance.random() < 0.75 else _mutate_bytes(data, chance)
    return data[:LONGEST]


# ---- trees


def _mutate_tree(data: bytes, chance: random.Random) -> bytes | None:
    """Return the first documents with changed values as YAML; None if there is no data."""
    from gpulint.source import documents

    found = [document.data for document in documents.load("x.yaml", data).documents]
    if not any(isinstance(entry, dict | list) for entry in found):
        return None
    plain = [json.loads(json.dumps(entry, default=str)) for entry in found[:5]]
    for _ in range(1 + int(chance.expovariate(0.8))):
        plain = [_change(entry, chance) for entry in plain]
    written = (_write(entry) for entry in plain)
    return b"---\n".join(written)


def _change(value: object, chance: random.Random) -> object:
    """Return a value with one part changed, at any depth."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice([*value])
        return _change_mapping(value, key, chance)
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        choice = chance.random()
        if choice < 0.1:
            return value[:at] + value[at + 1 :]
        if choice < 0.2:
            return value + [value[at]] * chance.choice((1, 2, 30))
        return [*value[:at], _change(value[at], chance), *value[at + 1 :]]
    return _choose_value(value, chance)


def _change_mapping(value: dict[str, object], key: str, chance: random.Random) -> dict[str, object]:
    choice = chance.random()
    if choice < 0.08:
        return {name: held for name, held in value.items() if name != key}
    if choice < 0.14:
        word = chance.choice(seeds.collect_words()).decode()
        return {**value, word: _choose_value(None, chance)}
    if choice < 0.18:
        return {
            chance.choice(seeds.collect_words()).decode() if name == key else name: held for name, held in value.items()
        }
    return {**value, key: _change(value[key], chance)}


def _choose_value(value: object, chance: random.Random) -> object:
    choice = chance.random()
    if choice < 0.7:
        return chance.choice(VALUES)
    if choice < 0.8:
        return [value]
    if choice < 0.9:
        return f"{value}{chance.choice(WORDS).decode('utf-8', 'replace')}"
    return chance.choice(seeds.collect_words()).decode()


def _write(value: object, indent: int = 0) -> bytes:
    """Return plain data as YAML in block style; scalars and keys as JSON."""
    pad = b" " * indent
    if isinstance(value, dict) and value:
        return b"".join(pad + _scalar(key) + b":" + _write_below(held, indent) for key, held in value.items())
    if isinstance(value, list) and value:
        return b"".join(pad + b"-" + _write_below(held, indent) for held in value)
    return pad + _scalar(value) + b"\n"


def _write_below(value: object, indent: int) -> bytes:
    if isinstance(value, dict | list) and value:
        return b"\n" + _write(value, indent + 2)
    return b" " + _scalar(value) + b"\n"


def _scalar(value: object) -> bytes:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./-]*", value):
        return value.encode()
    if isinstance(value, float) and value != value:
        return b".nan"
    if value in (float("inf"), float("-inf")):
        return b".inf"
    return json.dumps(value).encode()


# ---- texts


def _mutate_tokens(data: bytes, chance: random.Random) -> bytes:
    """Return a text in which one token is replaced, removed, repeated or swapped."""
    tokens = [*TOKEN.finditer(data)]
    if not tokens:
        return data + chance.choice((*WORDS, *NUMBERS))
    token = chance.choice(tokens)
    start, end = token.span()
    match chance.randrange(6):
        case 0:
            new = chance.choice(NUMBERS)
        case 1:
            new = chance.choice(WORDS)
        case 2:
            new = chance.choice(seeds.collect_words())
        case 3:
            new = b""
        case 4:
            new = token[0] * chance.choice((2, 3, 50))
        case _:
            new = chance.choice(tokens)[0]
    return data[:start] + new + data[end:]


def _mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((0, 1, 1, 2, 8, 100)))
    match chance.randrange(3):
        case 0:
            return data[:at] + chance.randbytes(chance.choice((1, 1, 2, 4))) + data[end:]
        case 1:
            return data[:at] + data[end:]
        case _:
            return data[:at] + data[at:end] * chance.choice((2, 20)) + data[end:]
