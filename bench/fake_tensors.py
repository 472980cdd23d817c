"""Peaks of real Transformers models that were never allocated: a training step or a prefill under fake tensors.

    python bench/fake_tensors.py sweep [--out CSV]        every run of `runs()` not yet in CSV (fake_tensors.csv)
    python bench/fake_tensors.py unseen-1 [--out CSV]     the same of families chosen before any of them was traced
                                                          (unseen_tensors.csv); `unseen-2`, `unseen-3`: later rounds
    python bench/fake_tensors.py sharded [--out CSV]      FSDP2 over fake process groups (sharded_tensors.csv)
    python bench/fake_tensors.py show [--out CSV]         full depths against what two shallow runs say of them

Needs torch, transformers and peft, the last columns say which; none is a dependency of gpulint. `fake_checks.py` checks the
counting. Counted is what CUDA's caching allocator would call *allocated*. Not counted: reserved but unused blocks, the CUDA
context, cuBLAS and NCCL workspaces, and scratch that a kernel allocates inside itself (flash attention's backward holds
float32 gradients of the queries there).

Columns of bytes: `PHASE_peak_bytes`, the highest of a phase; `saved_*`, what is alive between forward and backward pass, by
role; `saved_op_*` and `saved_in_*`, what of it the forward pass made, by kind of operator and by part of the model;
`peak_*` the same at the highest moment of all.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import live_bytes
import torch  # type: ignore[import-not-found,unused-ignore]
import traced_models
import transformers  # type: ignore[import-not-found,unused-ignore]
from live_bytes import Live, Parts
from torch._subclasses.fake_tensor import FakeTensorMode  # type: ignore[import-not-found,unused-ignore]

RESULTS = Path(__file__).parent / "fake_tensors.csv"
HELD_OUT = ("qwen3", "gemma-2", "phi-3", "gpt-neox", "olmo-2", "granite", "starcoder2", "qwen2-moe", "mistral")
"""Families that no fitted row rests on; the shapes of their layers were looked at while the formulas were written."""


class Run(NamedTuple):
    """The conditions of one run; a `layers` of None is the checkpoint's own depth."""

    checkpoint: str
    layers: int | None = 2
    task: str = "training"
    sequence: int = 2048
    micro_batch: int = 1
    attention: str = "sdpa"
    recomputation: str = "none"
    weight_dtype: str = "bfloat16"
    autocast: str = "none"
    optimizer: str = "adamw-fused"
    accumulation: int = 1
    lora_rank: int = 0
    lora_targets: str = "none"
    fsdp: str = "1"


# ---- one run


class Reading(NamedTuple):
    """What one run showed: peaks by phase, what was alive after the forward pass, and counts of parameters."""

    peaks: Mapping[str, tuple[int, Parts]]
    saved: Parts
    parameters: int
    trainable: int
    kv_cache_bytes: int


def read(run: Run, row: Mapping[str, str]) -> Reading:
    """Build the model of this run and follow its second step."""
    traced_models.prepare()
    with FakeTensorMode(allow_non_fake_inputs=True):
        config = traced_models.config_of(row, run.layers)
        model = traced_models.model_of(config, run.attention, getattr(torch, run.weight_dtype))
        return prefilled(model, config, run) if run.task == "prefill" else trained(model, config, run)


def prefilled(model: Any, config: Any, run: Run) -> Reading:
    """A forward pass without gradients that fills a cache and asks for the last token's logits, as `generate` does."""
    model.eval()
    live = Live(config.vocab_size)
    ids = torch.zeros(run.micro_batch, run.sequence, dtype=torch.long)
    known(live, model, None, ids)
    with torch.no_grad(), live_bytes.by_module(live), live:
        live.begin("forward")
        out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        after = live.live.copy()
    cached = [t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)]
    cache = sum(tensor.untyped_storage().nbytes() for tensor in cached)
    return Reading(live.peaks, after, sum(p.numel() for p in model.parameters()), 0, cache)


