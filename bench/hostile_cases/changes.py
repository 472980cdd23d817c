"""Hostile pull requests: what a change adds, hides, moves or waives, and what must follow from it."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_cases import edits, exemptions, gates
from hostile_cases.model import (
    CHECKED,
    CLEAN,
    ENDS,
    REFUSED,
    Change,
    one,
)
from hostile_cases.specs import (
    HARMLESS,
    POD,
    RIGHT,
    TERRAFORM,
    TOO_WIDE,
)
from hostile_cases.states import NOTHING, RIGHT_POD, WRONG_POD

HARDWARE = "hardware"
POOL = (
    TERRAFORM.replace("g2-standard-12", "a3-highgpu-8g")
    .replace("nvidia-l4", "nvidia-h100-80gb")
    .replace("count = 2", "count = 8")
    .replace("node_config", "node_count = 4\n  node_config", 1)
)
SILENCE = ("no change in GPUs, cost or power\n", "nothing here concerns GPUs")
AUTOSCALED = POOL.replace("node_count = 4", "autoscaling { max_node_count = 4 }")
GROUPS = 'resource "aws_autoscaling_group" "x" {\n  min_size = 0\n  max_size = 4\n  launch_template {\n    id = aws_launch_template.x.id\n  }\n}\nresource "aws_launch_template" "x" {\n  instance_type = "p5.48xlarge"\n}\n'
VARIABLES = POOL.replace("= 4\n", "= var.nodes\n")
ARGUMENTS_FILE = b"model: Qwen/Qwen3-8B\ntensor-parallel-size: 4\n"
POOLS: tuple[Change, ...] = (
    Change(
        "terraform-32-to-128",
        HARDWARE,
        ENDS,
        one("main.tf", POOL.encode()),
        one("main.tf", POOL.replace("node_count = 4", "node_count = 16").encode()),
        absent=SILENCE,
    ),
    Change(
        "terraform-autoscaling",
        HARDWARE,
        ENDS,
        one("main.tf", AUTOSCALED.encode()),
        one("main.tf", AUTOSCALED.replace("= 4 }", "= 16 }").encode()),
        absent=SILENCE,
    ),
    Change(
        "terraform-group",
        HARDWARE,
        ENDS,
        one("main.tf", GROUPS.encode()),
        one("main.tf", GROUPS.replace("max_size = 4", "max_size = 16").encode()),
        absent=SILENCE,
    ),
    Change(
        "terraform-variable",
        HARDWARE,
        ENDS,
        lambda: {"main.tf": VARIABLES.encode(), "x.tfvars": b"nodes = 4\n"},
        one("x.tfvars", b"nodes = 16\n"),
        absent=SILENCE,
    ),
    Change(
        "arguments-file",
        HARDWARE,
        ENDS,
        one("args.yaml", ARGUMENTS_FILE),
        one("args.yaml", ARGUMENTS_FILE.replace(b": 4", b": 8")),
        absent=SILENCE,
    ),
)


def list_changes() -> Iterator[Change]:
    """Yield every pull request: those that add one of the inputs, and those that change a repository."""
    yield from _additions()
    for changes in (
        edits.EDITS,
        exemptions.list_changes(),
        edits.PLACES,
        _names(),
        _git(),
        POOLS,
        _harmless(),
        _misuse(),
    ):
        yield from changes


def _additions() -> Iterator[Change]:
    """Yield one pull request for each input that a reader may pass over; half of them over a right file of that name."""
    for case in gates.list_cases():
        if not case.gate or case.name in BIG:
            continue
        yield Change(f"add-{case.name}", case.way, case.expected, NOTHING, case.files, case.rule, absent=case.absent)


BIG = frozenset(
    {
        "fifty-megabytes",
        "spaces-yaml",
        "blank-lines-yaml",
        "value-json",
        "padding-json",
        "600000-first",
        "flow-maps-20000",
    }
)
"""Inputs that are tried by name alone, because they differ from a neighbour only there."""


def _names() -> Iterator[Change]:
    way = "names"
    for name, path in {
        "newline": "a\nb.yaml", "quotes": "a\"'`$(x).yaml", "dashes": "--exit-zero.yaml", "glob": ":(glob)*.yaml", "tab": "a\tb.yaml",
        "bidi": "a\u202eb.yaml", "escape": "a\x1b[2Jb.yaml", "commands": "::error::x.yaml", "spaces": " .yaml", "long": "n" * 240 + ".yaml",
        "not-utf-8": "a\udcff.yaml", "backslash": "a\\b.yaml", "dots": "...yaml", "star": "*.yaml", "colon": "HEAD:x.yaml",
    }.items():  # fmt: skip
        yield Change(f"name-{name}", way, CHECKED, NOTHING, one(path, POD.encode()), TOO_WIDE)


def _git() -> Iterator[Change]:
    way = "git"
    for prepare in (
        "merge",
        "shallow",
        "hooks",
        "attributes_filter",
        "working_tree_encoding",
        "replace_refs",
        "executable_mode",
        "case_twins",
        "branch_names",
        "annotated_tag",
        "packed",
        "worktree_differs",
        "unrelated_index",
    ):
        yield Change(prepare.replace("_", "-"), way, CHECKED, RIGHT_POD, WRONG_POD, TOO_WIDE, prepare=prepare)
    yield Change("unrelated-history", way, REFUSED, RIGHT_POD, WRONG_POD, prepare="unrelated_history")


def _harmless() -> Iterator[Change]:
    way = "harmless neighbours"
    yield Change("only-words", way, CLEAN, WRONG_POD, one("README.md", b"# GPUs\n"))
    yield Change("already-wrong", way, CLEAN, WRONG_POD, one("words.yaml", HARMLESS.encode()))
    yield Change("moved", way, CLEAN, WRONG_POD, lambda: {"pod.yaml": None, "apps/pod.yaml": POD.encode()})
    yield Change("removed", way, CLEAN, WRONG_POD, one("pod.yaml", None))
    yield Change("mended", way, CLEAN, WRONG_POD, RIGHT_POD)
    yield Change("line-ends", way, CLEAN, WRONG_POD, one("pod.yaml", POD.replace("\n", "\r\n").encode()))
    yield Change("comments", way, CLEAN, WRONG_POD, one("pod.yaml", f"# a word\n{POD}".encode()))
    yield Change("broken-and-removed", way, CLEAN, one("pod.yaml", b"a: [\x00"), one("pod.yaml", None))
    yield Change(
        "broken-elsewhere", way, CLEAN, one("old.yaml", f"{POD}x: [\n".encode()), one("words.yaml", HARMLESS.encode())
    )
    yield Change("image-file", way, CLEAN, RIGHT_POD, one("logo.png", b"\x89PNG\r\n\0\0"))
    yield Change("package-file", way, CLEAN, RIGHT_POD, one("package.json", b'{"name": "x"}'))
    yield Change(
        "right-to-right", way, CLEAN, RIGHT_POD, one("pod.yaml", RIGHT.replace("gpu: 4", "gpu: 4 # four").encode())
    )
    yield Change("empty", way, CLEAN, RIGHT_POD, dict)


def _misuse() -> Iterator[Change]:
    way = "misuse"
    yield Change("policy-of-nowhere", way, REFUSED, RIGHT_POD, WRONG_POD, words=("--policy-from", "nowhere"))
    yield Change("policy-of-option", way, REFUSED, RIGHT_POD, WRONG_POD, words=("--policy-from", "--all"))
    yield Change("head-of-nowhere", way, REFUSED, RIGHT_POD, WRONG_POD, words=("--head", "HEAD^{/x}"))
