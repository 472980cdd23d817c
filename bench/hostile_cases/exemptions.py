"""Pull requests that state a value for gpulint only, waive a finding or change the settings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases.model import (
    CHECKED,
    CLEAN,
    ENDS,
    EXECUTED,
    OUTSIDE,
    REFUSED,
    SHOWN,
    Change,
    Link,
    Made,
    one,
    several,
)
from hostile_cases.specs import (
    POD,
    RIGHT,
    SCRIPT,
    TOO_WIDE,
)
from hostile_cases.states import RIGHT_POD

GOVERNED = ("--policy-from", "BASE")
"""`BASE` stands for the base commit."""
SETTINGS = b"hints: [{path: '*', gpus: 8}]\n"
WAIVERS = "waivers"


def _on_l4(text: str) -> bytes:
    return text.replace("spec:", "spec:\n  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}", 1).encode()


HINTED: tuple[tuple[str, str, Made, Made], ...] = (
    ("comment-gpus", CHECKED, RIGHT_POD, one("pod.yaml", f"# gpulint: gpus=8\n{POD}".encode())),
    (
        "annotation-model",
        CHECKED,
        RIGHT_POD,
        one(
            "pod.yaml",
            RIGHT.replace("name: chat", "name: chat\n  annotations: {gpulint/model: Qwen/Qwen3-0.6B}").encode(),
        ),
    ),
    ("policy-gpus", CHECKED, RIGHT_POD, lambda: {"gpulint.yaml": SETTINGS, "pod.yaml": POD.encode()}),
    (
        "comment-on-script",
        CHECKED,
        one("run.sbatch", SCRIPT.replace(" 8", " 4").encode()),
        one("run.sbatch", SCRIPT.replace("vllm", "# gpulint: gpus=8\nvllm", 1).encode()),
    ),
    ("comment-alone", CHECKED, RIGHT_POD, one("pod.yaml", f"# gpulint: gpus=8\n{RIGHT}".encode())),
    (
        "comment-accelerator",
        CHECKED,
        one("pod.yaml", _on_l4(RIGHT)),
        one("pod.yaml", b"# gpulint: accelerator=h200-sxm-141gb\n" + _on_l4(RIGHT)),
    ),
    (
        "policy-accelerator",
        SHOWN,  # a setting that applies is among the hints of the change; one that waits for its commit is a note
        one("pod.yaml", _on_l4(RIGHT)),
        one("gpulint.yaml", b"hints: [{path: '*', accelerator: h200-sxm-141gb}]\n"),
    ),
)


def list_changes() -> Iterator[Change]:
    """Yield changes of what is checked and what counts."""
    for cases in (_overrides(), _waivers_in_files(), _waivers_in_settings(), _settings()):
        yield from cases


def _overrides() -> Iterator[Change]:
    way = "overrides"
    for suffix, words in (("", ()), ("-governed", GOVERNED)):
        for name, expected, base, head in HINTED:
            yield Change(f"{name}{suffix}", way, expected, base, head, words=words)
    yield Change(
        "comment-fills-gap", way, CLEAN, RIGHT_POD, one("pod.yaml", f"# gpulint: accelerator=l40s\n{RIGHT}".encode())
    )
    yield Change("comment-agrees", way, CLEAN, RIGHT_POD, one("pod.yaml", f"# gpulint: gpus=4\n{RIGHT}".encode()))


def _govern(name: str, head: Made, expected: str = CHECKED) -> Change:
    return Change(name, WAIVERS, expected, RIGHT_POD, head, TOO_WIDE if expected == CHECKED else "", GOVERNED)


def _waivers_in_files() -> Iterator[Change]:
    yield _govern("comment", one("pod.yaml", f"# gpulint: ignore[{TOO_WIDE}] it is fine\n{POD}".encode()))
    yield _govern(
        "comment-on-line",
        one("pod.yaml", POD.replace('size=8"]', f'size=8"]  # gpulint: ignore[{TOO_WIDE}] fine').encode()),
    )
    yield _govern("comment-for-family", one("pod.yaml", f"# gpulint: ignore[parallelism] it is fine\n{POD}".encode()))
    yield _govern(
        "annotation",
        one(
            "pod.yaml",
            POD.replace("name: chat", f"name: chat\n  annotations: {{gpulint/ignore: '{TOO_WIDE}: fine'}}").encode(),
        ),
    )


def _waivers_in_settings() -> Iterator[Change]:
    for key, text in {
        "waivers": f"waivers: [{{rule: {TOO_WIDE}, path: '*', reason: fine}}]\n", "ignore": f"ignore: [{TOO_WIDE}]\n", "select": "select: [memory]\n",
        "severity": f"severity: {{{TOO_WIDE}: 'off'}}\n", "exclude": "exclude: ['*.yaml']\n", "rules": "rules: [policies]\n",
    }.items():  # fmt: skip
        yield _govern(f"policy-{key}", several({"gpulint.yaml": text.encode(), "pod.yaml": POD.encode()}))
    yield _govern(
        "policy-in-folder", lambda: {"apps/gpulint.yaml": b"select: [memory]\n", "apps/pod.yaml": POD.encode()}
    )
    yield _govern("policy-invalid", lambda: {"gpulint.yaml": b"select: [\n", "pod.yaml": POD.encode()})
    entry = {"rule": TOO_WIDE, "path": "pod.yaml", "workload": "chat", "fingerprint": "f806eb20043e3033"}
    accepted = json.dumps({"format": "gpulint-baseline/1", "findings": [entry]}).encode()
    yield _govern("baseline", lambda: {".gpulint-baseline.json": accepted, "pod.yaml": POD.encode()})
    yield _govern("ignore-file", lambda: {".gitignore": b"*.yaml\n", "pod.yaml": POD.encode()})
    yield _govern(
        "attributes",
        lambda: {
            ".gitattributes": b"*.yaml -text -diff linguist-generated export-ignore binary\n",
            "pod.yaml": POD.encode(),
        },
    )
    yield Change(
        "ignore-file-ungoverned",
        WAIVERS,
        CHECKED,
        RIGHT_POD,
        lambda: {".gitignore": b"*\n", "pod.yaml": POD.encode()},
        TOO_WIDE,
    )
    yield Change(
        "move-under-waiver",
        WAIVERS,
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