def trained(model: Any, config: Any, run: Run) -> Reading:
    """A training step that finds optimizer states, and gradients when it accumulates, already there."""
    model, optimizer, ids = prepared(model, run)
    parameters = [p for p in model.parameters() if p.requires_grad]
    live = Live(config.vocab_size, sharded=run.fsdp != "1")
    known(live, model, optimizer, ids)
    hooks = [p.register_post_accumulate_grad_hook(lambda p: live.count(p.grad, "gradients")) for p in parameters]
    with live_bytes.by_module(live), live_bytes.resizes(live), live:
        saved = stepped(model, optimizer, ids, live, run.autocast)
    for hook in hooks:
        hook.remove()
    counts = [sum(p.numel() for p in chosen) for chosen in (model.parameters(), parameters)]
    return Reading(live.peaks, saved, counts[0], counts[1], 0)


def prepared(model: Any, run: Run) -> tuple[Any, Any, Any]:
    """The model as this run trains it, its optimizer after a first step, and the tokens."""
    model.config.use_cache = False
    if run.lora_rank:
        model = traced_models.with_adapters(model, run.lora_rank, run.lora_targets)
    if run.recomputation == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False, "context_fn": traced_models.recomputed})
    if run.fsdp != "1":
        traced_models.shard(model, run.fsdp)
    model.train()
    ids = torch.zeros(run.micro_batch, run.sequence, dtype=torch.long)
    if run.fsdp != "1":  # the first pass makes what later ones empty and fill
        model(input_ids=ids, labels=ids).loss.backward()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = warmed(traced_models.optimizer_of(run.optimizer, parameters), parameters)
    if run.accumulation == 1:
        optimizer.zero_grad(set_to_none=True)
    return model, optimizer, ids


def stepped(model: Any, optimizer: Any, ids: Any, live: Live, autocast: str) -> Parts:
    """Forward, backward and optimizer step; what is alive between the first two."""
    live.begin("forward")
    with traced_models.Float32Operators(), torch.autocast("cpu", torch.bfloat16, enabled=autocast != "none"):
        loss = model(input_ids=ids, labels=ids).loss
    saved = live.live.copy()
    live.begin("backward")
    loss.backward()
    del loss
    live.begin("step")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return saved


def warmed(optimizer: Any, parameters: Iterable[Any]) -> Any:
    """The optimizer after a first step, which makes its states; gradients stay."""
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return optimizer


def known(live: Live, model: Any, optimizer: Any, ids: Any) -> None:
    """Count what is there before the step."""
    for tensor in (*model.parameters(), *model.buffers()):
        live.count(tensor, "weights")
        if tensor.grad is not None:
            live.count(tensor.grad, "gradients")
    states = optimizer.state.values() if optimizer else ()
    for tensor in (value for state in states for value in state.values()):
        if isinstance(tensor, torch.Tensor) and tensor.ndim:
            live.count(tensor, "optimizer")
    live.count(ids, "inputs")


# ---- the sweep

CHECKPOINTS = (
    "meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B", "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-0.5B", "google/gemma-2b", "google/gemma-7b", "google/gemma-3-1b-pt", "microsoft/phi-2",
    "openai-community/gpt2", "openai-community/gpt2-xl", "facebook/opt-1.3b", "mistralai/Mixtral-8x7B-v0.1",
    "Qwen/Qwen3-30B-A3B", "allenai/OLMoE-1B-7B-0125", "HuggingFaceTB/SmolLM3-3B", "CohereLabs/aya-expanse-8b",
    "stabilityai/stablelm-2-1_6b", "zai-org/GLM-4-9B-0414",
    "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", "mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.3", "google/gemma-2-2b",
    "google/gemma-2-9b", "microsoft/Phi-3-mini-4k-instruct", "microsoft/phi-4", "EleutherAI/pythia-1b",
    "EleutherAI/pythia-6.9b", "allenai/OLMo-2-1124-7B", "ibm-granite/granite-3.1-2b-instruct", "bigcode/starcoder2-3b",
    "Qwen/Qwen1.5-MoE-A2.7B",
)  # fmt: skip
"""What the sweep runs; each has, at its own depth, the number of parameters that the catalog states (`check`)."""
PERIOD = {"gemma-3": 6}
"""Layers after which a family's pattern of layers repeats, where it is more than two."""
EAGER = ("gemma-2",)
"""Families for which Transformers refuses `sdpa` and takes `eager` (their scores are capped)."""
RECOMPUTATIONS = ("none", "full")
ADAPTED = (
    "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen2.5-7B",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen3-8B",
    "mistralai/Mistral-7B-v0.3",
)
SHARDED = ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B", "mistralai/Mistral-7B-v0.3")
OPTIMIZED = ("meta-llama/Llama-3.2-1B", "Qwen/Qwen3-0.6B", "EleutherAI/pythia-1b")
OPTIMIZERS = ("adamw-fused", "adamw-foreach", "adamw-loop", "sgd", "sgd-momentum")


