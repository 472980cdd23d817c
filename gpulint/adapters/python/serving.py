"""Serving: engines that a program starts itself, read as the command line of the same engine.

`LLM(model=…, tensor_parallel_size=2)` is `vllm serve … --tensor-parallel-size 2`, so that the engine's own table of
arguments, its defaults and its rules hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.python import releases
from gpulint.adapters.python.words import Reader, is_on, last_name, list_words, read_number, root
from gpulint.catalog import tables
from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.source.python.values import Constant, Object, Open, Value
from gpulint.workload import Field

EXECUTES = frozenset({"execv", "execve", "execvp", "execvpe"})
"""Functions of `os` whose second argument is the list of all words, the program's name among them."""
SPELLS = frozenset({"execl", "execlp"})
"""Functions of `os` that get the words one by one, behind the file that they start."""
PROCESSES = frozenset({"run", "Popen", "call", "check_call", "check_output", "system"}) | EXECUTES | SPELLS
PARSES = frozenset({"parse_args", "parse_known_args"})
"""vllm v0.6.6 vllm/entrypoints/openai/cli_args.py and engine/arg_utils.py: parsers with the arguments of the server, which
`make_arg_parser` and `add_cli_args` return."""
VLLM = frozenset({"LLM", "EngineArgs", "AsyncEngineArgs"})
SGLANG = frozenset({"Engine", "ServerArgs", "Runtime"})
OF_SPELLING = frozenset(
    {"abbreviated_argument", "misspelt_argument", "unknown_argument", "impossible_argument", "unsplit_argument"}
)
"""Notices about how the words of a command are written."""
OFFLINE_TOKENS = Field(8192, source="default of vLLM's LLM class, 16,384 on some GPUs")
"""vllm v0.8.0 and v0.33.0 vllm/engine/arg_utils.py, UsageContext.LLM_CLASS: 16,384 from 70 GiB on except on the A100, and
8,192 on other GPUs, where the server takes 8,192 and 2,048."""
SINCE = (0, 8, 0)
OF_LMDEPLOY = {
    "tp": "--tp",
    "dp": "--dp",
    "ep": "--ep",
    "session_len": "--session-len",
    "max_batch_size": "--max-batch-size",
    "cache_max_entry_count": "--cache-max-entry-count",
    "quant_policy": "--quant-policy",
    "model_format": "--model-format",
    "dtype": "--dtype",
    "max_prefill_token_num": "--max-prefill-token-num",
}
OF_TENSORRT = {
    "tensor_parallel_size": "--tp_size",
    "pipeline_parallel_size": "--pp_size",
    "moe_expert_parallel_size": "--ep_size",
    "max_batch_size": "--max_batch_size",
    "max_num_tokens": "--max_num_tokens",
    "max_seq_len": "--max_seq_len",
    "max_beam_width": "--max_beam_width",
}
CONTEXT = 512
"""abetlen/llama-cpp-python llama_cpp/llama.py: n_ctx of Llama."""
OF_LLAMA = {
    "n_batch": "--batch-size",
    "n_ubatch": "--ubatch-size",
    "tensor_split": "--tensor-split",
    "main_gpu": "--main-gpu",
}


def read(
    calls: Iterable[Object],
    reader: Reader,
    image: Argument,
    environment: Mapping[str, Argument],
    pins: releases.Pins,
    given: Sequence[Argument] = (),
) -> Iterator[tuple[Object, Reading]]:
    """Yield what each engine that a program starts is given, with the call that starts it."""
    for call in calls:
        words = _find_words(call, reader, given)
        if words is None:
            continue
        named = releases.choose(image, pins, call, words)
        invocation = Invocation(named, tuple(words), environment, entrypoint=False)
        reading = engines.read(invocation)
        if reading is not None and not _is_beside(reading):
            yield call, _clean(reading, call, reader)


def _is_beside(reading: Reading) -> bool:
    """Return whether a program starts a server of speech or embeddings, as it often does beside its engine."""
    return reading.fields["engine"].value in tables.index_rows("network_servers", "server")


