"""The architecture catalog: every count is one that others published, or that the reader of config.json gives."""

import csv
import datetime
import json

import catalog_configs
import pytest
from catalog_configs import Row, number
from folders import DATA, ROOT

from gpulint.catalog.architecture import Architecture, network

CATALOG = ROOT / "gpulint" / "catalog" / "tables"

HEADERS = {
    "architectures.csv": (
        "id family parameters active_parameters layers hidden intermediate gated_mlp attention_heads kv_heads head_dim "
        "vocab tied_embeddings trained_context sliding_window sliding_layers linear_attention_layers kv_lora_rank "
        "qk_rope_head_dim experts experts_per_token moe_layers moe_intermediate moe_hidden shared_intermediate "
        "sliding_kv_heads sliding_head_dim kv_shared_layers state_elements encoder_layers encoder_tokens "
        "encoder_parameters indexer_head_dim dtype task modality source date"
    ).split(),
    "checkpoints.csv": (
        "checkpoint architecture dtype quantization parameters trained_context unquantised_parameters source date"
    ).split(),
    "config_defaults.csv": "model_type key value source date".split(),
}
DTYPES = {"float32", "bfloat16", "float16"}
TASKS = {"generate", "embed", "score", "transcribe", "speak", "image", "video"}
MODALITIES = {"text", "vision", "audio", "image", "video"}
COUNTED = "counted with the modelling code of huggingface/transformers"
"""What the source of a row says whose count is that of the public class, made from the config."""

