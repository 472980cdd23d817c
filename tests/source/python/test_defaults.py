"""What a program takes itself where a variable or an argument has no value and nothing states one."""

from __future__ import annotations

import pytest

from gpulint.source import documents, python
from gpulint.source.python import Given
from gpulint.source.python.values import Constant, Value


def read(program: str, environment: dict[str, str] | None = None) -> Value:
    text = f"import os\nfrom lib import f\n{program}\nf(x=MODEL)\n"
    (document,) = documents.load("main.py", text.encode()).documents
    variables = {name: Given(value) for name, value in (environment or {}).items()}
    evaluated = python.evaluate("main.py", {"main.py": document}.get, None, variables)
    return next(call.keywords["x"] for call in evaluated.calls if call.name == "lib.f")


STATED = """
MODEL = os.getenv("MODEL")
if not MODEL:
    MODEL = "a"
"""
FUNCTION = """
def find(name, default):
    value = os.environ.get(name)
    if value is None:
        return default
    return value
MODEL = find("MODEL", "a")
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param('MODEL = os.getenv("MODEL") or "a"', id="or"),
        pytest.param('MODEL = os.getenv("MODEL") or os.environ.get("OTHER") or "a"', id="or twice"),
        pytest.param(STATED, id="assigned if it is empty"),
        pytest.param(STATED.replace("not MODEL", "MODEL is None"), id="assigned if it is None"),
        pytest.param('M = os.getenv("MODEL")\nMODEL = M if M else "a"', id="conditional"),
        pytest.param('M = os.getenv("MODEL")\nMODEL = "a" if M is None else M', id="conditional on None"),
        pytest.param('MODEL = "a"\nif os.getenv("MODEL"):\n    MODEL = os.getenv("MODEL")', id="overridden"),
        pytest.param(FUNCTION, id="returned by a function"),
    ],
)
def test_a_default_counts_where_nothing_states_the_variable(program: str) -> None:
    found = read(program)
    assert isinstance(found, Constant) and found.value == "a"
    stated = read(program, {"MODEL": "b"})
    assert isinstance(stated, Constant) and stated.value == "b"


def test_a_default_names_the_variable_that_can_replace_it() -> None:
    found = read('MODEL = os.getenv("MODEL") or "a"')
    assert isinstance(found, Constant) and found.name == "MODEL"


@pytest.mark.parametrize(
    "program",
    [
        pytest.param('MODEL = "a" if os.getenv("BIG") else "b"', id="a switch between two models"),
        pytest.param('if os.getenv("BIG"):\n    MODEL = "a"\nelse:\n    MODEL = "b"', id="the same as a statement"),
        pytest.param('MODEL = os.getenv("RANK") or "a"', id="a launcher sets it"),
        pytest.param('MODEL = os.getenv("MODEL")\nif not MODEL:\n    raise ValueError', id="it must be stated"),
        pytest.param('MODEL = os.getenv("MODEL") or compute()', id="the default is computed"),
    ],
)
def test_no_default_counts_where_the_program_states_none(program: str) -> None:
    assert not isinstance(read(program), Constant)
