"""Training: what the command lines of trainers share: the program that is started, and what its words state by table.

`trainer_flags.csv` lists `--flag value` and `key=value` words by trainer, with the quantity that each states.
"""

from __future__ import annotations

import csv
import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.catalog.architecture import builders
from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.engines.trainers import vocabulary
from gpulint.workload import Field, Origin, Unknown, Value

PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
PYTHON_VALUES = frozenset({"-X", "-W"})
AS_MODULE = frozenset({"-m", "--module"})
"""Words of Python and of launchers before a module."""
NAMED = re.compile(r"(?s)(?P<name>--?[A-Za-z][\w.-]*|\+{0,2}[A-Za-z_][\w.@/]*(?==))(?:(?P<equals>=).*)?")
"""`--flag`, `--flag=value`, and the `key=value` words of Hydra, which `+` and `++` may precede."""
EVERY_ARGUMENT = re.compile(
    r"(?i)\"?\$(?:[@*]|\{[@*]\}|\{?\w*(?:ARG|OPT|EXTRA|FLAG|PARAM|OVERRIDE)\w*(?:\[[@*]\])?\}?)\"?"
)
"""What stands for whole arguments: `"$@"`, `$EXTRA_ARGS`."""
NUMBER = re.compile(r"-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?")
TRUE = frozenset({"true", "1", "yes", "y", "t"})
FALSE = frozenset({"false", "0", "no", "n", "f"})
NOTHING = frozenset({"", "null", "none", "None", "Null", "NULL", "~"})
DTYPES: Mapping[str, str | None] = {
    **dict.fromkeys(("bf16", "bfloat16", "bf16-mixed", "bf16-true", "amp_bf16"), "bfloat16"),
    **dict.fromkeys(("fp16", "float16", "half", "16", "16-mixed", "16-true", "amp_fp16"), "float16"),
    **dict.fromkeys(("fp32", "float32", "float", "32", "32-true", "no"), "float32"),
    **dict.fromkeys(("fp8", "amp_fp8"), "fp8"),
    **dict.fromkeys(("auto", "data_type"), None),
}
"""Number formats as trainers spell them; None is the choice of the trainer."""
FAMILY = Unknown("the command builds a new model of the named family", "own program")
SHAPE = Unknown("the command sets the model's shape itself", "own program")
RECIPE = Unknown("the trainer's recipe sets it", "another object")
OWN_FIELDS = frozenset(
    {
        *("shape", "model_type", "recipe", "config_path", "save_strategy", "config_name"),
        *(
            "loaded_dtype",
            "deepspeed",
            "prompt_length",
            "response_length",
            "fsdp_config",
            "method",
            "adapted",
            "quantised_by",
            "granularity",
            "updated_by",
            "blocks",
        ),
        *("mini_batch", "answers", "rollout_engine", "states_offload", "flavour", "family_of_flavour", "plugin"),
        *("engines", "actor_gpus", "actor_nodes", "advantage", "asynchronous", "strategy"),
        *(
            "colocated",
            "colocated_reference",
            "remote_reward",
            "fills_batches",
            "filled_tokens",
            "hybrid",
            "sleep_level",
        ),
        *("kl_in_reward", "kl_in_loss", "critic_parked", "critic_enabled", "offload_policy", "reference_parked"),
        *(
            "adapter_rank",
            "batch_of_all",
            "log_prob_batch_of_all",
            "config_name_of_run",
            "with_megatron",
            "preference_loss",
            "reference_named",
        ),
    }
)
"""Fields of the table that stand for no quantity: other fields follow from them."""
CONFIGURING: Mapping[str, frozenset[str]] = {
    "deepspeed_config": frozenset({"sharding", "optimizer", "optimizer_offload", "parameter_offload"}),
    "fsdp_config": frozenset({"sharding", "shard_group", "parameter_offload", "activation_checkpointing"}),
}
"""Files that decide what no word states, and what they decide."""
CONFIGURING_VARIABLE = re.compile(r"ACCELERATE_\w+|FSDP_\w+|USE_(?:MCA|MEGATRON_BRIDGE|RAY|KT)")
"""huggingface/accelerate 16cb6eb8 src/accelerate/utils/dataclasses.py; hiyouga/LLaMA-Factory ff6d4d12
src/llamafactory/launcher.py."""
HALVES = frozenset({"--fp16", "--bf16"})
"""Flags that switch on one 16-bit format each."""
MINUTE_S = 60
CONFIGURED = "another object"
"""Who decides what a configuration file states that the command names."""


