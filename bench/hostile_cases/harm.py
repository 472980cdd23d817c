"""Inputs that try to crash, stall, execute, read outside, or write into what reads the report; and harmless neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    CLEAN,
    ENDS,
    EXECUTED,
    NOTED,
    OUTSIDE,
    REFUSED,
    Case,
    Files,
    Link,
    files,
    one,
    several,
)
from hostile_cases.specs import (
    HARMLESS,
    LARGE,
    POD,
    RIGHT,
    RIGHT_SCRIPT,
    RIGHT_TERRAFORM,
    RIGHT_TRAINER,
    SCRIPT,
    TERRAFORM,
    TOO_LARGE,
    TOO_WIDE,
    TRAINER,
    nest,
    pod_object,
    with_extra,
)

HUGE = (
    "99999999999",
    "2147483648",
    "9223372036854775808",
    "1e308",
    "1e999",
    ".inf",
    ".nan",
    "-4",
    "0x10",
    "'' ",
    "~",
    "[4]",
    "{a: 4}",
    "9" * 4301,
)
"""What a careless reader takes for a number."""
FORMATS = ("checkstyle", "concise", "github", "gitlab", "json", "junit", "markdown", "rdjson", "sarif", "text")
EVIL = "x\x1b]0;owned\x07\x1b[31m ]]><script>alert(1)</script> \"'&lt; <!-- --> | `t` ![i](http://e.example/x) @octocat \u202etxt\u2066 ::error::owned"
"""Words that are markup in some format."""


def list_cases() -> Iterator[Case]:
    """Yield every case of this module."""
    for cases in (
        _numbers(), _empty_values(), _growth(), _beside_others(), _patterns(), _shell_growth(), _words_in_reports(), _paths_in_reports(),
        _execution(), _reading_outside(), _overrides(), _policies(), _harmless(), _misuse(),
    ):  # fmt: skip
        yield from cases


def _numbers() -> Iterator[Case]:
    way = "numbers"
    for at, number in enumerate(HUGE):
        text = POD.replace("gpu: 4", f"gpu: {number}")
        yield Case(f"gpus-{at}", way, ENDS, one("pod.yaml", text.encode()))
    flags = (
        "pipeline-parallel-size",
        "data-parallel-size",
        "max-model-len",
        "max-num-seqs",
        "block-size",
        "gpu-memory-utilization",
    )
    for at, flag in enumerate(flags):
        text = POD.replace(
            '"--tensor-parallel-size=8"', f'"--tensor-parallel-size=8", "--{flag}={(10**11, 2**31, 1000003)[at % 3]}"'
        )
        yield Case(f"argument-{flag}", way, CAUGHT, one("pod.yaml", text.encode()))
    yield Case(
        "argument-4301-digits", way, CAUGHT, one("pod.yaml", POD.replace("size=8", "size=" + "8" * 4301).encode())
    )
    yield Case(
        "argument-nan",
        way,
        ENDS,
        one("pod.yaml", POD.replace("--tensor-parallel-size=8", "--gpu-memory-utilization=nan").encode()),
    )
    deployment = POD.replace("v1\nkind: Pod", "apps/v1\nkind: Deployment").split("spec:", 1)
    body = "".join(f"    {line}\n" for line in f"spec:{deployment[1]}".splitlines())
    for number in ("2147483648", "9" * 30, "-1", "1.5", ".nan", "true"):
        text = f"{deployment[0]}spec:\n  replicas: {number}\n  template:\n{body}"
        yield Case(f"replicas-{number[:12]}", way, CAUGHT, one("pod.yaml", text.encode()))
    yield Case("nodes-sbatch", way, ENDS, one("run.sbatch", SCRIPT.replace("nodes=1", "nodes=99999999999").encode()))
    yield Case(
        "range-sbatch",
        way,
        ENDS,
        one("run.sbatch", SCRIPT.replace("nodes=1", "nodes=1-99999999999 --array=0-99999999999").encode()),
    )
    yield Case("count-tf", way, ENDS, one("main.tf", TERRAFORM.replace("count = 2", "count = 1000003").encode()))
    yield Case(
        "node-count-tf",
        way,
        CHECKED,
        one("main.tf", TERRAFORM.replace("node_config", f"node_count = {10**20}\n  node_config").encode()),
    )
    yield Case(
        "degree-toml",
        way,
        CAUGHT,
        one("train.toml", TRAINER.replace("tensor_parallel_degree = 1", f"tensor_parallel_degree = {2**62}").encode()),
    )
    for number in ("nan", "inf", "-inf", "9" * 500, "0x7fffffffffffffff"):
        yield Case(f"length-toml-{number[:6]}", way, ENDS, one("train.toml", TRAINER.replace("8192", number).encode()))
    for number in ("NaN", "Infinity", "1e999", "-0", "1" * 5000):
        text = json.dumps(pod_object()).replace(": 4}", f": {number}}}")
        yield Case(f"json-{number[:8]}", way, ENDS, one("pod.json", text.encode()))
    facility = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: x}\nspec:\n  rooms:\n    - name: h\n      racks: [{name: 'r[1-99999999999]', units: 42, servers: [{type: dgx-h100, units: 8, count: 1000003}]}]\n"
    yield Case("facility-counts", way, ENDS, one("site.yaml", facility.encode()))


def _empty_values() -> Iterator[Case]:
    way = "empty values"
    keys = (
        "image",
        "args",
        "resources",
        "name",
        "volumeMounts",
        "containers",
        "spec",
        "metadata",
        "kind",
        "apiVersion",
    )
    for key in keys:
        lines = [
            f"{line.split(':')[0]}:" if line.strip(" -").startswith(f"{key}:") else line for line in POD.splitlines()
        ]
        yield Case(f"empty-{key}", way, ENDS, one("pod.yaml", "\n".join(lines).encode()))
    native = "apiVersion: gpulint/v1\nkind: InferenceService\nmetadata: {name: chat}\nspec:\n  roles:\n    - name: server\n      checkpoint: Qwen/Qwen3-8B\n"
    for word in (
        "tensor_parallel:",
        "accelerator: []",
        "gpus_per_pod: {}",
        "engine: [vllm]",
        "max_model_len: null",
        "engine_version: [a, b]",
        "gpus_per_pod: 99999999999",
        "replicas: 1.0e+300",
        "pods_per_replica: .nan",
    ):
        yield Case(
            f"native-{word.replace(' ', '').replace(':', '-')}",
            way,
            ENDS,
            one("spec.yaml", f"{native}      {word}\n".encode()),
        )
    yield Case("list-as-name", way, ENDS, one("pod.yaml", POD.replace("name: chat", "name: [a, {b: c}]").encode()))
    yield Case(
        "map-as-image",
        way,
        ENDS,
        one("pod.yaml", POD.replace("image: vllm/vllm-openai:v0.10.1", "image: {a: vllm}").encode()),
    )
    yield Case(
        "numbers-as-args",
        way,
        ENDS,
        one("pod.yaml", POD.replace('"--model=Qwen/Qwen3-8B"', "8, null, [x], {y: z}").encode()),
    )


def _growth() -> Iterator[Case]:
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
        "spaces-before-comment": POD.replace("name: chat", f"name: chat{spaces}# gpulint: gpus=8"),
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


def _words_in_reports() -> Iterator[Case]:
    quoted = json.dumps(EVIL)
    text = POD.replace("name: chat", f"name: {quoted}").replace("name: vllm", f"name: {quoted}")
    text = text.replace("--model=Qwen/Qwen3-8B", "--model=" + quoted[1:-1])
    for name in FORMATS:
        words = ("check", "--format", name, "pod.yaml")
        yield Case(f"words-{name}", "words in reports", CAUGHT, one("pod.yaml", text.encode()), words=words)


def _paths_in_reports() -> Iterator[Case]:
    evil = "a\n::error::owned \"'<b>]]>&`|\u202e@x\x1b[31m.yaml"
    for name in FORMATS:
        words = ("check", "--format", name, "--color", ".") if name == "text" else ("check", "--format", name, ".")
        yield Case(f"paths-{name}", "paths in reports", CAUGHT, one(evil, POD.encode()), words=words)
    yield Case(
        "path-not-utf-8", "paths in reports", CAUGHT, one("pod-\udcff\udcfe.yaml", POD.encode()), words=("check", ".")
    )
    yield Case(
        "path-of-dashes", "paths in reports", CAUGHT, one("--exit-zero.yaml", POD.encode()), words=("check", ".")
    )
    yield Case(
        "path-of-git-words",
        "paths in reports",
        CAUGHT,
        one(":(exclude)pod.yaml", POD.encode()),
        words=("check", "."),
        git=True,
    )
    yield Case(
        "path-of-percent",
        "paths in reports",
        CAUGHT,
        one("%0a::error::%0D.yaml", POD.encode()),
        words=("check", "--format", "github", "."),
    )


def _execution() -> Iterator[Case]:
    way, touch = "execution", f"touch {EXECUTED}"
    python = f"import pathlib; pathlib.Path('{EXECUTED}').touch()\n".encode()
    yield Case(
        "python-object",
        way,
        CAUGHT,
        one("pod.yaml", with_extra(f"!!python/object/apply:os.system ['{touch}']").encode()),
    )
    yield Case(
        "python-tag-on-image",
        way,
        CAUGHT,
        one("pod.yaml", POD.replace("image: ", "image: !!python/name:os.system ").encode()),
    )
    yield Case(
        "substitution-in-args", way, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", f"$({touch})").encode())
    )
    yield Case(
        "shell-script",
        way,
        CAUGHT,
        one("run.sbatch", f"{SCRIPT}{touch}\nx=$({touch}); y=`{touch}`\neval '{touch}'\n".encode()),
    )
    modules = (
        "click",
        "sitecustomize",
        "usercustomize",
        "conftest",
        "gpulint",
        "ruamel",
        "pydantic",
        "tree_sitter_bash",
    )
    yield Case(
        "modules-beside", way, CAUGHT, lambda: {"pod.yaml": POD.encode(), **{f"{name}.py": python for name in modules}}
    )
    yield Case(
        "trainer-program",
        way,
        ENDS,
        lambda: {
            "train.py": python,
            "run.sbatch": SCRIPT.replace("vllm serve Qwen/Qwen3-8B", "torchrun train.py").encode(),
        },
    )
    yield Case(
        "terraform-local-exec",
        way,
        ENDS,
        one("main.tf", f'{TERRAFORM}data "external" "x" {{ program = ["sh", "-c", "{touch}"] }}\n'.encode()),
    )
    chart = {
        "Chart.yaml": b"apiVersion: v2\nname: x\nversion: 0.1.0\n",
        "templates/pod.yaml": POD.replace("chat", '{{ tpl "x" . }}').encode(),
        "values.yaml": b"gpus: 4\n",
    }
    yield Case("chart", way, ENDS, lambda: {**chart}, words=("check", "."))
    yield Case(
        "kustomize-exec",
        way,
        ENDS,
        one(
            "kustomization.yaml",
            f"generators: [x]\nopenapi: {{path: http://e.example}}\ntransformers: ['{touch}']\nresources: [https://e.example/gpu]\n".encode(),
        ),
        words=("check", "."),
    )
    yield Case(
        "extends-beside",
        way,
        REFUSED,
        lambda: {"gpulint.yaml": b"extends: [evil_pack]\n", "evil_pack/__init__.py": python, "pod.yaml": POD.encode()},
        words=("check", "."),
    )
    yield Case(
        "extends-address",
        way,
        REFUSED,
        files(gpulint__yaml=b"extends: ['http://e.example/pack.yaml']\n", pod__yaml=POD.encode()),
        words=("check", "."),
    )
    yield Case(
        "make-rules",
        way,
        ENDS,
        lambda: {
            "gpulint.yaml": b"rules: [policies]\n",
            "policies/x.yaml": b"summary: x\nseverity: error\nfor: {scope: document}\nwhy: x\nwhen: '[1,2].map(x, [1,2,3].map(y, x*y)).size() > 0'\nmessage: x\n",
            "pod.yaml": POD.encode(),
        },
        words=("check", "."),
    )
    yield Case(
        "git-hooks-in-checkout",
        way,
        CAUGHT,
        lambda: {
            ".githooks/post-checkout": f"#!/bin/sh\n{touch}\n".encode(),
            ".gitattributes": b"*.yaml filter=evil diff=evil\n",
            "pod.yaml": POD.encode(),
        },
        words=("check", "."),
        git=True,
    )


def _reading_outside() -> Iterator[Case]:
    way, outside = "reading outside", f"../{OUTSIDE}"
    yield Case("checkpoint-outside", way, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", outside).encode()))
    yield Case("checkpoint-absolute", way, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", "/etc").encode()))
    yield Case(
        "source-outside",
        way,
        CAUGHT,
        one("run.sbatch", SCRIPT.replace("vllm", f"source {outside}/lib.sh\nvllm", 1).encode()),
    )
    yield Case(
        "source-by-link",
        way,
        CAUGHT,
        lambda: {
            "run.sbatch": SCRIPT.replace("vllm", "source lib.sh\nvllm", 1).encode(),
            "lib.sh": Link(f"{outside}/lib.sh"),
        },
    )
    yield Case(
        "config-by-link",
        way,
        CAUGHT,
        lambda: {
            "pod.yaml": POD.replace("Qwen/Qwen3-8B", "./m").encode(),
            "m/config.json": Link(f"../{outside}/config.json"),
        },
    )
    yield Case(
        "policy-by-link",
        way,
        ENDS,
        lambda: {"gpulint.yaml": Link(f"{outside}/gpulint.yaml"), "pod.yaml": POD.encode()},
        words=("check", "."),
    )
    yield Case(
        "baseline-by-link",
        way,
        ENDS,
        lambda: {".gpulint-baseline.json": Link(f"{outside}/config.json"), "pod.yaml": POD.encode()},
        words=("check", "."),
    )
    yield Case(
        "ignore-by-link",
        way,
        ENDS,
        lambda: {".gitignore": Link(f"{outside}/lib.sh"), "pod.yaml": POD.encode()},
        words=("check", "."),
    )
    for key in ("facility", "rules", "baseline"):
        value = f"[{outside}]" if key == "rules" else f"{outside}/gpulint.yaml"
        yield Case(
            f"policy-{key}-outside",
            way,
            ENDS,
            files(gpulint__yaml=f"{key}: {value}\n".encode(), pod__yaml=POD.encode()),
            words=("check", "."),
        )
    yield Case(
        "policy-facility-absolute",
        way,
        REFUSED,
        files(gpulint__yaml=b"facility: /etc/passwd\n", pod__yaml=POD.encode()),
        words=("check", "."),
    )
    yield Case(
        "kustomize-outside",
        way,
        ENDS,
        one("kustomization.yaml", f"resources: [{outside}/pod.yaml, ../../etc]\n".encode()),
        words=("check", "."),
    )
    yield Case(
        "compose-env-file-outside",
        way,
        ENDS,
        one(
            "compose.yaml",
            f"services: {{x: {{image: vllm/vllm-openai, env_file: {outside}/lib.sh, extends: {{file: {outside}/pod.yaml, service: x}}}}}}\n".encode(),
        ),
    )
    yield Case(
        "terraform-module-outside",
        way,
        ENDS,
        one(
            "main.tf",
            f'module "x" {{ source = "{outside}" }}\nlocals {{ k = file("{outside}/lib.sh") }}\n{RIGHT_TERRAFORM}'.encode(),
        ),
    )


def _overrides() -> Iterator[Case]:
    way = "overrides"
    yield Case("comment-more-gpus", way, NOTED, one("pod.yaml", f"# gpulint: gpus=8\n{POD}".encode()))
    yield Case(
        "comment-other-accelerator",
        way,
        NOTED,
        one(
            "pod.yaml",
            (
                "# gpulint: accelerator=h200-sxm-141gb\n"
                + POD.replace("spec:", "spec:\n  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}", 1)
            ).encode(),
        ),
    )
    yield Case("comment-other-model", way, NOTED, one("pod.yaml", f"# gpulint: model=Qwen/Qwen3-0.6B\n{POD}".encode()))
    yield Case(
        "annotation-other-model",
        way,
        NOTED,
        one(
            "pod.yaml",
            POD.replace("name: chat", "name: chat\n  annotations: {gpulint/model: Qwen/Qwen3-0.6B}").encode(),
        ),
    )
    settings = b"hints: [{path: '*', gpus: 8}]\n"
    yield Case(
        "policy-more-gpus", way, NOTED, files(gpulint__yaml=settings, pod__yaml=POD.encode()), words=("check", ".")
    )
    yield Case(
        "comment-on-script",
        way,
        NOTED,
        one("run.sbatch", SCRIPT.replace("vllm", "# gpulint: gpus=8\nvllm", 1).encode()),
    )
    yield Case(
        "comment-huge", way, ENDS, one("pod.yaml", f"# gpulint: gpus={10**30} nodes=99999999999\n{POD}".encode())
    )
    yield Case(
        "comment-in-a-string",
        way,
        CHECKED,
        one("pod.yaml", POD.replace("name: chat", 'name: "chat # gpulint: gpus=8"').encode()),
        TOO_WIDE,
    )
    yield Case("waiver-without-reason", way, CHECKED, one("pod.yaml", f"# gpulint: ignore[{TOO_WIDE}]\n{POD}".encode()))
    yield Case("waiver-of-everything", way, CHECKED, one("pod.yaml", f"# gpulint: ignore[*] all of it\n{POD}".encode()))


def _policies() -> Iterator[Case]:
    way = "policies"
    texts = {
        "not-a-mapping": b"[]\n", "laughs": b"a: &a [x,x,x,x]\nb: [*a,*a,*a]\n", "deep": f"rules: {nest(300)}\n".encode(),
        "digits": b"fail-on: " + b"9" * 5000 + b"\n", "nul": b"fail-on: \0\n", "latin-1": "fail-on: ü\n".encode("latin-1"),
        "python-tag": f"rules: !!python/object/apply:os.system ['touch {EXECUTED}']\n".encode(), "unknown": b"fail_on_unread: never\n",
        "nan-budget": b"budgets: [{name: x, path: '*', gpus: .nan}]\n", "invalid": b"select: [\n",
    }  # fmt: skip
    for name, text in texts.items():
        settings = files(gpulint__yaml=text, pod__yaml=POD.encode())
        yield Case(f"policy-{name}", way, REFUSED, settings, words=("check", "."))
    exclude = b"exclude: ['" + b"*" * 40 + b"a', '" + b"**/" * 60 + b"x']\n"
    yield Case(
        "policy-wildcards", way, ENDS, files(gpulint__yaml=exclude, pod__yaml=POD.encode()), words=("check", ".")
    )
    yield Case(
        "ignore-wildcards",
        way,
        ENDS,
        files(__gitignore=b"*a" * 5000 + b"\n", pod__yaml=POD.encode()),
        words=("check", "."),
    )
    for name, text in {
        "baseline-words": b"words",
        "baseline-deep": nest(100_000).encode(),
        "baseline-nan": b'{"findings": NaN}',
    }.items():
        yield Case(
            name,
            way,
            REFUSED,
            several({".gpulint-baseline.json": text, "pod.yaml": POD.encode()}),
            words=("check", "."),
        )
    costly = "[0,1,2,3,4,5,6,7,8,9]" + ".map(x, [0,1,2,3,4,5,6,7,8,9]" * 12 + ", x" + ")" * 12
    rule = f'summary: x is wrong\nseverity: error\nfor: {{scope: document}}\nwhy: x\nwhen: "{costly}.size() > 0"\nmessage: x\n'
    yield Case(
        "costly-rule",
        way,
        ENDS,
        lambda: {
            "gpulint.yaml": b"rules: [policies]\n",
            "policies/costly.yaml": rule.encode(),
            "pod.yaml": POD.encode(),
        },
        words=("check", "."),
    )


def _harmless() -> Iterator[Case]:
    way = "harmless neighbours"
    right = {
        "pod.yaml": RIGHT, "run.sbatch": RIGHT_SCRIPT, "main.tf": RIGHT_TERRAFORM, "train.toml": RIGHT_TRAINER,
        "words.yaml": HARMLESS, "package.json": '{"name": "x", "dependencies": {"y": "1"}}', "run.sh": "#!/bin/sh\necho hello\n",
        "pyproject.toml": "[project]\nname = 'x'\n", "net.tf": 'resource "aws_vpc" "x" { cidr_block = "10.0.0.0/8" }\n',
        "many.yaml": "---\n".join([HARMLESS] * 300), "comments.yaml": RIGHT.replace("spec:", "# note\nspec:"),
        "crlf.yaml": RIGHT.replace("\n", "\r\n"), "mark.yaml": "\ufeff" + RIGHT, "umlauts.yaml": RIGHT.replace("chat", "ch\u00e4t"),
        "escapes.yaml": RIGHT.replace("name: vllm", 'name: "\\x76llm"'), "empty.yaml": "", "comment.yaml": "# nothing\n",
    }  # fmt: skip
    for name, text in right.items():
        yield Case(f"right-{name}", way, CLEAN, one(name, text.encode()))
    yield Case("right-utf-16", way, CLEAN, one("words.yaml", HARMLESS.encode("utf-16")))
    yield Case(
        "untracked-and-ignored",
        way,
        CLEAN,
        lambda: {".gitignore": b"build/\n", "build/pod.yaml": POD.encode(), "pod.yaml": RIGHT.encode()},
        words=("check", "."),
    )
    yield Case(
        "installed-modules",
        way,
        CLEAN,
        lambda: {"node_modules/x/pod.yaml": POD.encode(), "pod.yaml": RIGHT.encode()},
        words=("check", "."),
    )
    yield Case(
        "other-kinds-of-files",
        way,
        CLEAN,
        lambda: {"README.md": b"# GPUs\n", "a.py": b"x = 1\n", "b.png": b"\x89PNG\0\0", "pod.yaml": RIGHT.encode()},
        words=("check", "."),
    )


def _misuse() -> Iterator[Case]:
    way = "misuse"
    for name, words in {
        "no-such-file": ("check", "nowhere.yaml"), "empty-base": ("check", "--base", "", "."), "no-such-commit": ("check", "--base", "--output=x", "."),
        "option-as-commit": ("check", "--base", "--upload-pack=touch", "."), "unknown-rule": ("check", "--select", "nope", "."),
        "not-a-date": ("check", "--today", "9" * 5000, "."), "unknown-format": ("check", "--format", "../x", "."),
        "commit-of-newlines": ("check", "--base", "HEAD\n--all", "."), "nul-free-path": ("check", "a" * 5000),
    }.items():  # fmt: skip
        yield Case(name, way, REFUSED, one("pod.yaml", POD.encode()), words=words, git=True)
