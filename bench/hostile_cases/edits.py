"""Pull requests that change, move or replace a file."""

from __future__ import annotations

from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    LISTED,
    NOT_CHECKED,
    OUTSIDE,
    Change,
    Link,
    Submodule,
    one,
)
from hostile_cases.specs import (
    POD,
    RIGHT,
    SCRIPT,
    TOO_WIDE,
    nest,
    spell_x,
    with_extra,
    write_pod,
)
from hostile_cases.states import RIGHT_POD, WRONG_POD

EDIT = "edits"
KUSTOMIZATION = {
    f"base/{name}": text
    for name, text in {"kustomization.yaml": b"resources: [pod.yaml]\n", "pod.yaml": RIGHT.encode()}.items()
}
LIBRARY = {
    "lib.sh": b"run_it() { vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4; }\n",
    "run.sbatch": b"#!/bin/bash\n#SBATCH --gpus-per-node=4\nsource lib.sh\nrun_it\n",
}
CONFIG_MAP = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: args}}\ndata: {{wide: '4'}}\n---\n{RIGHT.replace('size=4', 'size=$(WIDE)').replace('      resources', '      env: [{name: WIDE, valueFrom: {configMapKeyRef: {name: args, key: wide}}}]' + chr(10) + '      resources')}"
EDITS: tuple[Change, ...] = (
    Change("right-to-wrong", EDIT, CHECKED, RIGHT_POD, WRONG_POD, TOO_WIDE),
    Change("right-to-escapes", EDIT, CHECKED, RIGHT_POD, one("pod.yaml", write_pod(spell_x).encode()), TOO_WIDE),
    Change("right-to-first-line", EDIT, CHECKED, RIGHT_POD, one("pod.yaml", f"#!x\n{POD}".encode()), TOO_WIDE),
    Change("right-to-levels", EDIT, CAUGHT, RIGHT_POD, one("pod.yaml", with_extra(nest(300)).encode())),
    Change(
        "right-to-invalid", EDIT, NOT_CHECKED, RIGHT_POD, one("pod.yaml", POD.replace("kind: Pod", "kind: [").encode())
    ),
    Change("right-to-utf-32", EDIT, CAUGHT, RIGHT_POD, one("pod.yaml", POD.encode("utf-32"))),
    Change(
        "right-to-link", EDIT, CAUGHT, RIGHT_POD, lambda: {"pod.yaml": Link("words.bin"), "words.bin": POD.encode()}
    ),
    Change("right-to-upper-suffix", EDIT, CAUGHT, RIGHT_POD, lambda: {"pod.yaml": None, "pod.YAML": POD.encode()}),
    Change(
        "unread-to-unread", EDIT, CAUGHT, one("pod.yaml", RIGHT.encode("utf-32")), one("pod.yaml", POD.encode("utf-32"))
    ),
    Change(
        "unread-to-more",
        EDIT,
        CAUGHT,
        one("pod.yaml", (RIGHT + "x: [").encode()),
        one("pod.yaml", (POD + "x: [").encode()),
    ),
    Change(
        "limit-to-limit",
        EDIT,
        CAUGHT,
        one("pod.yaml", (RIGHT + f"x: {nest(300)}\n").encode()),
        one("pod.yaml", with_extra(nest(300)).encode()),
    ),
    Change(
        "script-to-python",
        EDIT,
        LISTED,
        one("run.sbatch", SCRIPT.replace(" 8", " 4").encode()),
        one("run.sbatch", SCRIPT.replace("bin/bash", "bin/python").encode()),
    ),
    Change(
        "second-object",
        EDIT,
        CHECKED,
        RIGHT_POD,
        one("pod.yaml", f"{RIGHT}---\n{POD.replace('chat', 'other')}".encode()),
        TOO_WIDE,
    ),
    Change(
        "same-name-other-object",
        EDIT,
        CHECKED,
        WRONG_POD,
        one("pod.yaml", f"{POD}---\n{POD.replace('size=8', 'size=16')}".encode()),
    ),
    Change(
        "worse-than-before",
        EDIT,
        CHECKED,
        WRONG_POD,
        one("pod.yaml", POD.replace("size=8", "size=64").encode()),
        TOO_WIDE,
    ),
    Change(
        "moved-and-worse",
        EDIT,
        CHECKED,
        WRONG_POD,
        lambda: {"pod.yaml": None, "apps/chat.yaml": POD.replace("size=8", "size=64").encode()},
        TOO_WIDE,
    ),
    Change(
        "duplicate-key",
        EDIT,
        CAUGHT,
        RIGHT_POD,
        one("pod.yaml", RIGHT.replace("gpu: 4", "gpu: 4\n          nvidia.com/gpu: 1").encode()),
    ),
    Change("kustomize-base", EDIT, CHECKED, lambda: {**KUSTOMIZATION}, one("base/pod.yaml", POD.encode()), TOO_WIDE),
    Change(
        "sourced-library",
        EDIT,
        CAUGHT,
        lambda: {**LIBRARY},
        one("lib.sh", LIBRARY["lib.sh"].replace(b"size 4", b"size 8")),
    ),
    Change(
        "config-map-value",
        EDIT,
        CAUGHT,
        one("pod.yaml", CONFIG_MAP.encode()),
        one("pod.yaml", CONFIG_MAP.replace("'4'", "'8'").encode()),
    ),
)
PLACE = "places"
PLACES: tuple[Change, ...] = (
    Change(
        "file-to-folder",
        PLACE,
        CHECKED,
        RIGHT_POD,
        lambda: {"pod.yaml": None, "pod.yaml/pod.yaml": POD.encode()},
        TOO_WIDE,
    ),
    Change(
        "folder-to-file",
        PLACE,
        CHECKED,
        one("pod.yaml/pod.yaml", RIGHT.encode()),
        lambda: {"pod.yaml/pod.yaml": None, "pod.yaml": POD.encode()},
        TOO_WIDE,
    ),
    Change(
        "renamed-and-changed", PLACE, CHECKED, RIGHT_POD, lambda: {"pod.yaml": None, "app.yaml": POD.encode()}, TOO_WIDE
    ),
    Change(
        "renamed-into-ignored-folder",
        PLACE,
        CAUGHT,
        RIGHT_POD,
        lambda: {"pod.yaml": None, "node_modules/pod.yaml": POD.encode()},
    ),
    Change(
        "renamed-to-unread-suffix",
        PLACE,
        CAUGHT,
        WRONG_POD,
        lambda: {"pod.yaml": None, "pod.Yaml": POD.replace("=8", "=16").encode()},
    ),
    Change(
        "from-unread-suffix",
        PLACE,
        CHECKED,
        one("pod.txt", POD.encode()),
        lambda: {"pod.txt": None, "pod.yaml": POD.encode()},
        TOO_WIDE,
    ),
    Change("submodule", PLACE, LISTED, RIGHT_POD, one("apps", Submodule())),
    Change("submodule-over-file", PLACE, LISTED, RIGHT_POD, one("pod.yaml", Submodule())),
    Change(
        "folder-to-link",
        PLACE,
        CAUGHT,
        one("apps/pod.yaml", RIGHT.encode()),
        lambda: {"apps/pod.yaml": None, "apps": Link("words.d"), "words.d/pod.txt": POD.encode()},
    ),
    Change("link-outside", PLACE, NOT_CHECKED, RIGHT_POD, one("pod.yaml", Link(f"../{OUTSIDE}/pod.yaml"))),
    Change("link-to-git", PLACE, NOT_CHECKED, RIGHT_POD, one("pod.yaml", Link(".git/config"))),
    Change(
        "20000-files",
        PLACE,
        CHECKED,
        RIGHT_POD,
        lambda: {**{f"d{n % 100}/f{n}.txt": b"" for n in range(20_000)}, "pod.yaml": POD.encode()},
        TOO_WIDE,
    ),
)
