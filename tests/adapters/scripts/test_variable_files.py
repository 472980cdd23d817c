"""Files of variables: which of them a script, a container or a recipe reads, and whose values count as assumed."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import Finding, RoleSummary, Severity

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
SMALL = "MODEL=Qwen/Qwen3-8B\nTP=1\n"
LARGE = "MODEL=meta-llama/Llama-3.1-70B-Instruct\nTP=4\n"


def roles(tmp_path: Path, **files: str) -> list[RoleSummary]:
    """The roles of a repository; in names of files, `__` is a slash and `_dot_` a dot."""
    write(tmp_path, **files)
    return [role for workload in gpulint.check(tmp_path).workloads for role in workload.roles]


def write(tmp_path: Path, **files: str) -> None:
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/").replace("_dot_", ".").replace("_dash_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.mark.parametrize(
    "reads",
    [
        "set -a; source .env; set +a",
        "export $(grep -v '^#' .env | xargs)",
        "export $(cat .env | grep -v '#' | xargs)",
        'export $(grep -v "^#" "$(dirname "$0")/.env" | xargs -d "\\n")',
        "if [ -f .env ]; then\n  export $(sed 's/#.*//' .env | xargs)\nfi",
        'ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\n. "$ROOT/.env"',
    ],
)
def test_a_script_knows_the_variables_of_a_file_that_it_reads(tmp_path: Path, reads: str) -> None:
    run = f"#!/bin/bash\n{reads}\nvllm serve $MODEL --tensor-parallel-size $TP\n"
    (found,) = roles(tmp_path, run_dot_sh=run, _dot_env=f"# both\nMODEL={LLAMA}\nTP=2\n")
    assert (found.architecture, found.parallelism) == (LLAMA, "TP 2")


@pytest.mark.parametrize("reads", ["export $(curl -s $URL | xargs)", "export $(generate .env)", "export $(< $FILE)"])
def test_what_another_program_prints_is_not_known(tmp_path: Path, reads: str) -> None:
    run = f"#!/bin/bash\n{reads}\nvllm serve $MODEL\n"
    (found,) = roles(tmp_path, run_dot_sh=run, _dot_env=f"MODEL={LLAMA}\n")
    assert found.architecture != LLAMA


def test_a_container_gets_the_variables_of_its_file_behind_its_own(tmp_path: Path) -> None:
    image = "ghcr.io/huggingface/text-generation-inference:3.0.0"
    run = f"#!/bin/bash\ndocker run --gpus all --shm-size 1g --env-file tgi.env -e NUM_SHARD=4 {image}\n"
    (found,) = roles(tmp_path, run_dot_sh=run, tgi_dot_env=f"MODEL_ID={LLAMA}\nNUM_SHARD=2\n")
    assert (found.architecture, found.parallelism) == (LLAMA, "TP 4")


@pytest.mark.parametrize("source", ['"configs/$1.sh"', '"$(dirname "$0")/configs/${NAME}.sh"'])
def test_each_preset_that_a_script_may_source_is_a_workload(tmp_path: Path, source: str) -> None:
    run = f"#!/bin/bash\nNAME=$1\nsource {source}\nvllm serve $MODEL --tensor-parallel-size $TP\n"
    write(tmp_path, run_dot_sh=run, configs__small_dot_sh=SMALL, configs__large_dot_sh=LARGE, configs__notes_dot_md="-")
    found = {workload.name: workload.roles[0] for workload in gpulint.check(tmp_path).workloads}
    assert {name: role.parallelism for name, role in found.items()} == {"run (small)": "TP 1", "run (large)": "TP 4"}


def test_a_path_of_which_all_is_open_is_no_choice(tmp_path: Path) -> None:
    run = '#!/bin/bash\nsource "$1"\nvllm serve $MODEL --tensor-parallel-size $TP\n'
    (found,) = roles(tmp_path, run_dot_sh=run, small_dot_sh=SMALL, large_dot_sh=LARGE)
    assert found.architecture == "?"


# ---- examples


COMPOSE = """services:
  llm:
    image: vllm/vllm-openai:v0.10.0
    command: --model ${MODEL} --tensor-parallel-size ${TP:-1}
    shm_size: 8g
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}
"""
ASSUMED = "the variables of {}, because no file of the repository sets them"


@pytest.mark.parametrize("example", [".env.example", ".env.sample", ".env-example", "env.example"])
def test_an_example_stands_for_variables_that_nobody_committed(tmp_path: Path, example: str) -> None:
    (tmp_path / example).write_text(f"MODEL={LLAMA}\nTP=2\nHF_TOKEN=your-token\n")
    (found,) = roles(tmp_path, compose_dot_yaml=COMPOSE)
    assert (found.architecture, found.parallelism) == (LLAMA, "TP 2")
    assert ASSUMED.format(example) in found.assumptions


def test_an_example_counts_for_a_script_too(tmp_path: Path) -> None:
    run = "#!/bin/bash\nsource .env\nvllm serve $MODEL --tensor-parallel-size $TP\n"
    (found,) = roles(tmp_path, run_dot_sh=run, _dot_env_dot_example=f"TOKEN=<token>\nMODEL={LLAMA}\nTP=2\n")
    assert (found.architecture, found.parallelism) == (LLAMA, "TP 2")
    assert ASSUMED.format(".env.example") in found.assumptions


def test_committed_variables_need_no_example(tmp_path: Path) -> None:
    files = {"_dot_env": "MODEL=Qwen/Qwen3-8B\n", "_dot_env_dot_example": f"MODEL={LLAMA}\n"}
    (found,) = roles(tmp_path, compose_dot_yaml=COMPOSE, **files)
    assert found.architecture == "Qwen/Qwen3-8B"
    assert not any("env.example" in text for text in found.assumptions)


@pytest.mark.parametrize("value", ["", "<model>", "your-model", "change-me"])
def test_a_placeholder_of_an_example_is_not_known(tmp_path: Path, value: str) -> None:
    (found,) = roles(tmp_path, compose_dot_yaml=COMPOSE, _dot_env_dot_example=f"MODEL={value}\n")
    assert found.architecture == "? (MODEL is set by the caller)"


def test_an_example_whose_variables_nothing_uses_is_no_assumption(tmp_path: Path) -> None:
    compose = COMPOSE.replace("${MODEL}", LLAMA).replace("${TP:-1}", "2")
    (found,) = roles(tmp_path, compose_dot_yaml=compose, _dot_env_dot_example="MODEL=m\n")
    assert not any("env.example" in text for text in found.assumptions)


def test_a_finding_that_rests_on_an_example_is_one_step_lower(tmp_path: Path) -> None:
    write(tmp_path, compose_dot_yaml=COMPOSE.replace("count: 2", "count: 1"), _dot_env=f"MODEL={LLAMA}\nTP=2\n")
    stated = find_gpus_finding(tmp_path)
    (tmp_path / ".env").rename(tmp_path / ".env.example")
    assumed = find_gpus_finding(tmp_path)
    assert (stated.severity, assumed.severity) == (Severity.ERROR, Severity.WARNING)
    assert assumed.message.endswith("; the variables are assumed from .env.example")


def find_gpus_finding(folder: Path) -> Finding:
    (found,) = [one for one in gpulint.check(folder).findings if one.rule == "parallel-size-exceeds-gpus"]
    return found


# ---- recipes


def test_a_justfile_passes_on_the_variables_that_it_loads(tmp_path: Path) -> None:
    just = "set dotenv-load\nserve model=env_var('MODEL') tp=env('TP'):\n    vllm serve {{model}} -tp {{tp}}\n"
    (found,) = roles(tmp_path, justfile=just, _dot_env=f"MODEL={LLAMA}\nTP=2\n")
    assert (found.architecture, found.parallelism) == (LLAMA, "TP 2")


def test_supervisord_fills_in_variables_and_nothing_else(tmp_path: Path) -> None:
    program = f'[program:llm]\ncommand=vllm serve %(ENV_MODEL)s --port %(port)s\nenvironment=MODEL="{LLAMA}"\n'
    (found,) = roles(tmp_path, supervisord_dot_conf=program)
    assert found.architecture == LLAMA
