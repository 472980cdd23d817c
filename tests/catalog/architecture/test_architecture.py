"""Architecture: what a checkpoint's reference tells, from an exact id down to a name."""

from __future__ import annotations

import pytest

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Resolution

LLAMA = "meta-llama/Meta-Llama-3.1-8B-Instruct"


def found(reference: str) -> Resolution:
    return architecture.resolve(reference)


def id_of(reference: str) -> str | None:
    shape = found(reference).architecture
    return shape.id if shape else None


def likely_format(reference: str) -> str | None:
    """The number format that is assumed where the name states none."""
    shape = found(reference).architecture
    assert shape is not None
    assert not shape.is_known
    return shape.format_assumed


# ---- the last part of a path


@pytest.mark.parametrize("name", ["gpt-oss-120b", "gpt-oss-20b"])
def test_copies_of_one_release_are_the_makers_own(name: str) -> None:
    """openai/gpt-oss-120b is released in MXFP4, and copies elsewhere are the same files."""
    shape = found(f"/models/{name}").architecture
    assert shape is not None
    assert (shape.id, shape.checkpoint_quantization) == (f"openai/{name}", "mxfp4")
    assert found(f"/models/{name}").assumption == f"/models/{name} is openai/{name}, by the last part of its path"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/models/Qwen3-8B-FP8", id="Qwen's is block-wise, NVIDIA's is not"),
        pytest.param("/models/Llama-3.1-405B-Instruct-FP8", id="Meta's keeps attention in 16 bits, NVIDIA's does not"),
        pytest.param("/models/Gemma-4-31B-IT-NVFP4", id="two copies, neither the makers', and one unsaid"),
    ],
)
def test_copies_in_different_formats_are_not_taken_for_one_another(path: str) -> None:
    assert id_of(path) == path


# ---- folders of the Hugging Face cache


@pytest.mark.parametrize(
    ("path", "checkpoint"),
    [
        ("/models/models--meta-llama--Meta-Llama-3.1-8B-Instruct", LLAMA),
        # livepeer/ai-runner pull request 230
        (
            "/models/models--meta-llama--Meta-Llama-3.1-8B-Instruct/snapshots/0e9e39f249a16976918f6564b8830bc894c89659",
            LLAMA,
        ),
        ("/root/.cache/huggingface/hub/models--openai--gpt-oss-20b/snapshots/main/", "openai/gpt-oss-20b"),
        ("models--gpt2", "gpt2"),
    ],
)
def test_a_folder_of_the_cache_is_its_checkpoint(path: str, checkpoint: str) -> None:
    """huggingface_hub v1.9.2 file_download.py, repo_folder_name: the kind and the parts of the id, joined by two dashes."""
    assert id_of(path) == checkpoint
    assert found(path).how == "catalog"
    assert found(path).assumption == f"{path} is the Hugging Face cache of {checkpoint}"


def test_a_cached_checkpoint_that_is_not_listed_is_known_by_its_name() -> None:
    one = found("/cache/models--acme--secret-13b/snapshots/main")
    assert one.architecture is not None
    assert (one.architecture.id, one.architecture.named_parameters) == ("acme/secret-13b", 13e9)
    assert one.assumption == (
        "/cache/models--acme--secret-13b/snapshots/main is the Hugging Face cache of acme/secret-13b; "
        "acme/secret-13b has about 13 billion parameters in 16 bits, or fewer where it is quantised, by its name"
    )


def test_settings_speak_of_a_cached_checkpoint_by_path_or_id() -> None:
    path = "/cache/models--acme--secret-13b"
    for key in (path, "acme/secret-13b"):
        one = architecture.resolve(path, like={key: LLAMA}).architecture
        assert one is not None
        assert one.layers == 32


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            "/cache/models--openai--gpt-oss-20b/snapshots/main/original", id="a part of it, in another format"
        ),
        pytest.param("/cache/models--openai--gpt--oss", id="no id holds two dashes"),
        pytest.param("/cache/models--openai--", id="no name"),
        pytest.param("/cache/datasets--openai--gpt-oss-20b", id="a data set"),
    ],
)
def test_what_is_no_whole_folder_of_the_cache_is_not_decoded(path: str) -> None:
    assert id_of(path) is None or id_of(path) == path