def _find_words(call: Object, reader: Reader, given: Sequence[Argument]) -> list[Argument] | None:
    """Return the words of the command that means the same as a call; None if it starts no engine."""
    name = last_name(call)
    if root(call) in ("subprocess", "os", "asyncio") and name in PROCESSES:
        if name in SPELLS:
            return [reader.word(word, call.place) for word in call.arguments[1:]] or None
        given_at = 1 if name in EXECUTES and len(call.arguments) > 1 else 0
        stated = call.arguments[given_at] if call.arguments else call.get("args")
        return list(list_words(stated, reader, call.place) or ()) or None
    if root(call) == "vllm" and name in PARSES:
        stated = call.arguments[0] if call.arguments else call.get("args")
        parsed = list_words(stated, reader, call.place) if stated is not None else given
        return [*_start(call, reader, "vllm", "serve"), *parsed] if parsed else None
    translate = _TRANSLATIONS.get((root(call), name))
    return translate(call, reader) if translate else None


def _clean(reading: Reading, call: Object, reader: Reader) -> Reading:
    """Return a reading without notices about the spelling of arguments, which a call does not have.

    An argument that a release removed stays: the call refuses it as the command does.
    """
    fields = {name: field for name, field in reading.fields.items() if name not in OF_SPELLING}
    if "engine" in fields:
        fields["engine"] = replace(fields["engine"], origins=command_line.find_origins(_locate(call, reader)))
    release = fields.get("engine_version")
    older = release is not None and (tables.release(str(release.value)) or SINCE) < SINCE
    if (root(call), last_name(call)) == ("vllm", "LLM") and not older:
        fields.setdefault("max_num_batched_tokens", OFFLINE_TOKENS)
    return reading._replace(fields=fields, open_ended=reading.open_ended or call.open_ended)


def _locate(call: Object, reader: Reader) -> Argument:
    return reader.word(Constant(call.name, call.place), call.place)


def _start(call: Object, reader: Reader, *words: str) -> list[Argument]:
    at = _locate(call, reader)
    return [at._replace(text=word) for word in words]


def _take_model(call: Object, *keywords: str) -> Value | None:
    if call.arguments:
        return call.arguments[0]
    return next((value for keyword in keywords if (value := call.get(keyword)) is not None), None)


