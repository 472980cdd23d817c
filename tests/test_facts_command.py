"""`gpulint facts`: what a rule can compare is found by its words, and shown with its worth and where that comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.facts.glossary import glossary

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen3-8B, --max-model-len=8192]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
JOB = POD.replace("name: chat", "name: second").replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 2")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("chat.yaml").write_text(POD, encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.main, ["facts", *words])


def table(result: Result) -> dict[str, list[str]]:
    """The rows of a table by their first cell, the cells apart where two spaces or more part them."""
    rows = [[cell for cell in line.split("  ") if cell] for line in result.stdout.splitlines()]
    return {row[0]: [cell.strip() for cell in row[1:]] for row in rows if row}


def test_every_fact_is_listed_once_with_unit_and_meaning() -> None:
    lines = run().stdout.splitlines()
    assert lines[0].split() == ["fact", "unit", "meaning"]
    assert [line.split()[0] for line in lines[1:]] == list(glossary())


def test_every_word_narrows_the_list_wherever_it_stands() -> None:
    assert table(run("weights", "fullest", "gpu"))["weight_bytes_per_gpu"] == ["bytes", "weights on the fullest GPU"]
    assert "gpu_limit" in table(run("GPU", "limits"))
    assert "gpus_per_pod" not in table(run("GPU", "limits"))


def test_a_fact_that_may_be_null_says_so() -> None:
    assert table(run("host_memory_bytes"))["host_memory_bytes"][-1].endswith("(null if not declared)")


def test_words_that_no_fact_has_are_misuse_with_the_nearest_name() -> None:
    result = run("gpus_per_prod")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("gpulint: no fact matches gpus_per_prod; did you mean gpus_per_pod")


def test_a_fact_of_a_file_is_shown_as_a_condition_compares_it_as_it_is_printed_and_with_its_place() -> None:
    result = run("gpus_per_pod", "--of", "chat.yaml")
    assert result.stdout == (
        "chat/server  chat.yaml:7\n"
        "fact          in a condition  printed  source\n"
        "gpus_per_pod  1                        chat.yaml:10\n"
    )


def test_a_fact_in_another_unit_is_shown_in_both() -> None:
    shown = table(run("weight_bytes_per_gpu", "--of", "chat.yaml"))["weight_bytes_per_gpu"]
    assert shown == ["16381470720", "15.26 GiB", "weights.weight_bytes_per_gpu"]


def test_a_fact_that_is_not_the_same_in_all_scenarios_shows_all_three() -> None:
    shown = table(run("required_bytes_per_gpu", "--of", "chat.yaml"))["required_bytes_per_gpu"]
    low, expected, high = (int(one) for one in shown[0].split(" / "))
    assert low < expected < high


def test_texts_flags_and_nothing_are_written_as_cel_writes_them() -> None:
    shown = table(run("--of", "chat.yaml"))
    assert shown["engine"][0] == "'vllm'"
    assert shown["shared_memory_default"][0] == "true"
    assert "null" in table(run("host_memory_bytes", "--of", "chat.yaml"))["host_memory_bytes"]


def test_without_words_what_nothing_states_is_counted_and_what_is_unknown_names_what_it_lacks() -> None:
    lines = run("--of", "chat.yaml").stdout.splitlines()
    assert not any(line.startswith("pods_kept ") for line in lines)
    assert any(line.startswith("not declared: ") for line in lines)
    assert any(line.startswith("unknown: ") and "sharding (" in line for line in lines)


def test_an_unknown_fact_that_is_asked_for_names_what_it_lacks() -> None:
    Path("bare.yaml").write_text(POD.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", ""))
    assert (
        "unknown: device_memory_bytes (missing: accelerator)" in run("device_memory_bytes", "--of", "bare.yaml").stdout
    )


def test_the_accelerator_of_files_that_name_none_can_be_said() -> None:
    Path("bare.yaml").write_text(POD.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", ""))
    assert "'h100-sxm-80gb'" in run("accelerator", "--of", "bare.yaml", "--accelerator", "h100-sxm-80gb").stdout


def test_one_workload_of_a_file_is_asked_for_by_its_name() -> None:
    Path("two.yaml").write_text(POD + "---\n" + JOB, encoding="utf-8")
    assert run("gpus_per_pod", "--of", "two.yaml").stdout.count("gpus_per_pod") == 2
    assert table(run("gpus_per_pod", "--of", "two.yaml:second"))["gpus_per_pod"] == ["2", "two.yaml:21"]


@pytest.mark.parametrize("place", ["chat.yaml:other", "settings.yaml"])
def test_a_file_without_such_a_workload_is_misuse(place: str) -> None:
    Path("settings.yaml").write_text("a: gpu\n", encoding="utf-8")
    result = run("--of", place)
    assert (result.exit_code, result.stderr) == (2, f"gpulint: {place} has no workload that gpulint can read\n")


def test_the_list_is_given_as_json() -> None:
    data = json.loads(run("gpus_per_pod", "--format", "json").stdout)
    assert data["format"] == "gpulint-facts/1"
    assert data["facts"][0] | {"ask": ""} == {
        "name": "gpus_per_pod",
        "of": "pod",
        "type": "number",
        "unit": "",
        "meaning": "GPUs or slices that one pod of the role requests",
        "ask": "",
    }


def test_a_fact_of_a_facility_is_listed_with_its_word_in_the_file() -> None:
    (told,) = [
        one for one in json.loads(run("breaker", "--format", "json").stdout)["facts"] if one["name"] == "breaker_a"
    ]
    assert (told["of"], told["part"], told["key"]) == ("facility", ["feed", "panel"], "breaker")


def test_the_worth_is_given_as_json_in_base_units_and_three_scenarios() -> None:
    (role,) = json.loads(run("weight_bytes_per_gpu", "--of", "chat.yaml", "--format", "json").stdout)["roles"]
    assert (role["workload"], role["role"], role["place"]) == ("chat", "server", "chat.yaml:7")
    assert role["facts"]["weight_bytes_per_gpu"] == {
        "unit": "bytes",
        "best": 16381470720,
        "expected": 16381470720,
        "worst": 16381470720,
        "from": "weights.weight_bytes_per_gpu",
    }


def test_every_fact_of_a_workload_is_known_or_lacks_something_that_is_named() -> None:
    (role,) = json.loads(run("--of", "chat.yaml", "--format", "json").stdout)["roles"]
    asked = {name for name, one in glossary().items() if one.of != "document" and (not one.part or one.of == "pod")}
    assert set(role["facts"]) | set(role["unknown"]) == asked
    assert all(role["unknown"].values())
