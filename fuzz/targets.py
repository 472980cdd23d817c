"""Targets: what one input is given to, by name. Each returns the text that must be the same in a second run."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fuzz import seeds, trial
from fuzz.seeds import Seed

if TYPE_CHECKING:
    from gpulint.policy.resolved import ResolvedPolicy
    from gpulint.report.model import Report

Tried = Callable[[bytes], str]
TODAY = "2026-11-22"
POD = b"""
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: registry.example.com/team/llm:1.0
      env: [{name: MODEL, value: a/b}]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
BREAK = b"\n=== next file ===\n"
NAMES = ("a.yaml", "run.sh", "main.tf")
FORMATS = {
    "yaml": "x.yaml",
    "json": "x.json",
    "toml": "x.toml",
    "hcl": "x.tf",
    "pbtxt": "x.pbtxt",
    "slurm": "slurm.conf",
    "template": "x.yaml.tpl",
}


class Target(NamedTuple):
    """A target: what it runs, its seeds, and the packages of which the coverage counts."""

    name: str
    run: Tried
    seeds: Callable[[], Sequence[bytes]]
    packages: tuple[str, ...]


@functools.cache
def find() -> Mapping[str, Target]:
    """Return the targets that `--all` tries."""
    listed = [*_documents(), *_parts(), *_pipelines()]
    return {target.name: target for target in listed}


def find_all() -> Mapping[str, Target]:
    """Return all targets, those of each adapter and each engine among them; this reads every seed."""
    found = dict(find())
    for name, own in sorted(seeds.find_adapters().items()):
        found[f"adapter-{name}"] = Target(
            f"adapter-{name}", _read, _contents(own), ("gpulint.adapters", "gpulint.engines")
        )
    for name, commands in sorted(seeds.find_engines().items()):
        found[f"engine-{name}"] = Target(f"engine-{name}", _read_arguments, commands.copy, ("gpulint.engines",))
    return found


def select(names: Iterable[str]) -> Mapping[str, Target]:
    """Return the targets among which these names are: all of them only if the main ones do not suffice."""
    return find() if set(names) <= find().keys() else find_all()


def _contents(own: Sequence[Seed]) -> Callable[[], Sequence[bytes]]:
    return lambda: [_pack(seed) for seed in own]


def _pack(seed: Seed) -> bytes:
    """Return a seed with its path on the first line, which decides its format."""
    return seed.path.encode() + b"\n" + seed.content


def _unpack(data: bytes) -> tuple[str, bytes]:
    path, _, content = data.partition(b"\n")
    name = path.decode("utf-8", "replace").replace("\0", "")[-60:]
    return name or "spec.yaml", content


# ---- documents


def _documents() -> Iterator[Target]:
    for name, path in FORMATS.items():
        suffix = path.rpartition(".")[2]
        yield Target(
            f"documents-{name}", functools.partial(_load, path), functools.partial(_of_suffix, suffix), ("gpulint.source.documents",)
        )  # fmt: skip


def _of_suffix(suffix: str) -> list[bytes]:
    own = [seed.content for seed in seeds.collect() if seed.path.endswith(suffix)]
    return own or [seed.content for seed in seeds.collect()][:50]


def _load(path: str, data: bytes) -> str:
    from gpulint import adapters
    from gpulint.source import documents

    found = documents.load(path, data, adapters.is_relevant)
    for document in found.documents:
        document.locate(("kind",))
        document.locate(("spec", 0, "x"))
    return repr([(document.data, document.index) for document in found.documents]) + repr(found[1:])


# ---- parts


