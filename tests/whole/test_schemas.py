"""The contracts in schemas/: made from the models, and kept by what gpulint writes and reads.

`PYTHONPATH=tests/support python tests/whole/test_schemas.py` writes the files anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pydantic
import pytest
from contracts import FOLDER, validator

from gpulint.adapters import native
from gpulint.catalog import package_data
from gpulint.facility import schema as facility_schema
from gpulint.policy.config import schema
from gpulint.policy.rules import diagnostics, rule
from gpulint.report import contract
from gpulint.report.formats import json as formats_json
from gpulint.report.plan import PlanFile
from gpulint.report.report import ReportFile

OF_A_RUN = frozenset({"file-not-checked", "stale-baseline-entry", "hint-not-applied", "new-hint-contradicts-file"})
"""Rules whose samples show only with a baseline or a commit."""
OPEN_MAPS = {
    *("facts", "unknown", "values"),  # report: by fact name
    "refused",  # plan: by reason
    "like",  # policy: by checkpoint
    "labels",  # policy: by the key of a node label
    "severity",  # policy: by rule or family
}
"""Keys whose mappings hold names that no contract lists."""


def contracts() -> dict[str, type[pydantic.BaseModel]]:
    """The model of each contract by the stem of its file."""
    return {
        "spec": native.spec_model(),
        "facility": facility_schema.facility_model(),
        "policy": schema.PolicyFile,
        "rule": schema.RuleFile,
        "report": contract.make_model(ReportFile),
        "plan": contract.make_model(PlanFile),
        "baseline": schema.BaselineFile,
    }


def generated(name: str) -> str:
    """The text of schemas/<name>.json."""
    return json.dumps(schema.json_schema(contracts()[name], f"gpulint {name}"), indent=2, ensure_ascii=False) + "\n"


def write() -> None:
    """Write every contract."""
    FOLDER.mkdir(exist_ok=True)
    for name in contracts():
        (FOLDER / f"{name}.json").write_text(generated(name), encoding="utf-8")


def reported(text: str) -> dict[str, object]:
    """The JSON report on a text, as a reader gets it."""
    import samples

    data: dict[str, object] = json.loads(formats_json.render(samples.report(text, today="2026-11-22")))
    return data


def bad_samples() -> list[tuple[str, str]]:
    """All but those of what a run compares with a baseline or a commit."""
    rules = [one for one in rule.load_shipped().values() if one.name not in OF_A_RUN]
    return [(one.name, str(text)) for one in rules for text in rule.load_examples(one)["bad"]]


def baselines() -> list[tuple[str, str]]:
    """The samples of what is said of a baseline."""
    samples = rule.load_examples(rule.load_shipped()["stale-baseline-entry"])
    return [(side, str(text)) for side in ("bad", "good") for text in samples[side]]


@pytest.mark.parametrize(("side", "text"), baselines())
def test_a_baseline_follows_its_contract_and_is_read(side: str, text: str) -> None:
    from gpulint.policy.waivers import baseline

    assert [error.message for error in validator("baseline").iter_errors(json.loads(text))] == []
    assert len(baseline.read("b.json", text.encode()).entries) == (side == "bad")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gpulint-baseline/1", "gpulint-baseline/2"),
        ('"count": 1', '"count": 0'),
        ('"count": 1', '"count": "1"'),
        ('"rule": "gpu-limit-missing"', '"rule": ""'),
        ('"value": "1"', '"value": 1'),
        ('"value"', '"valve"'),
        ('"gpulint": "0.1.0",', ""),
    ],
)
def test_what_the_contract_of_baselines_refuses_the_reader_refuses(old: str, new: str) -> None:
    from gpulint.policy.waivers import baseline

    text = baselines()[0][1].replace(old, new)
    assert list(validator("baseline").iter_errors(json.loads(text)))
    with pytest.raises(baseline.BaselineError):
        baseline.read("b.json", text.encode())


# ---- the files


@pytest.mark.parametrize("name", contracts())
def test_the_committed_contract_is_the_generated_one(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == generated(name), (
        "write it anew, as the first lines here say"
    )


def test_there_is_no_contract_without_a_model() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(contracts())


@pytest.mark.parametrize("name", contracts())
def test_the_contract_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads((FOLDER / f"{name}.json").read_bytes()))


WORDS_BY_NAME = {"type": "string"}
"""Labels and annotations, whose names are a team's own."""


def objects(node: object, key: str = "") -> Iterator[tuple[str, dict[str, object]]]:
    """Every schema of an object, with the key it stands under."""
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield key, node
        for name, inner in node.items():
            yield from objects(inner, str(name))
    elif isinstance(node, list):
        for inner in node:
            yield from objects(inner, key)


