"""Functions of texts. Those that only add to a text keep the locations of its parts."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from gpulint.adapters.charts.templates import value, yaml_text
from gpulint.adapters.charts.templates.value import OPEN, UNKNOWN, Part, Value

REPEATED_MAX = 10_000
VERB = re.compile(r"%(?P<flags>[-+# 0]*\d{0,3}(?:\.\d{1,2})?)(?P<verb>[a-zA-Z%])")
SIMPLE_PATTERN = re.compile(r"\^?(?:\[\^?[\w\-./ ]+\]|[\w\-/ ]|\\[.dw])[+*]?(?:\[\^?[\w\-./ ]+\]|[\w\-/ ]|\\[.dw])*\$?")
"""Patterns with at most one repetition, whose matching takes linear time."""


def quote(*arguments: Value) -> Value:
    """Return texts in double quotes; null is left out."""
    return _join_with(
        " ", [_wrap(argument, '"') for argument in arguments if argument.is_open or argument.data is not None]
    )


def squote(*arguments: Value) -> Value:
    """Return texts in single quotes; null is left out."""
    return _join_with(
        " ", [_wrap(argument, "'") for argument in arguments if argument.is_open or argument.data is not None]
    )


def _wrap(argument: Value, mark: str) -> Value:
    escape: Callable[[str], str] = _escape if mark == '"' else str
    parts = [Part(escape(part.text), part.origin) for part in value.list_parts(argument)]
    return value.join([Part(mark), *parts, Part(mark)])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _join_with(separator: str, texts: list[Value]) -> Value:
    parts: list[Part] = []
    for at, text in enumerate(texts):
        parts += [*([Part(separator)] if at else []), *value.list_parts(text)]
    return value.join(parts)


def print_all(*arguments: Value) -> Value:
    """Return texts one after the other; a space stands between two of which neither is a text."""
    parts: list[Part] = []
    for at, argument in enumerate(arguments):
        apart = at and not isinstance(argument.data, str) and not isinstance(arguments[at - 1].data, str)
        parts += [*([Part(" ")] if apart else []), *value.list_parts(argument)]
    return value.join(parts)


def cat(*arguments: Value) -> Value:
    """Return texts with a space between them."""
    return _join_with(" ", [argument for argument in arguments if argument.is_open or argument.data is not None])


def printf(form: Value, *arguments: Value) -> Value:
    """Return a format with its verbs filled in."""
    if value.is_open(form):
        return UNKNOWN
    text, parts, at, used = value.word(form), [], 0, 0
    for match in VERB.finditer(text):
        parts.append(Part(text[at : match.start()]))
        at = match.end()
        if match["verb"] == "%":
            parts.append(Part("%"))
            continue
        if used >= len(arguments):
            return UNKNOWN
        parts += _format_verb(match["verb"], match["flags"], arguments[used])
        used += 1
    return value.join([*parts, Part(text[at:])])


def _format_verb(verb: str, flags: str, argument: Value) -> tuple[Part, ...]:
    if value.is_open(argument):
        return value.list_parts(argument) if not flags else (Part(OPEN),)
    data = argument.data
    if verb == "q":
        return value.list_parts(_wrap(argument, '"'))
    if not flags and (verb == "v" or (verb == "s" and isinstance(data, str)) or (verb == "d" and _is_whole(data))):
        return value.list_parts(argument)
    if verb == "t" and isinstance(data, bool):
        return value.list_parts(argument)
    if verb == "d" and _is_whole(data):
        return (Part(f"%{flags}d" % data),)
    if verb in "feg" and isinstance(data, int | float) and not isinstance(data, bool):
        return (Part(f"%{flags}{verb}" % data),)
    if verb == "s" and isinstance(data, str):
        return (Part(f"%{flags}s" % data),)
    return (Part(OPEN),)


def _is_whole(data: object) -> bool:
    return isinstance(data, int) and not isinstance(data, bool)


def to_string(argument: Value) -> Value:
    """Return a value as text."""
    return UNKNOWN if argument.is_open else value.text(argument)


def indent(width: Value, argument: Value) -> Value:
    """Return a text whose lines are indented."""
    if argument.is_open:
        return UNKNOWN
    spaces = " " * min(max(int(str(width.data)), 0), 200)
    parts = [Part(part.text.replace("\n", f"\n{spaces}"), part.origin) for part in value.list_parts(argument)]
    return value.join([Part(spaces), *parts])


def nindent(width: Value, argument: Value) -> Value:
    """Return a text on lines of its own, which are indented."""
    indented = indent(width, argument)
    return indented if indented.is_open else value.join([Part("\n"), *value.list_parts(indented)])


def trim(argument: Value) -> Value:
    """Return a text without space around it."""
    return _strip(argument, left=True, right=True)


def _strip(argument: Value, left: bool, right: bool) -> Value:
    if argument.is_open:
        return UNKNOWN
    parts = list(value.list_parts(argument))
    while left and parts and not parts[0].text.strip():
        parts.pop(0)
    while right and parts and not parts[-1].text.strip():
        parts.pop()
    if left and parts:
        parts[0] = parts[0]._replace(text=parts[0].text.lstrip())
    if right and parts:
        parts[-1] = parts[-1]._replace(text=parts[-1].text.rstrip())
    return value.join(parts)


def to_yaml(argument: Value) -> Value:
    """Return a value as YAML."""
    return UNKNOWN if argument.is_open else value.join(yaml_text.write(argument))


def to_json(argument: Value) -> Value:
    """Return a value as JSON."""
    return UNKNOWN if argument.is_open else value.join(yaml_text.write_json(argument))


def join(separator: Value, argument: Value) -> Value:
    """Return the items of a list with a separator between them."""
    if argument.is_open or value.is_open(separator):
        return UNKNOWN
    items = argument.items if isinstance(argument.data, list) else [argument]
    return _join_with(value.word(separator), [item for item in items if item.is_open or item.data is not None])


def from_yaml(argument: Value) -> Value:
    """Return the value that a YAML text means."""
    return yaml_text.read(value.word(argument))


def _change(function: Callable[..., str]) -> Callable[..., Value]:
    """Return a function of texts; a text that it does not change keeps its location."""

    def changed(*arguments: Value) -> Value:
        words = [value.word(argument) for argument in arguments]
        result = function(*words)
        return arguments[-1] if result == arguments[-1].data else Value(result)

    return changed


def _truncate(width: str, text: str) -> str:
    number = int(width)
    return text[:number] if number >= 0 else text[number:]


def _remove_suffix(suffix: str, text: str) -> str:
    return text.removesuffix(suffix)


def _repeat(times: str, text: str) -> str:
    if int(times) * len(text) > REPEATED_MAX:
        raise ValueError("too long")
    return text * int(times)


def _replace_all(old: str, new: str, text: str) -> str:
    if old == "" or len(text) * (len(new) + 1) > REPEATED_MAX * 100:
        raise ValueError("too long")
    return text.replace(old, new)


def _replace_pattern(pattern: str, text: str, new: str) -> str:
    if not SIMPLE_PATTERN.fullmatch(pattern) or len(text) > REPEATED_MAX or "$" in new or "\\" in new:
        raise ValueError("a pattern that is not read")
    return re.sub(pattern, new, text)


def _matches(pattern: Value, text: Value) -> Value:
    if not SIMPLE_PATTERN.fullmatch(value.word(pattern)) or len(value.word(text)) > REPEATED_MAX:
        return UNKNOWN
    return Value(re.search(value.word(pattern), value.word(text)) is not None)


def _replace_in_order(pattern: Value, text: Value, new: Value) -> Value:
    result = _replace_pattern(value.word(pattern), value.word(text), value.word(new))
    return text if result == text.data else Value(result)


def _split(separator: Value, argument: Value) -> list[Value]:
    words = value.word(argument).split(value.word(separator)) if value.word(separator) else list(value.word(argument))
    return [argument] if len(words) == 1 else [Value(word) for word in words]


def _test(function: Callable[[str, str], bool]) -> Callable[[Value, Value], Value]:
    return lambda part, text: Value(function(value.word(part), value.word(text)))


LENIENT: dict[str, Callable[..., Value]] = {
    "quote": quote,
    "squote": squote,
    "print": print_all,
    "println": lambda *arguments: value.join([*value.list_parts(cat(*arguments)), Part("\n")]),
    "cat": cat,
    "printf": printf,
    "toString": to_string,
    "indent": indent,
    "nindent": nindent,
    "trim": trim,
    "toYaml": to_yaml,
    "toYamlPretty": to_yaml,
    "mustToYaml": to_yaml,
    "toJson": to_json,
    "mustToJson": to_json,
    "toRawJson": to_json,
    "toPrettyJson": to_json,
    "join": join,
}
STRICT: dict[str, Callable[..., Value]] = {
    "fromYaml": from_yaml,
    "fromJson": from_yaml,
    "fromYamlArray": from_yaml,
    "fromJsonArray": from_yaml,
    "lower": _change(str.lower),
    "upper": _change(str.upper),
    "title": _change(str.title),
    "nospace": _change(lambda text: re.sub(r"\s", "", text)),
    "trunc": _change(_truncate),
    "trimSuffix": _change(_remove_suffix),
    "trimPrefix": _change(lambda prefix, text: text.removeprefix(prefix)),
    "trimAll": _change(lambda letters, text: text.strip(letters)),
    "replace": _change(_replace_all),
    "repeat": _change(_repeat),
    "substr": _change(lambda start, end, text: text[int(start) : int(end) if int(end) >= 0 else None]),
    "b64enc": _change(lambda text: base64.b64encode(text.encode()).decode()),
    "contains": _test(lambda part, text: part in text),
    "hasPrefix": _test(lambda part, text: text.startswith(part)),
    "hasSuffix": _test(lambda part, text: text.endswith(part)),
    "regexMatch": _matches,
    "mustRegexMatch": _matches,
    "regexReplaceAll": _replace_in_order,
    "regexReplaceAllLiteral": _replace_in_order,
    "mustRegexReplaceAll": _replace_in_order,
    "splitList": lambda separator, text: Value(_split(separator, text)),
    "split": lambda separator, text: Value({f"_{at}": word for at, word in enumerate(_split(separator, text))}),
    "toStrings": lambda items: Value([value.text(item) for item in items.items]),
}