def _parts() -> Iterator[Target]:
    everything = _contents_of_all
    yield Target("shell", _read_shell, lambda: _of_suffix("sh"), ("gpulint.source.shell",))
    yield Target("python", _evaluate_python, _python_seeds, ("gpulint.source.python", "gpulint.adapters.python"))
    yield Target("images", _read_image, _image_seeds, ("gpulint.adapters.images", "gpulint.source.dockerfile"))
    yield Target("adapters", _read, everything, ("gpulint.adapters",))
    yield Target("engines", _read_arguments, lambda: [*seeds.find_commands()], ("gpulint.engines",))
    yield Target("policies", _read_policy, _policy_seeds, ("gpulint.policy",))
    yield Target("rules", _read_rule, _rule_seeds, ("gpulint.policy",))
    yield Target("logs", _read_log, _log_seeds, ("gpulint.adapters.logs",))


def _contents_of_all() -> list[bytes]:
    return [_pack(seed) for seed in seeds.collect()]


def _read_shell(data: bytes) -> str:
    from gpulint.source import shell

    commands = shell.read_commands(data.decode("utf-8", "replace"), {"HOME": "/root", "X": None})
    inner = [shell.read_inner(word, command) for command in commands[:20] for word in command.words[:20]]
    return repr([[word.text_with_holes for word in command.words] for command in commands]) + str(len(inner))


def _evaluate_python(data: bytes) -> str:
    """Evaluate a program as a file of its own, and as the one that a script starts with some words."""
    from gpulint.source import documents, python
    from gpulint.source.python import Given

    found = documents.load("main.py", data).documents
    given = [Given(word) for word in ("--model", "Qwen/Qwen3-8B", "x=1", "--flag", "--size=8")]
    printed = []
    for words in (None, given) if found else ():
        evaluated = python.evaluate(
            "main.py", {"main.py": found[0]}.get, words, {"MODEL": Given("a/b"), "N": Given(None)}
        )
        evaluated.enter_rest()
        printed += [f"{call.name} {len(call.arguments)} {sorted(call.keywords)}" for call in evaluated.calls]
    text = data.decode("utf-8", "replace").encode()
    return "\n".join((*printed, _read(b"main.py\n" + text), _read(b"main.ipynb\n" + text)))


def _python_seeds() -> list[bytes]:
    own = [place.read_bytes() for place in sorted((seeds.ROOT / "formats").glob("*.py"))]
    tests = (seeds.ROOT / "tests/adapters/python", seeds.ROOT / "tests/source/python")
    texts = [text for folder in tests for place in sorted(folder.glob("*.py")) for text in seeds.list_texts(place)]
    return [*own, *(text.encode() for text in texts if "import" in text)]


def _read_image(data: bytes) -> str:
    """Read a Dockerfile and a file that builds it, from a manifest of its image."""
    from gpulint.pipeline import enrichment
    from gpulint.pipeline.rule_tests.samples import ExampleRepository
    from gpulint.source import documents

    image, _, builder = data.partition(BREAK)
    script = b'#!/bin/bash\nexec vllm serve "$MODEL" "$@"\n'
    files = {"pod.yaml": POD, "llm/Dockerfile": image, "base/Dockerfile": image, "llm/start.sh": script}
    printed = []
    for name in ("build.sh", "compose.yaml", "skaffold.yaml", ".github/workflows/build.yml", "docker-bake.hcl"):
        repository = ExampleRepository({**files, name: builder})
        (document,) = documents.load("pod.yaml", POD).documents
        for workload in enrichment.read(document, repository):
            printed += [repr((role.name, role.image_assumption, sorted(role.fields))) for role in workload.roles]
    return "\n".join(printed)


def _image_seeds() -> list[bytes]:
    tests = seeds.ROOT / "tests/pipeline/enrichment/test_built_images.py"
    texts = [text for text in seeds.list_texts(tests) if "\n" in text]
    images = [text for text in texts if "FROM " in text]
    return [image.encode() + BREAK + texts[at % len(texts)].encode() for at, image in enumerate(images)]


