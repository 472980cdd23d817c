"""Inputs that name a program to execute, or a file outside the checkout."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    ENDS,
    EXECUTED,
    OUTSIDE,
    REFUSED,
    Case,
    Link,
    files,
    one,
)
from hostile_cases.specs import (
    POD,
    RIGHT_TERRAFORM,
    SCRIPT,
    TERRAFORM,
    with_extra,
)

EXECUTION, TOUCH = "execution", f"touch {EXECUTED}"
PYTHON = f"import pathlib; pathlib.Path('{EXECUTED}').touch()\n".encode()
MODULES = (
    "click",
    "sitecustomize",
    "usercustomize",
    "conftest",
    "gpulint",
    "ruamel",
    "pydantic",
    "tree_sitter_bash",
)
CHART = {
    "Chart.yaml": b"apiVersion: v2\nname: x\nversion: 0.1.0\n",
    "templates/pod.yaml": POD.replace("chat", '{{ tpl "x" . }}').encode(),
    "values.yaml": b"gpus: 4\n",
}
READING_OUTSIDE, OUTER = "reading outside", f"../{OUTSIDE}"
EXECUTING: tuple[Case, ...] = (
    Case(
        "python-object",
        EXECUTION,
        CAUGHT,
        one("pod.yaml", with_extra(f"!!python/object/apply:os.system ['{TOUCH}']").encode()),
    ),
    Case(
        "python-tag-on-image",
        EXECUTION,
        CAUGHT,
        one("pod.yaml", POD.replace("image: ", "image: !!python/name:os.system ").encode()),
    ),
    Case(
        "substitution-in-args", EXECUTION, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", f"$({TOUCH})").encode())
    ),
    Case(
        "shell-script",
        EXECUTION,
        CAUGHT,
        one("run.sbatch", f"{SCRIPT}{TOUCH}\nx=$({TOUCH}); y=`{TOUCH}`\neval '{TOUCH}'\n".encode()),
    ),
    Case(
        "modules-beside",
        EXECUTION,
        CAUGHT,
        lambda: {"pod.yaml": POD.encode(), **{f"{name}.py": PYTHON for name in MODULES}},
    ),
    Case(
        "trainer-program",
        EXECUTION,
        ENDS,
        lambda: {
            "train.py": PYTHON,
            "run.sbatch": SCRIPT.replace("vllm serve Qwen/Qwen3-8B", "torchrun train.py").encode(),
        },
    ),
    Case(
        "terraform-local-exec",
        EXECUTION,
        ENDS,
        one("main.tf", f'{TERRAFORM}data "external" "x" {{ program = ["sh", "-c", "{TOUCH}"] }}\n'.encode()),
    ),
    Case("chart", EXECUTION, ENDS, lambda: {**CHART}, words=("check", ".")),
    Case(
        "kustomize-exec",
        EXECUTION,
        ENDS,
        one(
            "kustomization.yaml",
            f"generators: [x]\nopenapi: {{path: http://e.example}}\ntransformers: ['{TOUCH}']\nresources: [https://e.example/gpu]\n".encode(),
        ),
        words=("check", "."),
    ),
    Case(
        "extends-beside",
        EXECUTION,
        REFUSED,
        lambda: {"gpulint.yaml": b"extends: [evil_pack]\n", "evil_pack/__init__.py": PYTHON, "pod.yaml": POD.encode()},
        words=("check", "."),
    ),
    Case(
        "extends-address",
        EXECUTION,
        REFUSED,
        files(gpulint__yaml=b"extends: ['http://e.example/pack.yaml']\n", pod__yaml=POD.encode()),
        words=("check", "."),
    ),
    Case(
        "make-rules",
        EXECUTION,
        ENDS,
        lambda: {
            "gpulint.yaml": b"rules: [policies]\n",
            "policies/x.yaml": b"summary: x\nseverity: error\nfor: {scope: document}\nwhy: x\nwhen: '[1,2].map(x, [1,2,3].map(y, x*y)).size() > 0'\nmessage: x\n",
            "pod.yaml": POD.encode(),
        },
        words=("check", "."),
    ),
    Case(
        "git-hooks-in-checkout",
        EXECUTION,
        CAUGHT,
        lambda: {
            ".githooks/post-checkout": f"#!/bin/sh\n{TOUCH}\n".encode(),
            ".gitattributes": b"*.yaml filter=evil diff=evil\n",
            "pod.yaml": POD.encode(),
        },
        words=("check", "."),
        git=True,
    ),
)
FILES_OUTSIDE: tuple[Case, ...] = (
    Case("checkpoint-outside", READING_OUTSIDE, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", OUTER).encode())),
    Case(
        "checkpoint-absolute", READING_OUTSIDE, CAUGHT, one("pod.yaml", POD.replace("Qwen/Qwen3-8B", "/etc").encode())
    ),
    Case(
        "source-outside",
        READING_OUTSIDE,
        CAUGHT,
        one("run.sbatch", SCRIPT.replace("vllm", f"source {OUTER}/lib.sh\nvllm", 1).encode()),
    ),
    Case(
        "source-by-link",
        READING_OUTSIDE,
        CAUGHT,
        lambda: {
            "run.sbatch": SCRIPT.replace("vllm", "source lib.sh\nvllm", 1).encode(),
            "lib.sh": Link(f"{OUTER}/lib.sh"),
        },
    ),
    Case(
        "config-by-link",
        READING_OUTSIDE,
        CAUGHT,
        lambda: {
            "pod.yaml": POD.replace("Qwen/Qwen3-8B", "./m").encode(),
            "m/config.json": Link(f"../{OUTER}/config.json"),
        },
    ),
    Case(
        "policy-by-link",
        READING_OUTSIDE,
        ENDS,
        lambda: {"gpulint.yaml": Link(f"{OUTER}/gpulint.yaml"), "pod.yaml": POD.encode()},
        words=("check", "."),
    ),
    Case(
        "baseline-by-link",
        READING_OUTSIDE,
        ENDS,
        lambda: {".gpulint-baseline.json": Link(f"{OUTER}/config.json"), "pod.yaml": POD.encode()},
        words=("check", "."),
    ),
    Case(
        "ignore-by-link",
        READING_OUTSIDE,
        ENDS,
        lambda: {".gitignore": Link(f"{OUTER}/lib.sh"), "pod.yaml": POD.encode()},
        words=("check", "."),
    ),
)
OTHER_FORMATS_OUTSIDE: tuple[Case, ...] = (
    Case(
        "policy-facility-absolute",
        READING_OUTSIDE,
        REFUSED,
        files(gpulint__yaml=b"facility: /etc/passwd\n", pod__yaml=POD.encode()),
        words=("check", "."),
    ),
    Case(
        "kustomize-outside",
        READING_OUTSIDE,
        ENDS,
        one("kustomization.yaml", f"resources: [{OUTER}/pod.yaml, ../../etc]\n".encode()),
        words=("check", "."),
    ),
    Case(
        "compose-env-file-outside",
        READING_OUTSIDE,
        ENDS,
        one(
            "compose.yaml",
            f"services: {{x: {{image: vllm/vllm-openai, env_file: {OUTER}/lib.sh, extends: {{file: {OUTER}/pod.yaml, service: x}}}}}}\n".encode(),
        ),
    ),
    Case(
        "terraform-module-outside",
        READING_OUTSIDE,
        ENDS,
        one(
            "main.tf",
            f'module "x" {{ source = "{OUTER}" }}\nlocals {{ k = file("{OUTER}/lib.sh") }}\n{RIGHT_TERRAFORM}'.encode(),
        ),
    ),
)


def list_cases() -> Iterator[Case]:
    """Yield inputs that reach beyond what they are."""
    for cases in (EXECUTING, FILES_OUTSIDE, _settings_outside(), OTHER_FORMATS_OUTSIDE):
        yield from cases


def _settings_outside() -> Iterator[Case]:
    for key in ("facility", "rules", "baseline"):
        value = f"[{OUTER}]" if key == "rules" else f"{OUTER}/gpulint.yaml"
        yield Case(
            f"policy-{key}-outside",
            READING_OUTSIDE,
            ENDS,
            files(gpulint__yaml=f"{key}: {value}\n".encode(), pod__yaml=POD.encode()),
            words=("check", "."),
        )
