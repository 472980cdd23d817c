"""Dynamo's workers: `python -m dynamo.vllm` and the like take the arguments of the engine that they
start.
"""

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
    """Return what the engine behind a worker makes of its own arguments; None if no worker is started."""
    module, words = _find_worker(invocation.arguments)
    if module == VLLM:
        return _drop_notices(vllm.read(_build_invocation(invocation, ("vllm", "serve"), _select_engine_words(words))))
    if module == SGLANG:
        return _drop_notices(
            sglang.read(
                _build_invocation(invocation, ("python3", "-m", "sglang.launch_server"), _select_engine_words(words))
            )
        )
    if module == TENSORRT_LLM:
        reading = _drop_notices(
            tensorrt_llm.read(_build_invocation(invocation, ("trtllm-serve", "serve"), _rename(words)))
        )
        overridden = any(_parse_name(word) == "override-engine-args" for word in words)
        return reading._replace(open_ended=reading.open_ended or OVERRIDDEN) if reading and overridden else reading
    return None


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return the argument as the engine behind the worker spells it."""
    return None


def _build_invocation(invocation: Invocation, program: Sequence[str], words: Iterator[Argument]) -> Invocation:
    """Return the invocation of the engine itself, in place of the worker."""
    start = tuple(Argument(word, invocation.image.origin) for word in program)
    return invocation._replace(arguments=(*start, *words), entrypoint=False)


def _find_worker(words: Sequence[Argument]) -> tuple[str, Sequence[Argument]]:
    """Return the module of a worker, and the words behind it."""
    for at, word in enumerate(words[:-1]):
        module = words[at + 1].text or ""
        found = next((name for name in MENTIONS if module == name or module.startswith(f"{name}.")), "")
        if word.text == "-m" and found:
            return found, words[at + 2 :]
    return "", ()


def _drop_notices(reading: Reading | None) -> Reading | None:
    """Return a reading without notices about arguments, because some belong to the wrapper."""
    if reading is None:
        return None
    fields = {name: field for name, field in reading.fields.items() if not name.endswith("_argument")}
    return reading._replace(fields=fields)


def _parse_name(word: Argument) -> str:
    """Return the bare name of an argument; empty for a value."""
    text = (word.flag or word.text or "").partition("=")[0]
    return text.lstrip("-").replace("_", "-") if text.startswith("--") else ""


def _select_engine_words(words: Sequence[Argument]) -> Iterator[Argument]:
    """Return the engine's words, without the wrapper's arguments and their values."""
    skipped = False
    for word in words:
        if (word.flag or word.text or "").startswith("-"):
            name = _parse_name(word)
            skipped = name.removeprefix("no-") in OWN or name.startswith(OWN_PREFIXES)
        if not skipped:
            yield word


def _rename(words: Sequence[Argument]) -> Iterator[Argument]:
    """Return the words under trtllm-serve's names."""
    for word in _select_engine_words(words):
        name = _parse_name(word)
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