def _read(data: bytes) -> str:
    """Read the workloads of a file with their facts."""
    from gpulint import adapters
    from gpulint.pipeline.rule_tests.samples import ExampleRepository
    from gpulint.source import documents

    path, content = _unpack(data)
    repository = ExampleRepository({path: content})
    printed = []
    for document in documents.load(path, content, adapters.is_relevant).documents:
        adapter = adapters.find_adapter(document)
        if adapter is None:
            continue
        printed.append(adapters.kind(adapter, document))
        printed += [str(problem.message) for problem in adapters.problems(adapter, document, repository)]
        for workload in adapters.workloads(adapter, document, repository):
            printed += [repr((workload.name, role.name, sorted(role.fields))) for role in workload.roles]
    return "\n".join(printed)


def _read_arguments(data: bytes) -> str:
    """Read the words of a container."""
    return _read(b"pod.json\n" + _build_pod(data, ""))


def _check_arguments(data: bytes) -> str:
    """Check a pod that starts these words on GPUs of a known kind."""
    return _check({"pod.json": _build_pod(data, "nvidia-h100-80gb")}, _policy())


def _build_pod(data: bytes, accelerator: str) -> bytes:
    """Return a pod from lines: its image, then one word on each; some of them are also values of its environment."""
    image, *words = data.decode("utf-8", "replace").split("\n")
    half = len(words) // 2
    variables = [{"name": name or "X", "value": word} for name, word in zip(words[half:], words, strict=False)][:20]
    container: dict[str, object] = {
        "name": "c",
        "image": image,
        "command": words[:1],
        "args": words[1:],
        "env": variables,
    }
    container["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    spec: dict[str, object] = {"containers": [container]}
    if accelerator:
        spec["nodeSelector"] = {"cloud.google.com/gke-accelerator": accelerator}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}).encode()


def _read_policy(data: bytes) -> str:
    from gpulint.policy.config import load
    from gpulint.policy.config.files import SettingsError, SuppliedFileReader
    from gpulint.policy.rules import rule, selection

    try:
        settings = load.read_file(SuppliedFileReader(_make_folder("empty"), "gpulint.yaml", data), "gpulint.yaml")
        known = selection.load_rules(settings, ())
        selection.check_waivers(known, settings)
        return repr([one.name for one in selection.enable_rules(known, settings, (), (), preview=False)])
    except (SettingsError, rule.RuleError) as error:
        return str(error)


@functools.cache
def _make_folder(name: str) -> Path:
    """Return a folder of this process."""
    folder = trial.make_folder() / name
    with trial.paused():
        folder.mkdir(parents=True)
    return folder


def _policy_seeds() -> list[bytes]:
    packs = [place.read_bytes() for place in sorted((seeds.ROOT / "packs").rglob("*.yaml"))]
    own = [seed.content for seed in seeds.collect() if b"fail-on" in seed.content or seed.path.endswith("gpulint.yaml")]
    keys = (
        b"select: [memory]\n",
        b"hints: [{path: '*', gpus: 8}]\n",
        b"budgets: [{name: x, path: '*', gpus: 8}]\n",
        b"prices: []\n",
        b"exclude: ['*']\n",
    )
    return [*packs, *own, *keys]


def _read_rule(data: bytes) -> str:
    """Check one spec under a rule of a team."""
    from gpulint.policy.config import load
    from gpulint.policy.config.files import SettingsError, SuppliedFileReader
    from gpulint.policy.rules import rule, selection

    folder = _make_folder("rules/team")
    with trial.paused():
        (folder / "x.yaml").write_bytes(data)
    try:
        reader = SuppliedFileReader(folder.parent, "gpulint.yaml", b"rules: [team]\n")
        settings = load.read_file(reader, "gpulint.yaml")
        known = selection.load_rules(settings, ())
        enabled = selection.enable_rules(known, settings, (), (), preview=True)
    except (SettingsError, rule.RuleError) as error:
        return str(error)
    own = tuple(one for one in enabled if rule.is_own(one))
    return _check({"pod.yaml": POD}, replace(_policy(), rules=own, every_rule=tuple(known)))


