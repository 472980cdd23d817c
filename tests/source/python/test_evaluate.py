"""Python programs are read as data: what a call gets is known without running anything."""

from __future__ import annotations

import json

import pytest

from gpulint.source import documents, python
from gpulint.source.python import Given
from gpulint.source.python.values import Choice, Constant, Items, Mapping, Name, Object, Open, Place, Value


def evaluate(
    main: str,
    words: str | None = None,
    environment: dict[str, str] | None = None,
    open_environment: bool = True,
    entry: str = "main.py",
    **files: str,
) -> list[Object]:
    contents = {
        entry: main,
        **{
            name.replace("__", "/").replace("_py", ".py").replace("_yaml", ".yaml"): text
            for name, text in files.items()
        },
    }
    loaded = {path: documents.load(path, text.encode()).documents[0] for path, text in contents.items()}
    given = None if words is None else [Given(word) for word in words.split()]
    variables = {name: Given(text) for name, text in (environment or {}).items()}
    known = {"torch.cuda.is_available": True}
    evaluated = python.evaluate(entry, loaded.get, given, variables, open_environment=open_environment, known=known)
    evaluated.enter_rest()
    return list(evaluated.calls)


def argument(calls: list[Object], name: str = "f", keyword: str = "x") -> Value:
    """Return the keyword of the last call of an external function of that name."""
    found = [call for call in calls if call.name.rpartition(".")[2] == name and call.keywords]
    assert found, [call.name for call in calls]
    return found[-1].keywords[keyword]


def plain(value: Value) -> object:
    match value:
        case Constant():
            return value.value
        case Items():
            return [*map(plain, value.items), *(["…"] if value.open_ended else [])]
        case Mapping():
            return {key: plain(entry) for key, entry in value.entries.items()}
        case Choice():
            return set(map(plain, value.members))
        case Name():
            return value.name
        case Open():
            return value.decider
    return type(value).__name__


