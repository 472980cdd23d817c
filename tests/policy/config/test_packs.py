"""What a policy extends, overrides and changes: how layers are merged, which one a file stands under, and what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from folders import ROOT

from gpulint import cli
from gpulint.catalog import package_data
from gpulint.pipeline import session
from gpulint.policy.config import load, packs, settings
from gpulint.policy.config.discovery import Policies
from gpulint.policy.config.files import DiskReader, SettingsError
from gpulint.policy.rules import selection
from gpulint.policy.rules.rule import load_shipped

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: python:3.12
      resources:
        requests: {nvidia.com/gpu: 1}
"""
"""One error: gpu-limit-missing on line 9, of the family kubernetes."""
UNPLACED = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-70B-Instruct]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""On a card of 24 GB: weights-exceed-memory, an error; without one nothing is said."""
LATEST = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  containers:
    - name: server
      image: vllm/vllm-openai:latest
      args: [--model=Qwen/Qwen3-8B, --max-model-len=16384]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""One note: engine-image-unpinned."""
RULE = """\
summary: s
severity: warning
for: {scope: workload}
why: w.
when: gpus_per_pod > 0
message: m
STATUSexamples: {bad: [a], good: [b]}
"""


def laid(root: Path, files: Mapping[str, str]) -> Path:
    """A folder that is the root of a repository and holds these files."""
    for name, text in {".git/HEAD": "", **files}.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


