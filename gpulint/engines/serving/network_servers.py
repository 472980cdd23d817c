"""Servers of one sort of network: speech, voices, embeddings, images. Their programs and settings are rows of a table.

None of them is an engine with rules of its own: what is known is the network that they load, and its number format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.catalog import tables
from gpulint.catalog.architecture import network_names
from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.workload import Field, Unknown, Value

MENTIONS = (
    "comfyui",
    "faster-whisper-server",
    "infinity",
    "invokeai",
    "kokoro-fastapi",
    "launch.py",
    "main.py",
    "openai-whisper-asr-webservice",
    "openedai-speech",
    "speaches",
    "stable-diffusion-webui",
    "text-embeddings-",
    "webui.sh",
    "whisper.cpp",
    "whisper-server",
    "xtts-api-server",
    "xtts_api_server",
)
TRIGGERS = (
    "comfyui",
    "faster-whisper-server",
    "infinity",
    "invokeai",
    "kokoro-fastapi",
    "openai-whisper-asr-webservice",
    "openedai-speech",
    "speaches",
    "stable-diffusion-webui",
    "text-embeddings-",
    "whisper.cpp",
    "whisper-server",
    "xtts-api-server",
    "xtts_api_server",
)
"""Words whose files are read for them: other programs have the names of the three files."""
PREFIXES = frozenset({"exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "stdbuf"})
PYTHON = re.compile(r"python[\d.]*")
GGML = re.compile(r"(?:.*/)?ggml-(?P<name>[a-z0-9.-]+?)(?:-(?P<type>q\d_\d))?\.bin")
"""ggml-org/whisper.cpp models/README.md: ggml-large-v3-turbo-q5_0.bin."""
WHOLE = {
    name: Field(1, source="the server keeps the whole network on each GPU")
    for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")
}
DTYPES = frozenset({"float16", "float32", "bfloat16"})


def read(invocation: Invocation) -> Reading | None:
    """Return the network that a server of the table loads; None for any other invocation."""
    for row in tables.rows("network_servers"):
        words = _find_words(invocation, row)
        if words is not None:
            return _read_row(invocation, row, words)
    return None


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: no argument of these servers sets a quantity that a rule changes."""
    return None


def _read_row(invocation: Invocation, row: tables.Row, words: Sequence[Argument]) -> Reading:
    image = invocation.image
    origins = (image.origin,) if image.text else ()
    fields = {
        "engine": Field(row["server"], origins or command_line.find_origins(words[0] if words else None)),
        **WHOLE,
        "quantization": Field(None, source=row["source"]),
        **_read_format(invocation, words, row),
        **_read_network(invocation, row, words),
    }
    if _is_on_cpu(image.text or "", row, words):
        fields["device"] = Field("cpu", origins)
        if row["dtype_variable"] and not fields["weight_dtype"].origins:
            del fields["weight_dtype"]  # the default of such a program is one for GPUs
    return Reading(fields, words[-1].origin if words else None)


def _find_words(invocation: Invocation, row: tables.Row) -> Sequence[Argument] | None:
    """Return the words after a server's program, or after its image's own entry point; None where it is not started."""
    words = invocation.arguments
    for at, word in enumerate(words):
        name = (word.text or "").rsplit("/", 1)[-1]
        if _is_program(word.text or "", words[at + 1 :], row):
            return words[at + 1 :]
        if name not in (*PREFIXES, "-m", "-u") and not PYTHON.fullmatch(name) and "=" not in name:
            break
    repository = (invocation.image.text or "").partition("@")[0]
    path = repository.rpartition(":")[0] if ":" in repository.rsplit("/", 1)[-1] else repository
    if invocation.entrypoint and any(f"/{path}".endswith(f"/{one}") for one in row["images"].split("|")):
        return words
    return None


def _is_program(path: str, words: Sequence[Argument], row: tables.Row) -> bool:
    """Return whether a path is a server's program: by its name, by its folder, or by the server's own flags.

    A program such as main.py has the name that many have, so its row states its folder and its flags.
    """
    for program in filter(None, row["programs"].split("|")):
        folder, _, name = program.rpartition("/")
        if path.rsplit("/", 1)[-1] != name:
            continue
        if not folder or f"/{path}".lower().endswith(f"/{program}"):
            return True
        if "/" not in path.removeprefix("./") and any(
            word.text in row["marks"].split("|") for word in words if word.text
        ):
            return True
    return False


def _read_network(invocation: Invocation, row: tables.Row, words: Sequence[Argument]) -> dict[str, Field]:
    """Return the network that a flag or a variable names, else the server's own."""
    stated = _find_flag(words, row["flags"].split("|")) or next(
        (word for name in row["variables"].split("|") if (word := invocation.environment.get(name)) is not None), None
    )
    if stated is None:
        if row["undecided"]:
            return {"checkpoint": Field(Unknown(row["undecided"]))}
        return {"checkpoint": Field(row["default"], (), row["source"])} if row["default"] else {}
    origins = command_line.find_origins(stated)
    if stated.text is None:
        return {"checkpoint": Field(Unknown(stated.why, stated.category), origins)}
    found = GGML.fullmatch(stated.text) if row["library"] == "whisper.cpp" else None
    if found is not None:
        fields = {"checkpoint": Field(network_names.find("openai-whisper", found["name"]) or stated.text, origins)}
        return {**fields, **({"quantization": Field(f"gguf-{found['type']}", origins)} if found["type"] else {})}
    known = network_names.find(row["library"], stated.text)
    return {"checkpoint": Field(known or stated.text, origins)}


def _read_format(invocation: Invocation, words: Sequence[Argument], row: tables.Row) -> dict[str, Field]:
    variable = invocation.environment.get(row["dtype_variable"]) if row["dtype_variable"] else None
    stated = _find_flag(words, ["--dtype"]) or variable
    if stated is not None and stated.text in DTYPES:
        return {"weight_dtype": Field(stated.text, command_line.find_origins(stated))}
    return {"weight_dtype": Field(row["dtype"], source=row["source"])} if row["dtype"] and stated is None else {}


def _is_on_cpu(image: str, row: tables.Row, words: Sequence[Argument]) -> bool:
    """Return whether an image or a word puts a server on the CPU."""
    device = _find_flag(words, ["-d", "--device"])
    if device is not None and device.text is not None:
        return device.text == "cpu"
    if any(word.text in ("-ng", "--no-gpu", "--cpu") for word in words):
        return True
    name = image.rsplit("/", 1)[-1]
    return bool(image) and ("cpu" in name or (bool(row["gpu"]) and row["gpu"] not in name))


def _find_flag(words: Sequence[Argument], flags: Sequence[str]) -> Argument | None:
    """Return the value of a flag, as its own word or after an equals sign; None if it is not stated."""
    for at, word in enumerate(words):
        text = word.text or ""
        if text in flags and text and at + 1 < len(words):
            return words[at + 1]
        name, equals, value = text.partition("=")
        if equals and name in flags:
            return word._replace(text=value)
    return None
