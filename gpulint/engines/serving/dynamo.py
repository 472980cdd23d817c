"""Dynamo's workers: `python -m dynamo.vllm` and its like take the arguments of the engine that they start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.serving import sglang, tensorrt_llm, vllm
from gpulint.workload import Value

MENTIONS = ("dynamo.vllm", "dynamo.sglang", "dynamo.trtllm")
VLLM, SGLANG, TENSORRT_LLM = MENTIONS
OWN = frozenset(
    {
        *("namespace", "endpoint", "connector", "is-prefill-worker", "is-decode-worker", "disaggregation-mode"),
        *("migration-limit", "custom-jinja-template", "request-plane", "event-plane", "store-kv", "discovery-backend"),
        *("use-kv-events", "durable-kv-events", "use-vllm-tokenizer", "use-sglang-tokenizer", "enable-local-indexer"),
        *("route-to-encoder", "embedding-worker", "publish-events-and-metrics", "publish-kv-events", "encode-endpoint"),
        *("next-endpoint", "modality", "max-file-size-mb", "allowed-local-media-path", "gpus-per-node"),
        *("media-output-fs-url", "media-output-http-url", "endpoint-types", "output-modalities", "benchmark-mode"),
    }
)
"""Arguments of the wrapper (dynamo components/src/dynamo/{vllm,sglang,trtllm}/backend_args.py, common/configuration)."""
OWN_PREFIXES = ("dyn-", "multimodal-", "conversation-affinity")
RENAMED = {
    "model": "",
    "model-path": "",
    "tensor-parallel-size": "--tp_size",
    "pipeline-parallel-size": "--pp_size",
    "expert-parallel-size": "--ep_size",
    "max-batch-size": "--max_batch_size",
    "max-num-tokens": "--max_num_tokens",
    "max-seq-len": "--max_seq_len",
    "free-gpu-memory-fraction": "--kv_cache_free_gpu_memory_fraction",
    "extra-engine-args": "--extra_llm_api_options",
}
"""Arguments of dynamo.trtllm under the names that trtllm-serve has for them; the model is its positional one."""
OVERRIDDEN = "--override-engine-args sets further options"


def read(invocation: Invocation) -> Reading | None:
    """What the engine behind a worker makes of the words that are its own; None when no worker is started."""
    module, words = _worker(invocation.arguments)
    if module == VLLM:
        return _named(vllm.read(_started(invocation, ("vllm", "serve"), _engines_own(words))))
    if module == SGLANG:
        return _named(sglang.read(_started(invocation, ("python3", "-m", "sglang.launch_server"), _engines_own(words))))
    if module == TENSORRT_LLM:
        reading = _named(tensorrt_llm.read(_started(invocation, ("trtllm-serve", "serve"), _renamed(words))))
        overridden = any(_name(word) == "override-engine-args" for word in words)
        return reading._replace(open_ended=reading.open_ended or OVERRIDDEN) if reading and overridden else reading
    return None


def spelled(release: str, quantity: str, value: Value) -> str | None:
    """The engine behind the worker spells its arguments."""
    return None


def _started(invocation: Invocation, program: Sequence[str], words: Iterator[Argument]) -> Invocation:
    """The engine itself, started in place of the worker."""
    start = tuple(Argument(word, invocation.image.origin) for word in program)
    return invocation._replace(arguments=(*start, *words), entrypoint=False)


def _worker(words: Sequence[Argument]) -> tuple[str, Sequence[Argument]]:
    """The module of a worker, and the words behind it."""
    for at, word in enumerate(words[:-1]):
        module = words[at + 1].text or ""
        found = next((name for name in MENTIONS if module == name or module.startswith(f"{name}.")), "")
        if word.text == "-m" and found:
            return found, words[at + 2 :]
    return "", ()


def _named(reading: Reading | None) -> Reading | None:
    """A reading without what is noticed about arguments, some of which are the wrapper's."""
    if reading is None:
        return None
    fields = {name: field for name, field in reading.fields.items() if not name.endswith("_argument")}
    return reading._replace(fields=fields)


def _name(word: Argument) -> str:
    """The bare name of an argument; empty of a value."""
    text = (word.flag or word.text or "").partition("=")[0]
    return text.lstrip("-").replace("_", "-") if text.startswith("--") else ""


def _engines_own(words: Sequence[Argument]) -> Iterator[Argument]:
    """The words that are the engine's, without the wrapper's arguments and their values."""
    skipped = False
    for word in words:
        if (word.flag or word.text or "").startswith("-"):
            name = _name(word)
            skipped = name.removeprefix("no-") in OWN or name.startswith(OWN_PREFIXES)
        if not skipped:
            yield word


def _renamed(words: Sequence[Argument]) -> Iterator[Argument]:
    """The words under trtllm-serve's names."""
    for word in _engines_own(words):
        name = _name(word)
        flag = RENAMED.get(name)
        _, equals, value = (word.text or "").partition("=")
        if flag is None:
            yield word
        elif word.text is None:
            yield word._replace(flag=flag)
        elif flag:
            yield word._replace(text=f"{flag}{equals}{value}")
        elif equals:
            yield word._replace(text=value)
