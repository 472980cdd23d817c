"""Programs of one job: a server that a program starts, programs that only ask it, and servers side by side."""

from __future__ import annotations

import pytest
import samples

JOB = """\
#!/bin/bash
#SBATCH --gres=gpu:h100:1
python start.py --size 4096 &
python {other} --url http://localhost:8000
"""
EXECUTES = {
    "list": "import os, sys\ncmd = ['vllm', 'serve', 'Qwen/Qwen3-8B', '--max-model-len', '4096']\nos.execvp(cmd[0], cmd)\n",
    "words": "import os\nos.execlp('vllm', 'vllm', 'serve', 'Qwen/Qwen3-8B', '--max-model-len', '4096')\n",
    "environment": "import os\nos.execvpe('vllm', ['vllm', 'serve', 'Qwen/Qwen3-8B', '--max-model-len', '4096'], {})\n",
}
CLIENT = "import httpx\nfrom seeds import set_seed\nset_seed(1)\nhttpx.get('http://localhost:8000')\n"


def find_roles(files: dict[str, str], other: str = "ask.py") -> list[tuple[str, str]]:
    """The models and verdicts of a job's programs."""
    held = {name: text.encode() for name, text in files.items()}
    found = samples.roles(samples.report(JOB.format(other=other), path="job.sbatch", files=held))
    return [(role.architecture.partition(" ")[0], role.verdict) for role in found]


@pytest.mark.parametrize("program", EXECUTES)
def test_a_program_that_replaces_itself_with_a_server_is_that_server(program: str) -> None:
    found = find_roles({"start.py": EXECUTES[program], "ask.py": "import torch\ntorch.zeros(1).cuda()\n"})
    assert found[0] == ("Qwen/Qwen3-8B", "fits")


def test_a_client_beside_its_server_is_no_program_for_gpus() -> None:
    seeds = "import torch\ndef set_seed(seed):\n    torch.manual_seed(seed)\n"
    assert find_roles({"start.py": EXECUTES["list"], "ask.py": CLIENT, "seeds.py": seeds}) == [
        ("Qwen/Qwen3-8B", "fits")
    ]


@pytest.mark.parametrize(
    ("files", "other"),
    [
        ({"ask.py": "import torch\ntorch.zeros(1).cuda()\n"}, "ask.py"),
        ({"ask.py": "from work import run\nrun()\n", "work.py": "import jax\ndef run(): pass\n"}, "ask.py"),
        ({}, "elsewhere.py"),
    ],
)
def test_a_program_that_may_compute_stays(files: dict[str, str], other: str) -> None:
    assert len(find_roles({"start.py": EXECUTES["list"], **files}, other)) == 2


def test_a_job_of_clients_alone_stays() -> None:
    assert find_roles({"start.py": CLIENT, "ask.py": CLIENT, "seeds.py": "def set_seed(seed): pass\n"})


@pytest.mark.parametrize(("gpus", "counts"), [(1, ["1", "1"]), (2, ["?", "?"])])
def test_each_server_of_a_job_with_one_gpu_gets_that_one(gpus: int, counts: list[str]) -> None:
    job = f"#!/bin/bash\n#SBATCH --gres=gpu:h100:{gpus}\nvllm serve Qwen/Qwen3-8B &\nvllm serve Qwen/Qwen3-4B &\nwait\n"
    found = samples.roles(samples.report(job, path="job.sbatch"))
    assert [role.accelerator.partition(" ×")[0] for role in found] == counts
