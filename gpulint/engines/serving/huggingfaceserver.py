"""KServe's Hugging Face server: vLLM behind arguments of its own, unless another backend is
requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.engines.serving import vllm
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("huggingfaceserver",)
TRIGGERS = ("huggingface",)
MODULE = "huggingfaceserver"
IMAGE = re.compile(r"(?:^|/)huggingfaceserver(?=$|[:@])")
OWN = frozenset(
    {
        *("model-name", "backend", "task", "tensor-input-names", "disable-lower-case", "disable-special-tokens"),
        *(
            "return-token-type-ids",
            "return-offsets-mapping",
            "return-probabilities",
            "return-raw-logits",
            "max-log-len",
        ),
        *("http-port", "grpc-port", "workers", "max-threads", "max-asyncio-workers", "enable-grpc", "enable-docs-url"),
        *("enable-latency-logging", "configure-logging", "log-config-file", "access-log-format", "event-loop"),
        *("timeout-keep-alive", "predictor-host", "protocol", "predictor-protocol", "predictor-use-ssl"),
        *("predictor-request-timeout-seconds", "predictor-request-retries", "enable-predictor-health-check"),
        *("grpc-max-send-message-length", "grpc-max-receive-message-length"),
    }
)
"""Arguments of the server alone (kserve v0.20.0 python/huggingfaceserver/huggingfaceserver/__main__.py,
python/kserve/kserve/model_server.py).
"""
OF_BOTH = frozenset(
    {
        *("dtype", "tokenizer-revision", "trust-remote-code", "max-model-len", "max-length"),
        *("model-revision", "model-id", "model-dir", "disable-log-requests"),
    }
)
"""Arguments that it has with every backend."""
RENAMED = {
    "model-id": "--model",
    "model-dir": "--model",
    "max-length": "--max-model-len",
    "model-revision": "--revision",
}
VLLM = "vllm"
CHOSEN = "KServe's Hugging Face server serves with vLLM, whose arguments it is given"


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of vLLM if the arguments show that it serves; None if the invocation is not
    the server.
    """
    words = _server_words(invocation)
    if words is None:
        return None
    origins = (invocation.image.origin,)
    stated = dict(_read_arguments(words))
    backend = stated.get("backend")
    program = {"program": Field(MODULE, origins)}
    if backend is not None and backend.text not in ("vllm", "auto"):
        other = f"the backend {backend.text} serves" if backend.text else "the backend is not known"
        return Reading(
            {"engine": Field(Unknown(other, "operator preset"), command_line.find_origins(backend)), **program},
            None,
            other,
        )
    if not (backend is not None and backend.text == VLLM) and not stated.keys() - OWN - OF_BOTH:
        why = Unknown("the server uses vLLM only for architectures that vLLM knows", "operator preset")
        return Reading({"engine": Field(why, origins), **program}, None, "the server chooses its backend")
    return _read_vllm(invocation, words)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return vLLM's argument; the server passes it on."""
    return vllm.render_argument(release, quantity, value)


def _read_vllm(invocation: Invocation, words: Sequence[Argument]) -> Reading | None:
    """Return what vLLM makes of the arguments that are not the server's own."""
    start = invocation.image.origin
    command = (Argument("vllm", start), Argument("serve", start), *_select_vllm_words(words))
    reading = vllm.read(invocation._replace(arguments=command, entrypoint=False))
    if reading is None:
        return None
    noticed = [name for name in reading.fields if name.endswith("_argument")]
    fields = {name: field for name, field in reading.fields.items() if name not in (*noticed, "engine_version")}
    fields["engine"] = Field("vllm", fields["engine"].origins, assumption=CHOSEN, basis="default")
    return Reading(fields, words[-1].origin if words else None, reading.open_ended)


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after the module, or after the image's own entry point."""
    for at, word in enumerate(invocation.arguments):
        if word.text == "-m" and at + 1 < len(invocation.arguments) and invocation.arguments[at + 1].text == MODULE:
            return invocation.arguments[at + 2 :]
    return invocation.arguments if invocation.entrypoint and IMAGE.search(invocation.image.text or "") else None


def _parse_name(word: Argument) -> str:
    """Return the bare name of an argument; empty for a value."""
    text = (word.flag or word.text or "").partition("=")[0]
    return text.lstrip("-").replace("_", "-") if text.startswith("--") else ""


def _read_arguments(words: Sequence[Argument]) -> Iterator[tuple[str, Argument]]:
    """Return the arguments by name, each with the word that holds its value."""
    for at, word in enumerate(words):
        if name := _parse_name(word):
            _, equals, value = (word.text or "").partition("=")
            following = words[at + 1] if at + 1 < len(words) and not _parse_name(words[at + 1]) else None
            yield name, word._replace(text=value) if equals else following or word


def _select_vllm_words(words: Sequence[Argument]) -> Iterator[Argument]:
    """Return vLLM's arguments, under the names that it has for them."""
    own = False
    for word in words:
        if name := _parse_name(word):
            own = name in OWN
        if not own:
            yield _rename(word, RENAMED[name]) if name in RENAMED else word


def _rename(word: Argument, flag: str) -> Argument:
    _, equals, value = (word.text or "").partition("=")
    if word.text is None:
        return word._replace(flag=flag)
    return word._replace(text=f"{flag}{equals}{value}")