LIBRARY = "from library import f, g\nimport library, os, sys, torch\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("f(x=1)", 1),
        ("a = 2\nf(x=a * 3 + 1)", 7),
        ("a = b = 4\nf(x=b)", 4),
        ("a, (b, c) = 1, (2, 3)\nf(x=c)", 3),
        ("a = 1\na += 4\nf(x=a)", 5),
        ("f(x=2**10 // 3)", 341),
        ("f(x=-1)", -1),
        ("name = 'a'\nf(x=f'{name}-{3}b')", "a-3b"),
        ("f(x=f'{3:02d}')", "03"),
        ("f(x='{}/{name}'.format('a', name='b'))", "a/b"),
        ("f(x=','.join(['q', 'k']))", "q,k"),
        ("f(x='A B'.lower().split())", ["a", "b"]),
        ("f(x=None or 5)", 5),
        ("f(x=0 and 5)", 0),
        ("f(x=1 if 2 > 1 else 3)", 1),
        ("f(x=not [])", True),
        ("f(x='a' in ['a'])", True),
        ("f(x='a' in {'b': 1})", False),
        ("f(x=library.bfloat16)", "library.bfloat16"),
        ("d = {'x': 1, 'y': 2}\nf(x=d['y'])", 2),
        ("d = dict(x=1)\nd['x'] = 6\nf(**d)", 6),
        ("d = {'x': 1}\nd.update(x=3)\nf(**{**d, 'z': 1})", 3),
        ("d = {}\nf(x=d.get('a', 9))", 9),
        ("f(x=[n * 2 for n in (1, 2)])", [2, 4]),
        ("f(x={k: 1 for k in 'ab'.split('b')})", {"a": 1, "": 1}),
        ("a = ['q']\na.append('k')\na += ['v']\nf(x=a)", ["q", "k", "v"]),
        ("f(x=[1, 2, 3][-1])", 3),
        ("f(x='abc'[:2])", "ab"),
        ("f(x=int('8'))", 8),
        ("f(x=min(4, 2, 8))", 2),
        ("f(x=len(['a', 'b']))", 2),
        ("f(x=os.path.join('a', 'b'))", "a/b"),
        ("def h(n, m=2, *, k=1):\n    return n * m + k\nf(x=h(3, k=5))", 11),
        ("def h(**kwargs):\n    f(**kwargs)\nh(x=3)", 3),
        ("h = lambda n: n + 1\nf(x=h(1))", 2),
        ("def h(n):\n    if n > 2:\n        return 'a'\n    return 'b'\nf(x=h(3))", "a"),
        ("class C:\n    size = 4\nf(x=C.size)", 4),
        (
            "class C:\n    def __init__(self, n):\n        self.n = n\n    def run(self):\n        f(x=self.n)\nC(8).run()",
            8,
        ),
        (
            "class C:\n def __init__(self, n):\n  self.n = n\n @property\n def two(self):\n  return 2 * self.n\nf(x=C(8).two)",
            16,
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 3\n    m: int = 4\nf(x=C(m=5).n + C(m=5).m)",
            8,
        ),
        (
            "import dataclasses as d\n@d.dataclass\nclass C:\n n: list = d.field(default_factory=lambda: ['q'])\nf(x=C().n)",
            ["q"],
        ),
        ("from pydantic import BaseModel, Field\nclass C(BaseModel):\n    n: int = Field(7, ge=1)\nf(x=C().n)", 7),
        ("class C(library.f):\n    def __init__(self, n):\n        super().__init__(x=n)\nC(3)", 3),
        ("try:\n    import a\n    ok = True\nexcept ImportError:\n    ok = False\nf(x=ok)", True),
        ("with g() as h:\n    n = 4\nf(x=n)", 4),
        ("for n in (1, 2):\n    f(x=n)", 2),
        ("if torch.cuda.is_available():\n    n = 1\nelse:\n    n = 2\nf(x=n)", 1),
        ("n = 1\ndef h():\n    global n\n    n = 5\nh()\nf(x=n)", 5),
        ("f(x=getattr(library, 'bfloat16'))", "library.bfloat16"),
        ("if (n := 3) > 2:\n    f(x=n)", 3),
        ("import json\nf(x=library.h(1) and 2)", {"Object", 2}),
    ],
)
def test_a_value_that_the_text_states_is_known(program: str, expected: object) -> None:
    assert plain(argument(evaluate(LIBRARY + program))) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("n = 1 if library.g() else 2\nf(x=n)", {1, 2}),
        ("n = 1\nif library.g():\n    n = 2\nf(x=n)", {1, 2}),
        ("if library.g():\n    n = 1\nelif library.h():\n    n = 2\nelse:\n    n = 3\nf(x=n)", {1, 2, 3}),
        ("def h():\n    if library.g():\n        return 1\n    return 2\nf(x=h())", {1, 2}),
        ("d = {'x': 1}\nif library.g():\n    d['x'] = 2\nf(**d)", {1, 2}),
        ("d = {}\nif library.g():\n    d['x'] = 2\nf(y=1, **d)", {"run time", 2}),
        ("n = 1 if library.g() else 2\nf(x=n * 2)", {2, 4}),
        ("match library.g():\n    case 1:\n        n = 1\n    case _:\n        n = 2\nf(x=n)", {1, 2}),
    ],
)
def test_a_branch_that_is_open_leaves_several_values(program: str, expected: set[object]) -> None:
    assert plain(argument(evaluate(LIBRARY + program))) == expected


@pytest.mark.parametrize(
    ("program", "decider"),
    [
        ("f(x=undefined)", "run time"),
        ("f(x=int(input()))", "run time"),
        ("f(x=os.environ['SIZE'])", "environment"),
        ("def main(n):\n    f(x=n)", "caller"),
        ("import secrets_of_the_repository.missing as m\nf(x=m.SIZE * 2)", "run time"),
        ("def h(n):\n    return h(n)\nf(x=h(1))", "run time"),
        ("n = 'a' * 10_000_000\nf(x=n)", "run time"),
        ("f(x=2 ** 2 ** 40)", "run time"),
        ("f(x=f'{1:>999999999}')", "run time"),
        ("f(x='{0.__class__}'.format(1) + undefined)", "run time"),
    ],
)
def test_a_value_that_cannot_be_evaluated_says_who_decides_it(program: str, decider: str) -> None:
    assert plain(argument(evaluate(LIBRARY + program))) == decider


