"""A config.json becomes an architecture: exact counts, class defaults, formats; anything else stays silent."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import published_networks
import pytest
from published_networks import LATENT, UNTIED, Published, decoder

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, config, network

NETWORKS = {one.id: one for one in published_networks.NETWORKS}
LLAMA = NETWORKS["meta-llama/Llama-3.1-8B"].config
MIXTRAL = NETWORKS["mistralai/Mixtral-8x7B-v0.1"].config
DEEPSEEK = NETWORKS["deepseek-ai/DeepSeek-V3"].config


def read(stated: dict[str, Any]) -> Architecture | None:
    return architecture.read_config("a/b", json.dumps(stated))


def shape(stated: dict[str, Any]) -> Architecture:
    found = read(stated)
    assert found is not None
    return found


# ---- counts


@pytest.mark.parametrize("one", NETWORKS.values(), ids=list(NETWORKS))
def test_the_parameters_of_a_config_are_those_that_others_published(one: Published) -> None:
    assert one.source
    assert shape(one.config).parameters == one.parameters


def test_the_published_networks_are_of_many_families() -> None:
    assert len(NETWORKS) >= 40
    assert len({shape(one.config).family for one in NETWORKS.values()}) >= 25


@pytest.mark.parametrize(
    ("name", "active"),
    [
        # model cards: 12.9 billion of Mixtral-8x7B, 37 of DeepSeek-V3, 32 of Kimi-K2, 3.6 and embeddings of gpt-oss-20b
        ("mistralai/Mixtral-8x7B-v0.1", 12_879_925_248),
        ("deepseek-ai/DeepSeek-V3", 37_552_297_472),
        ("moonshotai/Kimi-K2-Instruct", 32_861_500_928),
        ("openai/gpt-oss-20b", 4_187_440_704),
        ("meta-llama/Llama-3.1-8B", None),
    ],
)
def test_active_parameters_leave_out_the_experts_that_a_token_does_not_visit(name: str, active: int | None) -> None:
    assert shape(NETWORKS[name].config).active_parameters == active


@pytest.mark.parametrize("one", NETWORKS.values(), ids=list(NETWORKS))
def test_the_parts_add_up_to_the_parameters(one: Published) -> None:
    found = network.read(one.id, json.dumps(one.config))
    assert found.parts is not None
    assert sum(found.parts.values()) == found.architecture.parameters


# ---- shapes


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mistralai/Mistral-7B-v0.1", {"sliding_window": 4096, "sliding_layers": 32, "kv_heads": 8}),
        ("google/gemma-2-9b", {"sliding_window": 4096, "sliding_layers": 21, "head_dim": 256}),
        ("google/gemma-3-4b-pt", {"sliding_window": 1024, "sliding_layers": 29, "modality": "vision"}),
        ("google/gemma-4-31B", {"sliding_kv_heads": 16, "sliding_head_dim": 256, "kv_heads": 4, "head_dim": 512}),
        ("openai/gpt-oss-20b", {"sliding_window": 128, "sliding_layers": 12, "experts": 32, "experts_per_token": 4}),
        ("CohereLabs/c4ai-command-r7b-12-2024", {"sliding_window": 4096, "sliding_layers": 24}),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {"sliding_window": 8192, "sliding_layers": 36, "moe_layers": 48}),
        ("deepseek-ai/DeepSeek-V3", {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "head_dim": 192, "moe_layers": 58}),
        ("zai-org/GLM-5", {"indexer_head_dim": 128, "kv_lora_rank": 512}),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"linear_attention_layers": 36, "state_elements": 548864}),
        ("ibm-granite/granite-4.0-h-tiny", {"linear_attention_layers": 36, "state_elements": 403200}),
        ("nvidia/Nemotron-H-8B-Base-8K", {"layers": 28, "linear_attention_layers": 24}),
        ("tiiuae/Falcon-H1-0.5B-Instruct", {"layers": 72, "linear_attention_layers": 36}),
        ("ai21labs/AI21-Jamba-Mini-1.5", {"layers": 32, "linear_attention_layers": 28, "moe_layers": 16}),
        ("openai/whisper-tiny", {"encoder_layers": 4, "encoder_tokens": 1500, "trained_context": 448}),
        ("google/flan-t5-base", {"encoder_layers": 12, "layers": 12, "tied_embeddings": False}),
        ("BAAI/bge-m3", {"trained_context": 8192, "task": "embed"}),
        ("BAAI/bge-reranker-v2-m3", {"task": "score"}),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"encoder_parameters": 676550144, "family": "qwen2.5-vl"}),
    ],
)
def test_the_shape_has_what_the_config_or_the_class_says(name: str, expected: dict[str, object]) -> None:
    found = shape(NETWORKS[name].config)
    assert {field: getattr(found, field) for field in expected} == expected


def test_a_missing_key_means_the_default_of_the_class() -> None:
    assert shape({"model_type": "llama"}).parameters == 6_738_415_616  # LLaMA-7B, the defaults of LlamaConfig


def test_a_window_as_wide_as_the_context_is_none() -> None:
    found = shape({**NETWORKS["microsoft/Phi-3-mini-4k-instruct"].config, "sliding_window": 262144})
    assert (found.sliding_window, found.sliding_layers) == (None, 0)


@pytest.mark.parametrize(
    ("scaling", "context"),
    [
        (None, 131072),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}, 131072),
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 131072),
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 131072}, None),
        ({"type": "linear", "factor": 4.0}, None),
    ],
)
def test_a_scaled_context_that_is_not_the_stated_one_is_unknown(scaling: object, context: int | None) -> None:
    stated = {**LLAMA, "max_position_embeddings": 131072, "rope_scaling": scaling}
    assert shape(stated).trained_context == context


def test_a_network_without_its_head_has_none() -> None:
    whole, bare = shape(LLAMA), shape({**LLAMA, "architectures": ["LlamaModel"]})
    assert whole.parameters == (bare.parameters or 0) + 128256 * 4096
    assert (bare.task, bare.tied_embeddings) == ("embed", True)


# ---- formats


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8-mlp"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4-gcol"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "int8-g128"),
        ({"quant_method": "gptq", "bits": 3, "group_size": 128}, "gptq"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "int4-bnb"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8-bnb"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "nf4"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "aqlm"}, "aqlm"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
            },
            "fp8",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}
                },
            },
            "int4-g128-symmetric",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}},
            },
            "int8",
        ),
        (None, None),
        ("fp8", None),
    ],
)
def test_a_quantised_format_has_the_catalogs_name(settings: object, expected: str | None) -> None:
    assert shape({**LLAMA, "quantization_config": settings}).checkpoint_quantization == expected


HEAD = 128256 * 4096
NORMS = 65 * 4096
ATTENTION = 32 * 4096 * (2 * 4096 + 2 * 1024)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 2 * HEAD + NORMS),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head"]}, 2 * HEAD + NORMS),
        (
            {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"]},
            2 * HEAD + NORMS + ATTENTION,
        ),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["lm_head"]}, 2 * HEAD + NORMS),
        # must stay unknown
        ({"quant_method": "compressed-tensors", "ignore": []}, None),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head", "model.layers.0.mlp.down_proj"]}, None),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head", "model.layers.3.self_attn"]}, None),
        ({"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*q_proj"]}, None),
        (None, None),
    ],
)
def test_what_stays_in_16_bits_is_counted_where_the_config_names_it(settings: object, kept: int | None) -> None:
    assert shape({**LLAMA, "quantization_config": settings}).unquantised_parameters == kept


def test_only_the_experts_of_gpt_oss_are_quantised() -> None:
    stated = {**NETWORKS["openai/gpt-oss-20b"].config, "quantization_config": {"quant_method": "mxfp4"}}
    assert shape(stated).unquantised_parameters == 20_914_757_184 - 24 * 32 * 3 * 2880 * 2880


def test_where_all_but_the_experts_is_left_out_only_they_are_quantised() -> None:
    listed = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]
    stated = {**DEEPSEEK, "quantization_config": {"quant_method": "compressed-tensors", "ignore": listed}}
    assert shape(stated).unquantised_parameters == 671_026_419_200 - 58 * 256 * 3 * 7168 * 2048


def test_a_tower_is_kept_only_with_its_projector() -> None:
    llava = NETWORKS["llava-hf/llava-1.5-7b-hf"].config
    tower, whole = ["lm_head", "vision_tower"], ["lm_head", "vision_tower", "multi_modal_projector"]
    method = {"quant_method": "compressed-tensors"}
    assert shape({**llava, "quantization_config": {**method, "ignore": tower}}).unquantised_parameters is None
    kept = shape({**llava, "quantization_config": {**method, "ignore": whole}}).unquantised_parameters
    assert kept == 2 * 32064 * 4096 + 65 * 4096 + 324_487_168


def test_routers_of_a_quantised_mixture_are_kept_only_where_the_list_says_so() -> None:
    method = {"quant_method": "awq", "bits": 4, "group_size": 128}
    assert shape({**MIXTRAL, "quantization_config": method}).unquantised_parameters is None
    listed = {**method, "modules_to_not_convert": ["block_sparse_moe.gate"]}
    assert shape({**MIXTRAL, "quantization_config": listed}).unquantised_parameters == (
        2 * 32000 * 4096 + 65 * 4096 + 32 * 8 * 4096
    )


# ---- must stay silent


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut off"),
        pytest.param("[]", id="a list"),
        pytest.param('"llama"', id="a word"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("1" * 10_000, id="a long number"),
        pytest.param('{"dim": 4096, "n_layers": 32}', id="params.json"),
        pytest.param('{"model_type": "acme-9000", "hidden_size": 64}', id="an unknown family"),
        pytest.param('{"model_type": {"a": 1}}', id="a family that is a mapping"),
        pytest.param('{"model_type": "llama", "num_hidden_layers": 1e400}', id="an infinite size"),
        pytest.param('{"model_type": "qwen3_vl"}', id="no text network"),
        pytest.param(
            '{"model_type": "chatglm", "position_encoding_2d": true, "hidden_size": 4096}', id="the first ChatGLM"
        ),
    ],
)
def test_what_describes_no_known_network_gives_none(text: str) -> None:
    assert architecture.read_config("a/b", text) is None


ODD: tuple[object, ...] = (None, True, -1, 0, "", "64", 2**70, 1.5, [], [None], {}, {"a": None}, 10**9)


def replaced(stated: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A config with one value after the other, also of inner levels, made odd."""
    for key, value in stated.items():
        for odd in ODD:
            yield {**stated, key: odd}
        if isinstance(value, dict):
            for inner in replaced(value):
                yield {**stated, key: inner}


