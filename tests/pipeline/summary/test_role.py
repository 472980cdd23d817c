"""Summary: the cards that a role would fit on, where the spec names none."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

import gpulint
from gpulint.report.model import RoleSummary, Severity

AWQ = "TheBloke/OpenHermes-2.5-Mistral-7B-AWQ"
FP8 = "Qwen/Qwen3-8B-FP8"
OLD = {"Tesla P100 PCIe 16GB", "Tesla V100 SXM2 16GB", "Tesla V100 PCIe 16GB", "Tesla V100 SXM2 32GB"}
TURING = {"Tesla T4 16GB", "T4G 16GB"}


def spec(arguments: str, resource: str = "nvidia.com/gpu", image: str = "vllm/vllm-openai:v0.10.1") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
    - name: server
      image: {image}
      args: [{arguments}, --max-model-len=4096]
      resources: {{limits: {{{resource}: 1}}}}
"""


def judged(arguments: str, resource: str = "nvidia.com/gpu", image: str = "vllm/vllm-openai:v0.10.1") -> RoleSummary:
    found = samples.report(spec(arguments, resource, image))
    assert found.failures == ()
    (role,) = samples.roles(found)
    return role


def listed(role: RoleSummary) -> set[str]:
    return {*role.fits_on, *role.borderline}


@pytest.mark.parametrize(
    ("arguments", "without", "smallest"),
    [
        pytest.param(f"--model={AWQ}, --quantization=awq", OLD, "Tesla T4 16GB", id="AWQ kernels need 7.5"),
        pytest.param(f"--model={FP8}", OLD | TURING, "L4 24GB", id="FP8 kernels need 8.0 in this release"),
        pytest.param("--model=Qwen/Qwen3-4B, --dtype=bfloat16", OLD | TURING, "L4 24GB", id="bfloat16 needs 8.0"),
        pytest.param("--model=openai/gpt-oss-20b", OLD | TURING, "L4 24GB", id="MXFP4 kernels need 8.0"),
    ],
)
def test_a_card_that_cannot_run_the_format_is_not_listed(arguments: str, without: set[str], smallest: str) -> None:
    role = judged(arguments)
    assert role.fits_on[0] == smallest
    assert listed(role) & without == set()


def test_a_card_that_runs_the_format_is_listed_however_old_it_is() -> None:
    assert set(judged("--model=Qwen/Qwen3-4B").fits_on) >= OLD | TURING


@pytest.mark.parametrize("arguments", [f"--model={AWQ}, --quantization=awq", f"--model={FP8}"])
def test_every_listed_card_is_without_an_error_when_it_is_named(arguments: str) -> None:
    names = judged(arguments).fits_on
    assert len(names) > 10
    for name in names:
        found = samples.report(spec(arguments), accelerator=name)
        assert max(samples.severities(found).values(), default=Severity.NOTE) < Severity.ERROR, name


def test_a_spec_for_cuda_fits_on_cards_of_nvidia_alone() -> None:
    assert not any("Instinct" in name for name in listed(judged("--model=Qwen/Qwen3-4B")))


def test_a_resource_of_amd_fits_on_cards_of_amd_alone() -> None:
    role = judged("--model=Qwen/Qwen3-8B", "amd.com/gpu", "rocm/vllm:v0.10.1")
    assert role.fits_on == ("Instinct MI300X 192GB", "Instinct MI355X 288GB")
    assert (role.borderline, role.too_small) == ((), ())


@pytest.mark.parametrize("resource", ["habana.ai/gaudi", "gpu.intel.com/xe"])
def test_nothing_is_said_of_makers_whose_cards_no_listed_cloud_rents_out(resource: str) -> None:
    role = judged("--model=Qwen/Qwen3-8B", resource)
    assert (role.fits_on, role.borderline, role.too_small) == ((), (), ())


def test_what_only_cuda_numbers_forbids_no_card_of_another_maker() -> None:
    """A compute capability is CUDA's: bfloat16 is no question of AMD's data centre cards."""
    role = judged("--model=Qwen/Qwen3-8B, --dtype=bfloat16", "amd.com/gpu", "rocm/vllm:v0.10.1")
    assert role.fits_on == ("Instinct MI300X 192GB", "Instinct MI355X 288GB")


OPEN_DEVICE = """\
from faster_whisper import WhisperModel

def load():
    for device, kind in [("cuda", "float16"), ("cpu", "int8")]:
        try:
            return WhisperModel("large-v3", device=device, compute_type=kind)
        except RuntimeError:
            continue

load()
"""


def test_a_device_that_the_program_chooses_at_run_time_is_a_gpu(tmp_path: Path) -> None:
    """A record of an open value is never printed as one."""
    (tmp_path / "serve.py").write_text(OPEN_DEVICE)
    (tmp_path / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --gres=gpu:l40s:1\npython serve.py\n")
    (role,) = samples.roles(gpulint.check(tmp_path))
    assert (role.accelerator, role.verdict) == ("1 × L40S 48GB", "not evaluated")
