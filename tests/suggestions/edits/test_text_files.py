"""Values that a program, a file of variables, a sourced script or a Dockerfile states: found, edited and checked there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import started_program
from click.testing import CliRunner

import gpulint
from gpulint import cli
from gpulint.report.model import Finding

RULE = "context-exceeds-trained-maximum"
"""Qwen3-8B was trained on 40,960 tokens; 65,536 are too many, and 32,768 is the largest power of two that fits."""
PROGRAM = started_program.pod('"python", "/app/serve.py"')
SCRIPT = "#!/bin/bash\n#SBATCH --gres=gpu:h100:1\n"


class Case(NamedTuple):
    """A repository whose `place` states too many tokens, and the file that starts what reads it."""

    files: Mapping[str, str]
    place: str
    start: str


def python(text: str, **others: str) -> Case:
    return Case({"k8s/pod.yaml": PROGRAM, "app/serve.py": text, **others}, "app/serve.py", "k8s/pod.yaml")


COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.10.1
{lines}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
"""
CASES = {
    "keyword": python('from vllm import LLM\nü = "ü"; llm = LLM("Qwen/Qwen3-8B", max_model_len=65536)\n'),
    "tabs and returns": python(
        'from vllm import LLM\r\n\r\ndef main():\r\n\tllm = LLM(\r\n\t\tmodel="Qwen/Qwen3-8B",\t# 模型\r\n'
        "\t\tmax_model_len = 65536,\r\n\t)\r\nmain()\r\n"
    ),
    "argparse": python(
        "import argparse\nfrom vllm import LLM\np = argparse.ArgumentParser()\n"
        'p.add_argument("--length", type=int, default=65_536, help="ü")\n'
        'LLM(model="Qwen/Qwen3-8B", max_model_len=p.parse_args().length)\n'
    ),
    "dict": python(
        "from vllm import LLM\ncfg = {'model': 'Qwen/Qwen3-8B', 'max_model_len': 65536}\nllm = LLM(**cfg)\n"
    ),
    "dataclass": python(
        "from dataclasses import dataclass\nfrom vllm import LLM\n\n@dataclass\nclass Settings:\n"
        '    model: str = "Qwen/Qwen3-8B"\n    length: int = 65536  # tokens\n\n'
        "s = Settings()\nllm = LLM(s.model, max_model_len=s.length)\n"
    ),
    "environment": python(
        'import os\nfrom vllm import LLM\nllm = LLM("Qwen/Qwen3-8B", max_model_len=int(os.getenv("LENGTH", "65536")))\n'
    ),
    "module": Case(
        {
            "k8s/pod.yaml": PROGRAM,
            "app/serve.py": 'from vllm import LLM\nfrom settings import LENGTH\nLLM("Qwen/Qwen3-8B", max_model_len=LENGTH)\n',
            "app/settings.py": "# 长度\nLENGTH = 65536\n",
        },
        "app/settings.py",
        "k8s/pod.yaml",
    ),
    "notebook": Case(
        {
            "k8s/pod.yaml": started_program.pod('"papermill", "/app/serve.ipynb", "out.ipynb"'),
            "app/serve.ipynb": '{"cells": [\r\n {"cell_type": "code", "source": [\r\n  "from vllm import LLM\\n",\r\n'
            '  "s = \\"\\u00fc\\t\\"; llm = LLM(\\"Qwen/Qwen3-8B\\", max_model_len=65536)\\n"\r\n ]}\r\n],'
            ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\r\n',
        },
        "app/serve.ipynb",
        "k8s/pod.yaml",
    ),
    "text in a notebook": Case(
        {
            "k8s/pod.yaml": started_program.pod('"papermill", "/app/serve.ipynb", "out.ipynb"'),
            "app/serve.ipynb": '{"cells": [{"cell_type": "code", "source": "import os\\nfrom vllm import LLM\\n'
            'llm = LLM(\\"Qwen/Qwen3-8B\\", max_model_len=int(os.getenv(\\"LENGTH\\", \\"65536\\")))\\n"}]}\n',
        },
        "app/serve.ipynb",
        "k8s/pod.yaml",
    ),
    "project variables": Case(
        {
            "compose.yaml": COMPOSE.format(lines='    command: ["--model=Qwen/Qwen3-8B", "--max-model-len=${LENGTH}"]'),
            ".env": "# ü\r\nexport LENGTH=65536 # tokens\r\n",
        },
        ".env",
        "compose.yaml",
    ),
    "file of variables": Case(
        {
            "compose.yaml": COMPOSE.format(
                lines='    env_file: [config/serving.env]\n    entrypoint: ["sh", "-c"]\n'
                '    command: ["vllm serve Qwen/Qwen3-8B --max-model-len $$LENGTH"]'
            ),
            "config/serving.env": 'NAME="ü"\nLENGTH="65536"\n',
        },
        "config/serving.env",
        "compose.yaml",
    ),
    "sourced variables": Case(
        {
            "scripts/run.sh": SCRIPT + 'DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\n'
            'source "${DIR}/../config/serving.env"\nARGS=(--model Qwen/Qwen3-8B --max-model-len "$LENGTH")\n'
            'docker run --gpus all vllm/vllm-openai:v0.10.1 "${ARGS[@]}"\n',
            "config/serving.env": "# 长度\nLENGTH=65536\n",
        },
        "config/serving.env",
        "scripts/run.sh",
    ),
    "sourced script": Case(
        {
            "run.sh": SCRIPT + ". ./common.sh\nvllm serve Qwen/Qwen3-8B --max-model-len=$LENGTH\n",
            "common.sh": "export NAME=ü LENGTH=65536\n",
        },
        "common.sh",
        "run.sh",
    ),
    "image": Case(
        {
            "compose.yaml": COMPOSE.format(lines="    build: .").replace("    image: vllm/vllm-openai:v0.10.1\n", ""),
            "Dockerfile": 'FROM vllm/vllm-openai:v0.10.1\r\nENV A=ü LENGTH="65536"\r\n'
            "ENTRYPOINT vllm serve Qwen/Qwen3-8B --max-model-len $LENGTH\r\n",
        },
        "Dockerfile",
        "compose.yaml",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def find(*paths: str) -> list[Finding]:
    return [finding for finding in gpulint.check(paths or ["."]).open if finding.rule == RULE]


def fix(*paths: str) -> str:
    return CliRunner().invoke(cli.main, ["check", "--fix", "--unsafe", f"--select={RULE}", *(paths or ["."])]).output


@pytest.mark.parametrize("name", CASES)
def test_a_finding_stands_at_the_literal_and_names_what_starts_it(folder: Path, name: str) -> None:
    case = CASES[name]
    write(folder, case.files)
    (finding,) = find()
    place = finding.location
    written = place.text[place.column - 1 : place.end_column - 1].strip("\\\"'")
    assert (place.path, written.replace("_", "")) == (case.place, "65536")
    assert case.files[case.place].splitlines()[place.line - 1].count(written) == 1
    assert finding.related[0].location.path == case.start


@pytest.mark.parametrize("name", CASES)
def test_a_fix_changes_the_literal_and_nothing_else(folder: Path, name: str) -> None:
    case = CASES[name]
    write(folder, case.files)
    shown = fix()
    changed = (
        case.files[case.place].replace("65536", "40960").replace("65_536", "40960")
    )  # what the checkpoint declares
    found = {path: (folder / path).read_bytes().decode() for path in case.files}
    assert found == {**case.files, case.place: changed}, shown
    assert find() == []


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_named_alone_is_checked_with_what_starts_it(folder: Path, name: str) -> None:
    case = CASES[name]
    write(folder, case.files)
    assert [finding.location.path for finding in find(case.place)] == [case.place]
    fix(case.place)
    assert find(case.place) == []


SHARED = {
    "k8s/pod.yaml": PROGRAM,
    "k8s/long.yaml": PROGRAM.replace("{name: llm}", "{name: long}"),
    "app/serve.py": CASES["keyword"].files["app/serve.py"],
}


def test_a_literal_that_several_workloads_share_answers_all_of_them(folder: Path) -> None:
    write(folder, SHARED)
    (finding,) = find()
    assert {"k8s/long.yaml", "k8s/pod.yaml"} <= {place.location.path for place in finding.related}
    fix("k8s/pod.yaml", "app/serve.py")
    assert find() == []


SPLIT = """\
import os
from vllm import LLM
RANKS = 4
llm = LLM(os.environ["MODEL"], tensor_parallel_size=RANKS, max_model_len=4096)
"""


def ranked(model: str, gpus: int, name: str) -> str:
    text = PROGRAM.replace("{name: llm}", f"{{name: {name}}}").replace("gpu: 1", f"gpu: {gpus}")
    return text.replace("      resources", f"      env: [{{name: MODEL, value: {model}}}]\n      resources")


def test_a_literal_is_left_alone_where_another_workload_needs_it(folder: Path) -> None:
    """Two GPUs cannot hold four ranks; but the 72B of the other workload needs its four GPUs."""
    one = ranked("Qwen/Qwen3-8B", 2, "small")
    write(folder, {"k8s/small.yaml": one, "app/serve.py": SPLIT})
    edits = [edit.location.path for edit in edits_of("k8s/small.yaml") if edit.location]
    assert "app/serve.py" in edits
    write(folder, {"k8s/large.yaml": ranked("Qwen/Qwen2.5-72B-Instruct", 4, "large")})
    edits = [edit.location.path for edit in edits_of("k8s/small.yaml") if edit.location]
    assert "app/serve.py" not in edits


def test_a_literal_that_two_settings_share_is_judged_by_both(folder: Path) -> None:
    """Four ranks in four stages need 16 GPUs; with one in one, one GPU is left over."""
    program = (
        "from vllm import LLM\nN = 4\n"
        "llm = LLM('Qwen/Qwen3-8B', tensor_parallel_size=N, pipeline_parallel_size=N, max_model_len=4096)\n"
    )
    write(folder, {"k8s/pod.yaml": PROGRAM.replace("gpu: 1", "gpu: 2"), "app/serve.py": program})
    CliRunner().invoke(cli.main, ["check", "--fix", "--unsafe", "."])
    assert (folder / "app/serve.py").read_text() == program.replace("N = 4", "N = 1")
    assert [finding.rule for finding in gpulint.check(["."]).open if finding.severity == finding.severity.ERROR] == []


def edits_of(path: str) -> list:  # type: ignore[type-arg]
    found = [finding for finding in gpulint.check([path]).open if finding.rule == "parallel-size-exceeds-gpus"]
    assert found
    return [edit for finding in found for suggestion in finding.suggestions for edit in suggestion.edits]


def test_a_waiver_beside_the_literal_counts(folder: Path) -> None:
    text = CASES["keyword"].files["app/serve.py"].replace("65536)", f"65536)  # gpulint: ignore[{RULE}] it was tested")
    write(folder, {**CASES["keyword"].files, "app/serve.py": text})
    assert find() == []
