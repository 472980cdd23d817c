"""Python that is made to hurt a reader: the work is bounded, and what is beyond a limit is reported."""

from __future__ import annotations

import json
import time

import pytest

from gpulint.source import documents, excess, python

SECONDS_MAX = 6.0
"""The slowest machine of CI is a few times slower than what these take (below 1 s)."""


def read(files: dict[str, str], entry: str = "main.py") -> tuple[list[str], list[str]]:
    loaded = {
        path: documents.load(path, text.encode("utf-8", "surrogatepass")).documents for path, text in files.items()
    }
    with excess.collect() as found:
        result = python.evaluate(entry, lambda path: next(iter(loaded.get(path, ())), None), None, {})
        result.enter_rest()
    return [call.name for call in result.calls], [entry.reason for entry in found]


TOO_DEEP = {
    "parentheses": "(" * 5_000,
    "unary": "x = " + "-" * 50_000 + "1",
    "not": "x = " + "not " * 50_000 + "1",
    "attributes": "x = a" + ".b" * 50_000,
    "calls": "x = a" + "()" * 50_000,
    "sums": "x = 1" + "+1" * 50_000,
    "powers": "x = 1" + "**1" * 50_000,
    "conditionals": "x = " + "1 if 1 else " * 20_000 + "1",
    "lambdas": "x = " + "lambda: " * 20_000 + "1",
    "subscripts": "x = a" + "[0]" * 50_000,
    "branches": "if a:\n pass\n" + "elif a:\n pass\n" * 10_000,
    "blocks": "".join(" " * depth + "if a:\n" for depth in range(99)) + " " * 99 + "pass",
    "comparisons": "x = a" + "<b" * 20_000,
    "formatted": 'x = f"{' * 60 + "1",
}
BOMBS = {
    "strings": "a = 'x' * 1000\n" + "a = a + a\n" * 200,
    "lists": "a = [1]\n" + "a += a\n" * 100 + "b = [*a, *a]\n" * 50,
    "dicts": "a = {}\n" + "a = {'a': a, 'b': a}\n" * 500 + "f(**a)",
    "joined": "a = 'x' * 20000\nb = a.join([a] * 100)\nc = a.replace('x', a)\n" * 50,
    "integers": "a = 9\n" + "a = a * a\n" * 500,
    "powers": "a = 9 ** 9 ** 9 ** 9",
    "shifts": "a = 1 << 10 ** 12",
    "formats": "a = '{:>99999999999}'.format(1)\nb = f'{1:>{10 ** 12}}'\nc = '%99999999999d' % 1",
    "branches": "\n".join(
        f"if u():\n    a{n} = 1\nelse:\n    a{n} = 2\nb = a{n} + (a{max(0, n - 1)} * 3)" for n in range(300)
    ),
    "choices": "a = 1 if u() else 2\n" + "a = a * 10 + (1 if u() else 2)\n" * 100,
    "calls": "".join(f"def f{n}():\n    f{n + 1}()\n    f{n + 1}()\n" for n in range(40)) + "def f40(): pass\nf0()",
    "recursion": "def f(n):\n    return f(n + 1) + f(n + 2)\nf(1)",
    "mutual": "def f(): return g()\ndef g(): return f()\nf()",
    "loops": "for a in [1, 2, 3, 4, 5, 6, 7, 8]:\n"
    + "".join(" " * d + f"for a{d} in [1, 2, 3, 4, 5, 6, 7, 8]:\n" for d in range(1, 15))
    + " " * 15
    + "u(a)",
    "comprehensions": "a = [[[[1 for a in r] for b in r] for c in r] for d in r]\n".replace(
        "r]", "[1, 2, 3, 4, 5, 6, 7, 8]]"
    )
    * 20,
    "class": "class A(A): pass\nclass B(A):\n  def __init__(self): super().__init__()\nclass A(B): pass\nA().x",
    "property": "class A:\n  @property\n  def x(self): return self.x\nA().x",
    "itself": "a = {}\na['a'] = a\nb = []\nb.append(b)\nf(x=a, y=b, **a)\nprint(a, b)",
    "self": "class A: pass\na = A()\na.a = a\na.a.a.a.b = a\nf(a)",
    "star": "from a import *\nfrom b import *\n" + "x()\n" * 20_000,
    "decorators": "@a\n" * 5_000 + "def f(): pass",
    "parameters": "def f(" + ", ".join(f"a{n}=1" for n in range(5_000)) + "): pass\nf()\n" * 1,
    "numbers": "a = 0x" + "f" * 200_000,
    "octets": "a = b'" + "\\xff" * 50_000 + "'",
    "int": "a = int('9' * 5000)\nb = int('9' * 20000, 36)",
    "range": "a = list(range(10 ** 12))\nb = [x for x in range(10 ** 12)]\nfor x in range(10 ** 12): pass",
    "parser": "import argparse\np = argparse.ArgumentParser()\n"
    + "p.add_argument('--a')\n" * 5_000
    + "p.parse_args()\n" * 20,
}