def runs() -> Iterator[Run]:
    """Every run of the sweep, most telling first; sequences stay within what a checkpoint was trained for."""
    rows = traced_models.catalog()
    for run in wanted(rows):
        sequence = min(run.sequence, int(rows[run.checkpoint]["trained_context"]))
        family = rows[run.checkpoint]["family"]
        layers = run.layers and run.layers * PERIOD.get(family, 2) // 2
        attention = "eager" if family in EAGER and run.attention == "sdpa" else run.attention
        yield run._replace(sequence=sequence, layers=layers, attention=attention)


def wanted(rows: Mapping[str, Mapping[str, str]]) -> Iterator[Run]:
    """Runs by what is varied; depths of two and four stand for one and two periods of layers."""
    depths = (2, 4)
    for again, name, layers in product(RECOMPUTATIONS, CHECKPOINTS, depths):
        yield Run(name, layers, recomputation=again)
    for name in CHECKPOINTS:
        yield Run(name, 4, sequence=1024, micro_batch=4)
        yield Run(name, 4, sequence=1024, attention="eager")
        yield Run(name, 4, sequence=8192, attention="flash", recomputation="full")
        yield Run(name, 4, sequence=1024, weight_dtype="float32", autocast="bfloat16")
        yield Run(name, 4, sequence=1024, weight_dtype="float32", autocast="bfloat16", recomputation="full")
        yield Run(name, 4, task="prefill", sequence=4096)
    for name, again, targets in product(ADAPTED, RECOMPUTATIONS, ("qv", "all-linear")):
        yield Run(name, 4, recomputation=again, lora_rank=16, lora_targets=targets)
    for name, again, targets in product(ADAPTED, RECOMPUTATIONS, ("qv", "all-linear")):
        yield Run(name, 4, recomputation=again, autocast="bfloat16", lora_rank=16, lora_targets=targets)
    for name, how in product(OPTIMIZED, OPTIMIZERS):
        yield Run(name, 4, sequence=512, recomputation="full", optimizer=how)
    for name, again in product(CHECKPOINTS, RECOMPUTATIONS):
        yield Run(name, None, recomputation=again)
    for name in CHECKPOINTS:
        yield Run(name, 4, sequence=1024, accumulation=2, recomputation="full")
        yield Run(name, 4, sequence=8192)
        yield Run(name, 2, sequence=1024, weight_dtype="float32", autocast="bfloat16")
        yield Run(name, 2, sequence=1024, attention="eager")
        yield Run(name, 4, sequence=512, weight_dtype="float32")
        yield Run(name, 2, task="prefill", sequence=4096)
    for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B"):
        for again, how in product(RECOMPUTATIONS, OPTIMIZERS[:2]):
            yield Run(name, None, sequence=4096, recomputation=again, optimizer=how)
    for name, again, ranks, dtype in product(SHARDED, RECOMPUTATIONS, ("8", "64"), ("float32", "bfloat16")):
        yield Run(name, None, "training", 4096, 1, "sdpa", again, dtype, optimizer="adamw-loop", fsdp=ranks)
    for name, again in product(ADAPTED, RECOMPUTATIONS):
        yield Run(name, None, recomputation=again, lora_rank=16, lora_targets="all-linear")
        yield Run(name, None, sequence=1024, weight_dtype="float32", autocast="bfloat16", recomputation=again)
    for name, rank, again in product(ADAPTED, (8, 64), RECOMPUTATIONS):
        yield Run(name, 4, recomputation=again, lora_rank=rank, lora_targets="all-linear")


