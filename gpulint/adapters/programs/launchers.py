"""Launch: the launchers in front of a program, and the processes and nodes that they start.

`catalog/launchers.csv` holds the options of each launcher, so that no option is taken for the
program.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.programs import processes
from gpulint.adapters.programs.processes import Step
from gpulint.catalog import tables
from gpulint.engines import Argument
from gpulint.workload import Field

TRIGGERS = (
    "torchrun",
    "torch.distributed",
    "--nproc",
    "accelerate launch",
    "mpirun",
    "horovodrun",
    "composer ",
    "ray start",
    "srun ",
)
TOOLS: Mapping[tuple[str, ...], tuple[str, int]] = {
    **dict.fromkeys([("exec",), ("nohup",), ("command",), ("builtin",), ("--",), ("setsid",), ("unbuffer",)], ("", 0)),
    **dict.fromkeys([("tini",), ("dumb-init",), ("nvidia_entrypoint.sh",), ("catchsegv",), ("eval",)], ("", 0)),
    **dict.fromkeys([("time",), ("sudo",), ("numactl",), ("ncu",), ("nsys", "profile"), ("enroot", "exec")], ("", 0)),
    **dict.fromkeys([("poetry", "run"), ("pipenv", "run"), ("pixi", "run"), ("pdm", "run")], ("", 0)),
    **dict.fromkeys([("conda", "run"), ("mamba", "run"), ("micromamba", "run")], ("", 0)),
    ("enroot", "start"): ("", 1),
    ("chrt",): ("", 1),
    ("ssh",): ("ssh", 1),
    ("uv", "run"): ("uv run", 0),
    ("taskset",): ("taskset", 1),
    ("timeout",): ("timeout", 1),
    **{(name,): (name, 0) for name in ("env", "nice", "ionice", "stdbuf", "xargs")},
    **dict.fromkeys([("srun",), ("salloc",)], ("slurm", 0)),
    **{(name,): ("mpirun", 0) for name in ("mpirun", "mpiexec", "orterun", "mpiexec.hydra")},
    **{(f"{name}.{kind}",): ("mpirun", 0) for name in ("mpirun", "mpiexec") for kind in ("openmpi", "mpich")},
    **{(name,): ("torchrun", 0) for name in ("torchrun", "hyperpodrun")},
    **dict.fromkeys([("accelerate", "launch"), ("accelerate-launch",)], ("accelerate", 0)),
    ("deepspeed",): ("deepspeed", 0),
    ("shifter",): ("shifter", 0),
    **{(f"{name}_wrapper", "exec"): ("", 0) for name in ("apptainer", "singularity")},
    ("horovodrun",): ("horovodrun", 0),
    ("colossalai", "run"): ("colossalai", 0),
    ("composer",): ("composer", 0),
    ("ray", "job", "submit"): ("ray job submit", 0),
    **{
        (name, verb): ("docker run", 1)
        for name in ("docker", "podman", "nerdctl", "nvidia-docker")
        for verb in ("run", "create")
    },
    **{("docker", "container", verb): ("docker run", 1) for verb in ("run", "create")},
    **{(name, verb): ("apptainer", 1) for name in ("apptainer", "singularity") for verb in ("exec", "run")},
}
"""Words that name a launcher: its table of options, and the number of words it takes before the
program.
"""
MODULES: Mapping[str, tuple[str, ...]] = {
    "torch.distributed.run": ("torchrun",),
    "torch.distributed.launch": ("torchrun",),
    "torch.distributed.launcher": ("torchrun",),
    "accelerate.commands.launch": ("accelerate-launch",),
    "deepspeed.launcher.runner": ("deepspeed",),
    "deepspeed": ("deepspeed",),
    "horovod.runner.launch": ("horovodrun",),
    "composer.cli.launcher": ("composer",),
}
"""Launchers by the name of their Python module."""
RETAINED_PROGRAMS: Mapping[tuple[str, ...], str] = {("tune", "run"): "torchrun"}
"""Programs that accept a launcher's options before their own.