@pytest.mark.parametrize("name", [*TOO_DEEP, *BOMBS])
def test_a_hostile_program_costs_little(name: str) -> None:
    start = time.perf_counter()
    read({"main.py": {**TOO_DEEP, **BOMBS}[name]})
    assert time.perf_counter() - start < SECONDS_MAX


def test_a_program_that_needs_too_many_steps_is_reported() -> None:
    _, reasons = read({"main.py": BOMBS["loops"]})
    assert reasons == ["a Python program takes more than 60,000 steps to evaluate"]


def test_a_file_that_is_too_long_is_reported() -> None:
    _, reasons = read({"main.py": "a = 1\n" * 60_000})
    assert reasons == ["a Python file has more than 256,000 characters"]


@pytest.mark.parametrize(
    "text", ["\ufeffa = 1", "a = 1\r\nb = 2\r", "\x0ca = 1", "a =", "print 'a'", "\t a\n  b", "\u202ea = 1", "ａ = 1"]
)
def test_odd_texts_do_not_fail(text: str) -> None:
    read({"main.py": text + "\nf(1)"})


def test_imports_in_a_circle_end() -> None:
    files = {"main.py": "import a\nf(a.x)", "a.py": "import b\nx = 1", "b.py": "import a, main\nfrom a import x"}
    assert read(files)[0] == ["f"] or read(files)[0] == []


def test_a_long_chain_of_modules_is_cut() -> None:
    files = {f"m{n}.py": f"import m{n + 1}\nx = m{n + 1}.x" for n in range(500)}
    read({**files, "main.py": "import m0"})


def test_no_file_outside_the_repository_is_asked_for() -> None:
    asked: list[str] = []
    program = "import json\njson.load(open('/etc/passwd'))\njson.load(open('../../x.json'))\n"
    program += "from .... import a\nfrom ..b import c"
    loaded = documents.load("d/main.py", program.encode()).documents[0]

    def find(path: str) -> documents.Document | None:
        asked.append(path)
        return loaded if path == "d/main.py" else None

    python.evaluate("d/main.py", find, None, {})
    assert not [path for path in asked if path.startswith(("/", ".."))]


def test_names_that_shadow_builtins_are_those_of_the_program() -> None:
    program = "def open(x): return {'a': 5}\ndef int(x): return 7\nfrom library import f\nf(x=int(open('a')['a']))"
    loaded = documents.load("main.py", program.encode()).documents[0]
    calls = python.evaluate("main.py", {"main.py": loaded}.get, None, {}).calls
    assert getattr(calls[-1].keywords["x"], "value", None) == 7


def test_a_notebook_full_of_outputs_or_of_cells_is_bounded() -> None:
    outputs = {"cells": [{"cell_type": "code", "source": "a = 1", "outputs": ["x" * 4_000_000]}]}
    many = {"cells": [{"cell_type": "code", "source": ["a = 1\n"] * 3}] * 20_000}
    odd = {"cells": [1, None, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}, {"source": {}}]}
    start = time.perf_counter()
    for data in (outputs, many, odd, {"cells": {}}, {}, []):
        read({"main.ipynb": json.dumps(data)}, "main.ipynb")
    assert time.perf_counter() - start < SECONDS_MAX
