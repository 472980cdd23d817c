"""Inputs that try to crash, stall, execute, read outside, or write into what reads the report; and harmless neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_cases import escapes, growth, numbers, printed
from hostile_cases.model import (
    CHECKED,
    CLEAN,
    ENDS,
    EXECUTED,
    NOTED,
    REFUSED,
    Case,
    files,
    one,
    several,
)
from hostile_cases.specs import (
    HARMLESS,
    POD,
    RIGHT,
    RIGHT_SCRIPT,
    RIGHT_TERRAFORM,
    RIGHT_TRAINER,
    SCRIPT,
    TOO_WIDE,
    nest,
)


def list_cases() -> Iterator[Case]:
    """Yield every case of this module and of those for one kind of harm each."""
    for cases in (
        numbers.list_cases(),
        growth.list_cases(),
        printed.list_cases(),
        escapes.list_cases(),
        _overrides(),
        _policies(),
        _harmless(),
        _misuse(),
    ):
        yield from cases


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