The options are read and the words stay.
"""
CONTAINERS = frozenset({"docker run", "apptainer"})
OUTER = CONTAINERS | {"srun", "mpirun"}
"""Launchers after which a wrapper of the program may follow."""
STARTERS = CONTAINERS | {
    "ray job submit",
    "slurm",
    "mpirun",
    "torchrun",
    "accelerate",
    "deepspeed",
    "horovodrun",
    "colossalai",
    "composer",
}
"""Launchers whose options say more than where the program begins."""
SUBMITTER = "submitter"
NODES = re.compile(r"--?(?:num[-_]?)?(?:nodes|machines)(?:=|$)|--nnodes(?:=|$)")
AS_MODULE = frozenset({"-m", "--module", "--module_mode"})
VALUES = {"value": 1, "two values": 2, "switch": 0, "optional": 0}
PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
PYTHON_VALUES = frozenset({"-X", "-W"})
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
WRAPPER = re.compile(r"(?!(?:.*/)?(?:echo|printf|which|command|type|pip3?|kill|pkill|killall)$)[\w./+-]*[\w+]")
"""Words that may be a program which starts the next one."""
PROGRAM = re.compile(
    r"(?s)[^-].*\.(?:py|sh|pl|jl)|(?:.*/)?(?:python[\d.]*|bash|sh|zsh|vllm|sglang|trtllm-serve|nvidia-smi)"
)
"""Words that are always a program, never the value of an option."""


class Launch(NamedTuple):
    """A parsed command: the words of the program, the launchers before it and the variables they
    set.
    """

    words: tuple[Argument, ...]
    steps: tuple[Step, ...] = ()
    environment: Mapping[str, Argument] = {}

    @property
    def launchers(self) -> tuple[str, ...]:
        return tuple(step.launcher for step in self.steps)

    @property
    def fields(self) -> dict[str, Field]:
        """The launchers' fields: launcher, processes_per_pod, pods_per_replica."""
        return processes.fields(self.steps)

    @property
    def container(self) -> Step | None:
        """The innermost launcher that starts a container."""
        return next((step for step in reversed(self.steps) if step.launcher in CONTAINERS), None)

    @property
    def image(self) -> Argument | None:
        """The container's image, given to docker, Apptainer or Slurm's pyxis."""
        for step in reversed(self.steps):
            if named := (step.positional[:1] if step.launcher in CONTAINERS else step.stated.get("image")):
                return named[-1]
        return None


def unwrap(words: Sequence[Argument]) -> Launch:
    """Return a command without the launchers and wrappers in front of its program.

    >>> from gpulint.source.documents import load
    >>> from gpulint.workload import Origin
    >>> here = Origin(load("job.sh", b"#!/bin/sh").documents[0], ())
    >>> command = "srun -N 2 torchrun --nproc_per_node 8 train.py --lr 1"
    >>> launch = unwrap([Argument(word, here) for word in command.split()])
    >>> launch.launchers, [word.text for word in launch.words]
    (('srun', 'torchrun'), ['train.py', '--lr', '1'])
    """
    launch = Launch(tuple(words))
    while (stripped := _strip_first_word(launch)) is not None:
        launch = stripped
    return launch


def _strip_first_word(launch: Launch) -> Launch | None:
    """Remove the first word or launcher of a command. Return None if that is the program."""
    words = launch.words
    if len(words) < 2 and not (words and ASSIGNMENT.match(words[0].text or "")):
        return None
    first, following = words[0], words[1:]
    if launcher := _find_launcher(words):
        table, own, positionals = launcher
        return _strip_launcher(launch, own[-1], table, words[len(own) :], positionals)
    if first.text is None:
        return launch._replace(words=following) if _is_start(following) and not first.flag else None
    if ASSIGNMENT.match(first.text):
        return launch._replace(words=following, environment={**launch.environment, **_read_variables([first])})
    if _is_wrapper(launch):
        return launch._replace(words=following)
    if (handed := _find_submitted(launch)) is not None:
        return handed
    kept = RETAINED_PROGRAMS.get(tuple(base(word) for word in words[:2]))
    if kept is None or launch.launchers[-1:] == ("tune run",):
        return None
    step, _ = read_options(kept, words[1], words[2:], 0)
    return launch._replace(steps=(*launch.steps, step._replace(launcher="tune run")))


def _is_wrapper(launch: Launch) -> bool:
    """Return True if the first word only wraps the rest: `srun bind.sh python train.py`."""
    name, following = launch.words[0].text or "", launch.words[1:]
    if not WRAPPER.fullmatch(name) or (PROGRAM.fullmatch(name) and not name.endswith(".sh")):
        return False
    if "/" not in name and launch.launchers[-1:] not in {(outer,) for outer in OUTER}:
        return False
    if launcher := _find_launcher(following):
        return launcher[0] in STARTERS
    runs = PYTHON.fullmatch(base(following[0])) and len(following) > 1
    return bool(runs) and any(
        (word.text or word.source_text).endswith(".py") or word.text == "-m" for word in following[1:3]
    )