@pytest.mark.parametrize("one", NETWORKS.values(), ids=list(NETWORKS))
def test_no_odd_value_is_a_fault_of_ours(one: Published) -> None:
    stated = copy.deepcopy(one.config)
    stated |= {"rope_scaling": {"type": "yarn", "factor": 4.0}, "quantization_config": {"quant_method": "awq"}}
    for changed in replaced(stated):
        read(changed)


def test_layers_whose_kinds_do_not_match_their_number_give_none() -> None:
    assert read({**LLAMA, "model_type": "qwen3_next", "layer_types": ["full_attention"]}) is None
    assert read({**LLAMA, "model_type": "mistral", "layer_types": ["rotary"] * 32}) is None


@pytest.mark.parametrize(
    "stated",
    [
        pytest.param({**LLAMA, "architectures": ["LlamaForTokenClassification"]}, id="an unknown head"),
        pytest.param({**LLAMA, "model_type": "baichuan"}, id="no word on tied embeddings"),
        pytest.param({**DEEPSEEK, "mlp_bias": True}, id="biased experts"),
        pytest.param(
            {**NETWORKS["llava-hf/llava-1.5-7b-hf"].config, "vision_config": {"model_type": "acme"}},
            id="an unknown tower",
        ),
        pytest.param({"model_type": "gemma3n", "text_config": {}, "vision_config": {}}, id="Gemma 3n's towers"),
    ],
)
def test_what_cannot_be_counted_exactly_keeps_its_shape_without_a_count(stated: dict[str, Any]) -> None:
    found = shape(stated)
    assert found.parameters is None
    assert found.is_known


def test_the_reason_for_no_count_is_told() -> None:
    found = network.read("a", json.dumps({**LLAMA, "architectures": ["LlamaForTokenClassification"]}))
    assert found.uncounted == "the head of LlamaForTokenClassification is not known"
    with pytest.raises(config.Unread, match="the family acme is not supported"):
        network.read("a", '{"model_type": "acme"}')


def test_kimis_own_model_type_has_no_defaults_that_are_guessed() -> None:
    assert read({"model_type": "kimi_k2", **UNTIED, **LATENT}) is None
    assert shape(decoder("kimi_k2", 64, 2, 2, 2, 128, 100, **LATENT, **UNTIED)).parameters is not None


def test_importing_the_ladder_does_not_import_the_reader() -> None:
    code = "import sys, gpulint.catalog.architecture; print([name for name in sys.modules if 'architecture.' in name])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert imported == "['gpulint.catalog.architecture.model', 'gpulint.catalog.architecture.whole']\n"
