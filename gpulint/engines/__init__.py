"""Engines and trainers: one module each turns how a program is started into the fields of a role.

A module is imported when one of its `MENTIONS` occurs in the image or in a word of the command.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gpulint.catalog import package_data
from gpulint.workload import Argument, Field, Origin, Role

__all__ = [
    "Argument",
    "Invocation",
    "Reading",
    "find_purpose",
    "is_training",
    "list_own_variables",
    "module_name",
    "modules",
    "oldest_release",
    "read",
    "read_model_name",
    "render_argument",
    "takes",
]

HERE = Path(__file__).parent
GENERAL = ("transformers", "deepspeed")
"""Trainers that claim what no other does, in this order."""
IN_A_FOLDER = re.compile(r"(?:\$(?:\w+|\{\w+\})(?:/[\w.+-]+)*/|\$\((?:which|command -v) )(?P<name>[\w.+-]+)\)?")

OTHER_PROGRAM = re.compile(
    r"(?:[\w./-]*/)?(?:python[\d.]*|(?:ba|da|z)?sh|torchrun|uvicorn|gunicorn)|[\w./-]+\.(?:py|sh)"
)
"""Words that start a program: an image of an engine that gets one first has no entry point of its own."""


class Invocation(NamedTuple):
    """How a container starts one program.
    It holds its image, the words of the command (program first) and the environment.

    `arguments` are empty when only the image says what runs; `entrypoint` says that they follow the image's
    own program, `conditional` that the command stands in a branch or a loop, `further_environment` that other objects
    supply variables that the file does not show. `beside` are the words of the container's other commands, `final` says
    that the command takes the place of its shell, so that none of them runs after it; `exported` are the variables that
    its script has set by then. `sealed` says that the container has the files of a published image alone.
    """

    image: Argument
    arguments: tuple[Argument, ...]
    environment: Mapping[str, Argument]
    entrypoint: bool
    conditional: bool = False
    further_environment: bool = False
    beside: tuple[tuple[Argument, ...], ...] = ()
    final: bool = False
    exported: Mapping[str, Argument] = {}
    sealed: bool = False


class Reading(NamedTuple):
    """What an engine module understood: fields by glossary name, argument locations, and what
    stayed open.
    """

    fields: Mapping[str, Field]
    arguments: Origin | None
    open_ended: str = ""


def read(invocation: Invocation) -> Reading | None:
    """Return what the one engine that claims an invocation makes of it; None if no engine claims
    it.
    """
    invocation = invocation._replace(arguments=_program(invocation.arguments))
    if invocation.entrypoint and invocation.arguments and OTHER_PROGRAM.fullmatch(invocation.arguments[0].text or ""):
        invocation = invocation._replace(entrypoint=False)
    said = " ".join(word.source_text for word in (invocation.image, *invocation.arguments)).lower()
    for name in _order():
        if any(word in said for word in package_data.list_mentions(HERE)[name]):
            reading: Reading | None = _import(name).read(invocation)
            if reading is not None:
                return reading
    return None


def _program(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Replace a program path with an unknown folder, as `"$VENV/bin/vllm"` or `$(which vllm)`, by
    the program's name.
    """
    within = IN_A_FOLDER.fullmatch(words[0].source_text) if words and words[0].text is None else None
    return (words[0]._replace(text=within["name"], why="", category=""), *words[1:]) if within else words


def find_purpose(engine: str) -> str:
    """Return what an engine does: training or inference; empty for a launcher or an unknown
    program.
    """
    module = _module(engine)
    return str(getattr(module, "PURPOSE", "inference")) if module else ""


def is_training(role: Role) -> bool:
    """Return whether a role trains a model: its spec declares it, or its engine is a trainer and
    the spec does not decide.
    """
    return (role.text("task") or find_purpose(role.text("engine"))) == "training"


def read_model_name(engine: str, reference: str, origin: Origin) -> dict[str, Field]:
    """Return the fields that a model name implies for an engine: its checkpoint, and its format if
    the name has one.
    """
    module = _module(engine)
    if module is not None and hasattr(module, "read_model_name"):
        found: dict[str, Field] = module.read_model_name(reference, (origin,))
        return found
    return {"checkpoint": Field(reference, (origin,))}


def render_argument(engine: str, release: str, quantity: str, value: object) -> str | None:
    """Return the argument that sets a quantity in a release of an engine; None if there is none."""
    spell = getattr(_module(engine), "render_argument", None)
    spelling: str | None = spell(release, quantity, value) if spell else None
    return spelling


def takes(engine: str, flag: str) -> bool:
    """Return whether an engine has an argument of that spelling; one without a table of its arguments has none."""
    from gpulint.engines import command_line

    name = module_name(engine)
    return (HERE / "serving" / f"{name}_flags.csv").is_file() and flag in command_line.flags(name)


def oldest_release(engine: str) -> tuple[int, ...] | None:
    """Return the oldest release assumed for an image without a readable tag."""
    release: tuple[int, ...] | None = getattr(_module(engine), "OLDEST_ASSUMED", None)
    return release


def list_own_variables(engine: str) -> tuple[str, ...]:
    """Return the engine's environment variables that Kubernetes may set for a Service of a similar
    name.
    """
    variables: tuple[str, ...] = getattr(_module(engine), "SERVICE_VARIABLES", ())
    return variables


def module_name(engine: str) -> str:
    """Return the module name of an engine: tensorrt_llm for tensorrt-llm, llama_cpp for llama.cpp."""
    return engine.replace("-", "_").replace(".", "_")


def modules() -> Mapping[str, ModuleType]:
    """Return the engine modules by name."""
    return {name: _import(name) for name in package_data.list_mentions(HERE)}


@functools.cache
def _order() -> tuple[str, ...]:
    """Order the modules by name, with the fallback modules last."""
    return tuple(
        sorted(
            package_data.list_mentions(HERE), key=lambda name: (GENERAL.index(name) + 1 if name in GENERAL else 0, name)
        )
    )


def _module(engine: str) -> ModuleType | None:
    name = module_name(engine)
    return _import(name) if name in package_data.list_mentions(HERE) else None


def _import(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{package_data.modules(HERE)[name]}")