class Program(NamedTuple):
    """What a command starts: a script, module or command, the word that names it, and the words
    behind it.
    """

    path: str
    word: Argument
    words: tuple[Argument, ...]

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    def texts(self) -> tuple[str, ...]:
        return tuple(word.source_text for word in self.words)

    def starts_with(self, *words: str) -> bool:
        """Return whether these words follow the program."""
        return self.texts()[: len(words)] == words

    def list_names(self) -> tuple[str, ...]:
        """Return the flags and keys among the words, as tables hold them."""
        return tuple(filter(None, map(_parse_name, self.words)))

    def gives(self, *names: str) -> bool:
        """Return whether one of these flags or keys is among the words."""
        wanted = {_normal(name) for name in names}
        return any(_parse_name(word) in wanted for word in self.words)

    def find_value(self, key: str) -> Argument | None:
        """Return the value of the last `key=value` word of a key."""
        values = (_split_value(word) for word in reversed(self.words) if _parse_name(word) == _normal(key))
        return next((value for value in values if value is not None), None)

    def find_flag(self, flag: str) -> Argument | None:
        """Return the value of the last `--flag value` or `--flag=value`; None if it has none."""
        at = next((at for at in reversed(range(len(self.words))) if _parse_name(self.words[at]) == _normal(flag)), None)
        if at is None:
            return None
        return _split_value(self.words[at]) or (self.words[at + 1] if at + 1 < len(self.words) else None)

    def skip_words(self, count: int) -> Program:
        """Return the same program without its first words."""
        return self._replace(words=self.words[count:])


class Row(NamedTuple):
    """A word that sets a quantity: its name, the quantity, and how its value is read.

    Kinds: int (from 1 on), from-zero, minutes, text, dtype, file (a value that may be missing), switch:X (present: X),
    boolean:X|Y (X, or Y where a false value follows; nothing without Y), unsettles (its presence makes the quantity unknown),
    and the spellings of optimizer, sharding and letters. A field that is no quantity of the glossary is for the trainer's module.
    """

    trainer: str
    name: str
    field: str
    kind: str


def find_program(invocation: Invocation) -> Program | None:
    """Return the program of a command; for an interpreter, the module or script that it runs."""
    words = invocation.arguments
    at = 0
    if words and PYTHON.fullmatch(words[0].source_text.rsplit("/", 1)[-1]):
        at = 1
        while at < len(words) and (text := words[at].text or "").startswith("-") and text not in ("-m", "-c"):
            at += 2 if text in PYTHON_VALUES else 1
    if at < len(words) and words[at].text in AS_MODULE:
        at += 1
    if at >= len(words) or words[at].text == "-c":
        return None
    return Program(words[at].source_text, words[at], tuple(words[at + 1 :]))


def build_reading(
    trainer: str,
    started: Program,
    tables: Sequence[str],
    own: Mapping[str, Field | None] | None = None,
    defaults: Iterable[str] | None = (),
) -> Reading:
    """Return what a trainer's module makes of a program's words by these tables.
    Its own fields count if no word sets them.

    `defaults` are the deciding quantities whose defaults hold where nothing states them, beside those of the tables; None
    where the program is not the trainer's, and decides itself.
    """
    found, open_ended = read_words(started.words, tables)
    given = {name: value for name, value in (own or {}).items() if value is not None}
    fields = {"engine": Field(trainer, (started.word.origin,)), **given, **found}
    fields = {**_derive_fields(fields), **fields, **_find_built(trainer, fields), **_check_saving(fields)}
    known = () if defaults is None else {*defaults, *(row.field for row in load_rows(tuple(tables)).values())}
    fields = {
        **vocabulary.list_undecided(
            fields, set(known).difference(*(CONFIGURING[name] for name in CONFIGURING if name in fields)), trainer
        ),
        **fields,
    }
    if "training_config" in fields or "recipe" in fields:
        open_ended = open_ended or "the training configuration states more"
    last = started.words[-1] if started.words else started.word
    return Reading(command_line.select_glossary_fields(fields), last.origin, open_ended)