def _rule_seeds() -> list[bytes]:
    own = [seed.content for seed in seeds.collect() if b"when:" in seed.content and b"severity:" in seed.content]
    return [*own, *(place.read_bytes() for place in sorted((seeds.ROOT / "rules").rglob("*.yaml")))]


def _read_log(data: bytes) -> str:
    from gpulint.adapters.logs import reader

    return repr(reader.read(data))


def _log_seeds() -> list[bytes]:
    """Return the logs in the texts of the tests."""
    import ast

    texts: list[bytes] = []
    for place in sorted((seeds.ROOT / "tests" / "adapters" / "logs").glob("*.py")):
        constants = (
            node.value
            for node in ast.walk(ast.parse(place.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        )
        texts += [text.encode("utf-8", "replace") for text in constants if isinstance(text, str) and len(text) > 40]
    return texts


# ---- the whole pipeline

POD = b"""\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - {name: c, image: "vllm/vllm-openai:v0.10.1", args: ["--model=Qwen/Qwen3-8B", "-tp=8"], resources: {limits: {nvidia.com/gpu: 4}}}
"""


def _pipelines() -> Iterator[Target]:
    yield Target("facility", _check_file, _facility_seeds, ("gpulint.facility", "gpulint.sizing"))
    yield Target("commands", _check_arguments, lambda: [*seeds.find_commands()], ("gpulint",))
    yield Target("pipeline", _check_file, _contents_of_all, ("gpulint",))
    yield Target("repository", _check_repository, _repository_seeds, ("gpulint",))


def _facility_seeds() -> list[bytes]:
    return [_pack(seed) for seed in seeds.collect() if b"kind: Facility" in seed.content]


def _check_file(data: bytes) -> str:
    path, content = _unpack(data)
    return _check({path: content}, _policy())


def _repository_seeds() -> list[bytes]:
    everything = seeds.collect()
    yaml, shell, hcl = ([seed for seed in everything if seed.path.endswith(suffix)] for suffix in ("yaml", "sh", "tf"))
    return [
        BREAK.join((one.content, shell[at % len(shell)].content, hcl[at % len(hcl)].content))
        for at, one in enumerate(yaml)
    ]


def _check_repository(data: bytes) -> str:
    """Check three files of a folder as the command line does, with a policy if one of them is named so."""
    import gpulint

    parts = data.split(BREAK)[:3]
    folder = _make_folder("repository/.git").parent
    with trial.paused():
        for name, content in zip(NAMES, (*parts, b"", b""), strict=False):
            (folder / name).write_bytes(content)
    here = Path.cwd()
    os.chdir(folder)
    try:
        return _render(gpulint.check(".", gpulint.Options(today=TODAY)))
    except gpulint.Unusable as error:
        return str(error)
    finally:
        os.chdir(here)


def _check(files: Mapping[str, bytes], policy: ResolvedPolicy) -> str:
    from gpulint.pipeline import check
    from gpulint.pipeline.rule_tests.samples import ExampleRepository
    from gpulint.source.repository import Source

    sources = [Source(path, content) for path, content in files.items()]
    return _render(check.check_files(sources, ExampleRepository(files), policy))


def _render(report: Report) -> str:
    """Return a report as JSON; raise Failed if gpulint itself failed. Every other format is rendered as well."""
    from gpulint.report.formats import gitlab, junit, markdown, sarif, text
    from gpulint.report.formats import json as json_report

    if report.failures:
        failure = report.failures[0]
        raise trial.FailedError(f"{failure.doing}: {failure.error}")
    for format_ in (gitlab, junit, markdown, sarif):
        format_.render(report)
    text.render(report)
    return json_report.render(report)


@functools.cache
def _policy() -> ResolvedPolicy:
    from gpulint.catalog.offers import EVERYTHING
    from gpulint.policy.resolved import ResolvedPolicy
    from gpulint.policy.rules.rule import load_shipped

    shipped = load_shipped()
    return ResolvedPolicy(tuple(shipped.values()), tuple(shipped), available=EVERYTHING._replace(today=TODAY))
