"""What the expressions of Terraform's files refer to: variables with what sets them, locals, and arguments of module calls.

A variable has the value that its one caller gives it where its folder is called as a module, else that of the folder's
`terraform.tfvars` and `*.auto.tfvars`, else its default. Another `.tfvars` file of the folder is used only by whoever names
it: where it says otherwise the value is not known. Functions are not evaluated but for those that only choose.
(developer.hashicorp.com/terraform/language/values/variables, .../language/modules/syntax)
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes.terraform import expressions
from gpulint.adapters.nodes.terraform import modules as terraform_folders
from gpulint.adapters.nodes.terraform.modules import Each, Folder, Spot
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Unknown

DEPTH_MAX = 24
STEPS_MAX = 10_000
CHARACTERS_MAX = 4_000
TOO_LONG = Unknown("it is computed from more than is followed")
CALLER = "caller's variable"


class Literal(NamedTuple):
    """A value that an expression holds itself."""

    value: object
    spot: Spot


Found = Spot | Literal | Unknown


class Modules:
    """All the modules of a repository, by folder."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.folders = terraform_folders.read(documents)
        self.left = STEPS_MAX

    def at(self, spot: Spot, depth: int = 0) -> Found:
        """What stands at a place in the end: the place of a literal value, list or map, or why it is not known."""
        value = spot.value()
        if not isinstance(value, str) or "${" not in value:
            return spot
        whole = expressions.WHOLE.fullmatch(value)
        if whole is None:
            return self._interpolated(spot, value, depth)
        return self._of(whole["expression"].strip(), spot, depth)

    def field(self, spot: Spot) -> Field | None:
        """The text, number or flag at a place, with the places that state it; None where nothing or null stands there."""
        if spot.value() is None:
            return None
        self.left = STEPS_MAX
        found = self.at(spot)
        if isinstance(found, Unknown):
            category = "" if found.category == ABSENT else found.category
            return Field(Unknown(found.reason, category), (spot.origin(),))
        deciding = found.spot if isinstance(found, Literal) else found
        value = found.value if isinstance(found, Literal) else found.value()
        if value is None:
            return None
        places = (spot.origin(),) if deciding == spot else (deciding.origin(), spot.origin())
        if not isinstance(value, str | int | float | bool) or _is_joined(found):
            return Field(Unknown("it is a list or a map"), places)
        return Field(value, places)

    def items(self, spot: Spot, depth: int = 0) -> tuple[Spot, ...] | Unknown:
        """The items of a list; none where nothing stands there."""
        if spot.value() is None:
            return ()
        self.left = self.left - 1 if depth else STEPS_MAX
        if depth > DEPTH_MAX or self.left < 0:
            return TOO_LONG
        if parts := self._parts(spot, "concat"):
            lists = [self.items(part, depth + 1) for part in parts]
            unknown = next((one for one in lists if isinstance(one, Unknown)), None)
            return unknown or tuple(item for one in lists if not isinstance(one, Unknown) for item in one)
        found = self.at(spot, depth)
        if isinstance(found, Unknown):
            return found
        if _is_joined(found) and isinstance(found, Spot) and found != spot:
            return self.items(found, depth + 1)
        listed = None if isinstance(found, Literal) else found.value()
        if listed is None:
            return ()
        if not isinstance(listed, list) or isinstance(found, Literal):
            return Unknown("it is no list")
        return tuple(found.below(at) for at in range(len(listed)))

    def entries(self, spot: Spot, depth: int = 0) -> Mapping[str, Spot] | Unknown:
        """The entries of a map by key; none where nothing stands there."""
        if spot.value() is None:
            return {}
        self.left = self.left - 1 if depth else STEPS_MAX
        if depth > DEPTH_MAX or self.left < 0:
            return TOO_LONG
        if parts := self._parts(spot, "merge"):
            maps = [self.entries(part, depth + 1) for part in parts]
            unknown = next((one for one in maps if isinstance(one, Unknown)), None)
            return unknown or {key: value for one in maps if isinstance(one, Mapping) for key, value in one.items()}
        found = self.at(spot, depth)
        if isinstance(found, Unknown):
            return found
        if _is_joined(found) and isinstance(found, Spot) and found != spot:
            return self.entries(found, depth + 1)
        mapped = None if isinstance(found, Literal) else found.value()
        if mapped is None:
            return {}
        if not isinstance(mapped, dict) or isinstance(found, Literal) or any("${" in str(key) for key in mapped):
            return Unknown("it is no map")
        return {str(key): found.below(str(key)) for key in mapped}

    def repeated(self, block: Spot) -> tuple[Spot, ...] | Unknown:
        """The objects that a block makes, by its `count` or `for_each`: each once, none where its count is zero."""
        if block.value() is None:
            return ()
        many, listed = block.below("count"), block.below("for_each")
        if listed.value() is not None:
            entries = self.entries(listed)
            if isinstance(entries, Unknown):
                items = self.items(listed)
                return items if isinstance(items, Unknown) else self._each(block, items)
            return tuple(block._replace(each=Each(key, value)) for key, value in entries.items())
        counted = self.field(many)
        return () if counted is not None and counted.value == 0 else (block,)

    def _each(self, block: Spot, items: Sequence[Spot]) -> tuple[Spot, ...] | Unknown:
        """The objects of a set of texts."""
        keys = [self.field(item) for item in items]
        if any(key is None or not isinstance(key.value, str) for key in keys):
            return Unknown("for_each goes over what is not known")
        return tuple(
            block._replace(each=Each(str(key.value), item)) for key, item in zip(keys, items, strict=True) if key
        )

    # ---- expressions

    def _parts(self, spot: Spot, name: str) -> tuple[Spot, ...]:
        """What a function that puts lists or maps together is called with, each as the place that it refers to."""
        value = spot.value()
        whole = expressions.WHOLE.fullmatch(value) if isinstance(value, str) else None
        call = expressions.JOINING.fullmatch(whole["expression"].strip()) if whole else None
        if call is None or call["name"] != name:
            return ()
        told = [argument for argument in expressions.arguments(call["arguments"]) if argument not in ("[]", "{}")]
        found = [self._of(argument, spot, 0) for argument in told]
        spots = tuple(one for one in found if isinstance(one, Spot))
        return spots if len(spots) == len(found) else ()

    def _of(self, expression: str, spot: Spot, depth: int) -> Found:
        self.left -= 1
        if depth > DEPTH_MAX:
            return Unknown("references lead nowhere")
        if self.left < 0 or len(expression) > CHARACTERS_MAX:
            return TOO_LONG
        if match := expressions.LITERAL.fullmatch(expression):
            return Literal(expressions.literal(match), spot)
        if match := expressions.REFERENCE.fullmatch(expression):
            return self._referred(match, spot, depth)
        if match := expressions.CALL.fullmatch(expression):
            return self._chosen(match["name"], expressions.arguments(match["arguments"]), spot, depth)
        if expressions.JOINING.fullmatch(expression) and spot.value() == f"${{{expression}}}":
            return spot
        if sides := expressions.sides(expression):
            condition, *both = sides
            truth = self._holds(condition, spot, depth + 1)
            return truth if isinstance(truth, Unknown) else self._of(both[0 if truth else 1], spot, depth + 1)
        return Unknown(f"{expressions.short(expression)} is computed")

    def _holds(self, condition: str, spot: Spot, depth: int) -> bool | Unknown:
        """Whether a condition holds: a flag, its negation, or a comparison of two values."""
        if match := expressions.COMPARISON.fullmatch(condition):
            sides = [self._of(match[name].strip(), spot, depth) for name in ("left", "right")]
            unknown = next((one for one in sides if isinstance(one, Unknown)), None)
            return unknown or (_plain(sides[0]) == _plain(sides[1])) == (match["sign"] == "==")
        found = self._of(condition.removeprefix("!").strip(), spot, depth)
        value = found if isinstance(found, Unknown) else _plain(found)
        if isinstance(value, bool):
            return value != condition.startswith("!")
        return value if isinstance(value, Unknown) else Unknown(f"{expressions.short(condition)} is computed")

    def _chosen(self, name: str, arguments: Sequence[str], spot: Spot, depth: int) -> Found:
        """What a function chooses: `try` and `coalesce` the first that there is, `lookup` an entry or its default."""
        if name == "lookup" and len(arguments) in (2, 3):
            key = expressions.LITERAL.fullmatch(arguments[1])
            whole = self._of(arguments[0], spot, depth + 1)
            if key is None or key["text"] is None or not isinstance(whole, Spot):
                return (
                    whole if isinstance(whole, Unknown) else Unknown(f"{expressions.short(arguments[0])} is computed")
                )
            inner = whole.below(key["text"])
            if inner.value() is not None:
                return self.at(inner, depth + 1)
            return self._of(arguments[2], spot, depth + 1) if len(arguments) == 3 else Unknown("there is no such entry")
        for argument in arguments:
            found = self._of(argument, spot, depth + 1)
            absent = (isinstance(found, Literal) and found.value is None) or (
                isinstance(found, Spot) and found.value() is None
            )
            if isinstance(found, Unknown) and found.category == ABSENT:
                continue
            if not (absent and name in ("try", "coalesce")):
                return found
        return Unknown(f"{name}() chooses none of what is stated")

    def _referred(self, match: re.Match[str], spot: Spot, depth: int) -> Found:
        root, name = match["root"], match["name"]
        if root == "each":
            if spot.each is None or name not in ("key", "value"):
                return Unknown("for_each goes over what is not known")
            start: Found = Literal(spot.each.key, spot) if name == "key" else self.at(spot.each.value, depth + 1)
        elif root == "var":
            start = self._variable(name, spot, depth)
        elif root == "local":
            start = self._local(name, spot, depth)
        else:
            return Unknown(f"{match[0]} is computed")
        for step in expressions.STEP.finditer(match["rest"]):
            if not isinstance(start, Spot):
                return start if isinstance(start, Unknown) else Unknown(f"{match[0]} is computed")
            inner = start.below(int(step[2]) if step[2] else step[1] or step[3])
            if inner.document.node(inner.path) is None:
                return Unknown(f"{match[0]} is not there", ABSENT)
            start = self.at(inner, depth + 1)
        return start

    def _variable(self, name: str, spot: Spot, depth: int) -> Found:
        folder = self.folders.get(posixpath.dirname(spot.document.path))
        declared = _first(folder.documents if folder else (), ("variable", name))
        if folder is None or declared is None:
            return Unknown(f"var.{name} is declared nowhere", CALLER)
        stated = [self._passed(call, name, depth) for call in folder.calls]
        if stated:
            default = self._default(name, declared, depth)
            return _agreed(name, [one if one is not None else default for one in stated])
        if given := _first(reversed(folder.given), (name,)):
            return self._with(folder, name, self.at(given, depth + 1), depth)
        return self._with(folder, name, self._default(name, declared, depth), depth)

    def _with(self, folder: Folder, name: str, found: Found, depth: int) -> Found:
        """A value that holds unless one of the files that are named on the command line is, which say otherwise."""
        others = [Spot(one, (name,)) for one in folder.further if one.get((name,)) is not None]
        return _agreed(name, [found, *(self.at(one, depth + 1) for one in others)]) if others else found

    def _passed(self, call: Spot, name: str, depth: int) -> Found | None:
        """The argument of a call; None where it leaves the default."""
        argument = call.below(name)
        return None if argument.document.node(argument.path) is None else self.at(argument, depth + 1)

    def _default(self, name: str, declared: Spot, depth: int) -> Found:
        default = declared.below("default")
        if default.document.node(default.path) is None:
            return Unknown(f"var.{name} has no default", CALLER)
        return self.at(default, depth + 1)

    def _local(self, name: str, spot: Spot, depth: int) -> Found:
        folder = self.folders.get(posixpath.dirname(spot.document.path))
        for document in folder.documents if folder else ():
            blocks = document.get(("locals",))
            for at in range(len(blocks) if isinstance(blocks, list) else 0):
                if document.node(("locals", at, name)) is not None:
                    return self.at(Spot(document, ("locals", at, name)), depth + 1)
        return Unknown(f"local.{name} is declared nowhere")

    def _interpolated(self, spot: Spot, text: str, depth: int) -> Found:
        """A text with what its `${…}` stand for."""
        if "%{" in text:
            return Unknown("it is a template")
        written, at = [], 0
        while (start := text.find("${", at)) >= 0:
            match = expressions.WHOLE.match(text, start)
            if match is None:
                return Unknown("it is a template")
            found = self._of(match["expression"].strip(), spot, depth + 1)
            if isinstance(found, Unknown):
                return found
            value = found.value if isinstance(found, Literal) else found.value()
            if not isinstance(value, str | int) or isinstance(value, bool) or _is_joined(found):
                return Unknown(f"{expressions.short(match['expression'])} is computed")
            written += [text[at:start], str(value)]
            if sum(map(len, written)) > CHARACTERS_MAX:
                return TOO_LONG
            at = match.end()
        return Literal("".join([*written, text[at:]]), spot)


ABSENT = "absent"
"""That what an expression refers to is not there, which `try` passes over."""


def _is_joined(found: Found) -> bool:
    """Whether lists or maps that are put together stand there, which have no place of their own."""
    value = found.value() if isinstance(found, Spot) else None
    return isinstance(value, str) and "${" in value


def _agreed(name: str, found: Sequence[Found]) -> Found:
    """What all that may set a variable say; unknown where they differ."""
    first = found[0]
    if len(found) == 1 or (not isinstance(first, Unknown) and all(_plain(one) == _plain(first) for one in found)):
        return first
    if unknown := next((one for one in found if isinstance(one, Unknown)), None):
        return unknown
    return Unknown(f"var.{name} is set to different values", CALLER)


def _plain(found: Found) -> object:
    return found.reason if isinstance(found, Unknown) else found.value if isinstance(found, Literal) else found.value()


def _first(documents: Iterable[Document], path: Path) -> Spot | None:
    return next((Spot(one, path) for one in documents if one.node(path) is not None), None)
