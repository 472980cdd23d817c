"""Inputs of many objects, arguments, words and commands, and files that may break the reading of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    NOTED,
    Case,
    Files,
    one,
    several,
)
from hostile_cases.specs import (
    HARMLESS,
    LARGE,
    POD,
    SCRIPT,
    TOO_LARGE,
    TOO_WIDE,
    nest,
)


def list_cases() -> Iterator[Case]:
    """Yield large inputs."""
    for cases in (_objects_with_suggestions(), _repeated_parts(), _beside_others(), _patterns(), _shell_growth()):
        yield from cases


def _objects_with_suggestions() -> Iterator[Case]:
    way = "growth"

    def copies(count: int) -> str:
        return "---\n".join(POD.replace("name: chat", f"name: chat-{at}") for at in range(count))

    yield Case("80-wrong-objects", way, CHECKED, lambda: {"pod.yaml": copies(80).encode()}, TOO_WIDE)
    yield Case("400-wrong-objects", way, CAUGHT, lambda: {"pod.yaml": copies(400).encode()})
    large = "---\n".join(LARGE.replace("name: chat", f"name: chat-{at}") for at in range(80))
    yield Case("80-objects-with-suggestions", way, CAUGHT, one("pod.yaml", large.encode()))
    yield Case(
        "80-same-with-suggestions", way, CHECKED, one("pod.yaml", "---\n".join([LARGE] * 80).encode()), TOO_LARGE
    )
    role = "    - {name: r, engine: vllm, checkpoint: Qwen/Qwen3-8B, accelerator: h100-sxm-80gb, gpus_per_pod: 1, max_model_len: 8192}\n"
    service = "apiVersion: gpulint/v1\nkind: InferenceService\nmetadata: {name: x}\nspec:\n"
    service += "  objective: {requests-per-s: 80, prompt-tokens: 2000, output-tokens: 300}\n  roles:\n" + role * 40
    yield Case("40-roles-with-suggestions", way, CAUGHT + "|noted", one("spec.yaml", service.encode()))
    head, body = LARGE.split("        - name: vllm\n")
    container, tail = body.split("      volumes:")
    many = head + "".join(f"        - name: vllm-{at}\n{container}" for at in range(40)) + f"      volumes:{tail}"
    yield Case("40-containers-with-suggestions", way, CHECKED, one("pod.yaml", many.encode()), TOO_LARGE)
    spread = {f"apps/pod-{at}.yaml": LARGE.replace("name: chat", f"name: chat-{at}").encode() for at in range(40)}
    yield Case("40-files-with-suggestions", way, CHECKED, several(spread), TOO_LARGE, words=("check", "."))


def _repeated_parts() -> Iterator[Case]:
    way = "growth"
    same = "---\n".join([POD] * 80)
    yield Case("80-same-objects", way, CHECKED, one("pod.yaml", same.encode()), TOO_WIDE)
    yield Case("64-containers", way, CHECKED, lambda: {"pod.yaml": _containers(64).encode()}, TOO_WIDE)
    yield Case(
        "5000-waivers", way, CHECKED, lambda: {"pod.yaml": ("# gpulint: ignore[\n" * 5000 + POD).encode()}, TOO_WIDE
    )
    yield Case("5000-hints", way, CAUGHT, lambda: {"pod.yaml": ("# gpulint: gpus=\n" * 5000 + POD).encode()})
    yield Case(
        "20000-arguments",
        way,
        CAUGHT,
        lambda: {"pod.yaml": POD.replace('args: ["', 'args: ["' + '--x=1", "' * 20_000).encode()},
    )
    yield Case(
        "20000-variables",
        way,
        CAUGHT,
        lambda: {
            "pod.yaml": POD.replace(
                "      resources", "      env: [" + "{name: A, value: b}, " * 20_000 + "]\n      resources"
            ).encode()
        },
    )
    yield Case(
        "argument-of-4-megabytes",
        way,
        CAUGHT,
        lambda: {"pod.yaml": POD.replace("--model=Qwen", "--model=" + "q" * 4_000_000).encode()},
    )
    yield Case(
        "label-of-1-megabyte",
        way,
        CAUGHT,
        lambda: {"pod.yaml": POD.replace("name: chat", "name: " + "c" * 1_000_000).encode()},
    )
    yield Case("2000-scripts-of-one-library", way, CHECKED, _sourcing, words=("check", "."))
    yield Case(
        "5000-files",
        way,
        CHECKED,
        lambda: {**{f"d{n % 50}/f{n}.yaml": HARMLESS.encode() for n in range(5000)}, "pod.yaml": POD.encode()},
        words=("check", "."),
    )


def _containers(count: int) -> str:
    head, body = POD.split("    - name: vllm\n")
    container, tail = body.split("  volumes:")
    return head + "".join(f"    - name: vllm-{at}\n{container}" for at in range(count)) + "  volumes:" + tail


def _sourcing() -> dict[str, bytes]:
    scripts = {f"jobs/j{at}.sh": b"#!/bin/bash\nsource ../lib.sh\nrun_it\n" for at in range(2000)}
    return {
        **scripts,
        "lib.sh": b"run_it() { vllm serve x --tensor-parallel-size 2; }\n",
        "run.sbatch": SCRIPT.encode(),
    }


def _beside_others() -> Iterator[Case]:
    """Yield wrong scripts and pods beside a file that may break the reading of the whole repository."""
    way = "beside others"
    deep = "# gpu\n" + 'a "b" "c" {\n' * 150 + "x = 1\n" + "}\n" * 150
    others = {
        "deep-blocks.tf": deep.encode(),
        "deep.yaml": f"kind: x\ngpu: {nest(300)}\n".encode(),
        "laughs.yaml": b"kind: NodePool\na: &a [gpu]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (at, at) for at in range(100)),
        "nul.yaml": b"kind: NodePool\0\n",
        "broken.tf": b'resource "aws_instance" "x" {\n',
        "loop.yaml": b"kind: Service\nme: &me [*me]\n",
        "digits.tf": b'resource "google_container_node_pool" "x" { node_count = ' + b"9" * 5000 + b" }\n",
        "lists.yaml": b"kind: [a]\napiVersion: {b: c}\nmetadata: []\nspec: 1\n",
    }  # fmt: skip
    for name, content in others.items():
        beside: Files = {"run.sbatch": SCRIPT.encode(), "pod.yaml": POD.encode(), name: content}
        yield Case(f"beside-{name}", way, CHECKED, several(beside), TOO_WIDE, words=("check", "run.sbatch", "pod.yaml"))


def _patterns() -> Iterator[Case]:
    way = "patterns"
    yield Case(
        "crlf-percent",
        way,
        CAUGHT,
        one("pod.yaml", ("# a comment\r\n" * 24 + "%\r\n---\r\n" + POD.replace("\n", "\r\n")).encode()),
    )
    yield Case("crlf-percent-2000", way, CAUGHT, one("pod.yaml", ("# a comment\r\n" * 2000 + "%x\r\n" + POD).encode()))
    spaces = " " * 100_000
    for name, first in {
        "comments": "# a comment\r\n",
        "empty": "#\r\n",
        "spaces": "  # a  \r\n",
        "blank": "\r\n",
    }.items():
        lines = first * 40 + "%\r\na: b\r\n---\r\n"
        text = POD.replace("\n", "\r\n")
        yield Case(f"crlf-percent-{name}", way, CAUGHT, one("pod.yaml", (lines + text).encode()))
        yield Case(f"crlf-percent-{name}-later", way, CAUGHT, one("pod.yaml", f"{text}---\r\n{lines}{text}".encode()))
    texts = {
        "spaces-in-value": POD.replace("name: chat", f"name: 'chat{spaces}x'"),
        "image-of-colons": POD.replace("v0.10.1", ":" * 50_000),
        "image-of-slashes": POD.replace("vllm/vllm-openai", "a/" * 50_000 + "vllm"),
        "checkpoint-of-dashes": POD.replace("Qwen/Qwen3-8B", "Qwen/" + "8-" * 30_000 + "B"),
        "checkpoint-of-digits": POD.replace("Qwen/Qwen3-8B", "q/" + "8" * 50_000 + "x"),
        "quantity": POD.replace("gpu: 4", "gpu: 4\n          memory: " + "1" * 50_000 + "Qi"),
        "percent-signs": POD.replace("name: chat", "name: '" + "%" * 50_000 + "'"),
        "open-templates": POD.replace("name: chat", "name: '" + "{{" * 50_000 + "'"),
        "open-parameters": POD.replace("Qwen/Qwen3-8B", "${" * 30_000),
        "open-parentheses": POD.replace("Qwen/Qwen3-8B", "$(" * 30_000),
        "json-argument": POD.replace("--model=Qwen/Qwen3-8B", "--override-x=" + "{'a':" * 20_000),
        "dots": POD.replace("--model=Qwen/Qwen3-8B", "--" + "a." * 50_000 + "=1"),
        "dashes": POD.replace("--model=Qwen/Qwen3-8B", "-" * 100_000),
        "selector-of-100000": POD.replace("spec:", "spec:\n  nodeSelector: {x: '" + "nvidia-" * 30_000 + "'}", 1),
        "backslashes": POD.replace("Qwen/Qwen3-8B", "\\\\" * 50_000),
    }  # fmt: skip
    hinted = POD.replace("name: chat", f"name: chat{spaces}# gpulint: gpus=8")
    # A hint that contradicts its file is a warning in a plain check; only the gate makes it an error.
    yield Case("spaces-before-comment", way, NOTED, one("pod.yaml", hinted.encode()))
    for name, text in texts.items():
        yield Case(name, way, CAUGHT, one("pod.yaml", text.encode()))


def _shell_growth() -> Iterator[Case]:
    way = "shell"
    doubling = "a=xxxxxxxx\n" + "".join(
        f"{x}=${y}${y}${y}${y}\n" for x, y in zip("bcdefghijklmnop", "abcdefghijklmno", strict=True)
    )
    texts = {
        "doubling": f"{doubling}echo $p\n",
        "braces": "for i in {1..100000000}; do echo $i; done\n",
        "nested-braces": "echo " + "{a,b}" * 40 + "\n",
        "sequence": "for i in $(seq 1 10000000000); do :; done\n",
        "self-reference": 'A="$A$A"; A="$A$A"; B=$C; C=$B; echo $B\n',
        "arithmetic": "x=$((9**9**9)); y=$((1<<99999999999)); z=$((1/0)); echo $x\n",
        "nested-arithmetic": "x=$((" + "(" * 5000 + "1" + ")" * 5000 + "))\n",
        "functions": "f() { g; }; g() { f; }; f\n",
        "here-documents": "".join(f"cat <<E{at}\nwords\nE{at}\n" for at in range(2000)),
        "cases": "case $x in " + "a) :;; " * 5000 + "esac\n",
        "loops": "".join(f"for i{at} in 1 2 3 4 5 6 7 8 9; do\n" for at in range(12)) + "vllm serve x\n" + "done\n" * 12,
        "the-same-command-twice": "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8\n",
        "sources-itself": "source ./run.sbatch\n. run.sbatch\n",
        "20000-assignments": "".join(f"v{at}=$v{at - 1}x\n" for at in range(20_000)),
        "20000-commands": "srun true\n" * 20_000,
        "2000-branches": "if $a; then x=1; else x=2; fi\n" * 2000,
        "pattern-substitution": "x=" + "a" * 20_000 + "; y=${x//a*a*a*a*b/}; echo $y\n",
    }  # fmt: skip
    for name, text in texts.items():
        yield Case(name, way, CAUGHT, one("run.sbatch", (SCRIPT + text).encode()))