def _find_submitted(launch: Launch) -> Launch | None:
    """Return the training that a script starts after `--`: `python submit.py --gpus 8 -- torchrun
    train.py`.
    """
    words = launch.words
    at = next((at for at, word in enumerate(words) if word.text == "--"), None)
    if at is None or launch.steps or not PYTHON.fullmatch(base(words[0])):
        return None
    launcher = _find_launcher(words[at + 1 :])
    if launcher is None or launcher[0] not in ("torchrun", "accelerate", "deepspeed"):
        return None
    nodes_given = (
        _read_value(words, option) for option in range(1, at) if NODES.match(words[option].text or words[option].flag)
    )
    nodes = tuple(nodes_given)
    return launch._replace(words=words[at + 1 :], steps=(Step(SUBMITTER, words[0], {"nodes": nodes} if nodes else {}),))


def _read_value(words: Sequence[Argument], option: int) -> Argument:
    """Return the value of an option, from its own word or the next."""
    _, equals, value = _split_option(words[option])
    return words[option]._replace(text=value, flag="") if equals else words[option + 1]


def _is_start(words: Sequence[Argument]) -> bool:
    """Return True if words begin with a launcher or an interpreter.

    An unknown word before them only wraps them.
    """
    return bool(words) and (_find_launcher(words) is not None or PROGRAM.fullmatch(words[0].text or "") is not None)


def _find_launcher(words: Sequence[Argument]) -> tuple[str, tuple[Argument, ...], int] | None:
    """Return the launcher that words begin with: its table, the words that name it, its positional
    count.
    """
    for length in (3, 2, 1):
        if entry := TOOLS.get(tuple(base(word) for word in words[:length])):
            return entry[0], tuple(words[:length]), entry[1]
    module = _find_module(words)
    if module is None or (tool := MODULES.get(words[module].text or "")) is None:
        return None
    return TOOLS[tool][0], tuple(words[: module + 1]), 0


def base(word: Argument) -> str:
    """Return the name at the end of a path, even if its folder is unknown.

    It is empty if there is none.
    """
    written = word.source_text if word.text is None else word.text
    name = written.rpartition("/")[2]
    return "" if word.text is None and ("/" not in written or re.search(r"[$`{}<>\s]", name)) else name


def _find_module(words: Sequence[Argument]) -> int | None:
    """Return the index of the module that Python gets with `-m`."""
    if not words or not PYTHON.fullmatch(base(words[0])):
        return None
    at = 1
    while at + 1 < len(words) and (words[at].text or "").startswith("-"):
        if words[at].text == "-m":
            return at + 1
        at += 2 if words[at].text in PYTHON_VALUES else 1
    return None


def _strip_launcher(
    launch: Launch, word: Argument, table: str, words: Sequence[Argument], positionals: int
) -> Launch | None:
    step, rest = read_options(table, word, words, positionals)
    variables = _read_variables([*step.stated.get("environment", ()), *_read_export(step)])
    environment = {**launch.environment, **variables}
    if table not in STARTERS:
        return launch._replace(words=rest, environment=environment) if rest else None
    if not rest and table not in CONTAINERS:
        return None
    name = "srun" if table == "slurm" else table
    return Launch(rest, (*launch.steps, step._replace(launcher=name)), environment)


def _read_export(step: Step) -> Iterator[Argument]:
    """Yield the words of Slurm's `--export=ALL,NAME=value`, one word per name."""
    for given in step.stated.get("export", ()):
        for part in (given.text or "").split(","):
            yield given._replace(text=part)


def _read_variables(words: Sequence[Argument]) -> dict[str, Argument]:
    """Return NAME=value words as variables. A bare name passes on a value that is set elsewhere."""
    variables = {}
    for word in words:
        name, equals, value = (word.text or word.flag).partition("=")
        if equals or word.text is None:
            variables[name] = word._replace(text=None if word.text is None else value, flag="")
    return {name: word for name, word in variables.items() if re.fullmatch(r"[A-Za-z_]\w*", name)}


# ---- options