# ---- number formats that nothing states


@pytest.mark.parametrize("checkpoint", ["acme/Llama-9-70b-chat-hf", "acme/secret-13b", "hf://acme/secret-13b"])
def test_a_release_of_a_hub_whose_name_says_nothing_is_likely_in_16_bits(checkpoint: str) -> None:
    assert likely_format(checkpoint) == "bfloat16"


@pytest.mark.parametrize(
    "checkpoint",
    [
        pytest.param("/models/Llama-9-70b-chat-hf", id="a folder may hold a quantised copy"),
        pytest.param("./secret-13b", id="a folder beside the spec"),
        pytest.param("models/secret-13b", id="a folder of a relative path"),
        pytest.param("s3://acme/secret-13b", id="a folder of a bucket"),
        pytest.param("secret-13b", id="a name that somebody gave"),
        pytest.param("acme/secret-13b-quantized", id="quantised, nobody says how"),
        pytest.param("acme/secret-13b-8bit", id="in eight bits of some layout"),
        pytest.param("acme/secret-13b-w4a4", id="a format that is not listed"),
        pytest.param("mlx-community/secret-13b", id="an owner of quantised copies"),
    ],
)
def test_any_other_name_leaves_the_format_open(checkpoint: str) -> None:
    assert likely_format(checkpoint) == "fp8"


@pytest.mark.parametrize(
    ("reference", "base", "format_"),
    [
        pytest.param("TheBloke/Yi-34B-Chat-AWQ", "01-ai/Yi-34B-Chat", "int4-g128", id="AWQ"),
        pytest.param("acme/Qwen3-14B-FP8-dynamic", "Qwen/Qwen3-14B", "fp8", id="the longest ending that is listed"),
        pytest.param("acme/Qwen3-14B-quantized.w4a16", "Qwen/Qwen3-14B", "int4-g128-symmetric", id="a dot inside"),
        pytest.param("Intel/Qwen3-14B-int4-AutoRound", "Qwen/Qwen3-14B", "int4-g128-symmetric", id="AutoRound"),
        pytest.param("/models/qwen3-14b_awq", "Qwen/Qwen3-14B", "int4-g128", id="a folder"),
        pytest.param("TheBloke/Llama-2-70B-chat-GPTQ", "meta-llama/Llama-2-70b-chat", "int4-g128", id="without -hf"),
    ],
)
def test_a_format_after_the_name_of_a_known_checkpoint_is_that_network_in_the_format(
    reference: str, base: str, format_: str
) -> None:
    found = architecture.resolve(reference)
    assert found.architecture is not None and found.architecture.checkpoint_quantization == format_
    assert found.architecture.parameters == architecture.resolve(base).architecture.parameters  # type: ignore[union-attr]
    assert found.how == "name" and "by its name" in found.assumption


def test_16_bits_after_a_name_are_the_dtype() -> None:
    found = architecture.resolve("acme/Qwen3-14B-fp16").architecture
    assert found is not None and (found.checkpoint_dtype, found.checkpoint_quantization) == ("float16", None)


def test_an_ending_that_tells_no_format_leaves_it_open() -> None:
    found = architecture.resolve("acme/Qwen3-14B-GGUF").architecture
    assert found is not None and found.is_known
    assert (found.checkpoint_dtype, found.checkpoint_quantization) == (None, None)


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("acme/Qwen3-14B-lora", id="an adapter is another network"),
        pytest.param("acme/Qwen3-14B-NVFP4-mine", id="no ending"),
        pytest.param("acme/Phi-4-reasoning-vision-NVFP4", id="no known network"),
        pytest.param("acme/Qwen3-14BAWQ", id="no separator"),
        pytest.param("acme/gemma-3-12b-it-NVFP4", id="releases differ in what they keep in 16 bits"),
        pytest.param("acme/GLM-4.5V-bnb-4bit", id="the tower may be quantised or not"),
        pytest.param("acme/Qwen3-8B-AWQ-fp8", id="the network is quantised already"),
    ],
)
def test_other_endings_leave_the_network_unknown(reference: str) -> None:
    found = architecture.resolve(reference).architecture
    assert found is None or not found.is_known


def test_a_suffix_states_the_format() -> None:
    assert likely_format("acme/secret-13b-awq") is None
