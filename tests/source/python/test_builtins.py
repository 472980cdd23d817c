"""Built-in functions, loops that end early and copies of settings, evaluated from constants."""

from __future__ import annotations

import pytest

from gpulint.source import documents, python
from gpulint.source.python.values import Constant, Value


def read(program: str) -> Value:
    text = f"import copy, json, yaml\nfrom lib import f, unknown\n{program}\nf(x=X)\n"
    (document,) = documents.load("main.py", text.encode()).documents
    evaluated = python.evaluate("main.py", {"main.py": document}.get, None, {})
    return next(call.keywords["x"] for call in evaluated.calls if call.name == "lib.f")


PATH = """
def get(config, path, default=None):
    result = config
    for key in path.split("."):
        if isinstance(result, dict) and key in result:
            result = result[key]
        else:
            return default
    return result
SETTINGS = {"model": {"name": "a", "rank": 16}}
"""
COPIED = """
def copied(part):
    if isinstance(part, dict):
        return {key: copied(value) for key, value in part.items()}
    if isinstance(part, list):
        return [copied(one) for one in part]
    return copy.deepcopy(part)
"""
WRITES = """
s = {"model": "a"}
with open("out/run.yaml", "w") as file:
    yaml.dump(s, file)
"""
CHOOSE = """
def choose(name):
    lowered = name.lower()
    for size, gpu in [("70b", "H100"), ("7b", "L4")]:
        if size in lowered:
            return gpu
    return "T4"
"""
FIRST = """
X = None
for name in ["a", "b"]:
    X = name
    if name == "a":
        break
"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (f"{PATH}X = get(SETTINGS, 'model.rank', 8)", 16),
        (f"{PATH}X = get(SETTINGS, 'model.alpha', 8)", 8),
        (f"{CHOOSE}X = choose('acme/Big-70B')", "H100"),
        (f"{CHOOSE}X = choose('acme/Small-7B')", "L4"),
        (f"{CHOOSE}X = choose('acme/Tiny')", "T4"),
        (FIRST, "a"),
        (f"{WRITES}X = yaml.safe_load(open('out/run.yaml'))['model']", "a"),
        (f"{WRITES}s['model'] = 'b'\nX = yaml.safe_load(open('./out/run.yaml'))['model']", "a"),
        (f"{COPIED}X = copied({{'model': {{'names': ['a', 'b']}}}})['model']['names'][1]", "b"),
        ("X = 'a'\nfor name in ['b', 'c']:\n    if name == 'c':\n        continue\n    X = name", "b"),
        ("for name in ['b', 'c']:\n    if name == 'd':\n        X = name\n        break\nelse:\n    X = 'e'", "e"),
        ("X = any(part in 'big-70b' for part in ('70b', '65b'))", True),
        ("X = any(part in 'big-7b' for part in ('70b', '65b'))", False),
        ("X = all(size > 1 for size in [2, 3])", True),
        ("X = sorted([3, 1, 2])[0]", 1),
        ("X = sorted([3, 1, 2], reverse=True)[0]", 3),
        ("X = [b for a, b in zip([1, 2], ['x', 'y'])][1]", "y"),
        ("X = [b for a, b in enumerate(['x', 'y'])][0]", "x"),
        ("X = [one for one in [1, 2, 3] if one > 2][0]", 3),
        ("X = 1 if 10 <= 13 < 20 else 2", 1),
        ("X = 1 if 10 <= 23 < 20 else 2", 2),
        ("X = 1 if isinstance('a', (list, tuple)) else 2", 2),
        ("X = 1 if isinstance(True, int) else 2", 1),
        ("a = {'k': [1]}\nb = copy.deepcopy(a)\nb['k'].append(2)\nX = len(a['k'])", 1),
    ],
)
def test_a_program_that_only_computes_is_evaluated(program: str, expected: object) -> None:
    found = read(program)
    assert isinstance(found, Constant)
    assert found.value == expected


@pytest.mark.parametrize(
    "program",
    [
        "X = any(unknown(part) for part in ('a', 'b'))",
        "X = sorted([unknown(), 1])[0]",
        "X = [one for one in ['a', 'b'] if unknown(one)][0]",
        "X = 1 if isinstance(unknown(), str) else 2",
        "X = 1 if 1 <= unknown() < 3 else 2",
        "X = 'a'\nfor name in ['b', 'c']:\n    if unknown(name):\n        X = name\n        break",
        "for name in ['b', 'c']:\n    if unknown(name):\n        X = name\n        break\nelse:\n    X = 'd'",
        "X = sorted([1, 'a'])[0]",
        "yaml.dump(unknown(), open('run.yaml', 'w'))\nX = yaml.safe_load(open('run.yaml'))",
        "X = yaml.safe_load(open('run.yaml'))",
    ],
)
def test_what_depends_on_something_unknown_stays_open(program: str) -> None:
    assert not isinstance(read(program), Constant)
