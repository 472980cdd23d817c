"""Hostile pull requests: what a change adds, hides, moves or waives, and what must follow from it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases import gates
from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    CLEAN,
    ENDS,
    EXECUTED,
    LISTED,
    NOT_CHECKED,
    OUTSIDE,
    REFUSED,
    Change,
    Link,
    Made,
    Submodule,
    files,
    one,
    several,
)
from hostile_cases.specs import (
    HARMLESS,
    POD,
    RIGHT,
    SCRIPT,
    TERRAFORM,
    TOO_WIDE,
    nest,
    spell_x,
    with_extra,
    write_pod,
)

NOTHING = files(README__md=b"# A repository\n")
GOVERNED = ("--policy-from", "BASE")
"""`BASE` stands for the base commit."""
RIGHT_POD, WRONG_POD = one("pod.yaml", RIGHT.encode()), one("pod.yaml", POD.encode())


def list_changes() -> Iterator[Change]:
    """Yield every pull request: those that add one of the inputs, and those that change a repository."""
    yield from _additions()
    for changes in (
        _edits(), _overrides(), _waivers(), _settings(), _places(), _names(), _git(), _hardware(), _harmless(), _misuse()
    ):  # fmt: skip
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


def _edits() -> Iterator[Change]:
    way = "edits"
    yield Change("right-to-wrong", way, CHECKED, RIGHT_POD, WRONG_POD, TOO_WIDE)
    yield Change("right-to-escapes", way, CHECKED, RIGHT_POD, one("pod.yaml", write_pod(spell_x).encode()), TOO_WIDE)
    yield Change("right-to-first-line", way, CHECKED, RIGHT_POD, one("pod.yaml", f"#!x\n{POD}".encode()), TOO_WIDE)
    yield Change("right-to-levels", way, CAUGHT, RIGHT_POD, one("pod.yaml", with_extra(nest(300)).encode()))
    yield Change(
        "right-to-invalid", way, NOT_CHECKED, RIGHT_POD, one("pod.yaml", POD.replace("kind: Pod", "kind: [").encode())
    )
    yield Change("right-to-utf-32", way, CAUGHT, RIGHT_POD, one("pod.yaml", POD.encode("utf-32")))
    yield Change(
        "right-to-link", way, CAUGHT, RIGHT_POD, lambda: {"pod.yaml": Link("words.bin"), "words.bin": POD.encode()}
    )
    yield Change("right-to-upper-suffix", way, CAUGHT, RIGHT_POD, lambda: {"pod.yaml": None, "pod.YAML": POD.encode()})
    yield Change(
        "unread-to-unread", way, CAUGHT, one("pod.yaml", RIGHT.encode("utf-32")), one("pod.yaml", POD.encode("utf-32"))
    )
    yield Change(
        "unread-to-more",
        way,
        CAUGHT,
        one("pod.yaml", (RIGHT + "x: [").encode()),
        one("pod.yaml", (POD + "x: [").encode()),
    )
    yield Change(
        "limit-to-limit",
        way,
        CAUGHT,
        one("pod.yaml", (RIGHT + f"x: {nest(300)}\n").encode()),
        one("pod.yaml", with_extra(nest(300)).encode()),
    )
    yield Change(
        "script-to-python",
        way,
        LISTED,
        one("run.sbatch", SCRIPT.replace(" 8", " 4").encode()),
        one("run.sbatch", SCRIPT.replace("bin/bash", "bin/python").encode()),
    )
    yield Change(
        "second-object",
        way,
        CHECKED,
        RIGHT_POD,
        one("pod.yaml", f"{RIGHT}---\n{POD.replace('chat', 'other')}".encode()),
        TOO_WIDE,
    )
    yield Change(
        "same-name-other-object",
        way,
        CHECKED,
        WRONG_POD,
        one("pod.yaml", f"{POD}---\n{POD.replace('size=8', 'size=16')}".encode()),
    )
    yield Change(
        "worse-than-before",
        way,
        CHECKED,
        WRONG_POD,
        one("pod.yaml", POD.replace("size=8", "size=64").encode()),
        TOO_WIDE,
    )
    yield Change(
        "moved-and-worse",
        way,
        CHECKED,
        WRONG_POD,
        lambda: {"pod.yaml": None, "apps/chat.yaml": POD.replace("size=8", "size=64").encode()},
        TOO_WIDE,
    )
    yield Change(
        "duplicate-key",
        way,
        CAUGHT,
        RIGHT_POD,
        one("pod.yaml", RIGHT.replace("gpu: 4", "gpu: 4\n          nvidia.com/gpu: 1").encode()),
    )
    parts = {
        f"base/{name}": text
        for name, text in {"kustomization.yaml": b"resources: [pod.yaml]\n", "pod.yaml": RIGHT.encode()}.items()
    }
    yield Change("kustomize-base", way, CHECKED, lambda: {**parts}, one("base/pod.yaml", POD.encode()), TOO_WIDE)
    library = {
        "lib.sh": b"run_it() { vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4; }\n",
        "run.sbatch": b"#!/bin/bash\n#SBATCH --gpus-per-node=4\nsource lib.sh\nrun_it\n",
    }
    yield Change(
        "sourced-library",
        way,
        CAUGHT,
        lambda: {**library},
        one("lib.sh", library["lib.sh"].replace(b"size 4", b"size 8")),
    )
    maps = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: args}}\ndata: {{wide: '4'}}\n---\n{RIGHT.replace('size=4', 'size=$(WIDE)').replace('      resources', '      env: [{name: WIDE, valueFrom: {configMapKeyRef: {name: args, key: wide}}}]' + chr(10) + '      resources')}"
    yield Change(
        "config-map-value",
        way,
        CAUGHT,
        one("pod.yaml", maps.encode()),
        one("pod.yaml", maps.replace("'4'", "'8'").encode()),
    )


def _overrides() -> Iterator[Change]:
    way = "overrides"
    hints = b"hints: [{path: '*', gpus: 8}]\n"
    for suffix, words in (("", ()), ("-governed", GOVERNED)):
        yield Change(
            f"comment-gpus{suffix}",
            way,
            CHECKED,
            RIGHT_POD,
            one("pod.yaml", f"# gpulint: gpus=8\n{POD}".encode()),
            words=words,
        )
        yield Change(
            f"annotation-model{suffix}",
            way,
            CHECKED,
            RIGHT_POD,
            one(
                "pod.yaml",
                RIGHT.replace("name: chat", "name: chat\n  annotations: {gpulint/model: Qwen/Qwen3-0.6B}").encode(),
            ),
            words=words,
        )
        yield Change(
            f"policy-gpus{suffix}",
            way,
            CHECKED,
            RIGHT_POD,
            lambda: {"gpulint.yaml": hints, "pod.yaml": POD.encode()},
            words=words,
        )
        yield Change(
            f"comment-on-script{suffix}",
            way,
            CHECKED,
            one("run.sbatch", SCRIPT.replace(" 8", " 4").encode()),
            one("run.sbatch", SCRIPT.replace("vllm", "# gpulint: gpus=8\nvllm", 1).encode()),
            words=words,
        )
        yield Change(
            f"comment-alone{suffix}",
            way,
            CHECKED,
            RIGHT_POD,
            one("pod.yaml", f"# gpulint: gpus=8\n{RIGHT}".encode()),
            words=words,
        )
        yield Change(
            f"comment-accelerator{suffix}",
            way,
            CHECKED,
            one("pod.yaml", _on_l4(RIGHT)),
            one("pod.yaml", b"# gpulint: accelerator=h200-sxm-141gb\n" + _on_l4(RIGHT)),
            words=words,
        )
        yield Change(
            f"policy-accelerator{suffix}",
            way,
            LISTED,
            one("pod.yaml", _on_l4(RIGHT)),
            one("gpulint.yaml", b"hints: [{path: '*', accelerator: h200-sxm-141gb}]\n"),
            words=words,
        )
    yield Change(
        "comment-fills-gap", way, CLEAN, RIGHT_POD, one("pod.yaml", f"# gpulint: accelerator=l40s\n{RIGHT}".encode())
    )
    yield Change("comment-agrees", way, CLEAN, RIGHT_POD, one("pod.yaml", f"# gpulint: gpus=4\n{RIGHT}".encode()))


def _on_l4(text: str) -> bytes:
    return text.replace("spec:", "spec:\n  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}", 1).encode()


def _waivers() -> Iterator[Change]:
    way = "waivers"

    def governed(name: str, head: Made, expected: str = CHECKED) -> Change:
        return Change(name, way, expected, RIGHT_POD, head, TOO_WIDE if expected == CHECKED else "", GOVERNED)

    yield governed("comment", one("pod.yaml", f"# gpulint: ignore[{TOO_WIDE}] it is fine\n{POD}".encode()))
    yield governed(
        "comment-on-line",
        one("pod.yaml", POD.replace('size=8"]', f'size=8"]  # gpulint: ignore[{TOO_WIDE}] fine').encode()),
    )
    yield governed("comment-for-family", one("pod.yaml", f"# gpulint: ignore[parallelism] it is fine\n{POD}".encode()))
    yield governed(
        "annotation",
        one(
            "pod.yaml",
            POD.replace("name: chat", f"name: chat\n  annotations: {{gpulint/ignore: '{TOO_WIDE}: fine'}}").encode(),
        ),
    )
    for key, text in {
        "waivers": f"waivers: [{{rule: {TOO_WIDE}, path: '*', reason: fine}}]\n", "ignore": f"ignore: [{TOO_WIDE}]\n", "select": "select: [memory]\n",
        "severity": f"severity: {{{TOO_WIDE}: 'off'}}\n", "exclude": "exclude: ['*.yaml']\n", "rules": "rules: [policies]\n",
    }.items():  # fmt: skip
        yield governed(f"policy-{key}", several({"gpulint.yaml": text.encode(), "pod.yaml": POD.encode()}))
    yield governed(
        "policy-in-folder", lambda: {"apps/gpulint.yaml": b"select: [memory]\n", "apps/pod.yaml": POD.encode()}
    )
    yield governed("policy-invalid", lambda: {"gpulint.yaml": b"select: [\n", "pod.yaml": POD.encode()})
    entry = {"rule": TOO_WIDE, "path": "pod.yaml", "workload": "chat", "fingerprint": "f806eb20043e3033"}
    accepted = json.dumps({"format": "gpulint-baseline/1", "findings": [entry]}).encode()
    yield governed("baseline", lambda: {".gpulint-baseline.json": accepted, "pod.yaml": POD.encode()})
    yield governed("ignore-file", lambda: {".gitignore": b"*.yaml\n", "pod.yaml": POD.encode()})
    yield governed(
        "attributes",
        lambda: {
            ".gitattributes": b"*.yaml -text -diff linguist-generated export-ignore binary\n",
            "pod.yaml": POD.encode(),
        },
    )
    yield Change(
        "ignore-file-ungoverned",
        way,
        CHECKED,
        RIGHT_POD,
        lambda: {".gitignore": b"*\n", "pod.yaml": POD.encode()},
        TOO_WIDE,
    )
    yield Change(
        "move-under-waiver",
        way,
        CHECKED,
        lambda: {"old.yaml": f"# gpulint: ignore[{TOO_WIDE}] fine\n{POD}".encode()},
        one("new.yaml", f"# gpulint: ignore[{TOO_WIDE}] fine\n{POD.replace('chat', 'other')}".encode()),
        TOO_WIDE,
        GOVERNED,
    )


def _settings() -> Iterator[Change]:
    way = "settings"
    yield Change(
        "invalid-policy", way, REFUSED, RIGHT_POD, lambda: {"gpulint.yaml": b"a: [\n", "pod.yaml": POD.encode()}
    )
    yield Change(
        "policy-as-link",
        way,
        ENDS,
        RIGHT_POD,
        lambda: {"gpulint.yaml": Link(f"../{OUTSIDE}/gpulint.yaml"), "pod.yaml": POD.encode()},
    )
    yield Change("policy-as-folder", way, ENDS, RIGHT_POD, lambda: {"gpulint.yaml/x": b"", "pod.yaml": POD.encode()})
    yield Change(
        "baseline-as-link",
        way,
        ENDS,
        RIGHT_POD,
        lambda: {".gpulint-baseline.json": Link("/etc/passwd"), "pod.yaml": POD.encode()},
    )
    yield Change(
        "report-as-link",
        way,
        CHECKED,
        RIGHT_POD,
        lambda: {
            "gpulint.md": Link(".git/config"),
            "gpulint.json": Link(f"../{OUTSIDE}/config.json"),
            "pod.yaml": POD.encode(),
        },
        TOO_WIDE,
    )
    module = f"import pathlib; pathlib.Path('{EXECUTED}').touch()\n".encode()
    yield Change(
        "modules",
        way,
        CHECKED,
        RIGHT_POD,
        lambda: {**{f"{name}.py": module for name in ("click", "sitecustomize", "conftest")}, "pod.yaml": POD.encode()},
        TOO_WIDE,
    )


def _places() -> Iterator[Change]:
    way = "places"
    yield Change(
        "file-to-folder",
        way,
        CHECKED,
        RIGHT_POD,
        lambda: {"pod.yaml": None, "pod.yaml/pod.yaml": POD.encode()},
        TOO_WIDE,
    )
    yield Change(
        "folder-to-file",
        way,
        CHECKED,
        one("pod.yaml/pod.yaml", RIGHT.encode()),
        lambda: {"pod.yaml/pod.yaml": None, "pod.yaml": POD.encode()},
        TOO_WIDE,
    )
    yield Change(
        "renamed-and-changed", way, CHECKED, RIGHT_POD, lambda: {"pod.yaml": None, "app.yaml": POD.encode()}, TOO_WIDE
    )
    yield Change(
        "renamed-into-ignored-folder",
        way,
        CAUGHT,
        RIGHT_POD,
        lambda: {"pod.yaml": None, "node_modules/pod.yaml": POD.encode()},
    )
    yield Change(
        "renamed-to-unread-suffix",
        way,
        CAUGHT,
        WRONG_POD,
        lambda: {"pod.yaml": None, "pod.Yaml": POD.replace("=8", "=16").encode()},
    )
    yield Change(
        "from-unread-suffix",
        way,
        CHECKED,
        one("pod.txt", POD.encode()),
        lambda: {"pod.txt": None, "pod.yaml": POD.encode()},
        TOO_WIDE,
    )
    yield Change("submodule", way, LISTED, RIGHT_POD, one("apps", Submodule()))
    yield Change("submodule-over-file", way, LISTED, RIGHT_POD, one("pod.yaml", Submodule()))
    yield Change(
        "folder-to-link",
        way,
        CAUGHT,
        one("apps/pod.yaml", RIGHT.encode()),
        lambda: {"apps/pod.yaml": None, "apps": Link("words.d"), "words.d/pod.txt": POD.encode()},
    )
    yield Change("link-outside", way, NOT_CHECKED, RIGHT_POD, one("pod.yaml", Link(f"../{OUTSIDE}/pod.yaml")))
    yield Change("link-to-git", way, NOT_CHECKED, RIGHT_POD, one("pod.yaml", Link(".git/config")))
    yield Change(
        "20000-files",
        way,
        CHECKED,
        RIGHT_POD,
        lambda: {**{f"d{n % 100}/f{n}.txt": b"" for n in range(20_000)}, "pod.yaml": POD.encode()},
        TOO_WIDE,
    )


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


def _hardware() -> Iterator[Change]:
    way = "hardware"
    pool = (
        TERRAFORM.replace("g2-standard-12", "a3-highgpu-8g")
        .replace("nvidia-l4", "nvidia-h100-80gb")
        .replace("count = 2", "count = 8")
    )
    pool = pool.replace("node_config", "node_count = 4\n  node_config", 1)
    silence = ("no change in GPUs, cost or power\n", "nothing here concerns GPUs")
    yield Change(
        "terraform-32-to-128",
        way,
        ENDS,
        one("main.tf", pool.encode()),
        one("main.tf", pool.replace("node_count = 4", "node_count = 16").encode()),
        absent=silence,
    )
    autoscaled = pool.replace("node_count = 4", "autoscaling { max_node_count = 4 }")
    yield Change(
        "terraform-autoscaling",
        way,
        ENDS,
        one("main.tf", autoscaled.encode()),
        one("main.tf", autoscaled.replace("= 4 }", "= 16 }").encode()),
        absent=silence,
    )
    groups = 'resource "aws_autoscaling_group" "x" {\n  max_size = 4\n}\nresource "aws_launch_template" "x" {\n  instance_type = "p5.48xlarge"\n}\n'
    yield Change(
        "terraform-group",
        way,
        ENDS,
        one("main.tf", groups.encode()),
        one("main.tf", groups.replace("max_size = 4", "max_size = 16").encode()),
        absent=silence,
    )
    variables = pool.replace("= 4\n", "= var.nodes\n")
    yield Change(
        "terraform-variable",
        way,
        ENDS,
        lambda: {"main.tf": variables.encode(), "x.tfvars": b"nodes = 4\n"},
        one("x.tfvars", b"nodes = 16\n"),
        absent=silence,
    )
    arguments = b"model: Qwen/Qwen3-8B\ntensor-parallel-size: 4\n"
    yield Change(
        "arguments-file",
        way,
        ENDS,
        one("args.yaml", arguments),
        one("args.yaml", arguments.replace(b": 4", b": 8")),
        absent=silence,
    )


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