def read(root: Path, files: Mapping[str, str], folder: str = "") -> settings.Settings:
    return load.find_nearest(DiskReader(laid(root, files)), folder)


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Checks files of a repository from its root, or from a folder of it."""

    def run(files: Mapping[str, str], *arguments: str, folder: str = "") -> Result:
        monkeypatch.chdir(laid(tmp_path, files) / folder)
        return CliRunner().invoke(cli.main, ["check", *arguments])

    return run


def spoken(result: Result) -> list[tuple[str, str, str]]:
    """The findings of a JSON report: file, rule and severity."""
    found = json.loads(result.stdout)["findings"]
    return sorted((one["path"], one["rule"], one["severity"]) for one in found)


# ---- extends: what is named


def test_one_word_extends_like_a_list_of_one(tmp_path: Path) -> None:
    one = read(tmp_path, {"gpulint.yaml": "extends: ./base.yaml\n", "base.yaml": "fail-on: note\n"})
    assert (one.fail_on, one.path.endswith("gpulint.yaml")) == ("note", True)
    several = read(tmp_path, {"gpulint.yaml": "extends: [./base.yaml]\n"})
    assert several.fail_on == "note"


def test_a_file_is_relative_to_the_file_that_names_it(tmp_path: Path) -> None:
    files = {
        "teams/chat/gpulint.yaml": "extends: ../../platform/company.yaml\n",
        "platform/company.yaml": "extends: ./hardware.yaml\nignore: [memory]\n",
        "platform/hardware.yaml": "accelerator: l4\n",
    }
    found = read(tmp_path, files, "teams/chat")
    assert (found.stated["ignore"], found.accelerator) == (["memory"], "l4")


def test_a_table_of_pyproject_extends_and_can_be_extended(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[tool.gpulint]\nextends = ["./base.yaml"]\n[tool.gpulint.severity]\nmemory = "note"\n',
        "base.yaml": "fail-on: note\n",
        "a/gpulint.yaml": "extends: ../pyproject.toml\n",
    }
    assert read(tmp_path, files).fail_on == "note"
    assert read(tmp_path, files, "a").levels[1][0][:2] == ("memory", "note")


def test_a_shipped_pack_is_extended_by_its_name(tmp_path: Path) -> None:
    found = read(tmp_path, {"gpulint.yaml": "extends: recommended\n"})
    assert [one.document.path.rpartition("/")[2] for one in found.layers] == ["recommended.yaml", "gpulint.yaml"]


def test_a_package_is_found_and_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site"
    laid(installed, {
        "acme_gpu/__init__.py": "raise SystemExit('imported')\n",
        "acme_gpu/gpulint.yaml": "fail-on: note\nextends: ./more/cards.yaml\n",
        "acme_gpu/more/cards.yaml": "accelerator: l4\n",
        "acme_gpu/strict.yaml": "fail-on: warning\n",
    })  # fmt: skip
    monkeypatch.syspath_prepend(str(installed))
    found = read(tmp_path / "repository", {"gpulint.yaml": "extends: package:acme_gpu\n"})
    assert (found.fail_on, found.accelerator) == ("note", "l4")
    found = read(tmp_path / "repository", {"gpulint.yaml": "extends: package:acme_gpu/strict.yaml\n"})
    assert found.fail_on == "warning"
    assert "acme_gpu" not in sys.modules


def test_rules_of_a_package_lie_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = laid(tmp_path / "site", {
        "acme_gpu/gpulint.yaml": "rules: [rules]\n",
        "acme_gpu/rules/house/own-rule.yaml": RULE.replace("STATUS", ""),
        "acme_gpu/out.yaml": "rules: [../elsewhere]\n",
    })  # fmt: skip
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.chdir(laid(tmp_path / "repository", {"gpulint.yaml": "extends: package:acme_gpu\n", "pod.yaml": POD}))
    result = CliRunner().invoke(cli.main, ["check", "--format", "json"])
    assert ("pod.yaml", "own-rule", "warning") in spoken(result)
    with pytest.raises(
        SettingsError, match=r"acme_gpu/out.yaml:1:9: rules: ../elsewhere is outside the package acme_gpu"
    ):
        read(tmp_path / "repository", {"gpulint.yaml": "extends: package:acme_gpu/out.yaml\n"})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"gpulint.yaml": "extends: recomended\n"}, "gpulint.yaml:1:10: no such pack: recomended; did you mean recommended?"),
        ({"gpulint.yaml": "extends: company\n", "company.yaml": ""},
         "gpulint.yaml:1:10: no such pack: company; for the file in the same folder write ./company.yaml"),
        ({"gpulint.yaml": "fail-on: note\nextends:\n  - recommended\n  - ./no.yaml\n"}, "gpulint.yaml:4:5: there is no file"),
        ({"gpulint.yaml": "extends: ./platform\n", "platform/gpulint.yaml": ""},
         "platform; did you mean ./platform/gpulint.yaml?"),
        ({"gpulint.yaml": "extends: ../outside.yaml\n"},
         "gpulint.yaml:1:10: ../outside.yaml is outside the repository; a policy can extend only files inside it"),
        ({"gpulint.yaml": "extends: /etc/passwd.yaml\n"}, "/etc/passwd.yaml is outside the repository"),
        ({"gpulint.yaml": "extends: ./gpulint.yaml\n"}, "gpulint.yaml:1:10: extends forms a cycle:"),
        ({"gpulint.yaml": "extends: ./a.yaml\n", "a.yaml": "extends: ./b.yaml\n", "b.yaml": "extends: [./a.yaml]\n"},
         "b.yaml:1:11: extends forms a cycle:"),
        ({"gpulint.yaml": "extends: package:no_such_package\n"},
         "gpulint.yaml:1:10: the package no_such_package is not installed"),
        ({"gpulint.yaml": "extends: package:json\n"}, "gpulint.yaml:1:10: the package json has no gpulint.yaml"),
        ({"gpulint.yaml": "extends: package:acme.sub\n"}, "write package:NAME or package:NAME/FILE.yaml"),
        ({"gpulint.yaml": "extends: package:json/../x.yaml\n"}, "write package:NAME or package:NAME/FILE.yaml"),
        ({"gpulint.yaml": "extends: {a: b}\n"}, "gpulint.yaml:1:1: extends must be a list"),
        ({"gpulint.yaml": "extends: https://example.com/gpulint.yaml\n"}, "gpulint.yaml:1:10: gpulint downloads nothing: copy "),
        ({"gpulint.yml": "fail-on: note\n"}, "gpulint.yml: gpulint does not read a file of this name; rename it to gpulint.yaml"),
        ({"gpulint.yaml": "extends: ./a.yaml\n", "a.yaml": "fail-no: error\n"},
         "a.yaml:1:1: unknown key fail-no; did you mean fail-on?"),
        ({"gpulint.yaml": "extends: ./a.yaml\n", "a.yaml": "- x\n"}, "a.yaml:1:1: a policy is a mapping of keys"),
    ],
)  # fmt: skip
def test_what_cannot_be_extended_is_said_at_its_place(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, files)
    assert said in str(caught.value)


def test_a_package_of_the_repository_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    files = {"gpulint.yaml": "extends: package:acme_inside\n", "acme_inside/gpulint.yaml": "fail-on: note\n"}
    with pytest.raises(SettingsError, match="the package acme_inside is in the repository"):
        read(tmp_path, files)


def test_a_link_is_not_followed_out_of_the_repository(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    root = laid(tmp_path / "repository", {"gpulint.yaml": "extends: ./base.yaml\n"})
    (root / "base.yaml").symlink_to(secret)
    with pytest.raises(SettingsError) as caught:
        load.find_nearest(DiskReader(root))
    assert "gpulint does not follow symbolic links" in str(caught.value)
    assert "password" not in str(caught.value)


def test_a_long_chain_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    chain = {f"{number}.yaml": f"extends: ./{number + 1}.yaml\n" for number in range(40)}
    with pytest.raises(SettingsError, match="extends exceeds the limit of 16 levels"):
        read(tmp_path, {"gpulint.yaml": "extends: ./0.yaml\n", **chain})
    with pytest.raises(SettingsError, match="larger than the limit of 5 MB"):
        read(tmp_path, {"gpulint.yaml": "ignore: [memory]\n" + "# x\n" * 1_300_000})


def test_of_very_many_mistakes_the_first_are_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, {"gpulint.yaml": "".join(f"key-{number}: 1\n" for number in range(500))})
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[-1].rpartition(": ")[2]) == (21, "480 further mistakes")


# ---- merging


def test_the_file_wins_over_what_it_extends_and_a_later_pack_over_an_earlier(tmp_path: Path) -> None:
    files = {
        "gpulint.yaml": "extends: [./a.yaml, ./b.yaml]\naccelerator: l4\n",
        "a.yaml": "fail-on: note\naccelerator: t4\n",
        "b.yaml": "fail-on: warning\naccelerator: a10g\n",
    }
    found = read(tmp_path, files)
    assert (found.fail_on, found.accelerator) == ("warning", "l4")


def test_lists_add_up_and_mappings_are_merged_by_key(tmp_path: Path) -> None:
    files = {
        "gpulint.yaml": "extends: ./a.yaml\nignore: [serving, memory]\nlike: {x: b/b, z: c/c}\navailable: {clouds: [gcp]}\n",
        "a.yaml": "ignore: [memory]\nlike: {x: a/a, y: a/a}\navailable: {clouds: [aws], regions: [us-east-1]}\n",
    }
    found = read(tmp_path, files)
    assert found.stated["ignore"] == ["memory", "serving"]
    assert found.like == {"x": "b/b", "y": "a/a", "z": "c/c"}
    assert (found.available.clouds, found.available.regions) == (("aws", "gcp"), ("us-east-1",))


def test_where_the_first_entry_counts_those_of_the_file_come_first(tmp_path: Path) -> None:
    files = {
        "gpulint.yaml": "extends: ./a.yaml\nhints: [{path: '*', accelerator: l4}]\n",
        "a.yaml": "hints: [{path: '*', accelerator: t4}]\n",
    }
    assert [one.accelerator for one in read(tmp_path, files).hints] == ["l4", "t4"]


def test_what_two_packs_extend_counts_once(tmp_path: Path) -> None:
    files = {
        "gpulint.yaml": "extends: [./a.yaml, ./b.yaml]\n",
        "a.yaml": "extends: ./base.yaml\nfail-on: note\n",
        "b.yaml": "extends: ./base.yaml\n",
        "base.yaml": "fail-on: warning\nhints: [{path: '*', accelerator: l4}]\n",
    }
    found = read(tmp_path, files)
    assert (found.fail_on, len(found.hints)) == ("note", 1)


def test_every_value_says_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"gpulint.yaml": "extends: ./a.yaml\nignore: [serving]\n", "a.yaml": "\nignore: [memory]\nfail-on: note\n"}
    found = read(tmp_path, files)
    assert found.origins == {
        ("ignore", 0): "a.yaml:2:10",
        ("ignore", 1): "gpulint.yaml:2:10",
        ("fail-on",): "a.yaml:3:10",
    }


# ---- severity


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("severity: {gpu-limit-missing: warning}", "warning"),
        ("severity: {kubernetes: note}", "note"),
        ("severity: {kubernetes: note, gpu-limit-missing: warning}", "warning"),
        ("severity: {gpu-limit-missing: warning, kubernetes: note}", "warning"),
        ("severity: {kubernetes: off, gpu-limit-missing: error}", "error"),
        ("severity: {gpu-limit-missing: off}", None),
        ("severity: {gpu-limit-missing: 'off'}", None),
        ("severity: {kubernetes: off}", None),
        ("severity: {gpu-limit-missing: warning}\nignore: [kubernetes]", None),
        ("severity: {memory: note}", "error"),
        ("extends: ./off.yaml\nseverity: {gpu-limit-missing: note}", "note"),
        ("extends: ./off.yaml\nselect: [kubernetes]", "error"),
        ("extends: ./note.yaml\nseverity: {kubernetes: warning}", "warning"),
        ("extends: ./note.yaml\nignore: [gpu-limit-missing]", None),
        ("extends: ./note.yaml", "note"),
        ("at-most: warning", "warning"),
        ("at-most: note\nseverity: {gpu-limit-missing: error}", "note"),
        ("at-most: warning\nseverity: {gpu-limit-missing: note}", "note"),
        ("at-most: error", "error"),
        ("at-most: note\noverrides: [{paths: [pod.yaml], at-most: warning}]", "warning"),
        ("overrides: [{paths: [other/], at-most: note}]", "error"),
    ],
)
def test_a_severity_is_that_of_the_last_who_speaks_of_the_rule(
    check: Callable[..., Result], policy: str, said: str | None
) -> None:
    files = {
        "gpulint.yaml": policy + "\n",
        "off.yaml": "ignore: [kubernetes]\n",
        "note.yaml": "severity: {gpu-limit-missing: note}\n",
        "pod.yaml": POD,
    }
    found = {rule: severity for _, rule, severity in spoken(check(files, "--format", "json", "pod.yaml"))}
    assert found.get("gpu-limit-missing") == said


@pytest.mark.parametrize(
    ("when", "stated", "said"),
    [
        ("gpu_memory_utilization < 0.95", "note", "note"),  # in all three scenarios
        ("gpu_memory_utilization > 0.91", "error", "warning"),  # in two
        ("gpu_memory_utilization > 0.91", "note", None),
        ("gpu_memory_utilization < 0.91", "error", "note"),  # in one
    ],
)
def test_a_stated_severity_still_loses_a_step_for_each_scenario_the_rule_does_not_hold_in(
    check: Callable[..., Result], when: str, stated: str, said: str | None
) -> None:
    rule = RULE.replace("STATUS", "").replace("when: gpus_per_pod > 0", f"when: {when}")
    files = {
        "gpulint.yaml": f"rules: [rules]\nselect: [own-rule]\nseverity: {{own-rule: {stated}}}\n",
        "rules/house/own-rule.yaml": rule,
        "chat.yaml": LATEST.replace("nvidia-h100-80gb", "nvidia-l4"),
    }
    found = spoken(check(files, "--format", "json", "chat.yaml"))
    assert found == ([("chat.yaml", "own-rule", said)] if said else [])


def test_a_lowered_error_does_not_fail_the_run(check: Callable[..., Result]) -> None:
    assert check({"pod.yaml": POD}).exit_code == 1
    assert check({"gpulint.yaml": "severity: {gpu-limit-missing: warning}\n", "pod.yaml": POD}).exit_code == 0


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("severity: {gpu-limit-mising: error}\n",
         "gpulint.yaml:1:12: no such rule or family: gpu-limit-mising; did you mean gpu-limit-missing?"),
        ("severity: {memory: fatal}\n", "gpulint.yaml:1:20: memory must be error, warning, note or off, not fatal"),
        ("severity: {memory: warn}\n", "not warn; did you mean warning?"),
        ("severity: {memory: on}\n", "gpulint.yaml:1:20: memory must be error, warning, note or off, not true"),
        ("severity: error\n", "gpulint.yaml:1:11: severity must be a mapping of keys, such as {name: value}, not error"),
        ("ignore: [memroy]\n", "gpulint.yaml:1:10: no such rule or family: memroy; did you mean memory?"),
        ("select:\n  - memory\n  - zzz\n", "gpulint.yaml:3:5: no such rule or family: zzz"),
        ("overrides: [{paths: [dev/], ignore: [memroy]}]\n",
         "gpulint.yaml:1:38: no such rule or family: memroy; did you mean memory?"),
        ("overrides: [{paths: [dev/], severity: {memory: fatal}}]\n",
         "gpulint.yaml:1:48: memory must be error, warning, note or off"),
        ("overrides: [{ignore: [memory]}]\n", "paths is missing"),
        ("overrides: [{paths: [], ignore: [memory]}]\n", "gpulint.yaml:1:14: "),
        ("overrides: [{paths: [dev/], exclude: [x]}]\n", "gpulint.yaml:1:29: unknown key exclude"),
        ("overrides: [{path: [dev/], ignore: [memory]}]\n", "gpulint.yaml:1:14: unknown key path; did you mean paths?"),
        ("overrides: [{paths: dev/, ignore: [memory]}]\n", "gpulint.yaml:1:21: paths must be a list: write [dev/]"),
        ("overrides: [{paths: ['**/*/**/*/**/*/**'], ignore: [memory]}]\n", "has more than 6 wildcards"),
        ("overrides: [{paths: [''], ignore: [memory]}]\n", "'' matches no path"),
        ("exclude: ['a/**/b/**/c/**/d/**/e/**/f/**/g/**']\n", "gpulint.yaml:1:11: "),
        ("accelerator: h10\n", "gpulint.yaml:1:14: no accelerator is called h10; did you mean "),
        ("at-most: off\n", "gpulint.yaml:1:10: at-most must be "),
        ("preview: yep\n", "gpulint.yaml:1:10: preview must be true or false, not yep"),
        ("ignore:\n", "gpulint.yaml:1:8: ignore has no value; give it one or remove the key"),
        ("available: {energy: 1}\n", "gpulint.yaml:1:13: unknown key energy"),
        ("severity: {memory: off, memory: note}\n", "gpulint.yaml:1:25: `memory` is stated twice in one mapping"),
        ("ignore: [memory, 3]\n", "gpulint.yaml:1:18: each of ignore must be a text, not 3"),
        ("overrides: [dev/]\n",
         "gpulint.yaml:1:13: each of overrides must be a mapping of keys, such as {name: value}, not dev/"),
        ("IGNORE: [memory]\n", "gpulint.yaml:1:1: unknown key IGNORE; did you mean ignore?"),
        ("memory\n", "gpulint.yaml:1:1: a policy is a mapping of keys, such as fail-on: error"),
        ("ignore: [{{ x }}]\n", "gpulint.yaml:1:1: it contains {{ … }}, but a policy is not a template"),
        ("a: &a [*a]\n", "gpulint.yaml:1:8: the anchor `&a` contains itself"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested deeper than 200 levels"),
        ("rules: [policies]\n", "gpulint.yaml:1:9: policies has no rules; each rule is a YAML file in it"),
        ("exclude: ['/']\n", "gpulint.yaml:1:11: '/' matches no path"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_policy_is_misuse_and_said_at_its_place(
    check: Callable[..., Result], policy: str, said: str
) -> None:
    result = check({"gpulint.yaml": policy, "pod.yaml": POD})
    assert result.exit_code == 2, result.output
    assert said in result.stderr, result.stderr


# ---- preview


@pytest.mark.parametrize(
    ("policy", "arguments", "speaks"),
    [
        ("rules: [rules]", [], False),
        ("rules: [rules]\npreview: true", [], True),
        ("rules: [rules]", ["--preview"], True),
        ("rules: [rules]\nselect: [own-rule]", [], True),
        ("rules: [rules]\nselect: [house]", [], False),
        ("rules: [rules]", ["--select", "own-rule"], True),
        ("rules: [rules]\nseverity: {own-rule: error}", [], True),
        ("rules: [rules]\nseverity: {house: error}", [], False),
        ("rules: [rules]\npreview: true\nignore: [own-rule]", [], False),
        ("rules: [rules]\noverrides: [{paths: [pod.yaml], preview: true}]", [], True),
        ("rules: [rules]\noverrides: [{paths: [other.yaml], preview: true}]", [], False),
    ],
)
def test_a_rule_in_preview_speaks_only_where_it_is_asked_for(
    check: Callable[..., Result], policy: str, arguments: list[str], speaks: bool
) -> None:
    rule = RULE.replace("STATUS", "status: preview\n")
    files = {"gpulint.yaml": policy + "\n", "rules/house/own-rule.yaml": rule, "pod.yaml": POD}
    found = spoken(check(files, "--format", "json", "pod.yaml", *arguments))
    assert ("own-rule" in {name for _, name, _ in found}) is speaks


# ---- overrides and nested policies


def test_an_override_holds_in_the_files_that_match_and_the_later_one_wins(check: Callable[..., Result]) -> None:
    policy = (
        "overrides:\n"
        "  - {paths: [dev/], severity: {kubernetes: note}}\n"
        "  - {paths: ['dev/own/*.yaml'], severity: {gpu-limit-missing: warning}}\n"
        "  - {paths: [attic/], ignore: [kubernetes]}\n"
    )
    files = dict.fromkeys(("pod.yaml", "dev/pod.yaml", "dev/own/pod.yaml", "attic/pod.yaml"), POD)
    result = check({"gpulint.yaml": policy, **files}, "--format", "json")
    assert spoken(result) == [
        ("dev/own/pod.yaml", "gpu-limit-missing", "warning"),
        ("dev/pod.yaml", "gpu-limit-missing", "note"),
        ("pod.yaml", "gpu-limit-missing", "error"),
    ]


def test_an_override_selects_for_its_paths_alone(check: Callable[..., Result]) -> None:
    files = {
        "gpulint.yaml": "select: [kubernetes]\noverrides: [{paths: [dev/], select: [memory]}]\n",
        "pod.yaml": POD,
        "dev/pod.yaml": POD,
    }
    assert spoken(check(files, "--format", "json")) == [("pod.yaml", "gpu-limit-missing", "error")]


def test_an_override_narrows_what_may_be_used_on_its_paths(tmp_path: Path) -> None:
    policy = "accelerators: {allowed: [l4, h100-*]}\noverrides: [{paths: [dev/], accelerators: {allowed: [l4]}}]\n"
    policies = Policies(DiskReader(laid(tmp_path, {"gpulint.yaml": policy})))
    assert policies.resolve("dev/chat.yaml").governance.permitted.allowed == ("l4",)
    assert policies.resolve("chat.yaml").governance.permitted.allowed == ("l4", "h100-*")


def test_an_override_names_the_accelerator_of_its_paths(check: Callable[..., Result]) -> None:
    policy = "accelerator: h200-sxm-141gb\noverrides: [{paths: [small/], accelerator: l4}]\n"
    files = {"gpulint.yaml": policy, "chat.yaml": UNPLACED, "small/chat.yaml": UNPLACED}
    found = {path for path, rule, _ in spoken(check(files, "--format", "json")) if rule == "weights-exceed-memory"}
    assert found == {"small/chat.yaml"}


@pytest.mark.parametrize("order", [("a/pod.yaml", "b/pod.yaml"), ("b/pod.yaml", "a/pod.yaml")])
def test_each_file_stands_under_the_policy_nearest_to_it_in_whatever_order_they_are_named(
    check: Callable[..., Result], order: tuple[str, str]
) -> None:
    files = {"gpulint.yaml": "fail-on: note\n", "a/gpulint.yaml": "severity: {kubernetes: note}\n"}
    result = check({**files, "a/pod.yaml": POD, "b/pod.yaml": POD}, "--format", "json", *order)
    assert spoken(result) == [("a/pod.yaml", "gpu-limit-missing", "note"), ("b/pod.yaml", "gpu-limit-missing", "error")]


def test_what_fails_the_run_is_said_by_the_policy_of_the_folder_that_holds_all(check: Callable[..., Result]) -> None:
    files = {"a/gpulint.yaml": "severity: {kubernetes: note}\nfail-on: note\n", "a/pod.yaml": POD, "a/b/pod.yaml": POD}
    assert check(files, "a/pod.yaml").exit_code == 1
    assert check(files, "a").exit_code == 1
    assert check(files, ".").exit_code == 0


@pytest.mark.parametrize("folder", ["", "apps"])
def test_paths_are_relative_to_the_folder_of_the_policy_wherever_the_run_starts(
    check: Callable[..., Result], folder: str
) -> None:
    policy = "exclude: [/old/]\noverrides: [{paths: [/dev/], ignore: [kubernetes]}]\nhints: [{path: 'chat/*', accelerator: l4}]\n"
    files = {"apps/gpulint.yaml": policy, "apps/chat/chat.yaml": UNPLACED, "dev/pod.yaml": POD, "old/pod.yaml": POD}
    files |= dict.fromkeys(("apps/dev/pod.yaml", "apps/old/pod.yaml", "apps/x/old/pod.yaml"), POD)
    result = check(files, "--format", "json", *([] if folder else ["apps", "dev", "old"]), folder=folder)
    apps = "" if folder else "apps/"
    expected = {(f"{apps}chat/chat.yaml", "weights-exceed-memory"), (f"{apps}x/old/pod.yaml", "gpu-limit-missing")}
    if not folder:
        expected |= {("dev/pod.yaml", "gpu-limit-missing"), ("old/pod.yaml", "gpu-limit-missing")}
    assert {(path, rule) for path, rule, _ in spoken(result)} == expected


def test_hints_are_about_paths_from_the_folder_of_the_policy(check: Callable[..., Result]) -> None:
    files = {"gpulint.yaml": "hints: [{path: 'chat/*', accelerator: l4}]\n"}
    files |= dict.fromkeys(("chat/a.yaml", "apps/chat/b.yaml"), UNPLACED)
    assert [path for path, _, _ in spoken(check(files, "--format", "json"))] == ["chat/a.yaml"]
    assert spoken(check({}, "--format", "json", folder="apps")) == []
    assert [path for path, _, _ in spoken(check({}, "--format", "json", folder="chat"))] == ["a.yaml"]


def test_what_is_left_out_does_not_depend_on_the_folder_that_a_run_starts_in(check: Callable[..., Result]) -> None:
    files = {"gpulint.yaml": "exclude: [/old/]\n", "apps/old/pod.yaml": POD, "old/pod.yaml": POD}
    assert spoken(check(files, "--format", "json")) == [("apps/old/pod.yaml", "gpu-limit-missing", "error")]
    assert spoken(check({}, "--format", "json", folder="apps")) == [("old/pod.yaml", "gpu-limit-missing", "error")]
    assert spoken(check({}, "--format", "json", "--exclude", "/old/", folder="apps")) == []


def test_a_file_that_a_policy_above_leaves_out_is_left_out_also_by_name(check: Callable[..., Result]) -> None:
    files = {
        "gpulint.yaml": "exclude: [vendor/]\n",
        "vendor/x/gpulint.yaml": "no-such-key: 1\n",
        "vendor/x/pod.yaml": POD,
    }
    for path in (".", "vendor/x/pod.yaml"):
        result = check(files, "--format", "json", path)
        assert (result.exit_code, result.stderr.count("no-such-key")) == (0, 0), result.output


def test_a_broken_policy_of_a_folder_below_is_misuse(check: Callable[..., Result]) -> None:
    result = check({"a/gpulint.yaml": "fail-no: note\n", "a/pod.yaml": POD, "pod.yaml": POD})
    assert (result.exit_code, "a/gpulint.yaml:1:1: unknown key fail-no" in result.stderr) == (2, True), result.output


def test_globs_of_a_file_above_stay_relative_to_it_and_those_of_a_file_aside_to_who_extends_it(tmp_path: Path) -> None:
    files = {
        "gpulint.yaml": "overrides: [{paths: [teams/chat/dev/], preview: true}]\n",
        "platform/base.yaml": "overrides: [{paths: [/dev/], fail: 1}]\n".replace("fail: 1", "accelerator: l4"),
        "teams/chat/gpulint.yaml": "extends: [../../gpulint.yaml, ../../platform/base.yaml]\n",
    }
    found = Policies(DiskReader(laid(tmp_path, files))).resolve("teams/chat/dev/pod.yaml")
    assert (found.preview, found.accelerator) == (True, "l4")


def test_a_team_can_have_its_own_rules_for_its_own_files(check: Callable[..., Result]) -> None:
    files = {
        "a/gpulint.yaml": "rules: [rules]\n",
        "a/rules/house/own-rule.yaml": RULE.replace("STATUS", ""),
        "a/pod.yaml": POD,
        "b/pod.yaml": POD + "# gpulint: ignore[own-rule] no such rule here\n",
    }
    result = check(files, "--format", "json", "a/pod.yaml", "b/pod.yaml")
    assert ("a/pod.yaml", "own-rule", "warning") in spoken(result)
    assert ("b/pod.yaml", "malformed-suppression", "warning") in spoken(result)


def test_stdin_stands_under_the_policy_of_the_name_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(laid(tmp_path, {"a/gpulint.yaml": "severity: {kubernetes: note}\n"}))
    arguments = ["check", "--format", "json", "--stdin-filename", "a/pod.yaml", "-"]
    result = CliRunner().invoke(cli.main, arguments, input=POD)
    assert spoken(result) == [("a/pod.yaml", "gpu-limit-missing", "note")]


def test_what_is_rendered_of_a_folder_stands_under_the_policy_of_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(laid(tmp_path, {"charts/chat/gpulint.yaml": "accelerator: l4\n"}))
    given = session.prepare(["."], session.Options()).given
    assert given.resolve("charts/chat (rendered).yaml").accelerator == "l4"
    assert given.resolve("charts/other (rendered).yaml").accelerator == ""


# ---- the shipped packs

ENDLESS = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$MASTER:29500 train.py
"""
"""One note: time-limit-missing."""
PRIVILEGED = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
      securityContext: {privileged: true}
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""One warning: privileged-gpu-container."""


@pytest.mark.parametrize(
    ("name", "file", "text", "said", "code"),
    [
        ("", "chat.yaml", LATEST, {"engine-image-unpinned": "note"}, 0),
        ("recommended", "chat.yaml", LATEST, {"engine-image-unpinned": "note"}, 0),
        ("strict", "chat.yaml", LATEST, {"engine-image-unpinned": "warning"}, 1),
        ("serving", "chat.yaml", LATEST, {"engine-image-unpinned": "warning", "objective-missing": "note"}, 0),
        ("training", "chat.yaml", LATEST, {"engine-image-unpinned": "note"}, 0),
        ("", "run.sbatch", ENDLESS, {"time-limit-missing": "note"}, 0),
        ("training", "run.sbatch", ENDLESS, {"time-limit-missing": "warning"}, 0),
        ("serving", "run.sbatch", ENDLESS, {"time-limit-missing": "note"}, 0),
        ("finops", "run.sbatch", ENDLESS, {"time-limit-missing": "warning", "required-label-missing": "warning"}, 0),
        ("", "chat.yaml", PRIVILEGED, {"privileged-gpu-container": "warning"}, 0),
        ("facility", "chat.yaml", PRIVILEGED,
         {"privileged-gpu-container": "error", "required-label-missing": "warning"}, 1),
        ("facility", "chat.yaml", PRIVILEGED.replace("{name: chat}", "{name: chat, labels: {team: search}}"),
         {"privileged-gpu-container": "error"}, 1),
        ("finops", "chat.yaml", PRIVILEGED.replace("{name: chat}", "{name: chat, labels: {team: search}}"),
         {"privileged-gpu-container": "warning"}, 0),
    ],
)  # fmt: skip
def test_what_a_pack_changes_on_a_sample(
    check: Callable[..., Result], name: str, file: str, text: str, said: dict[str, str], code: int
) -> None:
    policy = {"gpulint.yaml": f"extends: {name}\n"} if name else {}
    result = check({**policy, file: text}, "--format", "json", file)
    assert ({rule: severity for _, rule, severity in spoken(result)}, result.exit_code) == (said, code)


@pytest.mark.parametrize("name", packs.list_names())
def test_an_editor_finds_nothing_wrong_with_a_pack(name: str) -> None:
    root = ROOT
    contract = json.loads((root / "schemas" / "policy.json").read_bytes())
    written = package_data.read_yaml(root / "packs" / f"{name}.yaml")
    assert [error.message for error in jsonschema.Draft202012Validator(contract).iter_errors(written)] == []


@pytest.mark.parametrize("name", packs.list_names())
def test_every_pack_loads_says_what_it_is_for_and_names_what_exists(check: Callable[..., Result], name: str) -> None:
    assert packs.load_pack(name).stated["summary"]
    result = check({"gpulint.yaml": f"extends: {name}\n", "pod.yaml": POD})
    assert result.exit_code in (0, 1), result.output


@pytest.mark.parametrize("name", packs.list_names())
def test_a_pack_gives_its_rules_the_severity_that_it_states_and_none_that_they_have(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, {"gpulint.yaml": f"extends: {name}\n"})
    rules = {one.name: one for one in selection.enable_rules(load_shipped(), found)}
    for word, level in packs.load_pack(name).stated.get("severity", {}).items():
        if word in load_shipped():
            assert (rules[word].severity.word, load_shipped()[word].severity.word != level) == (level, True), word
        else:
            assert {one.severity.word for one in rules.values() if one.family == word} == {level}, word


def test_a_waiver_without_owner_and_end_silences_nothing_under_the_strict_pack(check: Callable[..., Result]) -> None:
    waived = POD.rstrip() + "  # gpulint: ignore[gpu-limit-missing] the webhook adds it\n"
    assert check({"pod.yaml": waived}).exit_code == 0
    result = check({"gpulint.yaml": "extends: strict\n", "pod.yaml": waived}, "--format", "json")
    assert result.exit_code == 1
    assert "gpu-limit-missing" in {rule for _, rule, _ in spoken(result)}


def test_packs_add_up(check: Callable[..., Result]) -> None:
    result = check({"gpulint.yaml": "extends: [strict, serving, finops]\n", "chat.yaml": LATEST}, "--format", "json")
    said = {"engine-image-unpinned": "warning", "objective-missing": "note", "required-label-missing": "warning"}
    assert ({rule: severity for _, rule, severity in spoken(result)}, result.exit_code) == (said, 1)