UNSEEN = {
    "unseen-1": (
        "CohereLabs/c4ai-command-r7b-12-2024", "bigscience/bloom-1b1", "mosaicml/mpt-7b", "nvidia/Nemotron-Mini-4B-Instruct",
        "LGAI-EXAONE/EXAONE-4.0-1.2B", "allenai/OLMo-1B-hf", "allenai/Olmo-3-1025-7B", "ibm-granite/granite-3.0-1b-a400m-base",
        "baidu/ERNIE-4.5-0.3B-PT", "arcee-ai/AFM-4.5B", "swiss-ai/Apertus-8B-2509", "EleutherAI/gpt-neo-1.3B",
        "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V2-Lite",
    ),
    "unseen-2": (
        "tiiuae/falcon-7b", "ByteDance-Seed/Seed-OSS-36B-Instruct", "EleutherAI/gpt-j-6b", "tencent/Hunyuan-A13B-Instruct",
        "baidu/ERNIE-4.5-21B-A3B-PT", "bigcode/gpt_bigcode-santacoder",
    ),
    "unseen-3": (
        "microsoft/Phi-mini-MoE-instruct", "zai-org/GLM-4.5-Air", "MiniMaxAI/MiniMax-M2.5", "databricks/dbrx-base",
    ),
}  # fmt: skip
"""Families of three rounds, named before they were traced; each was traced after what the one before showed was mended."""


def unseen(split: str) -> Iterator[Run]:
    """Fifteen runs of each checkpoint of a round; a depth of four holds whole periods of every family."""
    rows = traced_models.catalog()
    for name in UNSEEN[split]:
        once = Run(name, 4, attention="default", sequence=1024)
        every = (
            *(once._replace(sequence=2048, recomputation=again) for again in RECOMPUTATIONS),
            once._replace(micro_batch=4),
            once._replace(attention="eager"),
            once._replace(sequence=8192, attention="flash", recomputation="full"),
            *(once._replace(weight_dtype="float32", autocast="bfloat16", recomputation=a) for a in RECOMPUTATIONS),
            once._replace(sequence=512, weight_dtype="float32"),
            once._replace(accumulation=2, recomputation="full"),
            *(once._replace(lora_rank=16, lora_targets="all-linear", recomputation=again) for again in RECOMPUTATIONS),
            *(once._replace(sequence=512, recomputation="full", optimizer=how) for how in ("adamw-foreach", "sgd")),
            *(once._replace(layers=None, sequence=2048, recomputation=again) for again in RECOMPUTATIONS),
        )
        for run in every:
            yield run._replace(sequence=min(run.sequence, int(rows[name]["trained_context"])))


def sharded() -> Iterator[Run]:
    """Steps over many ranks, of eight layers; the vocabulary outweighs them where sequences are short."""
    names = ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B", "google/gemma-7b", "Qwen/Qwen3-8B")
    dtypes, sequences = ("float32", "bfloat16"), (4096, 512)
    once = Run("", 8, optimizer="adamw-loop", fsdp="8")
    varied = product(names, RECOMPUTATIONS, sequences)
    for (name, again, sequence), dtype, how in product(varied, dtypes, ("8", "2", "64", "2x8", "8 kept")):
        yield once._replace(checkpoint=name, recomputation=again, sequence=sequence, weight_dtype=dtype, fsdp=how)
    for (name, again, sequence), accumulated in product(product(names, RECOMPUTATIONS, sequences), (False, True)):
        run = once._replace(checkpoint=name, recomputation=again, sequence=sequence)
        yield run._replace(accumulation=2) if accumulated else run._replace(lora_rank=16, lora_targets="all-linear")


# ---- rows


def split_of(checkpoint: str, family: str) -> str:
    """Whether anything was fitted on a checkpoint, or looked at before it was traced."""
    rounds = (split for split, names in UNSEEN.items() if checkpoint in names)
    return next(rounds, "held-out" if family in HELD_OUT else "fitted")


def row_of(run: Run, reading: Reading, row: Mapping[str, str]) -> dict[str, object]:
    """One line of the table."""
    depth = run.layers or int(row["layers"])
    peaks = {phase: reading.peaks.get(phase, (0, Parts()))[0] for phase in live_bytes.PHASES}
    highest = max(live_bytes.PHASES, key=lambda phase: peaks[phase])
    return {
        **run._asdict(),
        "layers": depth,
        "family": row["family"],
        "split": split_of(run.checkpoint, row["family"]),
        "parameters": reading.parameters,
        "trainable_parameters": reading.trainable,
        "kv_cache_bytes": reading.kv_cache_bytes,
        "peak_phase": highest,
        "peak_bytes": peaks[highest],
        **{f"{phase}_peak_bytes": peaks[phase] for phase in live_bytes.PHASES},
        "after_forward_bytes": sum(reading.saved.values()),
        **_parts("saved", reading.saved),
        **_parts("peak", reading.peaks[highest][1]),
        "torch": torch.__version__.partition("+")[0],
        "transformers": transformers.__version__,
        "peft": metadata.version("peft"),
        "date": datetime.date.today().isoformat(),
    }


