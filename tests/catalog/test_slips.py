"""A typing error is told from another word."""

from __future__ import annotations

import pytest

from gpulint.catalog import slips


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKET_INFAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOCKETIFNAME", "NCCL_SOCKET_IFNAME"),
        ("VLLM_ATENTION_BACKND", "VLLM_ATTENTION_BACKEND"),
        ("CUDA_VISIBLE_DEVISE", "CUDA_VISIBLE_DEVICES"),
        ("PYTORCH_CUDA_ALOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
        ("PYTORCH_CUDA_ALLOC_CONFIG", "PYTORCH_CUDA_ALLOC_CONF"),
        ("VLLM_ALLOW_LONG_MAX_MODEL_LENGTH", "VLLM_ALLOW_LONG_MAX_MODEL_LEN"),
        ("overlap_com", "overlap_comm"),
        ("gpu-memory-utilisation", "gpu-memory-utilization"),
        ("tensor-paralel-size", "tensor-parallel-size"),
    ],
)
def test_up_to_two_slips_lead_to_the_name_that_is_meant(name: str, meant: str) -> None:
    assert slips.is_slip(name, meant)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("NCCL_IB_SL", "NCCL_IB_TC"),
        ("NCCL_P2P_LEVEL", "NCCL_PXN_LEVEL"),
        ("VLLM_USE_FLASHINFER_MOE_FP4", "VLLM_USE_FLASHINFER_MOE_FP8"),
        ("data_import_folder", "data_export_folder"),
        ("include_input_tokens", "exclude_input_tokens"),
        ("max_encode_length", "max_decode_length"),
        ("lora_alpha_scale", "mora_alpha_scale"),
        ("max_input_length", "max_output_length"),
        ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
        ("VLLM_MODEL_PATHS_A", "VLLM_MODULE_PATHS_A"),
        ("CUDA_HOME", "CUDA_ROOT"),
    ],
)
def test_another_word_is_no_slip(name: str, other: str) -> None:
    assert not slips.is_slip(name, other)


def test_a_name_that_is_known_means_itself() -> None:
    assert slips.find_nearest("NCCL_DEBUG", ["NCCL_DEBUG", "NCCL_DEBUG_FILE"]) == ""