HUB = "safetensors.total of the Hugging Face model API"
KERAS = "keras-team/keras-hub presets"
MTEB = "n_parameters in embeddings-benchmark/mteb"
PYTHIA = "Pythia paper (arXiv 2304.01373) Table 1, non-embedding count, plus both embeddings"
# Figures that others published for the same network. Rows of a family without a formula rest on this alone.
PUBLISHED = {
    "01-ai/Yi-1.5-9B": (8829407232, "general.parameter_count of the GGUF conversion"),
    "01-ai/Yi-34B": (34388917248, HUB),
    "01-ai/Yi-6B": (6061035520, HUB),
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct": (1543268864, MTEB),
    "Alibaba-NLP/gte-Qwen2-7B-instruct": (7069121024, MTEB),
    "Alibaba-NLP/gte-modernbert-base": (149014272, MTEB),
    "Alibaba-NLP/gte-reranker-modernbert-base": (149605633, HUB),
    "BAAI/bge-base-en-v1.5": (109482240, KERAS),
    "BAAI/bge-large-en-v1.5": (335141888, KERAS),
    "BAAI/bge-m3": (567754752, MTEB + " for Snowflake/snowflake-arctic-embed-l-v2.0, the same shape"),
    "BAAI/bge-reranker-large": (559891457, "count printed in a public reranker notebook"),
    "BAAI/bge-reranker-v2-m3": (567755777, HUB),
    "BAAI/bge-small-en-v1.5": (33360000, KERAS),
    "EleutherAI/gpt-j-6b": (6050882784, "count printed by the transformers model, in a public LoRA test for GPT-J"),
    "EleutherAI/gpt-neox-20b": (20554567680, "model card of EleutherAI/gpt-neox-20b"),
    "EleutherAI/pythia-1.4b-deduped": (1208602624 + 2 * 50304 * 2048, PYTHIA),
    "EleutherAI/pythia-12b-deduped": (11327027200 + 2 * 50688 * 5120, PYTHIA),
    "EleutherAI/pythia-2.8b-deduped": (2517652480 + 2 * 50304 * 2560, PYTHIA),
    "HuggingFaceTB/SmolLM2-1.7B": (1711376384, HUB),
    "HuggingFaceTB/SmolLM2-135M": (134515008, HUB),
    "HuggingFaceTB/SmolLM2-360M": (361821120, HUB),
    "HuggingFaceTB/SmolLM3-3B": (3075098624, HUB),
    "MiniMaxAI/MiniMax-M2.5": (228689764864, HUB + " of MiniMaxAI/MiniMax-M2.7, the same shape"),
    "Qwen/Qwen1.5-14B": (14167290880, "n_params of a GGUF fine-tune of the same shape"),
    "Qwen/Qwen1.5-32B": (32512218112, "general.parameter_count of the GGUF conversion"),
    "Qwen/Qwen1.5-7B": (7721324544, "count of Qwen-7B, the same shape, in a public calflops table"),
    "Qwen/Qwen1.5-MoE-A2.7B": (14315784192, KERAS),
    "Qwen/Qwen2.5-0.5B": (494032768, KERAS),
    "Qwen/Qwen2.5-1.5B": (1543714304, HUB),
    "Qwen/Qwen2.5-14B": (14770033664, "general.parameter_count of the GGUF conversion"),
    "Qwen/Qwen2.5-32B": (32763876352, KERAS),
    "Qwen/Qwen2.5-3B": (3085938688, KERAS),
    "Qwen/Qwen2.5-72B": (72706203648, KERAS),
    "Qwen/Qwen2.5-7B": (7615616512, HUB),
    "Qwen/Qwen2.5-VL-3B-Instruct": (3754622976, MTEB + " for Alibaba-NLP/GVE-3B, the same shape"),
    "Qwen/Qwen2.5-VL-7B-Instruct": (8292166656, HUB),
    "Qwen/Qwen3-0.6B": (596049920, KERAS),
    "Qwen/Qwen3-1.7B": (1720574976, KERAS),
    "Qwen/Qwen3-14B": (14768307200, KERAS),
    "Qwen/Qwen3-235B-A22B": (235093634560, KERAS),
    "Qwen/Qwen3-30B-A3B": (30532122624, KERAS),
    "Qwen/Qwen3-32B": (32762123264, KERAS),
    "Qwen/Qwen3-4B": (4022468096, KERAS),
    "Qwen/Qwen3-8B": (8190735360, KERAS),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": (480154875392, HUB),
    "Qwen/Qwen3-Embedding-0.6B": (595776512, MTEB),
    "Qwen/Qwen3-Embedding-4B": (4021774336, KERAS),
    "Qwen/Qwen3-Embedding-8B": (7567295488, HUB),
    "Qwen/Qwen3-Next-80B-A3B-Instruct": (79674391296, HUB + " of Qwen/Qwen3-Coder-Next, released without the module"),
    "Qwen/Qwen3-VL-2B-Instruct": (2127532032, HUB),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": (31070754032, "paramCount in the Fireworks AI documentation, model list"),
    "Qwen/Qwen3-VL-32B-Instruct": (33357390064, "elements of the MiniMax H3 text encoder, the same shape"),
    "Qwen/Qwen3-VL-4B-Instruct": (4437815808, "count printed in public runs of the model"),
    "Qwen/Qwen3-VL-8B-Instruct": (8767123696, HUB),
    "THUDM/chatglm3-6b": (6243584000, "count printed by PEFT for chatglm3-6b"),
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": (1100048384, HUB),
    "bigscience/bloomz-7b1": (7069016064, "model card of bigscience/bloom-7b1"),
    "codellama/CodeLlama-13b-hf": (13016028160, "num_parameters of CodeLlama-13b in the Together model list"),
    "codellama/CodeLlama-34b-hf": (33743970304, "num_parameters of Phind-CodeLlama-34B in the Together model list"),
    "codellama/CodeLlama-7b-hf": (6738546688, "num_parameters of CodeLlama-7b in the Together model list"),
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": (1777088000, "model_n_params of the GGUF conversion"),
    "deepseek-ai/DeepSeek-V2": (235741434880, HUB),
    "deepseek-ai/DeepSeek-V2-Lite": (15706484224, HUB),
    "deepseek-ai/DeepSeek-V3": (671026419200, HUB + " of microsoft/MAI-DS-R1, released without the module"),
    "deepseek-ai/deepseek-coder-1.3b-base": (1346471936, HUB),
    "deepseek-ai/deepseek-coder-6.7b-base": (6740512768, HUB),
    "facebook/opt-1.3b": (1315758080, "count printed in a public LoRA script"),
    "facebook/opt-125m": (125239296, "OpenVINO notebook on pruning OPT-125m"),
    "google/embeddinggemma-300m": (307581696, MTEB),
    "google/gemma-2-27b": (27227128320, KERAS),
    "google/gemma-2-2b": (2614341888, KERAS),
    "google/gemma-2-9b": (9241705984, KERAS),
    "google/gemma-2b": (2506172416, KERAS),
    "google/gemma-3-12b-pt": (12187325040, HUB),
    "google/gemma-3-1b-pt": (999885952, KERAS),
    "google/gemma-3-27b-pt": (27432406640, HUB),
    "google/gemma-3-4b-pt": (4300079472, HUB),
    "google/gemma-7b": (8537680896, KERAS),
    "ibm-granite/granite-3.1-2b-instruct": (2533531648, HUB),
    "intfloat/e5-mistral-7b-instruct": (7110660096, MTEB + " for a fine-tune of the same shape"),
    "intfloat/multilingual-e5-large-instruct": (559890432, HUB),
    "jinaai/jina-embeddings-v2-base-en": (137368320, MTEB),
    "lmsys/vicuna-33b-v1.3": (32528943616, "count of LLaMA-30B, the same shape, in public tables"),
    "meta-llama/Llama-2-13b-hf": (13015866880 - 40 * 64, HUB + " less the stored rotary buffers"),
    "meta-llama/Llama-2-70b-hf": (68976653312 - 80 * 64, HUB + " less the stored rotary buffers"),
    "meta-llama/Llama-2-7b-hf": (6738417664 - 32 * 64, HUB + " less the stored rotary buffers"),
    "meta-llama/Llama-3.1-405B": (405853388800, HUB),
    "meta-llama/Llama-3.1-70B": (70553706496, HUB),
    "meta-llama/Llama-3.1-8B": (8030261248, HUB),
    "meta-llama/Llama-3.2-11B-Vision": (10670220835, "safetensors metadata of the Instruct version"),
    "meta-llama/Llama-3.2-1B": (1235814400, HUB),
    "meta-llama/Llama-3.2-3B": (3212749824, HUB),
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": (401583781376, "Fireworks AI documentation, billing export"),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": (108641793536, HUB),
    "meta-llama/Meta-Llama-3-70B": (70553706496, HUB),
    "meta-llama/Meta-Llama-3-8B": (8030261248, KERAS),
    "microsoft/Phi-3-medium-128k-instruct": (13960238080, "count of the 4k version in a public fine-tuning table"),
    "microsoft/Phi-3-medium-4k-instruct": (13960238080, "count printed in a public fine-tuning table"),
    "microsoft/Phi-3-mini-4k-instruct": (3821079552, HUB),
    "microsoft/Phi-3.5-mini-instruct": (3821079552, HUB),
    "microsoft/Phi-4-mini-instruct": (3836021760, HUB),
    "microsoft/phi-2": (2779683840, HUB),
    "microsoft/phi-4": (14659507200, HUB),
    "mistralai/Ministral-3-14B-Base-2512": (13945032240 - 40 * 14, HUB + " of the FP8 release less its scales"),
    "mistralai/Ministral-3-3B-Base-2512": (3849090048, HUB),
    "mistralai/Ministral-3-8B-Base-2512": (8918026716 - 34 * 14, HUB + " of the FP8 release less its scales"),
    "mistralai/Ministral-8B-Instruct-2410": (8019808256, HUB),
    "mistralai/Mistral-7B-Instruct-v0.2": (7241732096, KERAS),
    "mistralai/Mistral-7B-v0.1": (7241732096, HUB),
    "mistralai/Mistral-7B-v0.3": (7248023552, HUB),
    "mistralai/Mistral-Large-Instruct-2407": (122610069504, "count of the 2411 release in a public model survey"),
    "mistralai/Mistral-Nemo-Base-2407": (12247782400, HUB),
    "mistralai/Mistral-Small-24B-Base-2501": (23572403200, KERAS + " (magistral_small)"),
    "mistralai/Mistral-Small-3.1-24B-Base-2503": (24011361280, HUB + " of Mistral-Small-3.2"),
    "mistralai/Mixtral-8x22B-v0.1": (140620634112, HUB),
    "mistralai/Mixtral-8x7B-v0.1": (46702792704, KERAS),
    "mixedbread-ai/mxbai-embed-large-v1": (335141888, MTEB),
    "moonshotai/Kimi-K2-Instruct": (1026408235864 - 61 * 56, HUB + " less the stored rotary buffers"),
    "nomic-ai/nomic-embed-text-v1.5": (136731648, MTEB),
    "nvidia/llama-embed-nemotron-8b": (7504924672, MTEB),
    "openai-community/gpt2": (124439808, "Hugging Face model documentation"),
    "openai-community/gpt2-large": (774030080, KERAS),
    "openai/gpt-oss-120b": (116829156672, HUB),
    "openai/gpt-oss-20b": (20914757184, HUB),
    "openlm-research/open_llama_3b_v2": (3426473600, "count of the dense 3B model in a public upcycling table"),
    "sentence-transformers/all-MiniLM-L6-v2": (22713216, KERAS),
    "sentence-transformers/all-mpnet-base-v2": (109486464, MTEB),
    "stabilityai/stablelm-2-1_6b": (1644515328, "model card of stabilityai/stablelm-2-1_6b"),
    "tiiuae/falcon-180B": (179522565120 - 65024 * 14848, HUB + " less the second copy of the tied head"),
    "tiiuae/falcon-40b": (41835970560 - 65024 * 8192, HUB + " less the second copy of the tied head"),
    "tiiuae/falcon-7b": (7217189760 - 65024 * 4544, HUB + " less the second copy of the tied head"),
    "upstage/SOLAR-10.7B-v1.0": (10731524096, "model size in a public training configuration"),
    "zai-org/GLM-4.5-Air": (106852251264, HUB + " of PrimeIntellect/INTELLECT-3, released without the module"),
}
# Hub totals of the checkpoint with its multi-token-prediction module.
WITH_MODULE = {
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 81324862720,
    "Qwen/Qwen3.5-122B-A10B": 125086497008,
    "Qwen/Qwen3.5-27B": 27781427952,
    "Qwen/Qwen3.5-35B-A3B": 35951822704,
    "Qwen/Qwen3.5-397B-A17B": 403397928944,
    "zai-org/GLM-4.5": 358337791296,
    "deepseek-ai/DeepSeek-V3.2": 685355329792,
    "zai-org/GLM-4.5-Air": 110468824832,
    "zai-org/GLM-5": 753864139008,
}
WITH_TABLES = {"deepseek-v3.2", "glm-4.5", "glm-4.5-air"}
"""Families whose module stores the embeddings and the head again."""