def test_every_literal_keeps_its_place() -> None:
    text = LIBRARY + "# ä comment\nSIZE = 4096\nd = dict(name='é', x=SIZE)\nf(**d)\n"
    value = argument(evaluate(text))
    assert isinstance(value, Constant)
    assert isinstance(value.place, Place)
    assert value.place.span is not None
    assert text[slice(*value.place.span)] == "4096"
    location = value.place.document.locate((), span=value.place.span)
    assert (location.path, location.line, location.column, location.end_column) == ("main.py", 4, 8, 12)


def test_a_column_counts_characters_and_not_bytes() -> None:
    text = LIBRARY + "f(a='日本', x=12)\n"
    value = argument(evaluate(text))
    assert isinstance(value, Constant)
    assert isinstance(value.place, Place)
    assert text[slice(*(value.place.span or (0, 0)))] == "12"


ARGPARSE = """
from library import f
import argparse
parser = argparse.ArgumentParser()
group = parser.add_argument_group("model")
group.add_argument("--model-name", "-m", default="base")
parser.add_argument("--size", type=int, default=4)
parser.add_argument("--names", nargs="+", default=["a"])
parser.add_argument("--fast", action="store_true")
parser.add_argument("path")
parser.set_defaults(extra=3)
args = parser.parse_args()
f(x=[args.model_name, args.size, args.names, args.fast, args.extra])
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("here", ["base", 4, ["a"], False, 3]),
        ("here --size 8 --fast -m big", ["big", 8, ["a"], True, 3]),
        ("--size=16 --names p q", ["base", 16, ["p", "q"], False, 3]),
        ("--size 1 --size 2 here", ["base", 2, ["a"], False, 3]),
        ("--model_name x", ["x", 4, ["a"], False, 3]),
        ("--model x", ["x", 4, ["a"], False, 3]),
    ],
)
def test_argparse_is_joined_with_the_words_of_the_command(words: str, expected: list[object]) -> None:
    assert plain(argument(evaluate(ARGPARSE, words))) == expected


def test_a_default_names_the_flag_that_could_state_another_value() -> None:
    value = argument(evaluate(ARGPARSE.replace("f(x=[", "f(x=args.size)\nf(y=[")), keyword="y")
    assert isinstance(value, Items)
    size = value.items[1]
    assert isinstance(size, Constant)
    assert (size.value, size.name) == (4, "--size")


CLICK = """
import click
from library import f
@click.command()
@click.option("--size", default=4)
@click.option("--fast/--slow", default=False)
@click.argument("name")
def main(size, fast, name):
    f(x=[size, fast, name])
if __name__ == "__main__":
    main()
"""
TYPER = """
import typer
from typing import Optional
from library import f
app = typer.Typer()
@app.command()
def main(name: str, size: int = typer.Option(4, help="size"), fast: bool = False):
    f(x=[size, fast, name])
if __name__ == "__main__":
    app()
"""
FIRE = """
import fire
from library import f
def main(name, size=4, fast=False):
    f(x=[size, fast, name])
fire.Fire(main)
"""


@pytest.mark.parametrize("program", [CLICK, TYPER, FIRE])
def test_click_typer_and_fire_are_joined_with_the_words_of_the_command(program: str) -> None:
    assert plain(argument(evaluate(program, "big --size 8 --fast"))) == [8, True, "big"]
    assert plain(argument(evaluate(program, "big"))) == [4, False, "big"]


CLICK_GROUP = """
import click
from library import f
@click.group()
def cli():
    pass
@cli.command()
@click.option("--size", default=4)
def train_all(size):
    f(x=["train", size])
@cli.command("serve")
@click.option("--size", default=2)
def start(size):
    f(x=["serve", size])
if __name__ == "__main__":
    cli()
"""
TYPER_COMMANDS = """
import typer
from library import f
app = typer.Typer()
@app.command()
def train_all(size: int = 4):
    f(x=["train", size])
@app.command("serve")
def start(size: int = 2):
    f(x=["serve", size])
if __name__ == "__main__":
    app()
"""


@pytest.mark.parametrize("program", [CLICK_GROUP, TYPER_COMMANDS])
@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("train-all --size 8", [["train", 8]]),
        ("serve", [["serve", 2]]),
        ("serve --size 16", [["serve", 16]]),
    ],
)
def test_a_word_names_the_command_of_a_group(program: str, words: str, given: list[list[object]]) -> None:
    calls = [call for call in evaluate(program, words) if call.name == "library.f" and call.reached]
    assert [plain(call.keywords["x"]) for call in calls] == given


def test_dataclasses_of_hf_argument_parser_take_flags_and_defaults() -> None:
    program = """