def _given(call: Object, engine: str, skipped: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the keywords of a call for which the engine's command line has a flag, each with that flag."""
    known = command_line.flags(engine)
    for keyword, value in {**call.keywords, **call.attributes}.items():
        flag = f"--{keyword.replace('_', '-')}"
        if isinstance(value, Constant) and value.value is False:
            flag = f"--no-{flag[2:]}"
        if flag in known and keyword not in skipped:
            yield keyword, flag


def _translate(call: Object, reader: Reader, engine: str, skipped: tuple[str, ...]) -> Iterator[Argument]:
    known = command_line.flags(engine)
    for keyword, flag in _given(call, engine, skipped):
        value = call.get(keyword)
        if value is None:
            continue
        if isinstance(value, Constant) and value.value is False:
            yield reader.word(value, call.place)._replace(text=flag)
        elif isinstance(value, Constant) and value.value is True and known[flag].kind not in ("bool", "false"):
            yield from (word for word in reader.flag(flag, Constant("true", value.place), call.place))
        else:
            yield from reader.flags(call, [(keyword, flag)])


def read_settings(
    engine: str, model: Value | None, settings: Object, reader: Reader, pins: releases.Pins
) -> Reading | None:
    """Return an engine that a library starts with settings of the engine's own names."""
    given = Object(settings.name, settings.place, [], dict(settings.keywords))
    if model is not None:
        given.keywords["model" if engine == "vllm" else "model_path"] = model
    words = _read_vllm(given, reader) if engine == "vllm" else _read_sglang(given, reader)
    image = releases.choose(_locate(settings, reader)._replace(text=""), pins, settings, words)
    found = engines.read(Invocation(image, tuple(words), {}, entrypoint=False))
    return _clean(found, settings, reader) if found is not None else None


def _read_vllm(call: Object, reader: Reader) -> list[Argument]:
    model = _take_model(call, "model")
    words = _start(call, reader, "vllm", "serve")
    named = [reader.word(model, call.place)] if model is not None else []
    return [*words, *named, *_translate(call, reader, "vllm", ("model",))]


def _read_sglang(call: Object, reader: Reader) -> list[Argument]:
    words = _start(call, reader, "python", "-m", "sglang.launch_server")
    return [*words, *_translate(call, reader, "sglang", ())]


def _read_lmdeploy(call: Object, reader: Reader) -> list[Argument]:
    model = _take_model(call, "model_path", "model")
    words = _start(call, reader, "lmdeploy", "serve", "api_server")
    named = [reader.word(model, call.place)] if model is not None else []
    backend = call.get("backend_config")
    if not isinstance(backend, Object):
        return [*words, *named]
    which = "pytorch" if "Pytorch" in backend.name else "turbomind"
    engine = [
        reader.word(Constant(which, backend.place), call.place)._replace(text=text) for text in ("--backend", which)
    ]
    return [*words, *named, *engine, *reader.flags(backend, OF_LMDEPLOY.items())]


def _read_tensorrt(call: Object, reader: Reader) -> list[Argument]:
    model = _take_model(call, "model")
    words = _start(call, reader, "trtllm-serve")
    named = [reader.word(model, call.place)] if model is not None else []
    cache = call.get("kv_cache_config")
    share = (
        reader.flags(cache, [("free_gpu_memory_fraction", "--kv_cache_free_gpu_memory_fraction")])
        if isinstance(cache, Object)
        else ()
    )
    return [*words, *named, *reader.flags(call, OF_TENSORRT.items()), *share]


def _read_llama(call: Object, reader: Reader) -> list[Argument]:
    """Return the words of llama-server; all layers go to the GPU for -1, and none unless stated."""
    words = _start(call, reader, "llama-server")
    layers = call.get("n_gpu_layers")
    every = read_number(layers) == -1
    number = Constant(999, getattr(layers, "place", None)) if every else layers or Constant(0, call.place)
    offload = reader.flag("--n-gpu-layers", number, call.place)
    if last_name(call) == "from_pretrained":
        repository, file = call.get("repo_id") or (call.arguments[0] if call.arguments else None), call.get("filename")
        named = [("--hf-repo", repository), ("--hf-file", file)]
        model = [word for flag, value in named if value is not None for word in reader.flag(flag, value, call.place)]
    else:
        stated = _take_model(call, "model_path")
        model = list(reader.flag("--model", stated, call.place)) if stated is not None else []
    context = reader.flag("--ctx-size", call.get("n_ctx") or Constant(CONTEXT, call.place), call.place)
    attention = (
        list(reader.flag("--flash-attn", Constant("on", call.place), call.place))
        if is_on(call.get("flash_attn"))
        else []
    )
    return [*words, *model, *offload, *context, *attention, *reader.flags(call, OF_LLAMA.items())]


def _read_ctransformers(call: Object, reader: Reader) -> list[Argument]:
    """Return the words of llama-server: marella/ctransformers ctransformers/hub.py and llm.py, whose layers stay on the CPU."""
    model = _take_model(call, "model_path_or_repo_id")
    file, layers, context = (call.get(name) for name in ("model_file", "gpu_layers", "context_length"))
    named = [("--hf-repo", model), ("--hf-file", file)]
    return [
        *_start(call, reader, "llama-server"),
        *(word for flag, value in named if value is not None for word in reader.flag(flag, value, call.place)),
        *reader.flag("--n-gpu-layers", layers or Constant(0, call.place), call.place),
        *reader.flag("--ctx-size", context or Open("ctransformers decides the context length"), call.place),
    ]


_TRANSLATIONS: Mapping[tuple[str, str], Callable[[Object, Reader], list[Argument]]] = {
    **{("vllm", name): _read_vllm for name in VLLM},
    **{("sglang", name): _read_sglang for name in SGLANG},
    ("lmdeploy", "pipeline"): _read_lmdeploy,
    ("tensorrt_llm", "LLM"): _read_tensorrt,
    ("llama_cpp", "Llama"): _read_llama,
    ("llama_cpp", "from_pretrained"): _read_llama,
    ("ctransformers", "from_pretrained"): _read_ctransformers,
}
