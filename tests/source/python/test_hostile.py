"""Python that is made to hurt a reader: the work is bounded, and what is beyond a limit is reported."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

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
    "doubling": "a = f'{\"x\" * 10 ** 9}'\nb = 'x' * 10 ** 9\nc = [0] * 10 ** 9\nd = (0,) * 10 ** 12\ne = b'x' * 10 ** 9",
    "padding": "a = f'{1:0>1000000000}'\nb = '1'.zfill(10 ** 9)\nc = '1'.ljust(10 ** 9)\nd = '1'.center(10 ** 9)",
    "exponents": "a = 2 ** 10 ** 9\nb = pow(3, 10 ** 9)\nc = (10 ** 60) ** 60\nd = 1.5 ** 10 ** 6\ne = (-1) ** 0.5",
    "divisions": "a = 1 // 0\nb = 1 % 0\nc = 1 / 0\nd = 'a' % 0\ne = 10 ** 400 / 3\nf = int(1e400)\ng = round(1e400)",
    "attributes": "class A:\n  def __getattr__(self, n): return getattr(self, n + n)\n  def __call__(self): return self()\n"
    + "a = A()\n"
    + "a.b.c.d()\n" * 2_000,
    "descriptors": "class A:\n  def __new__(cls): return A()\n  def __init__(self): A()\n"
    "  def __getitem__(self, k): return self[k]\n  def __iter__(self): return self\nfor x in A(): x[0]\nA()[A()]",
    "generators": "def f():\n  yield from f()\nlist(f())\nnext(f())\n[*f()]",
    "unpacking": "a, *b = [1] * 900\n" + "a, *b = b * 900\n" * 200 + "f(*b, *b, *b)",
    "walrus": "a = [1]\n" + "(a := a + a)\n" * 500,
    "sorting": "a = [1] * 900\n" + "a = sorted(a + a)\nb = sum(a, [])\nc = ''.join(map(str, a))\n" * 200,
    "replacing": "a = 'a' * 20000\n" + "a = a.replace('a', 'aaaa')\na = a.split('a')\na = 'a'.join(a)\n" * 100,
    "exceptions": "def f():\n  try:\n    f()\n  except Exception:\n    f()\n  finally:\n    f()\nf()",
    "matching": "match u():\n" + "".join(f"  case {n}:\n    a = {n}\n" for n in range(3_000)),
    "parser": "import argparse\np = argparse.ArgumentParser()\n"
    + "p.add_argument('--a')\n" * 5_000
    + "p.parse_args()\n" * 20,
}


@pytest.mark.parametrize("name", [*TOO_DEEP, *BOMBS])
def test_a_hostile_program_costs_little(name: str) -> None:
    start = time.process_time()
    read({"main.py": {**TOO_DEEP, **BOMBS}[name]})
    assert time.process_time() - start < SECONDS_MAX


def test_a_program_that_needs_too_many_steps_is_reported() -> None:
    _, reasons = read(
        {
            "main.py": "a = 1\n"
            + "for b in [1, 2, 3, 4, 5, 6, 7, 8]:\n"
            + "".join(" " * d + f"for a{d} in [1, 2, 3, 4, 5, 6, 7, 8]:\n" for d in range(1, 15))
            + " " * 15
            + "a += 1"
        }
    )
    assert reasons == ["a Python program takes more than 60,000 steps to evaluate"]


def test_a_program_that_makes_too_many_calls_is_reported() -> None:
    assert read({"main.py": BOMBS["loops"]})[1] == ["a Python program calls other packages more than 5,000 times"]


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


def test_names_that_shadow_libraries_are_those_of_the_program() -> None:
    files = {
        "main.py": "import vllm\nfrom transformers import Trainer\nvllm.LLM('a/b')\nTrainer()",
        "vllm.py": "def LLM(name): return None",
        "transformers/__init__.py": "class Trainer: pass",
    }
    assert read(files)[0] == []


def test_more_modules_than_are_read_are_reported() -> None:
    files = {f"m{n}.py": f"import m{n + 1}\n" for n in range(30)}
    assert read({**files, "main.py": "import m0"})[1] == ["a Python program has more than 24 modules of the repository"]


def test_a_file_of_another_python_is_reported() -> None:
    assert read({"main.py": "print 'a'"})[1] == ["a Python file that does not parse as Python 3"]


def test_more_cells_than_are_read_are_reported() -> None:
    cells = {"cells": [{"cell_type": "code", "source": "a = 1"}] * 2_001}
    assert read({"main.ipynb": json.dumps(cells)}, "main.ipynb")[1] == ["a notebook has more than 2,000 cells"]


def test_a_program_is_never_executed(tmp_path: Path) -> None:
    """Each of these would write a file, end the process or import a module if it ran."""
    mark = tmp_path / "executed"
    write = f"open({str(mark)!r}, 'w').write('x')"
    program = (
        f"import os, sys\n{write}\nexec({write!r})\neval({write!r})\n__import__('os').system('touch {mark}')\n"
        f"class A:\n  {write}\n  def __del__(self): {write}\n  __class_getitem__ = lambda s, k: {write}\n"
        f"@lambda f: {write}\ndef f(a={write}): pass\nf'{{{write}}}'\nos._exit(1)\nsys.exit(1)\nA[0]\n"
    )
    before = set(sys.modules)
    read({"main.py": program})
    assert not mark.exists()
    assert not {name for name in set(sys.modules) - before if not name.startswith(("gpulint", "encodings"))}


def test_a_notebook_full_of_outputs_or_of_cells_is_bounded() -> None:
    outputs = {"cells": [{"cell_type": "code", "source": "a = 1", "outputs": ["x" * 4_000_000]}]}
    many = {"cells": [{"cell_type": "code", "source": ["a = 1\n"] * 3}] * 20_000}
    odd: dict[str, list[object]] = {
        "cells": [1, None, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}, {"source": {}}]
    }
    start = time.process_time()
    every: tuple[object, ...] = (outputs, many, odd, {"cells": {}}, {}, [])
    for data in every:
        read({"main.ipynb": json.dumps(data)}, "main.ipynb")
    assert time.process_time() - start < SECONDS_MAX