from dataclasses import dataclass, field
from typing import Optional
import transformers
from library import f
@dataclass
class ModelArguments:
    model: Optional[str] = field(default="base")
@dataclass
class TrainingArguments(transformers.TrainingArguments):
    optim: str = field(default="adamw_torch")
    length: int = field(default=512, metadata={"help": "tokens"})
parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
f(x=[model_args.model, training_args.length, training_args.optim, training_args.bf16])
"""
    words = "--model big --bf16 True --length 1024 --output_dir out"
    calls = evaluate(program, words)
    assert plain(argument(calls)) == ["big", 1024, "adamw_torch", True]
    made = next(call for call in calls if call.name == "transformers.TrainingArguments")
    assert plain(made.keywords["output_dir"]) == "out"


ENVIRONMENT = """
import os
from library import f
os.environ.setdefault("D", "9")
f(x=[os.environ.get("A", "1"), os.getenv("B"), int(os.environ.get("C", 3)), os.environ["D"]])
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, ["1", "environment", 3, "9"]), ({"A": "5", "B": "x", "C": "7", "D": "8"}, ["5", "x", 7, "8"])],
)
def test_variables_are_joined_with_the_environment(environment: dict[str, str], expected: list[object]) -> None:
    assert plain(argument(evaluate(ENVIRONMENT, environment=environment))) == expected


def test_a_complete_environment_settles_a_variable_that_it_does_not_state() -> None:
    assert plain(argument(evaluate(LIBRARY + "f(x=os.getenv('A'))", open_environment=False))) is None


def test_settings_of_pydantic_come_from_the_environment() -> None:
    program = """
from pydantic_settings import BaseSettings, SettingsConfigDict
from library import f
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")
    model: str = "base"
    size: int = 4
settings = Settings()
f(x=[settings.model, settings.size])
"""
    assert plain(argument(evaluate(program, environment={"APP_MODEL": "big"}))) == ["big", 4]


def test_files_and_modules_of_the_repository_are_read() -> None:
    program = """
import json, yaml
from pathlib import Path
from library import f
from pkg.settings import SIZE, make
from pkg import settings as s
HERE = Path(__file__).parent
with open(HERE / "conf.yaml") as file:
    conf = yaml.safe_load(file)
f(x=[SIZE, make(2), s.NAME, conf["a"]["b"]])
"""
    settings = "from .names import NAME\nSIZE = 3\ndef make(n):\n    return n * SIZE\n"
    calls = evaluate(program, pkg__settings_py=settings, pkg__names_py="NAME = 'n'", conf_yaml="a: {b: 7}")
    value = argument(calls)
    assert plain(value) == [3, 6, "n", 7]
    assert isinstance(value, Items)
    number = value.items[3]
    assert isinstance(number, Constant)
    assert isinstance(number.place, Place)
    assert (number.place.document.path, number.place.path) == ("conf.yaml", ("a", "b"))


def test_hydra_reads_its_file_and_the_overrides_of_the_command() -> None:
    program = """
import hydra
from library import f
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    f(x=[cfg.model.name, cfg.train.size])
if __name__ == "__main__":
    main()
"""
    calls = evaluate(program, "train.size=8", conf__config_yaml="model: {name: base}\ntrain: {size: 2}\n")
    assert plain(argument(calls)) == ["base", 8]


def test_a_function_that_nothing_calls_is_not_reached() -> None:
    calls = evaluate(LIBRARY + "def handler(n=3):\n    f(x=n)\nf(x=1)")
    assert [(plain(call.keywords["x"]), call.reached) for call in calls if call.name == "library.f"] == [
        (1, True),
        (3, False),
    ]