def _parts(of: str, live: Parts) -> dict[str, object]:
    roles, kinds, modules = (
        live_bytes.ROLES if of == "peak" else live_bytes.ROLES[:7],
        live_bytes.KINDS,
        live_bytes.MODULES,
    )
    parts: dict[str, object] = {f"{of}_{role}": sum(n for key, n in live.items() if key[0] == role) for role in roles}
    for at, names in ((1, kinds), (2, modules)):
        title = "op" if at == 1 else "in"
        parts |= {
            f"{of}_{title}_{name}": sum(n for key, n in live.items() if key[0] == "saved" and key[at] == name)
            for name in names
        }
    return parts


def sweep(wished: Iterable[Run], out: Path) -> None:
    """Make every run that the table does not hold yet, and write each as it comes."""
    known_rows, done = [], set()
    if out.exists():
        with out.open(encoding="utf-8", newline="") as file:
            known_rows = list(csv.DictReader(file))
        done = {tuple(row[name] for name in Run._fields) for row in known_rows}
    rows = traced_models.catalog()
    for run in wished:
        row = rows[run.checkpoint]
        key = tuple(str(value) for value in run._replace(layers=run.layers or int(row["layers"])))
        if key in done:
            continue
        done.add(key)
        try:
            line = row_of(run, read(run, row), row)
        except Exception as error:  # one model that a release cannot trace must not end the sweep
            print(f"FAILED {run}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        finally:
            gc.collect()
        _append(out, line)
        print(f"{line['peak_bytes'] / 2**30:8.3f} GiB {line['peak_phase']:<9}{' '.join(key)}", flush=True)  # type: ignore[operator]


def _append(out: Path, line: Mapping[str, object]) -> None:
    new = not out.exists()
    with out.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(line), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


# ---- deeper than was run


def extrapolated(rows: Sequence[Mapping[str, str]], layers: int) -> dict[str, float]:
    """Each phase's peak at another depth, from two runs that differ in depth only.

    peak(L) = peak(L₁) + (peak(L₂) − peak(L₁)) / (L₂ − L₁) · (L − L₁), phase by phase; the highest phase may be another
    one then. `show` finds it within 0.02 % at every checkpoint's own depth.
    """
    shallow, deep = sorted(rows, key=lambda row: int(row["layers"]))
    steps = (layers - int(shallow["layers"])) / (int(deep["layers"]) - int(shallow["layers"]))
    names = [f"{phase}_peak_bytes" for phase in live_bytes.PHASES]
    return {name: int(shallow[name]) + steps * (int(deep[name]) - int(shallow[name])) for name in names}


def show(path: Path) -> None:
    """Print, for each run at a checkpoint's own depth, its peak and what its shallow runs say of it."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    depths, alike = traced_models.catalog(), [name for name in Run._fields if name != "layers"]
    for row in rows:
        layers = int(row["layers"])
        if layers != int(depths[row["checkpoint"]]["layers"]):
            continue
        shallow = [one for one in rows if int(one["layers"]) < layers and all(one[n] == row[n] for n in alike)][:2]
        if len(shallow) == 2:
            peak, guess = int(row["peak_bytes"]), max(extrapolated(shallow, layers).values())
            print(
                f"{peak / 2**30:8.3f} GiB {guess / peak - 1:+7.2%}  {row['checkpoint']} {row['recomputation']} {row['sequence']}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("do", choices=("sweep", *SWEEPS, "show"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = arguments.out or RESULTS.with_name(SWEEPS.get(arguments.do, RESULTS.name))
    if arguments.do == "show":
        return show(out)
    wished = unseen(arguments.do) if arguments.do in UNSEEN else sharded() if arguments.do == "sharded" else runs()
    return sweep(wished, out)


SWEEPS = {**dict.fromkeys(UNSEEN, "unseen_tensors.csv"), "sharded": "sharded_tensors.csv"}
"""Further sweeps, and where their rows are."""


if __name__ == "__main__":
    main()