def _derive_fields(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return fields that follow from others for quantities that no word sets."""
    found: dict[str, Field] = {}
    for name, quantity in (("training_config", "checkpoint"), ("deepspeed_config", "zero_stage")):
        if name in fields:
            found[quantity] = build_configured_field(fields[name])
    for name, why in (("recipe", RECIPE), ("model_type", FAMILY), ("shape", SHAPE), ("layers", SHAPE)):
        if name in fields:
            found["checkpoint"] = Field(why, fields[name].origins)
    for name, quantity in (("config_name", "checkpoint"), ("loaded_dtype", "training_dtype")):
        if name in fields:
            found[quantity] = fields[name]
    if "loaded_dtype" in fields and "sharding" not in fields:
        found["parameter_dtype"] = fields["loaded_dtype"]
    if "deepspeed_config" in fields:
        found["sharding"] = Field("deepspeed", fields["deepspeed_config"].origins)
    if "states_offload" in fields:
        found |= dict.fromkeys(("parameter_offload", "optimizer_offload"), fields["states_offload"])
    return found


def _find_built(trainer: str, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the checkpoint whose network a recipe or a trainer's own name of a model builds, if it is listed."""
    named = fields.get("recipe") or fields.get("checkpoint")
    if named is None or not isinstance(named.value, str):
        return {}
    name = named.value.partition("(")[0]
    listed = builders.find_checkpoint(trainer, name)
    return (
        {"checkpoint": Field(listed, named.origins, assumption=builders.explain(name, listed), basis="stated")}
        if listed
        else {}
    )


def _check_saving(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return save_steps as unknown if another saving strategy is set."""
    stated = fields.get("save_strategy")
    if stated is None or stated.value in ("steps", None):
        return {}
    return {"save_steps": Field(Unknown(f"the saving strategy is {stated.value}"), stated.origins)}


def build_configured_field(file: Field) -> Field:
    """Return a field for a quantity that the configuration file of a command sets."""
    return Field(Unknown("the configuration file sets it", CONFIGURED), file.origins)


def config_file(started: Program, suffixes: tuple[str, ...] = (".yaml", ".yml")) -> Field | None:
    """Return the first word that is a configuration file, by its suffix."""
    for word in started.words:
        if not word.source_text.startswith("-") and "=" not in word.source_text and word.source_text.endswith(suffixes):
            return text_field(word)
    return None


def first_file(started: Program) -> Field | None:
    """Return the word right after the program if it is not a flag; `--` only ends the launcher's
    flags.
    """
    word = next((word for word in started.words if word.text != "--"), None)
    return None if word is None or _parse_name(word) else text_field(word)


def text_field(value: Argument) -> Field:
    return _read_field(Row("", "", "", "text"), value) or Field(None, command_line.find_origins(value))


def read_environment(invocation: Invocation, names: Mapping[str, str]) -> dict[str, Field]:
    """Return counts by quantity that variables set for a trainer that starts its own processes."""
    found: dict[str, Field] = {}
    for variable, quantity in names.items():
        given = invocation.environment.get(variable)
        if given is not None and (field := _read_field(Row("", "", "", "int"), given)):
            found[quantity] = field
    return found


def read_sharding_variables(invocation: Invocation) -> dict[str, Field | None]:
    """Return sharding as unknown if a variable of Accelerate or LLaMA-Factory may set it."""
    given = (word for name, word in invocation.environment.items() if CONFIGURING_VARIABLE.fullmatch(name))
    word = next(given, None)
    return {} if word is None else {"sharding": Field(Unknown("a variable sets it"), command_line.find_origins(word))}


@functools.cache
def load_rows(tables: tuple[str, ...]) -> Mapping[str, Row]:
    """Return the rows of some tables by name. A later table takes precedence."""
    with (Path(__file__).parent / "trainer_flags.csv").open(encoding="utf-8", newline="") as file:
        listed = [Row(*row[: len(Row._fields)]) for row in csv.reader(file)]
    return {_normal(row.name): row for table in tables for row in listed if row.trainer == table}


def render_argument(tables: Sequence[str], quantity: str, value: object) -> str | None:
    """Return the words that set a quantity for a trainer with these tables; None if there are none."""
    for row in load_rows(tuple(tables)).values():
        if row.field == quantity and row.name.startswith("--"):
            kind, _, constant = row.kind.partition(":")
            if kind == "switch" and constant == str(value).lower():
                return row.name
            if kind in ("int", "from-zero"):
                return f"{row.name}={value}"
    return None


# ---- words


def read_words(words: Sequence[Argument], tables: Sequence[str]) -> tuple[dict[str, Field], str]:
    """Return fields by quantity, where the last word decides, and why there may be more than can be
    read.
    """
    known = load_rows(tuple(tables))
    found: dict[str, Field] = {}
    unsettled: dict[str, Field] = {}
    halves: dict[str, Field] = {}
    open_ended = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name = _parse_name(word)
        if not name:
            open_ended = open_ended or ("" if word.text is not None else word.why or "an argument cannot be read")
            continue
        row = known.get(name)
        value = _split_value(word)
        if value is None and name.startswith("-") and _takes_value(row, words[at : at + 1]):
            value = words[at]
            at += 1
        if row is not None and row.kind == "letters":
            following = list(itertools.takewhile(lambda one: not _parse_name(one), words[at:]))
            at += len(following)
            found[row.field] = _read_letters([word for word in (value, *following) if word is not None])
        elif row is not None and (field := _read_field(row, value, word)) is not None:
            if row.name in HALVES:
                halves[row.name] = field
            (unsettled if row.kind == "unsettles" else found)[row.field] = field
    if len(halves) > 1:
        found["half_formats"] = Field(True, halves.popitem()[1].origins)
    return {**found, **unsettled}, open_ended


def _read_letters(values: Sequence[Argument]) -> Field:
    """Return adapted matrices, in all words that follow the flag."""
    origins = tuple(origin for value in values for origin in command_line.find_origins(value))
    unread = next((value for value in values if value.text is None), None)
    if unread is not None:
        return Field(Unknown(unread.why or "its value cannot be read", unread.category), origins)
    return Field(vocabulary.parse_letters(value.text or "" for value in values), origins)


def _parse_name(word: Argument) -> str:
    """Return the flag or key of a word as tables hold it; empty for another word."""
    match = NAMED.fullmatch(_spelling(word))
    return _normal(match["name"]) if match else ""


def _spelling(word: Argument) -> str:
    return f"{word.flag}=" if word.text is None and word.flag else word.source_text


def _normal(name: str) -> str:
    return name.lstrip("+") if not name.startswith("-") else "--" + name.lstrip("-").replace("-", "_")


def _split_value(word: Argument) -> Argument | None:
    """Return the value in the word of a flag or key; None if there is none."""
    match = NAMED.fullmatch(_spelling(word))
    if match is None or not match["equals"]:
        return None
    if word.text is None:
        return word
    value = word.text.partition("=")[2].strip("\"'")
    return word._replace(text=value, origin=_locate(word.origin, value))


def _locate(origin: Origin, value: str) -> Origin:
    """Return the location of a value within the location of its whole word."""
    written = origin.text() if origin.path or origin.span else ""
    at = written.rfind(value) if value else -1
    if at <= 0:
        return origin
    start = at + (origin.span[0] if origin.span else 0)
    return origin._replace(span=(start, start + len(value)))


def _takes_value(row: Row | None, following: Sequence[Argument]) -> bool:
    """Return whether the next word is the value of a flag. An unlisted flag takes one, unless it
    stands for whole arguments.
    """
    kind = row.kind.partition(":")[0] if row else ""
    if not following or kind == "switch":
        return False
    (word,) = following
    if kind in ("boolean", "unsettles"):
        return (word.text or "").lower() in TRUE | FALSE
    if row is not None:
        return not _parse_name(word).startswith("-")
    if _parse_name(word):
        return False
    return word.text is not None or not EVERY_ARGUMENT.fullmatch(word.source_text)


def _read_field(row: Row, value: Argument | None, word: Argument | None = None) -> Field | None:
    """Return what a word sets, read as its kind; None if it sets nothing."""
    kind, _, constant = row.kind.partition(":")
    if kind == "unsettles":
        if value is not None and (value.text or "").lower() in FALSE:
            return None
        return Field(Unknown(f"{row.name} is not modelled"), command_line.find_origins(word))
    if kind == "switch" or (kind == "boolean" and value is None):
        return Field(_constant(constant.partition("|")[0]), command_line.find_origins(word))
    if kind == "sharding" and value is None:
        return Field("fsdp", command_line.find_origins(word))
    if value is None:
        return None
    origins = command_line.find_origins(value)
    if value.text is None:
        return Field(Unknown(value.why or "its value cannot be read", value.category), origins)
    if value.text in NOTHING:
        return None
    read = read_value(kind, value.text, constant)
    return None if read is None else Field(read, origins)


def parse_dtype(value: Argument) -> Field:
    """Return the number format that a word names."""
    return _read_field(Row("", "", "", "dtype"), value) or Field(
        Unknown("its value cannot be read"), command_line.find_origins(value)
    )


def read_value(kind: str, text: str, constant: str = "") -> Value | Unknown:
    """Return a value read as a kind of the table; Unknown if it does not suit."""
    if kind == "boolean":
        return _read_switch(text, *constant.partition("|")[::2])
    if kind in ("optimizer", "sharding"):
        return vocabulary.optimizer(text) if kind == "optimizer" else vocabulary.parse_sharding(text)
    if kind == "dtype":
        return DTYPES.get(text.lower(), Unknown(f"{text} is not a listed number format"))
    if kind == "number":
        return float(text) if NUMBER.fullmatch(text) else Unknown(f"{text} is not a number")
    if kind not in ("int", "from-zero", "minutes"):
        return text
    try:
        number = int(text.removesuffix(".0")) * (MINUTE_S if kind == "minutes" else 1)
    except ValueError:
        return Unknown(f"{text} is left to the trainer" if text in ("auto", "gpu") else f"{text} is not a whole number")
    if number == -1:
        return Unknown("-1 means the remaining GPUs")
    return number if number >= (0 if kind == "from-zero" else 1) else Unknown(f"{text} cannot be")


def _read_switch(text: str, on: str, off: str) -> Value | Unknown:
    """Return what a switch with a value sets; nothing for an off value that equals its absence."""
    if text.lower() in TRUE:
        return _constant(on)
    if text.lower() in FALSE:
        return _constant(off) if off else None
    return Unknown(f"{text} is not an on/off value")


def _constant(text: str) -> Value:
    return text == "true" if text in ("true", "false") else text


def multiply(first: Field | None, *others: Field | None) -> Field | None:
    """Return the product of counts; undeclared counts are 1, and an unknown one makes it unknown."""
    if first is None:
        return None
    total, origins = first.value, first.origins
    for other in others:
        if other is not None:
            known = isinstance(total, int) and isinstance(other.value, int)
            total = total * other.value if known else Unknown("a factor of it is not known")  # type: ignore[operator]
            origins = (*origins, *other.origins)
    return Field(total, origins)


def add(found: Iterable[Field | None]) -> Field | None:
    """Return the sum of counts that are all known."""
    parts = [field for field in found if field is not None]
    values = [field.value for field in parts]
    if len(parts) < 2 or not all(isinstance(value, int) for value in values):
        return None
    origins = tuple(origin for field in parts for origin in field.origins)
    return Field(sum(value for value in values if isinstance(value, int)), origins)