def test_a_module_is_found_in_a_folder_that_the_program_adds() -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "sys.path.append(str(Path(__file__).resolve().parent.parent / 'backend'))\nfrom models import N\n"
    )
    calls = evaluate(program + LIBRARY + "f(x=N)", entry="scripts/main.py", backend__models_py="N = 7")
    assert plain(argument(calls)) == 7
    calls = evaluate(LIBRARY + "from models import N\nf(x=N)", entry="scripts/main.py", backend__models_py="N = 7")
    assert not isinstance(argument(calls), Constant)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("Path('own.yaml').exists()", "own.yaml"),
        ("Path('own.yaml').is_file()", "own.yaml"),
        ("os.path.exists('own.yaml')", "own.yaml"),
        ("os.path.isfile(Path('own.yaml'))", "own.yaml"),
        ("Path('other.yaml').exists()", {"own.yaml", "elsewhere.yaml"}),
        ("os.path.exists('other.yaml')", {"own.yaml", "elsewhere.yaml"}),
        ("os.path.exists('main.py')", {"own.yaml", "elsewhere.yaml"}),
    ],
)
def test_a_settings_file_of_the_repository_exists(asked: str, expected: object) -> None:
    program = f"import os\nfrom pathlib import Path\npath = 'own.yaml'\nif not {asked}:\n    path = 'elsewhere.yaml'\nf(x=path)"
    assert plain(argument(evaluate(LIBRARY + program, own_yaml="n: 1"))) == expected


def test_a_path_is_joined_to_a_path() -> None:
    program = "from pathlib import Path\nname = Path('own.yaml')\nf(x=str(Path('settings') / name))"
    assert plain(argument(evaluate(LIBRARY + program))) == "settings/own.yaml"


@pytest.mark.parametrize(("path", "expected"), [("own.yaml", False), ("/etc/own.yaml", True)])
def test_a_path_is_absolute_or_not(path: str, expected: bool) -> None:
    program = f"from pathlib import Path\nf(x=Path('{path}').is_absolute())"
    assert plain(argument(evaluate(LIBRARY + program))) is expected


def test_raising_system_exit_runs_the_program_that_gives_its_status() -> None:
    program = "def main():\n    f(x=2)\n    return 0\nif __name__ == '__main__':\n    raise SystemExit(main())"
    assert [(plain(call.keywords["x"]), call.reached) for call in evaluate(LIBRARY + program)] == [(2, True)]


def test_a_method_that_nothing_calls_sees_what_the_constructor_set() -> None:
    program = "class Server:\n    def __init__(self):\n        self.n = 4\n    def handle(self, request):\n        f(x=self.n)\n"
    assert plain(argument(evaluate(LIBRARY + program))) == 4


def test_a_notebook_is_read_as_its_code_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# f(x=0)"]},
        {"cell_type": "code", "source": ["%pip install library\n", "!ls\n", "from library import f\n", "n = 4"]},
        {"cell_type": "code", "source": "%%bash\nls"},
        {"cell_type": "code", "source": "f(x='ä\\n' and n)\nm = 5"},
        {"cell_type": "code", "source": ["f(x=m)"]},
    ]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    calls = evaluate(text, entry="main.ipynb")
    values = [call.keywords["x"] for call in calls if call.name == "library.f"]
    assert [plain(value) for value in values] == [4, 5]
    for value, literal in zip(values, "45", strict=True):
        assert isinstance(value, Constant)
        assert isinstance(value.place, Place)
        document = value.place.document
        location = document.locate(value.place.path, span=value.place.span)
        line = text.splitlines()[location.line - 1]
        assert line[location.column - 1 : location.end_column - 1] == literal


def test_a_cell_that_is_no_python_leaves_the_others() -> None:
    import json

    cells = [
        "import sagemaker\nMODEL = 'a/b'\n",
        "!python run.py \\\n  --model {MODEL} \\\n  --port 1\n",
        ["%%time\n", "x = 1\n"],
        ["if True:\n", "!echo 'ä' \\\n", "    more\n"],
        ["sagemaker.load(MODEL, size=8)\n"],
    ]
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in cells]}
    (document,) = documents.load("x.ipynb", json.dumps(notebook).encode()).documents
    found = python.evaluate("x.ipynb", lambda path: document if path == "x.ipynb" else None, None, {})
    (call,) = (one for one in found.calls if one.name == "sagemaker.load")
    assert [getattr(value, "value", None) for value in (*call.arguments, call.keywords["size"])] == ["a/b", 8]
    place = call.keywords["size"].place  # type: ignore[union-attr]
    assert document.locate(place.path, span=place.span).text.count("size=8") == 1  # type: ignore[union-attr]
