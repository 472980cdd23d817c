"""A misspelt variable is told from one that a team or another program reads."""

from __future__ import annotations

import pytest

from gpulint.adapters.programs import variable_names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_DEBUGG", "NCCL_DEBUG"),
        ("NCCL_SOKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCLL_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("VLMM_WORKER_MULTIPROC_METHOD", "VLLM_WORKER_MULTIPROC_METHOD"),
        ("VLLM_ATENTION_BACKND", "VLLM_ATTENTION_BACKEND"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("CUDA_LUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"),
        ("HF_HUB_OFFLNE", "HF_HUB_OFFLINE"),
        ("HF_HUB_ENABLE_HF_TRANSFERS", "HF_HUB_ENABLE_HF_TRANSFER"),
        ("PYTORCH_CUDA_ALOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
        ("PYTORCH_CUDA_ALLOC_CONFIG", "PYTORCH_CUDA_ALLOC_CONF"),
        ("NVIDIA_VISIBEL_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    ],
)
def test_a_misspelling_means_the_name_that_a_library_reads(name: str, meant: str) -> None:
    assert variable_names.find_meant(name) == meant


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_SOCKET_IFNAME",
        "MCCL_SOCKET_IFNAME",
        "HCCL_SOCKET_IFNAME",
        "RCCL_MSCCL_ENABLE",
        "VLLM_PORTS",
        "VLLM_API_KEYS",
        "VLLM_ASCEND_ENABLE_NZ",
        "VLLM_MAX_MODEL_LEN",
        "VLLM_TENSOR_PARALLEL_SIZE",
        "HF_TOKENS",
        "HF_CACHE",
        "HIP_VISIBLE_DEVICES",
        "CUDA_HOMES",
        "CUDA_DEVICES",
        "PYTORCH_ALLOC_CONF",
        "HUGGINGFACE_HUB_TOKEN",
        "VISIBLE_DEVICES",
    ],
)
def test_a_name_that_another_program_may_read_is_no_misspelling(name: str) -> None:
    assert variable_names.find_meant(name) == ""
