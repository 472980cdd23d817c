"""Measured power and decoding speeds of servers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import figures
import model_words

from gpulint import units
from gpulint.catalog.architecture import Resolution

WITHOUT_SERVER = ("litgpt", "transformers", "gpt-fast", "exllama")
"""Words of sources whose decoding is a loop in Python, where the launch of kernels decides."""


def power(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    config = figures.config(case)
    model = str(config.get("model", ""))
    known = figures.known({**fields, **_serving(config, fields)}, model_words.resolved(model) if model else None)
    gpus = int(str(fields["gpus_per_replica"]))
    measured = next((value for name in ("avg_w_per_gpu", "w_per_gpu") if (value := figures.measured(case, name))), None)
    total = next(
        (value for name in ("avg_gpu_power_total_w", "avg_w") if (value := figures.measured(case, name))), None
    )
    watts = measured or (total / gpus if total else None)
    if watts is not None:
        yield figures.Asked("w_per_gpu", watts, figures.of(known, "average_power_w", 1), lambda: None)
    if (tokens := figures.measured(case, "out_tokens_per_s_per_gpu")) is not None:
        bound = figures.scaled(known, "output_tokens_per_s_ceiling", float(gpus))
        yield figures.Asked(
            "out_tokens_per_s_per_gpu", tokens, figures.of(known, "output_tokens_per_s", float(gpus)), bound
        )


def decoded(case: figures.Case, fields: figures.Fields, resolved: Resolution | None) -> Iterator[figures.Asked]:
    """Decoding by a server; a program that decodes in a loop of its own is not modelled."""
    if any(word in str(case.get("source", "")).lower() for word in WITHOUT_SERVER):
        return
    known = figures.known({**fields, **_serving(figures.config(case), fields)}, resolved)
    if (measured := figures.measured(case, "tokens_per_s")) is not None:
        bound = figures.scaled(known, "output_tokens_per_s_ceiling", 1)
        yield figures.Asked("tokens_per_s", measured, figures.of(known, "output_tokens_per_s", 1), bound)


def _serving(config: Mapping[str, object], fields: figures.Fields) -> figures.Fields:
    said = " ".join(f"{key}={value}" for key, value in config.items()).lower()
    settings = {
        name: value
        for name, value in figures.settings(said).items()
        if name in ("tensor_parallel", "expert_parallel_size")
    }
    lengths = re.search(r"(\d+)k/(\d+)k", said)
    prompt = config.get("isl") or (int(lengths[1]) * units.KIB if lengths else 512)
    answer = config.get("osl") or (int(lengths[2]) * units.KIB if lengths else 128)
    concurrency = re.search(r"concurrency[\s=:]*(\d+)", said)
    found: figures.Fields = {
        "task": "inference",
        "engine": "vllm",
        "replicas": 1,
        "tensor_parallel": fields["gpus_per_replica"],
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "request_prompt_tokens": prompt,
        "request_output_tokens": answer,
        "target_concurrency": int(concurrency[1]) if concurrency else config.get("batch") or 1,
    }
    return found | settings
