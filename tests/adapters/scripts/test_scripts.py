"""Scripts as workloads: which programs they start on GPUs, with what, and where each fact stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.adapters import scripts
from gpulint.adapters.pods import image_vendor
from gpulint.source import documents, repository
from gpulint.workload import Field, Role, Unknown, Workload

BASH = "#!/bin/bash\n"


def read(tmp_path: Path, text: str, path: str = "job.sbatch", **beside: str) -> list[Workload]:
    for name, content in beside.items():
        (tmp_path / name.replace("__", ".")).write_text(content)
    loaded = documents.load(path, (BASH + text).encode())
    assert [document.format for document in loaded.documents] == ["shell"]
    tree = repository.WorkTree(tmp_path, base=tmp_path)
    return list(scripts.workloads(loaded.documents[0], tree))


def role(tmp_path: Path, text: str, **beside: str) -> Role:
    """The only role of the only workload."""
    (workload,) = read(tmp_path, text, **beside)
    (found,) = workload.roles
    return found


def values(found: Role, *names: str) -> list[object]:
    return [found.value(name) for name in names]


COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "processes_per_pod")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (
            "#SBATCH -N 4 --gres=gpu:8 --ntasks-per-node=1\nsrun torchrun --nproc_per_node 8 --nnodes 4 t.py",
            [8, 4, 32, 8],
        ),
        ("#SBATCH -N 2 --gres=gpu:4 --ntasks-per-node=4\nsrun python t.py", [4, 2, 8, 4]),
        ("#SBATCH --nodes=2 --gres=gpu:8\nsrun torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE t.py", [8, 2, 16, 8]),
        ("#SBATCH --nodes=2 --gres=gpu:8\nsrun torchrun --nproc_per_node=gpu t.py", [8, 2, 16, 8]),
        (
            "#SBATCH -N 2 --gres=gpu:8\nN=$SLURM_NNODES\nsrun accelerate launch --num_processes $((N*8)) t.py",
            [8, 2, 16, 8],
        ),
        ("#SBATCH -N 2 --gres=gpu:8\nsrun -N 1 --gres=gpu:4 torchrun --nproc_per_node 4 t.py", [4, 1, 4, 4]),
        (
            "#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2 --gres=gpu:8\nsrun --het-group=1 torchrun --nproc_per_node 8 t.py",
            [8, 2, 16, 8],
        ),
        ("salloc -N 2 --gpus-per-node=4 srun --ntasks-per-node=4 python t.py", [4, 2, 8, 4]),
        ("torchrun --nproc_per_node 4 t.py", [4, 1, 4, 4]),
        ("torchrun --nproc_per_node 8 --nnodes 2 t.py", [8, 2, 16, 8]),
        ("deepspeed --num_gpus 2 t.py", [2, 1, 2, 2]),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 t.py", [2, 1, 2, 2]),
        ("accelerate launch --num_machines 2 --num_processes 16 t.py", [8, 2, 16, 8]),
        ("mpirun -np 8 -H a:4,b:4 all_reduce_perf -b 8", [Unknown, 2, Unknown, 4]),
    ],
)
def test_nodes_gpus_and_processes_are_those_that_the_job_and_its_launchers_state(
    tmp_path: Path, text: str, counts: list[object]
) -> None:
    found = values(role(tmp_path, text), *COUNTS)
    assert [type(value) if isinstance(value, Unknown) else value for value in found] == counts


@pytest.mark.parametrize(
    ("text", "engine", "program"),
    [
        ("torchrun t.py", "torchrun", "t.py"),
        ("torchrun -m own.train", "torchrun", "own.train"),
        ("accelerate launch t.py", "accelerate", "t.py"),
        ("deepspeed own.py", "deepspeed", "own.py"),
        ("deepspeed $DIR/own.py --x 1", "deepspeed", "own.py"),
        ("$HOME/bin/accelerate launch --num_processes 2 $DIR/t.py", "accelerate", "t.py"),
        ('#SBATCH --gres=gpu:1\nsrun python "$DIR"/t.py', None, "t.py"),
        ("#SBATCH --gres=gpu:1\npython t.py", None, "t.py"),
        ("#SBATCH --gres=gpu:1\nsrun python -u t.py", None, "t.py"),
        ("#SBATCH --gres=gpu:4 --ntasks-per-node=4\nsrun ./gmx mdrun", None, "gmx"),
        ("#SBATCH --gres=gpu:4\nmpirun -np 4 all_reduce_perf", None, "all_reduce_perf"),
        ("CUDA_VISIBLE_DEVICES=0 python t.py", None, "t.py"),
        ("#SBATCH --gres=gpu:1\nsrun python -W ignore -u t.py", None, "t.py"),
    ],
)
def test_a_launcher_of_trainings_is_the_engine_of_a_program_of_ones_own(
    tmp_path: Path, text: str, engine: str | None, program: str
) -> None:
    assert values(role(tmp_path, text), "engine", "program") == [engine, program]


def test_a_server_is_read_as_its_engine(tmp_path: Path) -> None:
    text = "MODEL=Qwen/Qwen3-8B\nexport CUDA_VISIBLE_DEVICES=0,1\nvllm serve $MODEL --tensor-parallel-size 2 &\nvllm bench serve"
    (workload,) = read(tmp_path, text)
    (found,) = workload.roles
    assert workload.kind == "inference"
    assert values(found, "engine", "checkpoint", "tensor_parallel", "gpus_per_pod") == ["vllm", "Qwen/Qwen3-8B", 2, 2]
    assert found.fields["tensor_parallel"].origins[0].location().line == 4


def test_a_server_alone_leaves_its_gpus_to_the_machine(tmp_path: Path) -> None:
    found = role(tmp_path, "vllm serve m --tensor-parallel-size 2")
    for name in ("gpus_per_pod", "accelerator"):
        value = found.value(name)
        assert isinstance(value, Unknown)
        assert value.category == "any host"


def test_a_container_is_read_with_its_options_and_the_engines_arguments(tmp_path: Path) -> None:
    text = "docker run --gpus '\"device=0,1\"' --name llm vllm/vllm-openai:v0.10.0 --model Qwen/Qwen3-8B -tp 2"
    found = role(tmp_path, text)
    assert found.name == "llm"
    assert values(found, "engine", "engine_version", "gpus_per_pod", "checkpoint") == [
        "vllm",
        "0.10.0",
        2,
        "Qwen/Qwen3-8B",
    ]
    assert found.value("shared_memory_default") is True


@pytest.mark.parametrize(
    "inner",
    [
        'srun bash -c "torchrun --nproc_per_node 8 t.py"',
        'CMD="torchrun --nproc_per_node 8 t.py"\nsrun bash -c "$CMD"',
        'L="torchrun --nproc_per_node 8"\nsrun $L t.py',
        "srun bash <<EOF\ntorchrun --nproc_per_node 8 t.py\nEOF",
        'ssh node "cd x && torchrun --nproc_per_node 8 t.py"',
        "ssh -q $HOST python -m torch.distributed.run --nproc_per_node 8 t.py",
        "$SRUN bash -c 'torchrun --nproc_per_node 8 t.py'",
        "go() {\n  srun torchrun --nproc_per_node 8 t.py\n}\ngo",
    ],
)
def test_a_command_is_found_inside_strings_variables_and_functions(tmp_path: Path, inner: str) -> None:
    found = role(tmp_path, f"#SBATCH -N 2 --gres=gpu:8\n{inner}\n")
    assert values(found, *COUNTS) == [8, 2, 16, 8]
    assert found.fields["processes_per_pod"].origins[0].text() == "8"


def test_a_job_that_a_script_submits_is_read_with_its_own_lines(tmp_path: Path) -> None:
    text = "N=8\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --job-name=inner\n#SBATCH -N 2 --gres=gpu:$N\nsrun torchrun t.py\nEOF\n"
    (workload,) = read(tmp_path, text, path="submit.sh")
    assert workload.name == "inner"
    assert values(workload.roles[0], "gpus_per_pod", "pods_per_replica") == [8, 2]


WRITTEN = """\
NODES=2
cat > "$OUT/job.sh" <<{0}
#!/bin/bash
#SBATCH --nodes=${{NODES}}
#SBATCH --gpus-per-node=8
srun torchrun --nnodes 2 --nproc_per_node 8 t.py
{0}
sbatch "$OUT/job.sh"
"""


def test_a_script_that_a_script_writes_is_read_with_its_own_lines(tmp_path: Path) -> None:
    assert values(role(tmp_path, WRITTEN.format("EOF")), "pods_per_replica", "gpus_per_pod") == [2, 8]


def test_a_script_that_a_function_writes_has_its_arguments(tmp_path: Path) -> None:
    lines = (
        "start() {",
        "  local model=$1",
        "  cat > run.sh <<EOF",
        "#!/usr/bin/env bash",
        "exec vllm serve $model",
        "EOF",
        "}",
    )
    text = "\n".join(lines) + "\n"
    assert values(role(tmp_path, text + "start Qwen/Qwen3-8B"), "engine", "checkpoint") == ["vllm", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    "options",
    [
        "-gpu num=2 -q gpu_h100",
        "-q gpu_h100 -gpu 'num=2:mode=exclusive_process' -J a -n 24 -W 24:00 -o a_%J.out -R 'span[hosts=1]'",
    ],
)
@pytest.mark.parametrize("command", ["vllm serve Qwen/Qwen3-8B", "bash -c 'cd /x; vllm serve Qwen/Qwen3-8B'"])
def test_a_command_that_is_submitted_to_lsf_has_its_options(tmp_path: Path, options: str, command: str) -> None:
    found = role(tmp_path, f"bsub {options} {command}")
    assert values(found, "engine", "checkpoint", "gpus_per_pod") == ["vllm", "Qwen/Qwen3-8B", 2]


def test_the_file_of_accelerate_is_joined(tmp_path: Path) -> None:
    config = "num_processes: 16\nnum_machines: 2\n"
    found = role(tmp_path, "accelerate launch --config_file acc.yaml t.py", acc__yaml=config)
    assert values(found, *COUNTS) == [8, 2, 16, 8]
    first, second = found.fields["processes_per_pod"].origins[:2]
    assert first.text() == "acc.yaml"
    assert second.location().path == "acc.yaml"


def test_a_sourced_file_of_the_repository_is_joined(tmp_path: Path) -> None:
    found = role(tmp_path, "source ./env.sh\ntorchrun --nproc_per_node $GPUS t.py", env__sh="export GPUS=4\n")
    assert found.value("gpus_per_pod") == 4


def test_an_array_is_as_many_runs(tmp_path: Path) -> None:
    assert role(tmp_path, "#SBATCH --gres=gpu:1 --array=0-9%2\npython t.py").value("replicas") == 10


def test_servers_side_by_side_have_the_cards_that_each_lists(tmp_path: Path) -> None:
    text = "#SBATCH --gres=gpu:4\nCUDA_VISIBLE_DEVICES=0 vllm serve a &\nCUDA_VISIBLE_DEVICES=1,2 vllm serve b &"
    (workload,) = read(tmp_path, text)
    assert [found.value("gpus_per_pod") for found in workload.roles] == [1, 2]


@pytest.mark.parametrize(
    ("sizes", "gpus"),
    [
        (("8", "8"), [4, 4]),
        (("8", "2"), [4, None]),
        (("4", "4"), [None, None]),
        (("2", "2"), [None, None]),
        (("1", "2 --pipeline-parallel-size 4"), [None, 4]),
    ],
)
def test_servers_that_share_a_job_have_at_most_all_of_its_gpus(
    tmp_path: Path, sizes: tuple[str, str], gpus: list[int | None]
) -> None:
    lines = "".join(f"vllm serve m --tensor-parallel-size {size} &\n" for size in sizes)
    (workload,) = read(tmp_path, f"#!/bin/bash\n#SBATCH --gpus-per-node=4\n#SBATCH --nodes=1\n{lines}wait\n")
    found = [server.value("gpus_per_pod") for server in workload.roles]
    assert [None if isinstance(count, Unknown) else count for count in found] == gpus


def test_nobody_knows_what_else_runs_on_a_machine_without_a_queue(tmp_path: Path) -> None:
    assert isinstance(role(tmp_path, "vllm serve m").value("engines_on_card"), Unknown)
    assert role(tmp_path, "#SBATCH --gres=gpu:1\nsrun vllm serve m").value("engines_on_card") is None


def test_training_and_serving_in_one_script_are_two_workloads(tmp_path: Path) -> None:
    found = read(tmp_path, "vllm serve m &\ntorchrun --nproc_per_node 4 t.py")
    assert [workload.kind for workload in found] == ["inference", "training"]


def test_what_a_job_runs_is_its_own_where_nothing_is_known_of_it(tmp_path: Path) -> None:
    found = role(tmp_path, "#SBATCH --gres=gpu:8\nmake -j\n")
    value = found.value("program")
    assert isinstance(value, Unknown)
    assert value.category == "own program"
    assert found.value("gpus_per_pod") == 8


@pytest.mark.parametrize(
    "text",
    [
        "apt-get update\npip install vllm deepspeed\n",
        "echo torchrun t.py\n",
        "# torchrun t.py\n",
        "cat > run.sh <<EOF\ntorchrun --nproc_per_node 8 t.py\nEOF\n",
        "curl http://localhost:8000/v1/models\n",
        "vllm bench serve --model m\n",
        "genai-perf profile -m m\n",
        "python -m sglang.bench_serving --backend sglang\n",
        "kubectl apply -f gpu.yaml\n",
        "helm install x y --set gpu=1\n",
        "docker run ubuntu nvidia-smi\n",
        "docker run --gpus all ubuntu nvidia-smi\n",
        "python preprocess.py --workers 8\n",
        "#SBATCH --nodes=2\nsrun hostname\n",
        "#SBATCH --gres=gpu:0\nsrun python t.py\n",
        "accelerate launch --cpu t.py\n",
        "torchrun --nproc_per_node 4 t.py --backend gloo\n",
        "torchrun --nproc_per_node 4 t.py --use_cpu\n",
        "torchrun --nproc_per_node 75 preprocess_data.py\n",
        "#SBATCH -N 2 --partition=cpu_p1\nsrun torchrun --nproc_per_node 40 t.py\n",
        "export NEURON_RT_NUM_CORES=32\ntorchrun --nproc_per_node 32 t.py\n",
        "export ASCEND_RT_VISIBLE_DEVICES=0\nvllm serve m\n",
        "PJRT_DEVICE=TPU torchrun t.py\n",
        'CUDA_VISIBLE_DEVICES="" torchrun t.py\n',
        "ray start --head --num-gpus 8\n",
        "nvidia-smi -L\n",
        "nvcc --version\npython -c 'import torch'\n",
    ],
)
def test_a_script_that_starts_nothing_on_gpus_is_no_workload(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#SBATCH -N 1\nhostname\n", "sbatch script"),
        ("sbatch job.sbatch\n", "sbatch script"),
        ("#PBS -l select=1:ngpus=4\npython t.py\n", "sbatch script"),
        ("torchrun t.py\n", "training script"),
        ("vllm serve m\n", "inference script"),
        ("docker run --gpus all image\n", "docker script"),
        ("docker run --gpus all vllm/vllm-openai --model m\n", "inference script"),
        ("kubectl apply -f x.yaml\n", "cluster script"),
        ("echo gpu\n", "shell script"),
    ],
)
def test_a_script_is_called_by_what_it_is_for(text: str, kind: str) -> None:
    (document,) = documents.load("x.sh", (BASH + text).encode()).documents
    assert scripts.claims(document)
    assert scripts.kind(document) == kind


def test_a_document_of_another_format_is_not_claimed() -> None:
    (document,) = documents.load("x.yaml", b"command: torchrun t.py\n").documents
    assert not scripts.claims(document)


@pytest.mark.parametrize(
    "text",
    [
        *("", "if", "srun", "torchrun", "docker run", "bash -c", "#SBATCH", "#SBATCH --", "srun bash -c '", "x=(\n"),
        *("torchrun --nproc_per_node 8 a=1", "accelerate launch A=1", "mpirun -np 8 A=1", "docker run --gpus all a=1"),
    ],
)
def test_a_broken_script_is_no_trouble(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == []


def test_a_script_given_by_its_whole_path_may_name_files_that_are_not_there(tmp_path: Path) -> None:
    text = "#SBATCH --gres=gpu:8\ndeepspeed --num_gpus 8 train.py --deepspeed_config ds.json\n"
    text += "accelerate launch --config_file a.yaml train.py\nvllm serve a/b --config c.yaml\n"
    found = read(tmp_path, text, path=str(tmp_path / "job.sbatch"))
    assert {role.value("engine") for workload in found for role in workload.roles} >= {"vllm"}


def test_a_folder_of_a_registry_says_nothing_of_the_maker() -> None:
    def maker(image: str) -> object:
        (document,) = documents.load("a.yaml", f"image: {image}\n".encode()).documents
        return image_vendor.fields(document, ("image",)).get("image_vendor", Field(None)).value

    assert maker("registry.example/aip/xpu-nvidia/vllm-openai:v0.11.2") is None
    assert [maker("intel/vllm:0.11.0-xpu"), maker("ghcr.io/llm-d/llm-d-xpu:v0.4.0")] == ["intel", "intel"]


RAY = (
    "#SBATCH -N 4 --gres=gpu:4 --ntasks-per-node=1\n"
    "srun -N 1 -n 1 -w $HEAD ray start --head --block &\n"
    "srun -N 3 -n 3 --exclude $HEAD {ray} --block &\n"
    "srun --overlap -N 1 -n 1 -w $HEAD {start}\n"
)


@pytest.mark.parametrize(
    ("start", "counts"),
    [
        ("vllm serve m --tensor-parallel-size 16", [4, 4, 16]),
        ("vllm serve m --tensor-parallel-size 4 --pipeline-parallel-size 4", [4, 4, 16]),
        ("vllm serve m --tensor-parallel-size 4 --distributed-executor-backend ray", [4, 4, 16]),
        ("apptainer exec --nv v.sif vllm serve m --tensor-parallel-size 16", [4, 4, 16]),
        ("vllm serve m --tensor-parallel-size 4", [4, 1, 4]),
        ("torchrun --nproc_per_node 4 t.py", [4, 1, 4]),
    ],
)
def test_a_server_that_needs_the_ray_cluster_of_its_job_has_all_its_nodes(
    tmp_path: Path, start: str, counts: list[int]
) -> None:
    found = role(tmp_path, RAY.format(ray="ray start --address $HEAD:6379", start=start))
    assert values(found, *COUNTS[:3]) == counts


def test_a_ray_head_alone_gives_a_server_no_further_nodes(tmp_path: Path) -> None:
    found = role(tmp_path, RAY.format(ray="echo", start="vllm serve m --tensor-parallel-size 16"))
    assert values(found, *COUNTS[:3]) == [4, 1, 4]
