"""Runtimes of Colab and Kaggle: what the metadata, the output, the name and the paths of a program say of its GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples

import gpulint

CODE = """\
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", torch_dtype=torch.float16)
model.to("cuda")
model.generate(max_new_tokens=64)
"""
T4, P100 = "1 × Tesla T4 16GB", "1 × Tesla P100 PCIe 16GB"


def shown(folder: Path) -> str:
    (role,) = samples.roles(gpulint.check(folder))
    return role.accelerator


def show_notebook(folder: Path, metadata: object, code: str = CODE, output: str = "") -> str:
    """The GPUs of a notebook with these metadata, code and output."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": [output]}] if output else []
    cell = {"cell_type": "code", "source": code.splitlines(keepends=True), "outputs": outputs, "metadata": {}}
    notebook = {"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (folder / "chat.ipynb").write_text(json.dumps(notebook, indent=1))
    return shown(folder)


@pytest.mark.parametrize(
    ("metadata", "accelerator"),
    [
        ({"accelerator": "GPU", "colab": {"gpuType": "T4"}}, T4),
        ({"accelerator": "GPU", "colab": {"gpuType": "L4"}}, "1 × L4 24GB"),
        ({"accelerator": "GPU", "colab": {"provenance": []}}, T4),
        ({"kaggle": {"accelerator": "nvidiaTeslaT4", "isGpuEnabled": True}}, T4),
        ({"kaggle": {"accelerator": "gpu", "isGpuEnabled": True}}, P100),
    ],
)
def test_the_metadata_of_a_notebook_names_its_accelerator(metadata: object, accelerator: str, tmp_path: Path) -> None:
    assert show_notebook(tmp_path, metadata) == accelerator


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"colab": {"provenance": []}},
        {"accelerator": "TPU", "colab": {"gpuType": "V28"}},
        {"kaggle": {"accelerator": "none", "isGpuEnabled": False}},
        {"kaggle": {"accelerator": "nvidiaTeslaT4", "isGpuEnabled": False}},
        {"kaggle": "gpu", "colab": ["T4"]},
    ],
)
def test_other_metadata_leave_the_accelerator_open(metadata: object, tmp_path: Path) -> None:
    assert show_notebook(tmp_path, metadata).startswith("1 × ? (the accelerator depends")


def test_a_program_that_spreads_over_all_gpus_takes_both_of_kaggle(tmp_path: Path) -> None:
    code = CODE.replace("torch_dtype", 'device_map="auto", torch_dtype')
    assert show_notebook(tmp_path, {"kaggle": {"accelerator": "nvidiaTeslaT4"}}, code) == "2 × Tesla T4 16GB"


@pytest.mark.parametrize(
    ("output", "accelerator"),
    [
        ("|   0  Tesla T4                       Off | 00000000:00:04.0 Off |\n", T4),
        ("\\\\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.\n", T4),
        ("cuda_device_name=NVIDIA A100-SXM4-80GB\n", "1 × A100 SXM4 80GB"),
    ],
)
def test_the_one_name_that_the_output_of_a_notebook_prints_is_assumed(
    output: str, accelerator: str, tmp_path: Path
) -> None:
    assert show_notebook(tmp_path, {}, output=output) == accelerator


@pytest.mark.parametrize(
    "output", ["Tesla T4 and NVIDIA A100-SXM4-80GB\n", "Tesla T4 and NVIDIA GeForce MX450\n", "a T4 is enough\n"]
)
def test_other_output_leaves_the_accelerator_open(output: str, tmp_path: Path) -> None:
    assert show_notebook(tmp_path, {}, output=output).startswith("1 × ? (the accelerator depends")


def test_the_paths_of_a_platform_leave_its_runtimes_open(tmp_path: Path) -> None:
    found = show_notebook(tmp_path, {}, f'{CODE}open("/kaggle/working/out.txt")\n')
    assert found.startswith("1 × ? (Kaggle (/kaggle/working) names one of p100-pcie-16gb, t4)")


@pytest.mark.parametrize(
    ("kernel", "accelerator"),
    [
        ({"code_file": "train.py", "enable_gpu": "true"}, P100),
        ({"code_file": "train.py", "enable_gpu": True, "machine_shape": "NvidiaTeslaT4"}, T4),
    ],
)
def test_what_is_pushed_to_kaggle_runs_on_the_machine_of_its_metadata(
    kernel: object, accelerator: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "kernel-metadata.json").write_text(json.dumps(kernel))
    assert shown(tmp_path) == accelerator


@pytest.mark.parametrize(
    "kernel", ['{"code_file": "other.py", "enable_gpu": true}', '{"code_file": "train.py"}', "[", "[" * 5000, "null"]
)
def test_the_metadata_of_another_kernel_says_nothing(kernel: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "kernel-metadata.json").write_text(kernel)
    assert shown(tmp_path).startswith("1 × ? (the accelerator depends")
