"""Engines by what they do: every engine has a row, and general rules evaluate an engine that nothing else names."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

from gpulint import engines
from gpulint.catalog import capabilities, package_data, tables
from gpulint.policy.rules.diagnostics import load_folder
from gpulint.policy.rules.rule import Rule, RuleError, Target, load_shipped

NEW_ENGINE = '''"""Acme: a server that nobody has heard of."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading
from gpulint.workload import Field

MENTIONS = ("acme-serve",)
FLAGS = {"--model": ("checkpoint", str), "--tp": ("tensor_parallel", int), "--max-len": ("max_model_len", int)}


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of an Acme server; None for any other invocation."""
    words = invocation.arguments
    if not words or words[0].text != "acme-serve":
        return None
    fields = {"engine": Field("acme", (words[0].origin,))}
    for flag, value in zip(words[1::2], words[2::2], strict=True):
        name, kind = FLAGS[str(flag.text)]
        fields[name] = Field(kind(str(value.text)), (value.origin,))
    fields["max_model_len_stated"] = Field("max_model_len" in fields)
    return Reading(fields, words[-1].origin)
'''
MEMORY_RULE = '''"""Acme's memory: a fixed reserve beside weights and KV cache."""

from __future__ import annotations


def memory_budget_bytes(device_memory_bytes: float) -> float:
    return 0.9 * device_memory_bytes


def reserve_bytes() -> float:
    return 1.5e9


def kv_cache_bytes(memory_budget_bytes: float, weight_bytes_per_gpu: float, reserve_bytes: float) -> float:
    return max(0.0, memory_budget_bytes - weight_bytes_per_gpu - reserve_bytes)