@pytest.mark.parametrize("name", ["policy", "rule", "report", "plan"])
def test_no_object_takes_keys_that_the_contract_does_not_name(name: str) -> None:
    stray = [
        key
        for key, node in objects(json.loads((FOLDER / f"{name}.json").read_bytes()))
        if node.get("additionalProperties") not in (False, WORDS_BY_NAME) and key not in OPEN_MAPS
    ]
    assert stray == []


def test_an_editor_has_a_description_of_every_key_of_a_policy() -> None:
    contract = json.loads((FOLDER / "policy.json").read_bytes())
    models = {"gpulint.yaml": contract, **contract["$defs"]}
    mute = [
        f"{name}.{key}"
        for name, model in models.items()
        for key, stated in model.get("properties", {}).items()
        if not stated.get("description")
    ]
    assert mute == []


# ---- the report


@pytest.mark.parametrize(("name", "text"), bad_samples(), ids=[name for name, _ in bad_samples()])
def test_the_report_on_a_bad_sample_follows_its_contract(name: str, text: str) -> None:
    report = reported(text)
    assert [f"{list(error.path)}: {error.message}" for error in validator("report").iter_errors(report)] == []
    findings = report["findings"]
    assert isinstance(findings, list)
    assert name in {finding["rule"] for finding in findings}


@pytest.mark.parametrize("text", ["", "apiVersion: v1\nkind: ConfigMap\n", "kind: [nvidia.com/gpu\n"])
def test_the_report_on_little_or_nothing_follows_its_contract(text: str) -> None:
    validator("report").validate(reported(text))


def test_a_report_with_a_further_key_is_refused() -> None:
    report = reported("") | {"extra": 1}
    assert not validator("report").is_valid(report)


def test_a_report_without_its_summary_is_refused() -> None:
    report = reported("")
    del report["summary"]
    assert not validator("report").is_valid(report)


def test_the_format_is_named_on_top() -> None:
    report = reported("")
    assert list(report)[:3] == ["format", "tool", "catalog"]
    assert report["format"] == "gpulint-report/2"


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_run_imports_neither_the_contracts_nor_their_libraries(tmp_path: Path, format_: str) -> None:
    (tmp_path / "pod.yaml").write_text(dict(bad_samples())["gpu-request-differs-from-limit"])
    probe = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from gpulint import cli\n"
        f"result = CliRunner().invoke(cli.main, ['check', '--format', '{format_}', 'pod.yaml'])\n"
        "assert result.exit_code == 1, result.output\n"
        "heavy = {'pydantic', 'jsonschema', 'rich', 'gpulint.report.contract', 'gpulint.policy.config.schema'}\n"
        "print(*sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr


# ---- rules and specs against their contracts


@pytest.mark.parametrize("one", rule.load_shipped().values(), ids=lambda one: one.name)
def test_every_shipped_rule_follows_the_contract_for_teams(one: rule.Rule) -> None:
    assert one.path is not None
    assert [error.message for error in validator("rule").iter_errors(package_data.read_yaml(one.path))] == []
    assert diagnostics.load(one.path) == one


@pytest.mark.parametrize(
    "change",
    [
        {"severity": "fatal"},
        {"whn": "true"},
        {"for": {"scope": "galaxy"}},
        {"arithmetic": ["a", "b", "c", "d"]},
        {"at": "gpus"},
    ],
)
def test_a_rule_that_breaks_the_contract_is_refused(change: dict[str, object]) -> None:
    sound = {"summary": "s", "severity": "error", "for": {"scope": "workload"}, "why": "w.", "when": "true"}
    sound |= {"message": "m", "examples": {"bad": ["a"], "good": ["b"]}}
    assert validator("rule").is_valid(sound)
    assert not validator("rule").is_valid(sound | change)


def test_a_spec_in_the_glossarys_words_follows_the_contract_and_a_misspelt_one_does_not() -> None:
    role = {"name": "server", "engine": "vllm", "tensor_parallel": 4, "host_memory_bytes": "80Gi"}
    spec = {"apiVersion": "gpulint/v1", "kind": "InferenceService", "metadata": {"name": "chat"}}
    assert validator("spec").is_valid(spec | {"spec": {"roles": [role]}})
    assert not validator("spec").is_valid(spec | {"spec": {"roles": [role | {"tensor_paralell": 4}]}})
    assert not validator("spec").is_valid(spec | {"kind": "Deployment", "spec": {"roles": [role]}})
    assert not validator("spec").is_valid(spec | {"spec": {"roles": []}})


if __name__ == "__main__":
    write()
