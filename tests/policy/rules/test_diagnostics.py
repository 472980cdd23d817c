"""A team's rule files: what each mistake of a newcomer is called, where it stands, and which files are rules at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpulint.facts.glossary import glossary
from gpulint.policy.conditions import cel, condition_diagnostics
from gpulint.policy.rules import diagnostics, rule
from gpulint.policy.rules.rule import Rule, RuleError

SOUND = """\
summary: An instance takes more GPUs than a node holds
severity: warning
for: {scope: workload}
why: The pods wait for nodes that somebody has to reserve.
when: gpus_per_replica > 8
at: [gpus_per_pod]
message: "{gpus_per_replica} GPUs for one instance"
examples:
  bad:
    - |
      kind: Pod
  good:
    - |
      kind: Pod
"""


def written(folder: Path, old: str = "", new: str = "", name: str = "pod-too-large.yaml") -> Path:
    """A rule file in which one text stands in the place of another."""
    assert old in SOUND
    path = folder / "capacity" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SOUND.replace(old, new, 1) if old else SOUND, encoding="utf-8")
    return path


def said(path: Path) -> list[str]:
    """What is said of a file, without the folder that it lies in."""
    with pytest.raises(RuleError) as caught:
        diagnostics.load(path)
    return [line.replace(f"{path}:", "") for line in str(caught.value).splitlines()]


def test_a_sound_file_is_a_rule_named_by_its_file_and_its_folder(tmp_path: Path) -> None:
    found = diagnostics.load(written(tmp_path))
    assert (found.name, found.family, found.when) == ("pod-too-large", "capacity", "gpus_per_replica > 8")


WHEN = "when: gpus_per_replica > 8"
MISTAKES = {
    "a misspelt fact": (
        WHEN,
        "when: gpu_per_replica > 8",
        ["5:7: no such fact: gpu_per_replica; did you mean gpus_per_replica?"],
    ),
    "a text compared with a number": (
        WHEN,
        "when: engine == 4",
        ["5:17: engine is a text, never the number 4: write '4'"],
    ),
    "one equals sign": (WHEN, "when: gpus_per_replica = 8", ["5:24: `=` does not compare: write `==`"]),
    "no samples": (
        SOUND[SOUND.index("examples") :],
        "",
        [
            "1:1: examples is missing: samples with and without the defect; `gpulint rule new NAME` creates a complete file"
        ],
    ),
    "a second colon": (
        "why: The pods wait",
        "why: Hard: the pods wait",
        ["4:10: a second `: ` on one line; put the value in quotes if the colon belongs to it"],
    ),
    "a tab": ("  bad:", "\tbad:", ["9:1: a tab indents this line; YAML allows only spaces there"]),
    "an unknown key": ("when:", "whne:", ["5:1: unknown key whne; did you mean when?"]),
    "a placeholder that is no fact": (
        '"{gpus_per_replica} GPUs',
        '"{gpus_per_replcia} GPUs',
        ["7:11: no such fact: gpus_per_replcia; did you mean gpus_per_replica?"],
    ),
    "a number compared with a text": (
        WHEN,
        "when: gpus_per_replica == 'eight'",
        ["5:27: gpus_per_replica is a number, never the text 'eight'"],
    ),
    "a unit in the condition": (
        WHEN,
        "when: device_memory_bytes > 80Gi",
        ["5:29: device_memory_bytes is in bytes: write 85899345920 for 80Gi"],
    ),
    "a unit in quotation marks": (
        WHEN,
        "when: device_memory_bytes > '80 Gi'",
        ["5:29: device_memory_bytes is in bytes: write 85899345920 for 80 Gi"],
    ),
    "a key of another tool": ("when:", "condition:", ["5:1: unknown key condition; write when: the condition, in CEL"]),
    "a key of another place": (
        "severity:",
        "name: pod-too-large\nseverity:",
        ["2:1: unknown key name; the file's name is the rule's name"],
    ),
    "an unknown severity": (
        "severity: warning",
        "severity: fatal",
        ["2:11: severity must be error, warning or note, not fatal"],
    ),
    "an unknown scope": ("scope: workload", "scope: pod", None),
    "a kind of object as the kind of a workload": (
        "{scope: workload}",
        "{scope: workload, kind: Deployment}",
        [
            "3:30: a workload's kind is inference or training, not Deployment; "
            "for the kind of an object write scope: document, or compare the fact `task`"
        ],
    ),
    "a truth value as the condition": (WHEN, "when: true", ["5:7: when must be text: put quotation marks around true"]),
    "a message that begins with a brace": (
        'message: "{gpus_per_replica} GPUs for one instance"',
        "message: {gpus_per_replica} GPUs for one instance",
        ["7:29: message begins with `{`, which has a meaning in YAML; put the whole text in quotation marks"],
    ),
    "a condition that begins with !": (
        WHEN,
        "when: !whole_node && gpus_per_replica > 8",
        ["5:20: when begins with `!`, which has a meaning in YAML; put the whole text in quotation marks"],
    ),
    "a condition that begins with a text": (
        WHEN,
        "when: 'team' in labels && gpus_per_replica > 8",
        ["5:14: when begins with `'`, which has a meaning in YAML; put the whole text in quotation marks"],
    ),
    "a brace that is not closed": (
        '"{gpus_per_replica} GPUs',
        '"{gpus_per_replica GPUs',
        ["7:10: a brace is not closed: write a fact as {gpus_per_pod} and a literal brace as {{"],
    ),
    "a layout in a message": (
        "{gpus_per_replica} GPUs",
        "{gpus_per_replica:d} GPUs",
        ["7:10: a fact is printed in its own unit and format: write only {gpus_per_replica}"],
    ),
    "a list that is a text": (
        "at: [gpus_per_pod]",
        "at: gpus_per_pod",
        ["6:5: at must be a list: write [gpus_per_pod]"],
    ),
    "samples that are one text": (
        "  bad:\n    - |\n      kind: Pod",
        "  bad: |\n    kind: Pod\n    spec: {}",
        ["9:8: examples.bad must be a list: begin its first item with `- |`"],
    ),
    "a list that is not closed": (
        "at: [gpus_per_pod]",
        "at: [gpus_per_pod",
        None,
    ),
    "an object in a rule about workloads": (
        WHEN,
        "when: object.spec.replicas > 8",
        ["3:14: object is not available to a rule of scope workload; write scope: document"],
    ),
    "a misspelt fact on a further line": (
        WHEN,
        "when: >-\n  gpus_per_replica > 8\n  && tensor_paralel > 1",
        ["7:6: no such fact: tensor_paralel; did you mean tensor_parallel?"],
    ),
    "a sample that is data": (
        "  bad:\n    - |\n      kind: Pod",
        "  bad:\n    - kind: Pod",
        ["10:7: examples.bad.0 must be text, not data: begin it with `- |` and indent the spec below"],
    ),
    "a key stated twice": (
        WHEN,
        f"{WHEN}\n{WHEN}",
        ["6:1: `when` is stated twice in one mapping; nothing is lost, but one of the two can go"],
    ),
    "a fact that may be null, without a guard": (
        WHEN,
        "when: host_memory_bytes > 1e11",
        ["5:7: fails if host_memory_bytes is not declared: write host_memory_bytes != null && before it"],
    ),
    "a workload's fact in a rule about documents": (
        "scope: workload",
        "scope: document",
        ["3:14: gpus_per_replica is not available to a rule of scope document; write scope: workload"],
    ),
    "a budget's fact in a rule about workloads": (
        WHEN,
        "when: counted_gpus > 8",
        ["3:14: counted_gpus is not available to a rule of scope workload; write scope: repository"],
    ),
    "two mistakes": (
        WHEN,
        "when: gpu_per_replica > 8 && tensor_paralel > 1",
        [
            "5:7: no such fact: gpu_per_replica; did you mean gpus_per_replica?",
            "5:30: no such fact: tensor_paralel; did you mean tensor_parallel?",
        ],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_its_place_and_what_to_write(tmp_path: Path, mistake: str) -> None:
    old, new, lines = MISTAKES[mistake]
    found = said(written(tmp_path, old, new))
    assert found == lines if lines else len(found) == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "1:1: the file is empty; `gpulint rule new NAME` creates a complete file"),
        ("- a\n", "1:1: a rule must be a mapping of keys such as summary, severity and for; "),
        (SOUND + "---\n" + SOUND, "1:1: the file has several documents; put each rule in its own file"),
    ],
)
def test_a_file_that_is_no_rule_at_all_is_said_to_be_none(tmp_path: Path, content: str, line: str) -> None:
    path = written(tmp_path)
    path.write_text(content, encoding="utf-8")
    (found,) = said(path)
    assert found.startswith(line)


# ---- conditions


@pytest.mark.parametrize(
    ("expression", "offset", "message"),
    [
        ("gpus_per_pod > 4 and replicas > 2", 17, "write `&&` for and"),
        ("gpus_per_pod > 4 OR replicas > 2", 17, "write `||` for or"),
        ("not packed", 0, "write `!` for not"),
        ("gpus_per_pod > 4 & replicas > 1", 17, "write `&&` for and"),
        ("gpus_per_pod <> 4", 13, "write `!=` for differs"),
        ("gpus_per_pod => 4", 13, "write `>=`"),
        ("gpus_per_pod is null", 13, "write `==`, or `!=` for is not"),
        ("gpus_per_pod != nil", 16, "nil is not CEL: write null"),
        ("packed == True", 10, "True is not CEL: write true"),
        ("engine =~ 'v.*'", 7, "write FACT.matches('PATTERN')"),
        ("engine like 'vllm'", 7, "write FACT.contains('TEXT') or FACT.matches('PATTERN')"),
        ("if gpus_per_pod > 4", 0, "CEL has no if: write CONDITION ? ONE : OTHER"),
        ("engine in ('vllm', 'sglang')", 7, "a list needs brackets: in ['a', 'b']"),
        ("engine == vllm", 10, "text needs quotation marks: write 'vllm'"),
        ("engine in [vllm, 'sglang']", 11, "text needs quotation marks: write 'vllm'"),
        ("engine == 'vllm", 10, "a quotation mark is not closed"),
        ("(gpus_per_pod > 4", 0, "a parenthesis is not closed"),
        ("gpus_per_pod > 4)", 16, "a parenthesis is closed but was not opened"),
        ("gpus_per_pod >", 14, "the condition is incomplete: the value to compare with is missing"),
        ("gpus_per_pod in [1, 2", 16, "a bracket is not closed"),
        ("engine == “vllm”", 10, "use straight quotation marks"),
        ("${gpus_per_pod} > 4", 0, "write the name of a fact alone, without `$` and braces"),
        ("namespace == 'dev'", 0, "no such fact: namespace; did you mean object_namespace?"),
        ("model == 'x'", 0, "no such fact: model; did you mean checkpoint?"),
        ("metadata.labels.team == 'x'", 0, "no such fact: metadata.labels.team; did you mean labels?"),
        ("gpusPerPod > 4", 0, "no such fact: gpusPerPod; did you mean gpus_per_pod?"),
        ("gpus_per_pod > 1,000", 15, "write numbers without separators: 1000000 or 1e6"),
        ("weight_bytes > 1_000", 15, "write numbers without separators: 1000000 or 1e6"),
        ("gpus_per_pod > 8Gi", 15, "gpus_per_pod is a plain number: write the number alone"),
        ("weight_bytes > 80GB", 15, "weight_bytes is in bytes: write 80000000000 for 80GB"),
        ("max_model_len > 32k", 16, "max_model_len is in tokens: write 32000 for 32k"),
        ("board_w > 700W", 10, "board_w is in w: write 700 for 700W"),
        ("target_tpot_s > 50ms", 16, "target_tpot_s is in s: write 0.05 for 50ms"),
        ("gpu_memory_utilization > 95%", 25, "gpu_memory_utilization is a ratio: write 0.95 for 95%"),
        ("engine.startswith('v')", 0, "no such function: startswith; did you mean startsWith?"),
        ("packed == 'yes'", 10, "packed is true or false, never 'yes': write packed or !packed"),
        ("gpus_per_pod == true", 16, "gpus_per_pod is a number, never true"),
        ("gpus_per_pod * 2", 0, "the result is 2.0, neither true nor false; compare it with a value"),
        (
            "stated_objectives[0] == 'tpot'",
            0,
            "reads an item that may be missing: write size(LIST) > 0 && before it, or 'ITEM' in LIST",
        ),
        (
            "engine != null && engine.matches('[')",
            0,
            "fails although every fact is known: invalid regular expression: missing ]: [",
        ),
        ("cloud.startsWith('a')", 0, "fails if cloud is not declared: write cloud != null && before it"),
    ],
)
def test_a_mistake_in_a_condition_is_named_with_what_to_write(expression: str, offset: int, message: str) -> None:
    found = next(condition_diagnostics.find_mistakes(expression))
    assert (found.offset, found.message) == (offset, message)


@pytest.mark.parametrize(
    "expression",
    [
        "gpus_per_pod > 4 && replicas >= 2",
        "engine in ['vllm', 'sglang']",
        "engine == 'and' || engine == '80Gi'",
        "engine != null && engine.matches('^(a|b) = [0-9]+$')",
        "cloud != null && cloud.startsWith('a')",
        "cloud == null || cloud == 'aws'",
        "host_memory_bytes != null && host_memory_bytes > 80 * 1073741824",
        "weight_bytes > 1e9 && weight_bytes < 2.5e+10",
        "gpus_per_replica * replicas > 8",
        "weight_bytes > 0.5 * device_memory_bytes",
        "2 * gpus_per_pod > 7 && gpus_per_pod in [4, 8]",
        "gpus_per_pod % 2 == 1",
        "'team' in labels && labels['team'] in ['search', 'ads']",
        "'tpot' in stated_objectives || size(stated_objectives) > 2",
        "labels.exists(key, key.startsWith('billing'))",
        "packed ? gpus_per_pod > 1 : gpus_per_pod > 2",
        "'vllm' == engine",
        "!packed && engine != null && size(engine) > 3",
        "[1, 2, 4, 8].exists(n, n == gpus_per_pod)",
    ],
)
def test_a_sound_condition_is_let_pass(expression: str) -> None:
    assert list(condition_diagnostics.find_mistakes(expression)) == []


@pytest.mark.parametrize("one", rule.load_shipped().values(), ids=lambda one: one.name)
def test_no_condition_of_ours_is_taken_for_a_mistake(one: Rule) -> None:
    assert list(condition_diagnostics.find_mistakes(one.when, one.target.scope != "document")) == []


@pytest.mark.parametrize(
    ("expression", "values", "held"),
    [
        ("2 * gpus_per_pod > 7", {"gpus_per_pod": 4}, True),
        ("2 * gpus_per_pod > 7", {"gpus_per_pod": 3.5}, False),
        ("gpus_per_pod / 3 > 1.3", {"gpus_per_pod": 4}, True),
        ("gpus_per_pod / 3 == 1", {"gpus_per_pod": 4}, False),
        ("gpus_per_pod * replicas == 8", {"gpus_per_pod": 0.5, "replicas": 16}, True),
        ("gpus_per_pod - 1 in [1, 2, 4]", {"gpus_per_pod": 5}, True),
        ("gpus_per_pod > -1", {"gpus_per_pod": 0}, True),
        ("gpus_per_pod % 2 == 1", {"gpus_per_pod": 3}, True),
        (
            "gpus_per_pod * 2 > 1 && stated_objectives[0] == '2 * 2'",
            {"gpus_per_pod": 1, "stated_objectives": ["2 * 2"]},
            True,
        ),
        ("object.spec.replicas * 2 > 3", {"object": {"spec": {"replicas": 2}}}, True),
    ],
)
def test_whole_numbers_and_fractions_are_computed_with_alike(
    expression: str, values: dict[str, object], held: bool
) -> None:
    assert cel.evaluate(expression, values) is held


# ---- which files are rules


def known(*folders: Path) -> Mapping[str, Rule]:
    return rule.merge(one for folder in folders for one in diagnostics.load_folder(folder))


def names(*folders: Path) -> set[str]:
    return set(known(*folders)) - set(rule.load_shipped())


def test_rules_are_read_from_several_folders_whatever_their_suffix(tmp_path: Path) -> None:
    written(tmp_path / "one")
    written(tmp_path / "two", name="pod-too-small.yml")
    assert names(tmp_path / "one", tmp_path / "two") == {"pod-too-large", "pod-too-small"}


def test_a_file_that_two_folders_reach_is_one_rule(tmp_path: Path) -> None:
    written(tmp_path / "one")
    assert names(tmp_path, tmp_path / "one") == {"pod-too-large"}


def test_settings_and_pages_between_rules_are_no_rules(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "gpulint.yaml").write_text("rules: [.]\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# Our rules\n", encoding="utf-8")
    assert names(tmp_path) == {"pod-too-large"}


@pytest.mark.parametrize("where", ["inside", "outside", "folder"])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, where: str) -> None:
    path = written(tmp_path / "rules")
    (tmp_path / "other").mkdir()
    link, target = {
        "inside": (path.with_name("linked.yaml"), path),
        "outside": (path.with_name("linked.yaml"), written(tmp_path / "other")),
        "folder": (path.parent / "linked", tmp_path / "other"),
    }[where]
    link.symlink_to(target)
    with pytest.raises(RuleError, match=rf"^{link}: gpulint does not follow symbolic links$"):
        list(diagnostics.find_files(tmp_path / "rules"))


# ---- names that are taken


def test_a_rule_of_a_shipped_name_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = written(tmp_path, name="gpus-left-idle.yaml")
    with pytest.raises(RuleError) as caught:
        known(tmp_path)
    assert str(caught.value) == (
        f"{path}:1:1: gpulint already has a rule gpus-left-idle; rename the file, or write replaces: true to replace it"
    )


def test_a_rule_that_says_so_stands_in_the_place_of_a_shipped_one(tmp_path: Path) -> None:
    written(tmp_path, "severity: warning", "severity: note\nreplaces: true", "gpus-left-idle.yaml")
    assert known(tmp_path)["gpus-left-idle"].family == "capacity"


def test_a_shipped_preview_yields_so_that_a_release_breaks_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    new = dataclasses.replace(rule.load_shipped()["gpus-left-idle"], name="pod-too-large", status="preview")
    monkeypatch.setattr(rule, "load_shipped", lambda: {"pod-too-large": new})
    written(tmp_path)
    assert known(tmp_path)["pod-too-large"].family == "capacity"


def test_rules_that_lie_on_no_disk_are_told_apart_by_their_paths() -> None:
    made = [diagnostics.read(Path("of/a/commit") / name, SOUND.encode()) for name in ("a/pod-too-large.yaml",) * 2]
    assert "pod-too-large" in rule.merge(made)
    other = diagnostics.read(Path("of/a/commit/b/pod-too-large.yaml"), SOUND.encode())
    with pytest.raises(RuleError, match=r"of/a/commit/a/pod-too-large\.yaml also defines pod-too-large"):
        rule.merge([*made, other])


def test_two_rules_of_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    first, second = written(tmp_path / "one"), written(tmp_path / "two")
    with pytest.raises(RuleError) as caught:
        known(tmp_path / "one", tmp_path / "two")
    assert str(caught.value) == f"{second}:1:1: {first} also defines pod-too-large; rule names must be unique"


def test_every_fact_that_is_offered_for_a_word_is_one_and_no_word_is_a_fact() -> None:
    assert set(condition_diagnostics.MEANT.values()) <= set(glossary())
    assert not set(condition_diagnostics.MEANT) & set(glossary())
