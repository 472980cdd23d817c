"""CPU seconds of one check as its input grows, and the exponent of the growth.

    python bench/growth.py [KIND ...] [--sizes 1000,2000,5000,10000,20000] [--most 1.1]

Each kind of input is a function that writes an input of a size into an empty folder. `gpulint check` reads it in a
process of its own, whose user and system time are measured (wait4), less the time of the same kind at size 1. The exponent is
the slope of a straight line through the logarithms of size and time. Each time is the least of three runs. A larger
exponent than `--most` is marked, with exit code 1.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speed import spent

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
COPIES = (80, 160, 320)
MOST = 1.1
SHORTEST_S = 0.05
"""A time below this says nothing about growth: it is printed, but no exponent is fitted through it."""
RUNS = 3
COMMAND = "import sys; from gpulint.cli import main; sys.exit(main())"

WRONG = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat-NUMBER}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat-NUMBER}}
  template:
    metadata: {labels: {app: chat-NUMBER}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.0
          args: [--model, meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size, "1"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-NUMBER}\ndata: {number: 'NUMBER'}\n"
BATCH = """\
apiVersion: batch/v1
kind: Job
metadata: {name: batch-NUMBER}
spec: {template: {spec: {containers: [{name: main, image: busybox}]}}}
"""

Write = Callable[[Path, int], None]


class Kind(NamedTuple):
    """A kind of input: what writes it, and its sizes if they are its own."""

    write: Write
    sizes: Sequence[int] = ()


def write_copies(folder: Path, size: int) -> None:
    """Write one wrong object many times, each under a name of its own."""
    _write_stream(folder, (WRONG.replace("NUMBER", str(number)) for number in range(size)))


def write_same_copies(folder: Path, size: int) -> None:
    """Write one wrong object many times under the same name."""
    _write_stream(folder, (WRONG for _ in range(size)))


def write_different_objects(folder: Path, size: int) -> None:
    """Write many wrong objects, no two of which ask for the same."""
    objects = (WRONG.replace("NUMBER", str(number)).replace("as: 1", f"as: {number + 1}") for number in range(size))
    _write_stream(folder, objects)


def write_documents(folder: Path, size: int) -> None:
    """Write a stream of small objects beside one that asks for GPUs."""
    _write_stream(folder, [WRONG, *(SETTINGS.replace("NUMBER", str(number)) for number in range(size - 1))])


def write_jobs(folder: Path, size: int) -> None:
    """Write a stream of objects that an adapter reads beside one that asks for GPUs."""
    _write_stream(folder, [WRONG, *(BATCH.replace("NUMBER", str(number)) for number in range(size - 1))])


def write_waivers(folder: Path, size: int) -> None:
    """Write waivers that cannot be read above an object that asks for GPUs."""
    _write(folder, "".join(f"# gpulint: ignore[weights {number}\n" for number in range(size)) + WRONG)


def write_unused_waivers(folder: Path, size: int) -> None:
    """Write waivers that suppress nothing, each beside a value."""
    data = "".join(f"  key-{number}: 1  # gpulint: ignore[weights-exceed-memory] reason\n" for number in range(size))
    _write_stream(folder, [WRONG, SETTINGS.replace("data: {number: 'NUMBER'}", "data:") + data])


def write_hints(folder: Path, size: int) -> None:
    """Write hints that cannot be read."""
    _write(folder, "".join(f"# gpulint: accelerator-{number}=l4\n" for number in range(size)) + WRONG)


def write_findings(folder: Path, size: int) -> None:
    """Write keys that are stated twice, each a finding."""
    data = "".join(f"  key-{number}: {{a: 1, a: 2}}\n" for number in range(size))
    _write_stream(folder, [WRONG, SETTINGS.replace("data: {number: 'NUMBER'}", "data:") + data])


def write_variables(folder: Path, size: int) -> None:
    """Write environment variables of one container."""
    variables = "".join(f"            - {{name: SETTING_{number}, value: 'x'}}\n" for number in range(size))
    _write(folder, f"{WRONG}          env:\n{variables}")


def write_arguments(folder: Path, size: int) -> None:
    """Write arguments of one server that no release has."""
    words = "".join(f", --unknown-{number}" for number in range(size))
    _write(folder, WRONG.replace('"1"]', f'"1"{words}]'))


def write_containers(folder: Path, size: int) -> None:
    """Write containers of one pod."""
    further = "".join(f"        - {{name: side-{number}, image: busybox}}\n" for number in range(size))
    _write(folder, f"{WRONG}{further}")


def write_list(folder: Path, size: int) -> None:
    """Write the objects of one list."""
    items = "".join(
        f"  - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}\n" for number in range(size)
    )
    _write(folder, f"{WRONG}---\napiVersion: v1\nkind: List\nitems:\n{items}")


def write_aliases(folder: Path, size: int) -> None:
    """Write aliases of one value."""
    data = "".join(f"  key-{number}: *one\n" for number in range(size))
    _write_stream(folder, [WRONG, SETTINGS.replace("{number: 'NUMBER'}", "\n  first: &one {a: 1}") + data])


def write_script(folder: Path, size: int) -> None:
    """Write commands of a script before its last one, a launcher."""
    lines = "".join(f"STEP_{number}=$((STEP + {number}))\necho step $STEP_{number}\n" for number in range(size))
    text = f"#!/bin/bash\n#SBATCH --gpus-per-node=8\n{lines}srun torchrun --nproc-per-node 4 train.py\n"
    (folder / "train.sbatch").write_text(text)


def write_terraform(folder: Path, size: int) -> None:
    """Write blocks of Terraform beside a node pool with GPUs."""
    blocks = "".join(f'variable "v{number}" {{\n  default = {number}\n}}\n' for number in range(size))
    pool = 'resource "google_container_node_pool" "a" {\n  node_config {\n    machine_type = "a3-highgpu-8g"\n  }\n}\n'
    (folder / "main.tf").write_text(blocks + pool)


KINDS: Mapping[str, Kind] = {
    "copies": Kind(write_copies, COPIES),
    "same-copies": Kind(write_same_copies, COPIES),
    "different-objects": Kind(write_different_objects, (20, 40, 80)),
    "documents": Kind(write_documents),
    "jobs": Kind(write_jobs),
    "waivers": Kind(write_waivers),
    "unused-waivers": Kind(write_unused_waivers),
    "hints": Kind(write_hints),
    "findings": Kind(write_findings),
    "variables": Kind(write_variables),
    "arguments": Kind(write_arguments),
    "containers": Kind(write_containers),
    "list": Kind(write_list),
    "aliases": Kind(write_aliases),
    "script": Kind(write_script),
    "terraform": Kind(write_terraform),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=[[], *KINDS], help=", ".join(KINDS))
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=())
    parser.add_argument("--most", type=float, default=MOST, help="the largest exponent that is accepted")
    options = parser.parse_args(arguments)
    exceeded = [name for name in options.kinds or KINDS if _measure(name, options.sizes) > options.most]
    print(f"above {options.most}: {', '.join(exceeded) or 'none'}")
    return 1 if exceeded else 0


def _measure(name: str, sizes: Sequence[int]) -> float:
    """Print the times of one kind, and return the exponent of their growth."""
    kind = KINDS[name]
    least = _time(kind, 1)
    times = {size: _time(kind, size) - least for size in sizes or kind.sizes or SIZES}
    exponent = fit_exponent(times)
    shown = "  ".join(f"{size:,}: {seconds:.2f} s" for size, seconds in times.items())
    print(f"{name:18} exponent {exponent:.2f}   1: {least:.2f} s  {shown}", flush=True)
    return exponent


def fit_exponent(times: Mapping[int, float]) -> float:
    """Return the slope of a straight line through the logarithms of size and time; 0 for times too short to tell."""
    long = {size: seconds for size, seconds in times.items() if seconds >= SHORTEST_S}
    if len(long) < 2:
        return 0.0
    logarithms = [math.log(size) for size in long], [math.log(seconds) for seconds in long.values()]
    return statistics.linear_regression(*logarithms).slope


def _time(kind: Kind, size: int) -> float:
    """Return the least user and system seconds of a check of one input."""
    with tempfile.TemporaryDirectory() as folder:
        kind.write(Path(folder), size)
        run = [sys.executable, "-c", COMMAND, "check", ".", "--output", "json"]
        return min(spent(run, Path(folder)).cpu_s for _ in range(RUNS))


def _write(folder: Path, text: str) -> None:
    (folder / "spec.yaml").write_text(text)


def _write_stream(folder: Path, objects: Iterable[str]) -> None:
    _write(folder, "---\n".join(objects))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
