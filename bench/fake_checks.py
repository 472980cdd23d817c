"""Is the counting behind fake_tensors.csv right: sums done by hand, real allocations, published parameter counts.

    python bench/fake_checks.py

Needs what fake_tensors.py needs. Real runs are of tiny models on the CPU, against the record of PyTorch's own allocator.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import accumulate, product
from typing import Any, NamedTuple

import fake_tensors
import live_bytes
import torch  # type: ignore[import-not-found,unused-ignore]
import traced_models
from fake_tensors import Run
from live_bytes import Parts
from torch._subclasses.fake_tensor import FakeTensorMode  # type: ignore[import-not-found,unused-ignore]


class Expected(NamedTuple):
    """Something counted, and what it must be."""

    what: str
    counted: int
    expected: int
    within: float = 0.0

    @property
    def holds(self) -> bool:
        return abs(self.counted - self.expected) <= self.within * self.expected


def by_hand(fake: bool) -> Iterator[Expected]:
    """A float32 perceptron of 128 → 512 (ReLU) → 64 without biases over 256 rows, its output's gradient given.

    Weights (512·128 + 64·512)·4 = 393,216 bytes and twice that in AdamW's moments, rows 131,072, the first product z and
    its ReLU a 524,288 each, the output y and its gradient g 65,536 each. Highest in the forward pass while the ReLU has z
    and a; in the backward pass while ReLU's gradient reads a and da and writes dz, the second weight's gradient (131,072)
    being there; in the step with both gradients.
    """
    peaks = {phase: total for phase, (total, _) in perceptron(fake).items()}
    name = "fake" if fake else "real"
    yield Expected(f"perceptron, {name}, forward peak", peaks["forward"], 1_376_256 + 2 * 524_288)
    yield Expected(f"perceptron, {name}, backward peak", peaks["blocks"], 1_376_256 + 65_536 + 3 * 524_288 + 131_072)
    yield Expected(f"perceptron, {name}, step peak", peaks["step"], 1_376_256 + 65_536 + 393_216)


def perceptron(fake: bool) -> Mapping[str, tuple[int, Parts]]:
    """Peaks of the second step of `by_hand`'s model."""
    with FakeTensorMode() if fake else nullcontext():
        model = torch.nn.Sequential(
            torch.nn.Linear(128, 512, bias=False), torch.nn.ReLU(), torch.nn.Linear(512, 64, bias=False)
        )
        optimizer = fake_tensors.warmed(torch.optim.AdamW(model.parameters(), fused=True), model.parameters())
        optimizer.zero_grad(set_to_none=True)
        live = live_bytes.Live(vocab=-1)
        rows, gradient = torch.ones(256, 128), torch.ones(256, 64)
        fake_tensors.known(live, model, optimizer, rows)
        live.count(gradient, "inputs")
        with live:
            live.begin("forward")
            out = model(rows)
            live.begin("backward")
            out.backward(gradient)
            live.begin("step")
            optimizer.step()
    return live.peaks


TINY: Mapping[str, str] = {
    "id": "tiny", "hidden": "256", "intermediate": "704", "layers": "4", "attention_heads": "8", "kv_heads": "8",
    "head_dim": "32", "vocab": "8000", "trained_context": "512", "tied_embeddings": "no", "sliding_window": "",
}  # fmt: skip
TIED = {"kv_heads": "2", "tied_embeddings": "yes"}
TINY_MODELS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("llama", {"kv_heads": "2"}),
    ("llama", TIED),
    ("qwen3", TIED),
    ("phi-2", {}),
    ("gpt-neox", {}),
)
LENGTHS = (64, 256)
"""A short sequence, whose step peaks when the gradients are complete, and one that peaks at the logits."""


def by_allocator() -> Iterator[Expected]:
    """Tiny models with eager attention, really run on the CPU without our counting, against their fake step."""
    for (family, shape), length, again in product(TINY_MODELS, LENGTHS, fake_tensors.RECOMPUTATIONS):
        run = Run("tiny", None, sequence=length, micro_batch=2, attention="eager", recomputation=again)
        yield compared(f"{family} {shape}", run, {**TINY, **shape, "family": family})
    adapted = Run("tiny", None, sequence=64, attention="eager", lora_rank=8, lora_targets="all-linear")
    yield compared("llama with adapters", adapted, {**TINY, "family": "llama"})


def compared(title: str, run: Run, row: Mapping[str, str]) -> Expected:
    peak = max(total for total, _ in fake_tensors.read(run, row).peaks.values())
    return Expected(
        f"{title}, {run.sequence} tokens, recomputation {run.recomputation}", peak, recorded(run, row), 0.002
    )


def by_buckets() -> Iterator[Expected]:
    """DDP really run on one rank: at its peak it holds buckets as large as the gradients besides, two bytes a parameter."""
    run = Run("tiny", None, sequence=256, micro_batch=2, attention="eager")
    row = {**TINY, "family": "llama"}
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    apart = recorded(run, row, torch.nn.parallel.DistributedDataParallel) - recorded(run, row)
    torch.distributed.destroy_process_group()
    parameters = traced_models.model_of(traced_models.config_of(row, None), "eager", torch.bfloat16).num_parameters()
    yield Expected("DDP's buckets", apart, 2 * parameters, 0.001)


def recorded(run: Run, row: Mapping[str, str], wrap: Callable[[Any], Any] = lambda model: model) -> int:
    """The highest sum of what PyTorch's CPU allocator gave and took back, from the building of the model on."""
    from torch.profiler import ProfilerActivity, profile  # type: ignore[import-not-found,unused-ignore]

    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        model = traced_models.model_of(traced_models.config_of(row, run.layers), run.attention, torch.bfloat16)
        model, optimizer, ids = fake_tensors.prepared(model, run)
        model = wrap(model)
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        del loss
        optimizer.step()
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes: list[int] = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return max(accumulate(changes))


def by_catalog() -> Iterator[Expected]:
    """Each checkpoint at its own depth has the catalog's number of parameters, which was checked against its publisher's."""
    rows = traced_models.catalog()
    later = (name for names in fake_tensors.UNSEEN.values() for name in names if name not in ROUTER_BIASES)
    for name in (*fake_tensors.CHECKPOINTS, *later):
        with torch.device("meta"):
            model = traced_models.model_of(traced_models.config_of(rows[name], None), "eager", torch.bfloat16)
        yield Expected(f"{name}, parameters", model.num_parameters(), int(rows[name]["parameters"]))


ROUTER_BIASES = ("zai-org/GLM-4.5-Air", "MiniMaxAI/MiniMax-M2.5")
"""Checkpoints whose catalog row counts the routers' correction, which Transformers keeps as a buffer (one value an expert)."""


def check() -> bool:
    """Print every comparison; whether all hold."""
    traced_models.prepare()
    every = [*by_hand(fake=False), *by_hand(fake=True), *by_allocator(), *by_buckets(), *by_catalog()]
    for one in every:
        print(f"{'ok  ' if one.holds else 'FAIL'} {one.what}: {one.counted:,}, expected {one.expected:,}")
    return all(one.holds for one in every)


def main() -> None:
    raise SystemExit(0 if check() else 1)


if __name__ == "__main__":
    main()
