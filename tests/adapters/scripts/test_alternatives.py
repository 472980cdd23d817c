"""Presets of a `case` and items of a `for`: each that changes what the programs need is a workload of its own."""

from __future__ import annotations

from pathlib import Path

from gpulint.adapters import scripts
from gpulint.source import documents, repository
from gpulint.workload import Unknown, Workload

PRESETS = """\
#!/bin/bash
TP=1
pick() {
  case "$1" in
    small)
      MODEL=Qwen/Qwen3-8B ;;
    large|big)
      MODEL=Qwen/Qwen3-32B
      TP=2 ;;
    *) echo unknown; exit 1 ;;
  esac
}
pick "$1"
vllm serve "$MODEL" --tensor-parallel-size "$TP"
"""


def read(tmp_path: Path, text: str) -> list[Workload]:
    (document,) = documents.load("launch.sh", text.encode()).documents
    return list(scripts.workloads(document, repository.WorkTree(tmp_path, base=tmp_path)))


def describe(workloads: list[Workload]) -> list[tuple[str, int, str, object]]:
    return [
        (workload.name, workload.location().line, role.text("checkpoint"), role.value("tensor_parallel"))
        for workload in workloads
        for role in workload.roles
    ]


def test_each_preset_is_a_workload_at_its_item(tmp_path: Path) -> None:
    assert describe(read(tmp_path, PRESETS)) == [
        ("launch (small)", 5, "Qwen/Qwen3-8B", 1),
        ("launch (large)", 7, "Qwen/Qwen3-32B", 2),
    ]


def test_each_model_of_a_loop_is_a_workload(tmp_path: Path) -> None:
    text = "#!/bin/bash\nfor m in Qwen/Qwen3-8B Qwen/Qwen3-32B; do\n  vllm serve $m --tensor-parallel-size 2\ndone\n"
    assert describe(read(tmp_path, text)) == [
        ("launch (Qwen/Qwen3-8B)", 2, "Qwen/Qwen3-8B", 2),
        ("launch (Qwen/Qwen3-32B)", 2, "Qwen/Qwen3-32B", 2),
    ]


def test_items_that_change_no_setting_of_memory_are_one_workload(tmp_path: Path) -> None:
    text = "#!/bin/bash\nfor p in 8000 8001; do\n  vllm serve Qwen/Qwen3-8B --tensor-parallel-size 1 --port $p\ndone\n"
    assert describe(read(tmp_path, text)) == [("launch", 1, "Qwen/Qwen3-8B", 1)]


def test_loops_that_start_different_programs_are_not_combined(tmp_path: Path) -> None:
    text = (
        "#!/bin/bash\nfor m in Qwen/Qwen3-8B Qwen/Qwen3-14B; do\n  vllm serve $m --tensor-parallel-size 1\ndone\n"
        "vllm serve Qwen/Qwen3-4B --tensor-parallel-size 1\n"
        "for t in 2 4 8; do\n  vllm serve Qwen/Qwen3-32B --tensor-parallel-size $t\ndone\n"
    )
    assert [(checkpoint, ranks) for _, _, checkpoint, ranks in describe(read(tmp_path, text))] == [
        ("Qwen/Qwen3-8B", 1),
        ("Qwen/Qwen3-4B", 1),
        ("Qwen/Qwen3-32B", 2),
        ("Qwen/Qwen3-14B", 1),
        ("Qwen/Qwen3-32B", 4),
        ("Qwen/Qwen3-32B", 8),
    ]


def test_a_case_over_options_is_no_preset(tmp_path: Path) -> None:
    text = (
        "#!/bin/bash\nMODEL=Qwen/Qwen3-8B\nwhile [ $# -gt 0 ]; do\n  case $1 in\n    --model) MODEL=$2; shift 2 ;;\n"
        "    --big) MODEL=Qwen/Qwen3-32B; shift ;;\n  esac\ndone\nvllm serve $MODEL --tensor-parallel-size 1\n"
    )
    assert describe(read(tmp_path, text)) == [("launch", 1, "Qwen/Qwen3-8B", 1)]


