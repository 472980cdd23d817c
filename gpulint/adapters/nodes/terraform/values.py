"""Values that Terraform's expressions refer to: variables, locals, and arguments of module calls.

If a folder is called as a module, a variable has the value of its one caller. Otherwise it has the value
of the folder's `terraform.tfvars` and `*.auto.tfvars`, or else its default. Another `.tfvars` file of the
folder applies only if it is named on the command line: if it differs, the value is unknown. Only the
functions that choose a value are evaluated.
(developer.hashicorp.com/terraform/language/values/variables, .../language/modules/syntax)
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes.terraform import expressions, modules
from gpulint.adapters.nodes.terraform.modules import Each, Folder, Spot
from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

DEPTH_MAX = 24
STEPS_MAX = 10_000
CHARACTERS_MAX = 4_000
TOO_LONG = Unknown("it has too many nested references")
NESTED = "references of a Terraform value nest deeper than {} levels"
LONG = "a Terraform expression has more than {} characters"
CALLER = "caller's variable"


class Literal(NamedTuple):
    """A value that is written in an expression."""

    value: object
    spot: Spot


Found = Spot | Literal | Unknown


class Modules:
    """All modules of a repository, by folder."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.folders = modules.read(documents)
        self.left = STEPS_MAX
        self.pins: Mapping[str, Spot] = {}
        """The one call by which a folder's variables are resolved; of any other folder, all its calls must agree."""

    def resolve_spot(self, spot: Spot, depth: int = 0) -> Found:
        """Resolve a location to that of its literal value, list or map, or return why it is unknown."""
        value = spot.value()
        if not isinstance(value, str) or "${" not in value:
            return spot
        whole = expressions.WHOLE.fullmatch(value)
        if whole is None:
            return self._interpolate(spot, value, depth)
        return self._resolve(whole["expression"].strip(), spot, depth)

    def field(self, spot: Spot) -> Field | None:
        """Return the text, number or flag at a location, with its origins; None if it is absent or
        null.
        """
        if spot.value() is None:
            return None
        self.left = STEPS_MAX
        resolved = self.resolve_spot(spot)
        if isinstance(resolved, Unknown):
            category = "" if resolved.category == ABSENT else resolved.category
            return Field(Unknown(resolved.reason, category), (spot.origin(),))
        deciding = resolved.spot if isinstance(resolved, Literal) else resolved
        value = resolved.value if isinstance(resolved, Literal) else resolved.value()
        if value is None:
            return None
        places = (spot.origin(),) if deciding == spot else (deciding.origin(), spot.origin())
        if not isinstance(value, str | int | float | bool) or _is_joined(resolved):
            return Field(Unknown("it is a list or a map"), places)
        return Field(value, places)

    def items(self, spot: Spot, depth: int = 0) -> tuple[Spot, ...] | Unknown:
        """Return the items of a list; none if it is absent."""
        if spot.value() is None:
            return ()
        self.left = self.left - 1 if depth else STEPS_MAX
        if excess.is_over(depth, DEPTH_MAX, NESTED, spot.document.path) or self._is_exhausted(spot):
            return TOO_LONG
        if parts := self._resolve_parts(spot, "concat"):
            lists = [self.items(part, depth + 1) for part in parts]
            unknown = next((item_list for item_list in lists if isinstance(item_list, Unknown)), None)
            return unknown or tuple(
                item for item_list in lists if not isinstance(item_list, Unknown) for item in item_list
            )
        resolved = self.resolve_spot(spot, depth)
        if isinstance(resolved, Unknown):
            return resolved
        if _is_joined(resolved) and isinstance(resolved, Spot) and resolved != spot:
            return self.items(resolved, depth + 1)
        listed = None if isinstance(resolved, Literal) else resolved.value()
        if listed is None:
            return ()
        if not isinstance(listed, list) or isinstance(resolved, Literal):
            return Unknown("it is not a list")
        return tuple(resolved.descend(at) for at in range(len(listed)))

    def entries(self, spot: Spot, depth: int = 0) -> Mapping[str, Spot] | Unknown:
        """Return the entries of a map by key; none if it is absent."""
        if spot.value() is None:
            return {}
        self.left = self.left - 1 if depth else STEPS_MAX
        if excess.is_over(depth, DEPTH_MAX, NESTED, spot.document.path) or self._is_exhausted(spot):
            return TOO_LONG
        if parts := self._resolve_parts(spot, "merge"):
            maps = [self.entries(part, depth + 1) for part in parts]
            unknown = next((entry_map for entry_map in maps if isinstance(entry_map, Unknown)), None)
            return unknown or {
                key: value for entry_map in maps if isinstance(entry_map, Mapping) for key, value in entry_map.items()
            }
        resolved = self.resolve_spot(spot, depth)
        if isinstance(resolved, Unknown):
            return resolved
        if _is_joined(resolved) and isinstance(resolved, Spot) and resolved != spot:
            return self.entries(resolved, depth + 1)
        mapped = None if isinstance(resolved, Literal) else resolved.value()
        if mapped is None:
            return {}
        if not isinstance(mapped, dict) or isinstance(resolved, Literal) or any("${" in str(key) for key in mapped):
            return Unknown("it is not a map")
        return {str(key): resolved.descend(str(key)) for key in mapped}

    def repeat_block(self, block: Spot) -> tuple[Spot, ...] | Unknown:
        """Yield a block once for each item of its `count` or `for_each`; not at all if its count is
        zero.
        """
        if block.value() is None:
            return ()
        many, listed = block.descend("count"), block.descend("for_each")
        if listed.value() is not None:
            entries = self.entries(listed)
            if isinstance(entries, Unknown):
                items = self.items(listed)
                return items if isinstance(items, Unknown) else self._list_each(block, items)
            return tuple(block._replace(each=Each(key, value)) for key, value in entries.items())
        counted = self.field(many)
        return () if counted is not None and counted.value == 0 else (block,)

    def _list_each(self, block: Spot, items: Sequence[Spot]) -> tuple[Spot, ...] | Unknown:
        """Return the objects of a set of texts."""
        keys = [self.field(item) for item in items]
        if any(key is None or not isinstance(key.value, str) for key in keys):
            return Unknown("for_each iterates over an unknown value")
        return tuple(
            block._replace(each=Each(str(key.value), item)) for key, item in zip(keys, items, strict=True) if key
        )

    # ---- expressions

    def _is_exhausted(self, spot: Spot) -> bool:
        """Whether one value takes more steps than the limit allows."""
        used = STEPS_MAX - self.left
        return excess.is_over(
            used, STEPS_MAX, "a Terraform value takes more than {} steps to resolve", spot.document.path
        )

    def _resolve_parts(self, spot: Spot, name: str) -> tuple[Spot, ...]:
        """Return the arguments of a function that joins lists or maps, each as a location."""
        value = spot.value()
        whole = expressions.WHOLE.fullmatch(value) if isinstance(value, str) else None
        call = expressions.JOINING.fullmatch(whole["expression"].strip()) if whole else None
        if call is None or call["name"] != name:
            return ()
        operands = [argument for argument in expressions.arguments(call["arguments"]) if argument not in ("[]", "{}")]
        resolved = [self._resolve(argument, spot, 0) for argument in operands]
        spots = tuple(spot_ for spot_ in resolved if isinstance(spot_, Spot))
        return spots if len(spots) == len(resolved) else ()

    def _resolve(self, expression: str, spot: Spot, depth: int) -> Found:
        self.left -= 1
        if excess.is_over(depth, DEPTH_MAX, NESTED, spot.document.path):
            return Unknown("its references do not resolve")
        too_long = excess.is_over(len(expression), CHARACTERS_MAX, LONG, spot.document.path)
        if too_long or self._is_exhausted(spot):
            return TOO_LONG
        if match := expressions.LITERAL.fullmatch(expression):
            return Literal(expressions.literal(match), spot)
        if match := expressions.REFERENCE.fullmatch(expression):
            return self._resolve_reference(match, spot, depth)
        if match := expressions.CALL.fullmatch(expression):
            return self._choose(match["name"], expressions.arguments(match["arguments"]), spot, depth)
        if expressions.JOINING.fullmatch(expression) and spot.value() == f"${{{expression}}}":
            return spot
        if sides := expressions.sides(expression):
            condition, *both = sides
            truth = self._evaluate_condition(condition, spot, depth + 1)
            return truth if isinstance(truth, Unknown) else self._resolve(both[0 if truth else 1], spot, depth + 1)
        return Unknown(f"{expressions.short(expression)} is computed")

    def _evaluate_condition(self, condition: str, spot: Spot, depth: int) -> bool | Unknown:
        """Evaluate a condition: a flag, its negation, or a comparison of two values."""
        if match := expressions.COMPARISON.fullmatch(condition):
            sides = [self._resolve(match[name].strip(), spot, depth) for name in ("left", "right")]
            unknown = next((side for side in sides if isinstance(side, Unknown)), None)
            return unknown or (_read_plain(sides[0]) == _read_plain(sides[1])) == (match["sign"] == "==")
        resolved = self._resolve(condition.removeprefix("!").strip(), spot, depth)
        value = resolved if isinstance(resolved, Unknown) else _read_plain(resolved)
        if isinstance(value, bool):
            return value != condition.startswith("!")
        return value if isinstance(value, Unknown) else Unknown(f"{expressions.short(condition)} is computed")

    def _choose(self, name: str, arguments: Sequence[str], spot: Spot, depth: int) -> Found:
        """Evaluate a choice: `try` and `coalesce` take the first value, `lookup` an entry or its
        default.
        """
        if name == "lookup" and len(arguments) in (2, 3):
            key = expressions.LITERAL.fullmatch(arguments[1])
            whole = self._resolve(arguments[0], spot, depth + 1)
            if key is None or key["text"] is None or not isinstance(whole, Spot):
                return (
                    whole if isinstance(whole, Unknown) else Unknown(f"{expressions.short(arguments[0])} is computed")
                )
            inner = whole.descend(key["text"])
            if inner.value() is not None:
                return self.resolve_spot(inner, depth + 1)
            return (
                self._resolve(arguments[2], spot, depth + 1)
                if len(arguments) == 3
                else Unknown("there is no such entry")
            )
        for argument in arguments:
            resolved = self._resolve(argument, spot, depth + 1)
            absent = (isinstance(resolved, Literal) and resolved.value is None) or (
                isinstance(resolved, Spot) and resolved.value() is None
            )
            if isinstance(resolved, Unknown) and resolved.category == ABSENT:
                continue
            if not (absent and name in ("try", "coalesce")):
                return resolved
        return Unknown(f"{name}() selects no stated value")

    def _resolve_reference(self, match: re.Match[str], spot: Spot, depth: int) -> Found:
        root, name = match["root"], match["name"]
        if root == "each":
            if spot.each is None or name not in ("key", "value"):
                return Unknown("for_each iterates over an unknown value")
            start: Found = (
                Literal(spot.each.key, spot) if name == "key" else self.resolve_spot(spot.each.value, depth + 1)
            )
        elif root == "var":
            start = self._resolve_variable(name, spot, depth)
        elif root == "local":
            start = self._resolve_local(name, spot, depth)
        else:
            return Unknown(f"{match[0]} is computed")
        for step in expressions.STEP.finditer(match["rest"]):
            if not isinstance(start, Spot):
                return start if isinstance(start, Unknown) else Unknown(f"{match[0]} is computed")
            inner = start.descend(int(step[2]) if step[2] else step[1] or step[3])
            if inner.document.node(inner.path) is None:
                return Unknown(f"{match[0]} does not exist", ABSENT)
            start = self.resolve_spot(inner, depth + 1)
        return start

    def _resolve_variable(self, name: str, spot: Spot, depth: int) -> Found:
        folder = self.folders.get(posixpath.dirname(spot.document.path))
        declared = _find_first(folder.documents if folder else (), ("variable", name))
        if folder is None or declared is None:
            return Unknown(f"var.{name} is not declared", CALLER)
        stated = [self._find_argument(call, name, depth) for call in self.list_calls(folder)]
        if stated:
            default = self._find_default(name, declared, depth)
            return _merge(name, [assigned if assigned is not None else default for assigned in stated])
        if given := _find_first(reversed(folder.given), (name,)):
            return self._merge_optional(folder, name, self.resolve_spot(given, depth + 1), depth)
        return self._merge_optional(folder, name, self._find_default(name, declared, depth), depth)

    def list_files(self) -> tuple[Origin, ...]:
        """Return all files that may decide a value."""
        folders = self.folders.values()
        files = (document for folder in folders for document in (*folder.documents, *folder.given, *folder.further))
        return tuple(Origin(document, ()) for document in files)

    def find_folder(self, spot: Spot) -> Folder | None:
        """Return the folder of a location."""
        return self.folders.get(posixpath.dirname(spot.document.path))

    def find_sources(self, root: str, name: str, spot: Spot) -> Iterator[Spot]:
        """Yield every location that may decide a variable, a local value or the item of a `for_each`."""
        folder = self.find_folder(spot)
        if root == "each" and spot.each is not None:
            yield spot.each.value
        if folder is None or root not in ("var", "local"):
            return
        if root == "var":
            yield from (call.descend(name) for call in self.list_calls(folder))
            yield from (Spot(document, (name,)) for document in (*folder.given, *folder.further))
            yield from (Spot(document, ("variable", name, "default")) for document in folder.documents)
            return
        for document in folder.documents:
            blocks = document.get(("locals",))
            for at in range(len(blocks) if isinstance(blocks, list) else 0):
                yield Spot(document, ("locals", at, name))

    def list_calls(self, folder: Folder) -> tuple[Spot, ...]:
        """Return the calls that decide the values of a folder's variables."""
        return (self.pins[folder.path],) if folder.path in self.pins else folder.calls

    def _merge_optional(self, folder: Folder, name: str, value: Found, depth: int) -> Found:
        """Return a value, or Unknown if an optional variable file of the folder differs."""
        others = [Spot(document, (name,)) for document in folder.further if document.get((name,)) is not None]
        return _merge(name, [value, *(self.resolve_spot(other, depth + 1) for other in others)]) if others else value

    def _find_argument(self, call: Spot, name: str, depth: int) -> Found | None:
        """Return the argument of a call; None if it leaves the default."""
        argument = call.descend(name)
        return None if argument.document.node(argument.path) is None else self.resolve_spot(argument, depth + 1)

    def _find_default(self, name: str, declared: Spot, depth: int) -> Found:
        default = declared.descend("default")
        if default.document.node(default.path) is None:
            return Unknown(f"var.{name} has no default", CALLER)
        return self.resolve_spot(default, depth + 1)

    def _resolve_local(self, name: str, spot: Spot, depth: int) -> Found:
        folder = self.folders.get(posixpath.dirname(spot.document.path))
        for document in folder.documents if folder else ():
            blocks = document.get(("locals",))
            for at in range(len(blocks) if isinstance(blocks, list) else 0):
                if document.node(("locals", at, name)) is not None:
                    return self.resolve_spot(Spot(document, ("locals", at, name)), depth + 1)
        return Unknown(f"local.{name} is not declared")

    def _interpolate(self, spot: Spot, text: str, depth: int) -> Found:
        """Return a text with its `${…}` filled in."""
        if "%{" in text:
            return Unknown("it is a template")
        written, at = [], 0
        while (start := text.find("${", at)) >= 0:
            match = expressions.WHOLE.match(text, start)
            if match is None:
                return Unknown("it is a template")
            resolved = self._resolve(match["expression"].strip(), spot, depth + 1)
            if isinstance(resolved, Unknown):
                return resolved
            value = resolved.value if isinstance(resolved, Literal) else resolved.value()
            if not isinstance(value, str | int) or isinstance(value, bool) or _is_joined(resolved):
                return Unknown(f"{expressions.short(match['expression'])} is computed")
            written += [text[at:start], str(value)]
            if excess.is_over(sum(map(len, written)), CHARACTERS_MAX, LONG, spot.document.path):
                return TOO_LONG
            at = match.end()
        return Literal("".join([*written, text[at:]]), spot)


ABSENT = "absent"
"""Marks a reference to something absent, which `try` skips."""


def _is_joined(resolved: Found) -> bool:
    """Return True for a joined list or map, which has no location of its own."""
    value = resolved.value() if isinstance(resolved, Spot) else None
    return isinstance(value, str) and "${" in value


def _merge(name: str, values: Sequence[Found]) -> Found:
    """Return the value on which all sources of a variable agree; unknown if they differ."""
    first = values[0]
    if len(values) == 1 or (
        not isinstance(first, Unknown) and all(_read_plain(value) == _read_plain(first) for value in values)
    ):
        return first
    if unknown := next((value for value in values if isinstance(value, Unknown)), None):
        return unknown
    return Unknown(f"var.{name} is set to different values", CALLER)


def _read_plain(value: Found) -> object:
    return value.reason if isinstance(value, Unknown) else value.value if isinstance(value, Literal) else value.value()


def _find_first(documents: Iterable[Document], path: Path) -> Spot | None:
    return next((Spot(document, path) for document in documents if document.node(path) is not None), None)