@functools.cache
def options(table: str) -> Mapping[str, tuple[int, str]]:
    """Return the known options of a launcher: how many values each takes and which quantity it sets."""
    return {
        option: (VALUES[row["takes"]], row["quantity"])
        for row in tables.rows("launchers")
        if row["launcher"] == table
        for option in row["options"].split()
    }


def read_options(
    table: str, word: Argument, words: Sequence[Argument], positionals: int
) -> tuple[Step, tuple[Argument, ...]]:
    """Return what the options of a launcher set, and the words from the program on."""
    stated: dict[str, list[Argument]] = {}
    taken: list[Argument] = []
    unread: Argument | None = None
    at = 0
    while at < len(words):
        given = words[at]
        following = words[at + 1 :]
        own = bool(positionals) and (_is_program(table, following) or _is_start(following))
        if given.text is None and not given.flag and not own:
            if _is_program(table, following):
                break
            unread = unread or given
            at += 1
        elif given.text == "--":
            at += 1
            break
        elif not (given.text or given.flag).startswith("-") and not (table == "env" and ASSIGNMENT.match(base(given))):
            if positionals:
                taken.append(given)
                at += 1
            if len(taken) >= positionals:
                break
        elif given.text in AS_MODULE and table in STARTERS - CONTAINERS - {"slurm", "mpirun"}:
            break
        else:
            at += _record_option(table, words[at:], stated)
            if table == "env" and ASSIGNMENT.match(given.text or ""):
                stated.setdefault("environment", []).append(given)
    step = Step(table, word, {name: tuple(values) for name, values in stated.items()}, tuple(taken), unread)
    return step, tuple(words[at:])


def _is_program(table: str, following: Sequence[Argument]) -> bool:
    """Return True if an unknown word is the program, as no program or option follows it."""
    after = next((word.text or word.flag for word in following if word.text or word.flag), "")
    is_option = _find_option(table, after.partition("=")[0]) is not None
    return not (is_option or PROGRAM.fullmatch(after) or _is_start(following))


def _record_option(table: str, words: Sequence[Argument], stated: dict[str, list[Argument]]) -> int:
    """Record what the first word sets. Return how many words it and its values take."""
    name, equals, value = _split_option(words[0])
    option = _find_option(table, name)
    if option is None and len(name) > 2 and not name.startswith("--"):
        return _record_short_option(table, words, stated)
    count, quantity = option if option is not None else (_guess_values(words), "")
    if equals:
        if quantity:
            stated.setdefault(quantity, []).append(words[0]._replace(text=value, flag=""))
        return 1
    if quantity:
        stated.setdefault(quantity, []).append(words[count] if count and count < len(words) else words[0])
    return 1 + count


def _split_option(word: Argument) -> tuple[str, bool, str | None]:
    """Return an option's name, whether its value is in the same word, and that value."""
    if word.text is None:
        return word.flag, True, None
    name, equals, value = word.text.partition("=")
    return name, bool(equals), value


def _find_option(table: str, name: str) -> tuple[int, str] | None:
    """Return an option by its name or by an unambiguous prefix, as the parsers accept it."""
    table_options = options(table)
    if option := table_options.get(name):
        return option
    if not name.startswith("--") or len(name) < 5 or table in CONTAINERS:
        return None
    meant = {takes for other, takes in table_options.items() if other.startswith(name)}
    return meant.pop() if len(meant) == 1 else None


def _record_short_option(table: str, words: Sequence[Argument], stated: dict[str, list[Argument]]) -> int:
    """Read `-n4`, or several letters in one word (`-itv`), of which the last may take a value."""
    text, table_options = words[0].text or words[0].flag, options(table)
    for at in range(1, len(text)):
        count, quantity = table_options.get(f"-{text[at]}", (-1, ""))
        if count < 0:
            return 1 + _guess_values(words)
        if count:
            rest = text[at + 1 :]
            if quantity:
                value = words[0]._replace(text=rest) if rest else words[min(1, len(words) - 1)]
                stated.setdefault(quantity, []).append(value)
            return 1 if rest else 2
    return 1


def _guess_values(words: Sequence[Argument]) -> int:
    """Guess how many values an unlisted option takes: one, unless a program or an option follows."""
    after = [word.text or word.flag for word in words[1:3]]
    if not after or after[0].startswith("-") or PROGRAM.fullmatch(after[0]) or _is_start(words[1:]):
        return 0
    return 1 if len(after) > 1 else 0