def read(name: str) -> list[Row]:
    with (CATALOG / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def published() -> dict[str, tuple[int, str]]:
    """Published counts and their sources by id: those above and those of published_counts.csv."""
    with (DATA / "published_counts.csv").open(encoding="utf-8", newline="") as handle:
        return {row["id"]: (int(row["parameters"]), row["source"]) for row in csv.DictReader(handle)} | PUBLISHED


ARCHITECTURES = {row["id"]: row for row in read("architectures.csv")}
CHECKPOINTS = read("checkpoints.csv")
FORMATS = {row["quantization"]: row for row in read("quantization.csv")}
CONFIGS = {name: stated for name, row in ARCHITECTURES.items() if (stated := catalog_configs.config_of(row))}
NETWORKS = {name: row for name, row in ARCHITECTURES.items() if row["layers"]}


def counted(stated: dict[str, object]) -> Architecture:
    return network.read("a/b", json.dumps(stated)).architecture


# ---- the files


def keys(name: str) -> list[tuple[str, ...]]:
    first = {"config_defaults.csv": 2}.get(name, 1)
    return [tuple(row.values())[:first] for row in read(name)]


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_each_file_is_utf8_with_lf_the_exact_header_and_sorted_unique_keys(name: str) -> None:
    raw = (CATALOG / name).read_bytes()
    assert b"\r" not in raw and raw.endswith(b"\n")
    assert raw.decode("utf-8").splitlines()[0] == ",".join(HEADERS[name])
    assert keys(name) == sorted(set(keys(name))) != []


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_every_row_has_all_its_cells_a_source_and_an_iso_date(name: str) -> None:
    for row in read(name):
        assert None not in row and None not in row.values(), row
        assert row["source"].strip(), row
        assert datetime.date.fromisoformat(row["date"]).isoformat() == row["date"], row


def test_every_default_is_json() -> None:
    assert all(json.loads(row["value"]) is not None for row in read("config_defaults.csv"))


# ---- copies


def test_every_checkpoint_points_to_an_architecture_and_names_a_known_dtype_and_quantization() -> None:
    for row in CHECKPOINTS:
        assert row["architecture"] in {*ARCHITECTURES, *(one["id"] for one in read("networks.csv"))}, row
        assert row["dtype"] in DTYPES, row
        assert row["quantization"] in {*FORMATS, ""}, row


def test_an_id_in_both_files_is_the_same_network_as_released_quantised() -> None:
    for row in CHECKPOINTS:
        if row["checkpoint"] in ARCHITECTURES:
            assert row["architecture"] == row["checkpoint"] and row["quantization"], row
            assert not row["parameters"] and not row["trained_context"], row


def test_a_checkpoint_states_parameters_and_context_only_where_they_differ_from_the_architecture() -> None:
    for row in CHECKPOINTS:
        for name in ("parameters", "trained_context"):
            if row[name]:
                assert int(row[name]) > 0 and row[name] != ARCHITECTURES[row["architecture"]][name], row


def test_only_a_quantised_checkpoint_keeps_parameters_in_16_bits_and_fewer_than_it_has() -> None:
    for row in CHECKPOINTS:
        if row["unquantised_parameters"]:
            total = number(row, "parameters") or number(ARCHITECTURES[row["architecture"]], "parameters")
            assert row["quantization"] and 0 < number(row, "unquantised_parameters") < total, row


VOCABULARIES = {
    "NousResearch/Nous-Hermes-Llama2-13b": ("meta-llama/Llama-2-13b-hf", 32032),
    "TheBloke/OpenHermes-2.5-Mistral-7B-AWQ": ("mistralai/Mistral-7B-v0.1", 32002),
    "allenai/Llama-3.1-Tulu-3-8B": ("meta-llama/Llama-3.1-8B", 128264),
    "codellama/CodeLlama-13b-Python-hf": ("codellama/CodeLlama-13b-hf", 32000),
    "codellama/CodeLlama-7b-Python-hf": ("codellama/CodeLlama-7b-hf", 32000),
    "ibm-granite/granite-3.1-2b-base": ("ibm-granite/granite-3.1-2b-instruct", 49152),
    "ibm-granite/granite-3.1-8b-base": ("ibm-granite/granite-3.1-8b-instruct", 49152),
    "ibm-granite/granite-3.3-2b-instruct": ("ibm-granite/granite-3.1-2b-instruct", 49159),
    "ibm-granite/granite-3.3-8b-instruct": ("ibm-granite/granite-3.1-8b-instruct", 49159),
    "mistralai/Mixtral-8x22B-Instruct-v0.1": ("mistralai/Mixtral-8x22B-v0.1", 32768),
    "teknium/OpenHermes-2-Mistral-7B": ("mistralai/Mistral-7B-v0.1", 32002),
    "teknium/OpenHermes-2.5-Mistral-7B": ("mistralai/Mistral-7B-v0.1", 32002),
}


@pytest.mark.parametrize("name", sorted(VOCABULARIES))
def test_a_checkpoint_with_another_vocabulary_has_the_parameters_of_that_vocabulary(name: str) -> None:
    base, vocab = VOCABULARIES[name]
    (row,) = (row for row in CHECKPOINTS if row["checkpoint"] == name)
    assert counted({**CONFIGS[base], "vocab_size": vocab}).parameters == number(row, "parameters")


def test_a_copy_with_another_vocabulary_has_the_published_count() -> None:
    counts = {row["checkpoint"]: row["parameters"] for row in CHECKPOINTS}
    assert counts["ibm-granite/granite-3.1-2b-base"] == "2533525504"
    assert counts["ibm-granite/granite-3.3-2b-instruct"] == "2533539840"
    assert counts["ibm-granite/granite-3.3-8b-instruct"] == "8170864640"
    assert counts["teknium/OpenHermes-2.5-Mistral-7B"] == "7241748480"


# ---- formats


def test_bytes_per_weight_include_the_scales_and_zero_points_of_each_format() -> None:
    expected = {
        "float32": 4,
        "bfloat16": 2,
        "float16": 2,
        "fp8": 1,
        "fp8-mlp": 1.2,
        "int8": 1,
        "fp8-block": 1 + 4 / (128 * 128),
        "int4-g128": 0.5 + 2.5 / 128,
        "int4-g64": 0.5 + 2.5 / 64,
        "int4-g32": 0.5 + 2.5 / 32,
        "int4-bnb": 0.5 + 1 / 64 + 4 / (64 * 256),
        "nvfp4": 0.5 + 1 / 16,
        "mxfp4": 0.5 + 1 / 32,
    }
    assert {name: float(FORMATS[name]["bytes_per_weight"]) for name in expected} == expected


# ---- shapes


@pytest.mark.parametrize("row", ARCHITECTURES.values(), ids=list(ARCHITECTURES))
def test_every_architecture_says_what_it_is_and_how_large(row: Row) -> None:
    assert number(row, "parameters") > number(row, "encoder_parameters") >= 0
    assert row["dtype"] in DTYPES and row["task"] in TASKS and row["modality"] in MODALITIES
    assert row["layers"] or row["task"] in {"image", "video", "speak"}


@pytest.mark.parametrize("row", NETWORKS.values(), ids=list(NETWORKS))
def test_the_cells_of_a_network_fit_together(row: Row) -> None:
    heads, kv_heads = number(row, "attention_heads"), number(row, "kv_heads")
    assert min(number(row, name) for name in ("layers", "hidden", "vocab")) > 0
    assert number(row, "trained_context") > 0 or "context not established" in row["source"]
    assert row["gated_mlp"] in {"yes", "no"} and row["tied_embeddings"] in {"yes", "no"}
    linear, sliding = number(row, "linear_attention_layers"), number(row, "sliding_layers")
    if linear < number(row, "layers"):
        assert heads and kv_heads and number(row, "head_dim") and heads % kv_heads == 0
    assert 0 <= sliding <= number(row, "layers") - linear
    assert bool(row["sliding_window"]) == (sliding > 0)
    assert bool(row["state_elements"]) == (linear > 0)
    assert number(row, "kv_shared_layers") < number(row, "layers")


@pytest.mark.parametrize("row", NETWORKS.values(), ids=list(NETWORKS))
def test_a_tower_is_counted_where_there_is_one(row: Row) -> None:
    assert bool(row["encoder_parameters"]) == (row["modality"] != "text" and not row["encoder_layers"])


@pytest.mark.parametrize("row", NETWORKS.values(), ids=list(NETWORKS))
def test_what_is_said_of_experts_fits_together(row: Row) -> None:
    if row["experts"]:
        assert 0 < number(row, "experts_per_token") < number(row, "experts")
        assert 0 < number(row, "moe_layers") <= number(row, "layers") and row["moe_intermediate"]
        assert 0 < number(row, "active_parameters") < number(row, "parameters")
    else:
        parts = ("active_parameters", "experts_per_token", "moe_layers", "moe_intermediate", "shared_intermediate")
        assert not any(row[name] for name in parts)


# ---- counts


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_count_of_a_row_is_that_of_its_config(name: str) -> None:
    row, found = ARCHITECTURES[name], counted(CONFIGS[name])
    tower = number(row, "encoder_parameters")
    assert found.parameters == number(row, "parameters") - tower
    if row["active_parameters"]:
        assert found.active_parameters == number(row, "active_parameters") - tower
    if row["state_elements"]:
        assert found.state_elements == number(row, "state_elements")


@pytest.mark.parametrize("name", sorted(published()))
def test_the_parameter_count_equals_the_figure_that_others_published(name: str) -> None:
    count, where = published()[name]
    assert where and number(ARCHITECTURES[name], "parameters") == count


@pytest.mark.parametrize("name", sorted(WITH_MODULE))
def test_the_main_network_and_its_prediction_module_add_up_to_the_hub_total(name: str) -> None:
    """The module: one more layer with full attention, two norms and a matrix of two inputs, for some a head as well."""
    row, stated = ARCHITECTURES[name], CONFIGS[name]
    longer = {**stated, "num_hidden_layers": number(row, "layers") + 1}
    if "layer_types" in stated:
        longer["layer_types"] = [*stated["layer_types"], "full_attention"]
    layer = (counted(longer).parameters or 0) - (counted(stated).parameters or 0)
    hidden = number(row, "hidden")
    ends = 2 * number(row, "vocab") * hidden if row["family"] in WITH_TABLES else 0
    assert number(row, "parameters") + layer + 2 * hidden * hidden + 3 * hidden + ends == WITH_MODULE[name]


def test_every_count_is_published_or_that_of_a_config() -> None:
    known = {*published(), *WITH_MODULE, *CONFIGS}
    assert [name for name, row in ARCHITECTURES.items() if name not in known and COUNTED not in row["source"]] == []


def test_most_counts_are_published() -> None:
    assert len(set(published()) & set(ARCHITECTURES)) > 2 * len(ARCHITECTURES) // 3
