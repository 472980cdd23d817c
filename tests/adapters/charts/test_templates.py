"""Charts of the repository: what their templates write, which objects their values have, and where these are located."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import gpulint
from gpulint.adapters.charts.templates import syntax, value
from gpulint.adapters.charts.templates.evaluation import Evaluator, LimitExceeded, NotInstallable

CHART = "apiVersion: v2\nname: chat\nversion: 0.1.0\nappVersion: v0.10.1\n"
VALUES = """\
image:
  repository: vllm/vllm-openai
model: Qwen/Qwen2.5-7B-Instruct
extraArgs:
  - --max-model-len=8192
resources:
  limits:
    nvidia.com/gpu: 1
accelerator: NVIDIA-L4
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chat.name" . }}
spec:
  template:
    spec:
      nodeSelector:
        nvidia.com/gpu.product: {{ .Values.accelerator }}
      containers:
        - name: vllm
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          args:
            - --model={{ .Values.model }}
            - --max-num-seqs=16
            {{- range .Values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
"""
HELPERS = '{{ define "chat.name" }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}'
FILES = {
    "chat/Chart.yaml": CHART,
    "chat/values.yaml": VALUES,
    "chat/templates/deployment.yaml": DEPLOYMENT,
    "chat/templates/_helpers.tpl": HELPERS,
}


def render(template: str, values: object = None) -> str:
    """What a template writes for values."""
    parsed = syntax.parse(template)
    context = value.mapping({"Values": value.build(values or {}), "Release": {"Name": "r"}, "Lookup": value.UNKNOWN})
    return "".join(part.text for part in Evaluator(parsed.defined).render(parsed.nodes, context))


def check(folder: Path, files: dict[str, str]) -> gpulint.Report:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return gpulint.check(folder)


def describe(folder: Path, report: gpulint.Report) -> list[tuple[str, int, str, str]]:
    """The file, the line and the name of each workload, and its network."""
    return [
        (
            Path(found.location.path).relative_to(folder).as_posix(),
            found.location.line,
            found.name,
            found.roles[0].architecture,
        )
        for found in report.workloads
    ]


@pytest.mark.parametrize(
    ("template", "values", "written"),
    [
        ("a {{- 1 -}} b", {}, "a1b"),
        ("{{/* a comment */}}x{{- /* and another */ -}} y", {}, "xy"),
        ("{{ .Values.a.b }}", {"a": {"b": 3}}, "3"),
        ('{{ .Values.a | default "x" | quote }}', {"a": ""}, '"x"'),
        ("{{ .Values.a | squote }}", {"a": "x"}, "'x'"),
        ("{{ if eq .Values.a 1 }}one{{ else if gt .Values.a 1 }}more{{ else }}less{{ end }}", {"a": 2}, "more"),
        ("{{ with .Values.a }}{{ .b }}{{ else }}none{{ end }}", {"a": {}}, "none"),
        ("{{ range $i, $x := .Values.a }}{{ $i }}={{ $x }} {{ end }}", {"a": ["p", "q"]}, "0=p 1=q "),
        ("{{ range $k, $v := .Values.a }}{{ $k }}{{ $v }}{{ end }}", {"a": {"z": 1, "b": 2}}, "b2z1"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", {}, "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", {}, "1"),
        ('{{ index .Values.a "nvidia.com/gpu" }}', {"a": {"nvidia.com/gpu": 4}}, "4"),
        ("{{ toYaml .Values.a | nindent 2 }}", {"a": {"b": [1, "x y"], "a": "8"}}, '\n  a: "8"\n  b:\n  - 1\n  - x y'),
        ('{{ ternary "a" "b" (hasKey .Values "x") }}', {}, "b"),
        ('{{ coalesce .Values.a .Values.b "c" }}', {"b": 0}, "c"),
        (
            '{{ define "t" }}<{{ .x }}>{{ end }}{{ include "t" (dict "x" 1) | upper }}{{ template "t" (dict "x" 2) }}',
            {},
            "<1><2>",
        ),
        ('{{ join "," .Values.a }}', {"a": [1, 2]}, "1,2"),
        ('{{ printf "%s-%d%%" "a" 3 }}', {}, "a-3%"),
        ("{{ tpl .Values.a $ }}", {"a": "{{ .Release.Name }}!"}, "r!"),
        ('{{ add 1 2 | mul 3 }} {{ int "7" }} {{ max 1 5 }}', {}, "9 7 5"),
        ("{{ and .Values.a 1 }}{{ or .Values.a 2 }}{{ not .Values.a }}", {"a": False}, "false2true"),
        ('{{ if semverCompare ">=1.21-0" "v1.30.2" }}new{{ end }}', {}, "new"),
        (
            "{{ range until 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}",
            {},
            "02",
        ),
        ("{{ eq .Values.missing 0 }}", {}, "false"),
    ],
)
def test_templates_write_what_helm_documents(template: str, values: object, written: str) -> None:
    assert render(template, values) == written


@pytest.mark.parametrize(
    "template",
    [
        "{{ randAlphaNum 5 }}",
        "{{ .Values.a.b.c }}",
        '{{ required "say which" .Values.model }}',
        "{{ if eq .Values.text 1 }}yes{{ else }}no{{ end }}",
        '{{ regexFind "(a+)+$" "aaaa" }}',
        '{{ include "of.another.chart" . }}',
        "{{ .Files.Get }}",
    ],
)
def test_what_nothing_decides_is_open_and_never_a_value(template: str) -> None:
    assert render(template, {"text": "1"}) in (value.OPEN, value.GAP)


def test_a_chart_that_ends_the_rendering_has_no_objects() -> None:
    with pytest.raises(NotInstallable):
        render('{{ if not .Values.model }}{{ fail "set model" }}{{ end }}')


@pytest.mark.parametrize(
    "template",
    [
        '{{ define "t" }}{{ include "t" . }}{{ end }}{{ include "t" . }}',
        "{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{ end }}{{ end }}",
        '{{ $x := "xxxxxxxxxxxxxxxx" }}'
        + '{{ $x = printf "%s%s" $x $x }}' * 60
        + "{{ range until 900 }}{{ $x }}{{ end }}",
        "{{ $x := list 1 }}" + "{{ $x = list $x $x }}" * 60 + "{{ toYaml $x }}{{ toJson $x }}{{ $x }}",
        '{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYaml $d }}{{ toJson $d }}{{ deepCopy $d }}',
        '{{ repeat 1000000000 "x" }}{{ until 1000000000 }}{{ printf "%1000000000d" 1 }}',
        '{{ regexReplaceAll "(a*)*b" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" "x" }}',
        "{{ tpl .Values.bomb $ }}",
    ],
)
def test_hostile_templates_end_soon(template: str) -> None:
    began = time.process_time()
    try:
        written = render(template, {"bomb": "{{ tpl .Values.bomb $ }}"})
    except LimitExceeded:
        written = ""
    assert len(written) < 3_000_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text", ["{{ if true }}", "{{ end }}", "{{ (1 }}", "{{ .a", "{{ " + "(" * 500 + "1" + ")" * 500 + " }}"]
)
def test_what_is_no_template_is_told_apart(text: str) -> None:
    with pytest.raises(syntax.SyntaxProblem):
        syntax.parse(text)


def test_the_defaults_of_a_chart_are_a_workload_of_its_values(tmp_path: Path) -> None:
    report = check(tmp_path, FILES)
    assert describe(tmp_path, report) == [("chat/values.yaml", 3, "release-name-chat", "Qwen/Qwen2.5-7B-Instruct")]
    assert report.workloads[0].roles[0].accelerator == "1 × L4 24GB"
    assert report.workloads[0].roles[0].verdict == "fits"


def test_a_further_file_of_values_merges_over_the_defaults(tmp_path: Path) -> None:
    """A file that changes nothing about the object has no workload of its own."""
    large = "model: Qwen/Qwen2.5-32B-Instruct\n"
    files = {
        **FILES,
        "chat/values-large.yaml": large + "nvidia: true\n",
        "chat/values-same.yaml": "accelerator: NVIDIA-L4\n",
    }
    report = check(tmp_path, files)
    assert describe(tmp_path, report) == [
        ("chat/values-large.yaml", 1, "release-name-chat", "Qwen/Qwen2.5-32B-Instruct"),
        ("chat/values.yaml", 3, "release-name-chat", "Qwen/Qwen2.5-7B-Instruct"),
    ]
    (finding,) = [found for found in report.findings if found.rule == "weights-exceed-memory"]
    assert (Path(finding.location.path).name, finding.location.line) == ("values-large.yaml", 1)


def test_a_value_that_the_template_writes_itself_is_located_there(tmp_path: Path) -> None:
    files = {
        **FILES,
        "chat/templates/deployment.yaml": DEPLOYMENT.replace("{{ .Values.model }}", "Qwen/Qwen2.5-32B-Instruct"),
    }
    report = check(tmp_path, files)
    (finding,) = [found for found in report.findings if found.rule == "weights-exceed-memory"]
    assert (Path(finding.location.path).name, finding.location.line) == ("deployment.yaml", 14)


@pytest.mark.parametrize(
    ("condition", "errors"), [("false", ["weights-exceed-memory"]), ('.Capabilities.APIVersions.Has "x/v1"', [])]
)
def test_an_open_condition_leaves_the_arguments_open(tmp_path: Path, condition: str, errors: list[str]) -> None:
    """The 27.5 GiB of 14 billion weights exceed an L4, unless an argument that may be written makes them smaller."""
    opened = f"{{{{- if {condition} }}}}"
    lines = "\n            ".join((opened, "- --quantization=awq", "{{- end }}", "{{- range .V"))
    template = DEPLOYMENT.replace("{{- range .V", lines)
    values = VALUES.replace("7B", "14B")
    report = check(tmp_path, {**FILES, "chat/values.yaml": values, "chat/templates/deployment.yaml": template})
    assert len(report.workloads) == 1
    assert [found.rule for found in report.findings if found.severity == gpulint.Severity.ERROR] == errors


def test_a_subchart_gets_the_values_of_the_chart_around_it(tmp_path: Path) -> None:
    inner = {name.replace("chat/", "all/charts/chat/"): text for name, text in FILES.items()}
    outer = {
        "all/Chart.yaml": CHART.replace("chat", "all"),
        "all/values.yaml": "chat:\n  model: Qwen/Qwen2.5-3B-Instruct\n",
    }
    report = check(tmp_path, {**inner, **outer, "all/values.yaml": outer["all/values.yaml"] + "# vllm\n"})
    assert describe(tmp_path, report) == [("all/values.yaml", 1, "release-name-chat", "Qwen/Qwen2.5-3B-Instruct")]


def test_a_disabled_subchart_has_no_objects_of_the_chart_around_it(tmp_path: Path) -> None:
    inner = {name.replace("chat/", "all/charts/chat/"): text for name, text in FILES.items()}
    described = (
        CHART.replace("chat", "all") + "dependencies:\n- {name: chat, version: 0.1.0, condition: chat.enabled}\n"
    )
    report = check(
        tmp_path, {**inner, "all/Chart.yaml": described, "all/values.yaml": "chat: {enabled: false} # vllm\n"}
    )
    assert describe(tmp_path, report) == []


def test_a_template_holds_the_objects_of_a_chart_whose_values_name_no_gpu(tmp_path: Path) -> None:
    fixed = DEPLOYMENT.replace("{{ .Values.model }}", "Qwen/Qwen2.5-3B-Instruct").replace(
        "{{- toYaml .Values.resources | nindent 12 }}", "limits: {nvidia.com/gpu: 1}"
    )
    image = fixed.replace("{{ .Values.image.repository }}", "vllm/vllm-openai")
    report = check(tmp_path, {**FILES, "chat/values.yaml": "replicas: 1\n", "chat/templates/deployment.yaml": image})
    assert [found[0::3] for found in describe(tmp_path, report)] == [
        ("chat/templates/deployment.yaml", "Qwen/Qwen2.5-3B-Instruct")
    ]


def test_an_object_without_expressions_is_read_once(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: v\n"
    pod += "    image: vllm/vllm-openai:v0.10.1\n"
    pod += "    args: [--model, Qwen/Qwen2.5-3B-Instruct]\n    resources: {limits: {nvidia.com/gpu: 1}}\n"
    report = check(tmp_path, {**FILES, "chat/templates/pod.yaml": pod})
    assert [found[0] for found in describe(tmp_path, report)] == ["chat/templates/pod.yaml", "chat/values.yaml"]