'''
DEFAULTS = {
    **dict.fromkeys(("tensor_parallel", "pipeline_parallel", "data_parallel", "decode_context_parallel"), "1"),
    **dict.fromkeys(("weight_dtype", "kv_cache_dtype"), "auto"),
    **dict.fromkeys(("expert_parallel", "enforce_eager", "enable_prefix_caching", "enable_lora"), "false"),
    **dict.fromkeys(("latent_kv_cache", "uniform_kv_cache", "enable_chunked_prefill"), "true"),
    **dict.fromkeys(("cpu_offload_bytes", "swap_space_bytes", "host_kv_bytes"), "0"),
    "block_size": "16",
    "max_num_batched_tokens": "8192",
    "max_num_seqs": "256",
    "gpu_memory_utilization": "0.9",
}
"""The rows of engine_defaults.csv that the new engine brings."""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: chat}}}}
  template:
    metadata: {{labels: {{app: chat}}}}
    spec:
      nodeSelector: {{nvidia.com/gpu.product: {product}}}
      containers:
        - name: server
          image: ghcr.io/acme/serve:1.2
          command: [acme-serve, --model, {model}, --tp, "{ranks}", --max-len, "4096"]
          resources: {{limits: {{nvidia.com/gpu: {ranks}, memory: 900Gi}}}}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with one more engine: its module, its memory rule, and rows."""
    root = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "index.json")
    shutil.copytree(ROOT / "gpulint", root / "gpulint", ignore=ignored)
    for folder in ("rules", "packs", "schemas"):
        (root / folder).symlink_to(ROOT / folder)
    package = root / "gpulint"
    (package / "engines" / "serving" / "acme.py").write_text(NEW_ENGINE)
    (package / "sizing" / "engines" / "acme.py").write_text(MEMORY_RULE)
    header = list(tables.rows("engines")[0])
    cells = {
        "engine": "acme",
        "source": "made up",
        "date": "2026-11-22",
        **dict.fromkeys(capabilities.INFERENCE, "yes"),
    }
    _append(package, "engines", [[cells.get(column, "") for column in header]])
    _append(package, "engine_defaults", [["acme", *row] for row in _list_defaults()])
    return root


def _list_defaults() -> list[list[str]]:
    return [[field, "", "", "any", value, "none", "made up", "2026-11-22"] for field, value in DEFAULTS.items()]


def _append(package: Path, table: str, rows: list[list[str]]) -> None:
    with (package / "catalog" / "tables" / f"{table}.csv").open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _check(tree: Path, folder: Path, deployment: str) -> dict[str, list[dict[str, object]]]:
    """Return the report of the changed package about one deployment."""
    (folder / "deployment.yaml").write_text(deployment)
    program = "from gpulint.cli import main; main()"
    command = [sys.executable, "-c", program, "check", "--exit-zero", "--preview", "--format", "json", "."]
    run = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    report: dict[str, list[dict[str, object]]] = json.loads(run.stdout)
    return report


def test_a_new_engine_of_a_module_and_rows_is_told_that_its_weights_do_not_fit(tree: Path, tmp_path: Path) -> None:
    model = "meta-llama/Llama-3.1-70B-Instruct"
    report = _check(tree, tmp_path, DEPLOYMENT.format(product="NVIDIA-L4", model=model, ranks=2))
    found = {str(finding["rule"]): finding["severity"] for finding in report["findings"]}
    assert found["weights-exceed-memory"] == "error"


def test_every_general_inference_rule_is_evaluated_on_a_new_engine(tree: Path, tmp_path: Path) -> None:
    model = "meta-llama/Llama-3.1-8B-Instruct"
    report = _check(tree, tmp_path, DEPLOYMENT.format(product="NVIDIA-A100-SXM4-80GB", model=model, ranks=1))
    (workload,) = report["workloads"]
    (role,) = workload["roles"]  # type: ignore[misc]
    lacking = {one["rule"]: one["needs"] for one in role["not_evaluated"]}  # type: ignore[index]
    general = {one.name for one in load_shipped().values() if one.target.does and "inference" in one.target.kind}
    assert len(general) > 30
    assert not {name: lacking[name] for name in sorted(general & lacking.keys())}


def test_the_new_engine_is_among_the_roles_that_each_general_rule_is_about(tree: Path) -> None:
    program = (
        f"from {load_shipped.__module__} import {load_shipped.__name__} as load\n"
        f"rules = [rule for rule in load().values() if rule.target.does]\n"
        f"print(*(rule.name for rule in rules if rule.target.{Target.includes_engine.__name__}('acme')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tree,
        env={"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    asking = {one.name for one in load_shipped().values() if one.target.does and one.target.kind == ("inference",)}
    assert set(run.stdout.split()) == asking


# ---- the table


def test_every_engine_has_one_row() -> None:
    named = [engines.module_name(row["engine"]) for row in tables.rows("engines")]
    assert len(named) == len(set(named))
    assert set(package_data.list_mentions(engines.HERE)) <= set(named)


def test_every_engine_that_another_table_names_has_a_row() -> None:
    named = {
        word for table in ("engine_defaults", "fitted") for row in tables.rows(table) for word in row["engine"].split()
    }
    assert named <= set(tables.index_rows("engines", "engine"))


def test_every_capability_is_a_column_and_every_column_a_capability() -> None:
    described = {"engine", "gpu_images", "packages", "official_image", "download_folder", "source", "date"}
    columns = set(tables.rows("engines")[0]) - described
    assert columns == set(capabilities.MEANINGS)


@pytest.mark.parametrize("row", tables.rows("engines"), ids=lambda row: row["engine"])
def test_a_row_answers_for_every_capability_of_its_kind(row: tables.Row) -> None:
    answered = []
    for asked in (capabilities.INFERENCE, capabilities.TRAINING):
        cells = {row[name] for name in asked}
        assert cells == {""} or cells <= {"yes", "no", "varies"}
        answered.append(cells != {""})
    name = engines.module_name(row["engine"])
    module = engines.modules().get(name)
    if module is not None:
        assert answered[module.__name__.startswith("gpulint.engines.trainers.")]


def test_an_engine_that_refuses_a_long_context_does_not_start_with_it() -> None:
    for first, second in (
        ("refuses_context_beyond_kv", "starts_with_smaller_kv"),
        ("refuses_context_beyond_training", "accepts_context_beyond_training"),
    ):
        assert not capabilities.select_engines((first, second))


def test_every_capability_is_asked_for() -> None:
    asked = {name for one in load_shipped().values() for name in one.target.does}
    code = "\n".join(path.read_text() for path in (ROOT / "gpulint" / "suggestions").rglob("*.py"))
    assert {name for name in capabilities.MEANINGS if name not in asked and f'"{name}"' not in code} == set()


def test_no_rule_lists_engines_but_where_it_is_about_their_own_arguments() -> None:
    listing = {one.name for one in load_shipped().values() if len(one.target.engine) > 1}
    assert listing == {"generations-not-divisible", "quantised-weights-trained-whole", "save-interval-without-folder"}


def test_every_capability_of_a_shipped_rule_is_known_and_of_its_kind() -> None:
    kinds = {"inference": capabilities.INFERENCE, "training": capabilities.TRAINING}
    for one in load_shipped().values():
        assert all(name in kinds[kind] for kind in one.target.kind for name in one.target.does), one.name


def test_the_guide_to_own_rules_lists_every_capability_with_its_meaning() -> None:
    guide = (ROOT / "docs" / "own_rules.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | {meaning} |" in guide for name, meaning in capabilities.MEANINGS.items())


# ---- a team's rule

TEAM_RULE = """\
summary: A sharded model runs on few GPUs
severity: note
for: {{scope: workload, kind: {kind}, engine: {engine}}}
why: It is slow.
when: gpus_per_pod > 0
at: [gpus_per_pod]
message: "{{gpus_per_pod}} GPUs"
examples: {{bad: [a], good: [b]}}
"""


def _load(folder: Path, engine: str, kind: str = "inference") -> Rule:
    (folder / "rules").mkdir()
    (folder / "rules" / "few-gpus.yaml").write_text(TEAM_RULE.format(engine=engine, kind=kind))
    (rule,) = load_folder(folder / "rules")
    return rule


def test_a_teams_rule_asks_for_what_an_engine_does(tmp_path: Path) -> None:
    target = _load(tmp_path, "{does: [shards_weights, spans_nodes]}").target
    assert target.does == ("shards_weights", "spans_nodes")
    assert target.includes_engine("vllm") and not target.includes_engine("tgi")
    assert not target.includes_engine("") and not target.includes_engine("own program")


@pytest.mark.parametrize(
    ("engine", "column", "message"),
    [
        ("{does: shard_weights}", 56, "no such engine capability: shard_weights; did you mean shards_weights?"),
        ("{does: [spans_nodes, flies]}", 70, "no such engine capability: flies; docs/own_rules.md lists them"),
        ("{does: trains_adapters}", 56, "no engine does trains_adapters in a workload of kind inference"),
        ("{dose: shards_weights}", 50, "unknown key dose; did you mean does?"),
    ],
)
def test_a_capability_that_no_engine_has_is_refused_at_its_place(
    tmp_path: Path, engine: str, column: int, message: str
) -> None:
    with pytest.raises(RuleError) as refused:
        _load(tmp_path, engine)
    assert str(refused.value).splitlines()[0].endswith(f"few-gpus.yaml:3:{column}: {message}")


# ---- images and packages


@pytest.mark.parametrize(
    ("image", "built"),
    [
        ("docker.io/vllm/vllm-openai:v0.10.1", True),
        ("lmsysorg/sglang:v0.5", True),
        ("nvcr.io/nim/meta/llama:1", True),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.0", True),
        ("example.com/vllm-openailike:1", False),
        ("python:3.12", False),
    ],
)
def test_images_that_are_built_for_gpus_are_those_of_the_table(image: str, built: bool) -> None:
    assert bool(capabilities.compile_gpu_images().search(image)) is built


def test_packages_are_those_of_the_table() -> None:
    assert capabilities.compile_packages().search("llama_cpp_python[server]")
    assert not capabilities.compile_packages().search("transformers")