def test_two_choices_are_combined(tmp_path: Path) -> None:
    text = (
        "#!/bin/bash\nfor m in Qwen/Qwen3-8B Qwen/Qwen3-32B; do\n  for t in 2 4; do\n"
        "    vllm serve $m --tensor-parallel-size $t\n  done\ndone\n"
    )
    assert [(checkpoint, ranks) for _, _, checkpoint, ranks in describe(read(tmp_path, text))] == [
        ("Qwen/Qwen3-8B", 2),
        ("Qwen/Qwen3-8B", 4),
        ("Qwen/Qwen3-32B", 2),
        ("Qwen/Qwen3-32B", 4),
    ]


def test_many_choices_take_a_bounded_number_of_readings(tmp_path: Path) -> None:
    loops = "".join(f"for v{n} in {' '.join(f'org/m{n}-{i}' for i in range(9))}; do\n" for n in range(12))
    text = f"#!/bin/bash\n{loops}vllm serve {' '.join(f'--lora-modules $v{n}' for n in range(12))}\n{'done;' * 12}\n"
    assert len(read(tmp_path, text)) <= 100


def test_the_last_part_of_a_path_below_an_unknown_folder_is_known(tmp_path: Path) -> None:
    text = '#!/bin/bash\nvllm serve "$HOME/models/Qwen3-8B" --tensor-parallel-size 1\n'
    assert describe(read(tmp_path, text)) == [("launch", 1, "$HOME/models/Qwen3-8B", 1)]


def test_a_container_that_is_only_created_is_read(tmp_path: Path) -> None:
    text = "#!/bin/bash\ndocker create --gpus all --name a vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B\n"
    (workload,) = read(tmp_path, text)
    assert (workload.roles[0].name, workload.roles[0].text("checkpoint")) == ("a", "Qwen/Qwen3-8B")


def test_what_follows_a_check_that_may_exit_is_read_and_a_function_that_prints_is_no_program(tmp_path: Path) -> None:
    text = (
        "#!/bin/bash\n#SBATCH --gres=gpu:1\nusage() { echo usage; }\nusage\n"
        "python3 - <<'PY' || { echo too old; exit 1; }\nimport sys\nPY\n"
        "nohup singularity exec --nv image.sif vllm serve Qwen/Qwen3-8B &\n"
    )
    (workload,) = read(tmp_path, text)
    assert (workload.kind, workload.roles[0].text("checkpoint")) == ("inference", "Qwen/Qwen3-8B")


def test_an_env_file_that_a_script_sources_sets_its_values_there(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "serving.env").write_text("# settings\nMODEL=Qwen/Qwen3-8B\nTP=2\n")
    (tmp_path / "scripts").mkdir()
    text = (
        '#!/bin/bash\nDIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "${DIR}/../config/serving.env"\n'
        'ARGS=(--model "$MODEL" --tensor-parallel-size "${TP}")\n'
        'ID=$(docker run -d --gpus 2 vllm/vllm-openai:v0.11.0 "${ARGS[@]}")\n'
    )
    (document,) = documents.load("scripts/run.sh", text.encode()).documents
    (workload,) = scripts.workloads(document, repository.WorkTree(tmp_path, base=tmp_path))
    (role,) = workload.roles
    assert [role.value(name) for name in ("checkpoint", "tensor_parallel", "gpus_per_pod")] == ["Qwen/Qwen3-8B", 2, 2]


def test_a_name_in_braces_is_filled_in_before_the_script_runs(tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH --gres=gpu:{N_GPUS}\nvllm serve {TARGET_MODEL} --tensor-parallel-size {N_GPUS}\n"
    (workload,) = read(tmp_path, text)
    (role,) = workload.roles
    assert role.text("checkpoint") == ""
    assert [isinstance(role.value(name), Unknown) for name in ("tensor_parallel", "gpus_per_pod")] == [True] * 2
