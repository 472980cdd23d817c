"""The architecture catalog: every count is checked against the shape or a published figure."""

import csv
import datetime
from pathlib import Path

import pytest

Row = dict[str, str]

CATALOG = Path(__file__).resolve().parent.parent / "gpulint" / "catalog"

HEADERS = {
    "architectures.csv": (
        "id family parameters active_parameters layers hidden intermediate gated_mlp attention_heads kv_heads head_dim "
        "vocab tied_embeddings trained_context sliding_window sliding_layers linear_attention_layers kv_lora_rank "
        "qk_rope_head_dim experts experts_per_token moe_layers moe_intermediate shared_intermediate dtype task "
        "modality source date"
    ).split(),
    "checkpoints.csv": "checkpoint architecture dtype quantization parameters trained_context source date".split(),
    "quantization.csv": "quantization bytes_per_weight source note date".split(),
}
KEYS = {"architectures.csv": "id", "checkpoints.csv": "checkpoint", "quantization.csv": "quantization"}
QUANTIZED = {"fp8", "fp8-block", "fp8-mlp", "int8", "int4-g128", "int4-g64", "int4-g32", "int4-bnb", "nvfp4", "mxfp4"}
DTYPES = {"float32", "bfloat16", "float16"}

# Shape facts that the catalog has no column for.
MLA = {  # family: (q_lora_rank or 0, qk_nope_head_dim, v_head_dim, router bias per expert)
    "deepseek-v2-lite": (0, 128, 128, 0),
    "deepseek-v2": (1536, 128, 128, 0),
    "deepseek-v3": (1536, 128, 128, 1),
    "kimi-k2": (1536, 128, 128, 1),
}


def number(row: Row, name: str) -> int:
    return int(row[name] or 0)


def layer_norm(width: int) -> int:
    return 2 * width  # weight and bias


def linear(inputs: int, outputs: int, bias: bool = False) -> int:
    return inputs * outputs + (outputs if bias else 0)


def attention(row: Row, qkv_bias: bool = False, out_bias: bool = False, head_norm: bool = False) -> int:
    hidden, head = number(row, "hidden"), number(row, "head_dim")
    queries = number(row, "attention_heads") * head
    keys = number(row, "kv_heads") * head
    return (
        linear(hidden, queries, qkv_bias)
        + 2 * linear(hidden, keys, qkv_bias)
        + linear(queries, hidden, out_bias)
        + (2 * head if head_norm else 0)
    )


def gated(hidden: int, width: int) -> int:
    return 3 * hidden * width


def plain(hidden: int, width: int, bias: bool = True) -> int:
    return linear(hidden, width, bias) + linear(width, hidden, bias)


def embeddings(row: Row) -> int:
    copies = 1 if row["tied_embeddings"] == "yes" else 2
    return copies * number(row, "vocab") * number(row, "hidden")


def feed_forward(row: Row, router_bias: bool = False, shared_gate: bool = False) -> int:
    """All layers: dense ones and ones with routed experts."""
    hidden, experts, sparse = number(row, "hidden"), number(row, "experts"), number(row, "moe_layers")
    dense = (number(row, "layers") - sparse) * gated(hidden, number(row, "intermediate"))
    routed = experts * gated(hidden, number(row, "moe_intermediate"))
    router = linear(hidden, experts) + (experts if router_bias else 0)
    shared = gated(hidden, number(row, "shared_intermediate")) + (hidden if shared_gate else 0)
    return dense + sparse * (routed + router + shared)


def decoder(
    row: Row,
    norms: int = 2,
    router_bias: bool = False,
    shared_gate: bool = False,
    head: bool = True,
    layer_extra: int = 0,
    **bias: bool,
) -> int:
    """RMSNorm, rotary positions, gated feed-forward: Llama and its relatives."""
    hidden, layers = number(row, "hidden"), number(row, "layers")
    total = layers * (attention(row, **bias) + norms * hidden + layer_extra)
    total += feed_forward(row, router_bias, shared_gate) + hidden
    total += embeddings(row) if head else number(row, "vocab") * hidden
    return total


def mla(row: Row) -> int:
    q_rank, nope, value, router_bias = MLA[row["family"]]
    hidden, heads, layers = number(row, "hidden"), number(row, "attention_heads"), number(row, "layers")
    rank, rope = number(row, "kv_lora_rank"), number(row, "qk_rope_head_dim")
    query = heads * (nope + rope)
    queries = hidden * q_rank + q_rank + q_rank * query if q_rank else hidden * query
    keys = hidden * (rank + rope) + rank + rank * heads * (nope + value)
    layer = queries + keys + heads * value * hidden + 2 * hidden
    return layers * layer + feed_forward(row, router_bias) + hidden + embeddings(row)


def gpt_oss(row: Row) -> int:
    hidden, layers, experts = number(row, "hidden"), number(row, "layers"), number(row, "experts")
    width = number(row, "moe_intermediate")
    experts_all = experts * (linear(hidden, 2 * width, True) + linear(width, hidden, True))
    layer = attention(row, True, True) + number(row, "attention_heads") + 2 * hidden  # sinks
    return layers * (layer + experts_all + linear(hidden, experts, True)) + hidden + embeddings(row)


def llama4(row: Row) -> int:
    vision, width, blocks, patches = 1408, 5632, 34, (336 // 14) ** 2
    block = 4 * linear(vision, vision, True) + plain(vision, width) + 2 * layer_norm(vision)
    tower = (
        blocks * block
        + 3 * 14 * 14 * vision
        + vision
        + (patches + 1) * vision
        + 2 * layer_norm(vision)
        + linear(width, 4096)
        + linear(4096, 4096)
    )
    return decoder(row) + tower + linear(4096, number(row, "hidden"))


def gemma3(row: Row) -> int:
    total = decoder(row, norms=4, head_norm=True)
    if row["modality"] == "vision":  # SigLIP so400m, 896 pixels, patch 14
        vision, width, blocks = 1152, 4304, 27
        block = 4 * linear(vision, vision, True) + plain(vision, width) + 2 * layer_norm(vision)
        total += blocks * block + linear(3 * 14 * 14, vision, True) + 64 * 64 * vision + layer_norm(vision)
        total += linear(vision, number(row, "hidden")) + vision
    return total


def mistral_vision(row: Row) -> int:
    vision, width, blocks, hidden = 1024, 4096, 24, number(row, "hidden")
    block = 4 * vision * vision + gated(vision, width) + 2 * vision
    tower = blocks * block + 3 * 14 * 14 * vision + vision
    projector = vision + 4 * vision * vision + vision * hidden + hidden * hidden
    return decoder(row) + tower + projector


def qwen25_vl(row: Row) -> int:
    vision, width, blocks, hidden = 1280, 3420, 32, number(row, "hidden")
    if hidden >= 5120:
        width = 3456
    block = (
        linear(vision, 3 * vision, True)
        + linear(vision, vision, True)
        + 2 * vision
        + 2 * linear(vision, width, True)
        + linear(width, vision, True)
    )
    merger = vision + linear(4 * vision, 4 * vision, True) + linear(4 * vision, hidden, True)
    return decoder(row, qkv_bias=True) + blocks * block + 3 * 2 * 14 * 14 * vision + merger


def qwen3_tower(row: Row, deepstack: int = 3) -> int:
    vision, width, blocks, hidden = 1152, 4304, 27, number(row, "hidden")
    if hidden <= 2560 and deepstack and not number(row, "experts"):
        vision, width, blocks = 1024, 4096, 24
    block = (
        linear(vision, 3 * vision, True) + linear(vision, vision, True) + plain(vision, width) + 2 * layer_norm(vision)
    )
    fc = linear(4 * vision, 4 * vision, True) + linear(4 * vision, hidden, True)
    return (
        blocks * block
        + linear(3 * 2 * 16 * 16, vision, True)
        + 48 * 48 * vision
        + layer_norm(vision)
        + fc
        + deepstack * (layer_norm(4 * vision) + fc)
    )


def qwen3_vl(row: Row) -> int:
    return decoder(row, head_norm=True) + qwen3_tower(row)


# value heads of the linear attention layers (16 key heads, all 128 wide)
QWEN35_VALUE_HEADS = {5120: 48, 2048: 32, 3072: 64, 4096: 64}


def qwen35_text(row: Row) -> tuple[int, int]:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    linear_layers = number(row, "linear_attention_layers")
    head, heads = number(row, "head_dim"), number(row, "attention_heads")
    full = attention(row, head_norm=True) + hidden * heads * head  # output gate
    value_heads = QWEN35_VALUE_HEADS[hidden]
    keys, values = 16 * 128, value_heads * 128
    delta = (
        hidden * (2 * keys + 2 * values + 2 * value_heads)
        + 4 * (2 * keys + values)
        + 2 * value_heads
        + 128
        + values * hidden
    )
    return (
        linear_layers * delta
        + (layers - linear_layers) * full
        + layers * 2 * hidden
        + feed_forward(row, shared_gate=True)
        + hidden
        + embeddings(row)
    ), full


def qwen35(row: Row) -> tuple[int, int]:
    """Text with vision tower, and the one multi-token-prediction layer of the checkpoint."""
    hidden = number(row, "hidden")
    text, full = qwen35_text(row)
    dense = gated(hidden, number(row, "intermediate"))
    sparse = (
        number(row, "experts") * gated(hidden, number(row, "moe_intermediate"))
        + hidden * number(row, "experts")
        + gated(hidden, number(row, "shared_intermediate"))
        + hidden
    )
    mtp = full + 2 * hidden + (sparse if number(row, "experts") else dense) + 2 * hidden * hidden + 3 * hidden
    return text + qwen3_tower(row, 0), mtp


def falcon(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    norms = 1 if number(row, "kv_heads") == 1 else 2
    layer = attention(row) + plain(hidden, number(row, "intermediate"), False) + norms * layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row)


def opt(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row, True, True) + plain(hidden, number(row, "intermediate")) + 2 * layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row) + (number(row, "trained_context") + 2) * hidden


def gpt_neox(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row, True, True) + plain(hidden, number(row, "intermediate")) + 2 * layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row)


def gpt_j(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row) + plain(hidden, number(row, "intermediate")) + layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row) + number(row, "vocab")


def gpt2(row: Row) -> int:
    return gpt_neox(row) + number(row, "trained_context") * number(row, "hidden")


def bloom(row: Row) -> int:
    return gpt_neox(row) + layer_norm(number(row, "hidden"))


def phi2(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row, True, True) + plain(hidden, number(row, "intermediate")) + layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row) + number(row, "vocab")


def mpt(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row) + plain(hidden, number(row, "intermediate"), False) + 2 * hidden
    return layers * layer + hidden + embeddings(row)


def stablelm2(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row, True) + gated(hidden, number(row, "intermediate")) + 2 * layer_norm(hidden)
    return layers * layer + layer_norm(hidden) + embeddings(row)


def bert(row: Row, types: int = 2, offset: int = 0, pooler: bool = True) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row, True, True) + plain(hidden, number(row, "intermediate")) + 2 * layer_norm(hidden)
    places = number(row, "trained_context") + offset
    return (
        layers * layer
        + (number(row, "vocab") + places + types) * hidden
        + layer_norm(hidden)
        + (linear(hidden, hidden, True) if pooler else 0)
    )


def xlm_roberta(row: Row) -> int:
    """Position ids start at 2; a ranker has a dense layer and one output instead of the pooler."""
    hidden = number(row, "hidden")
    return bert(row, types=1, offset=2) + (hidden + 1 if row["task"] == "score" else 0)


def modernbert(row: Row) -> int:
    hidden, layers, width = number(row, "hidden"), number(row, "layers"), number(row, "intermediate")
    layer = attention(row) + gated(hidden, width) + 2 * hidden
    total = layers * layer - hidden + number(row, "vocab") * hidden + 2 * hidden
    if row["task"] == "score":
        total += hidden * hidden + hidden + linear(hidden, 1, True)
    return total


def nomic_bert(row: Row) -> int:
    hidden, layers = number(row, "hidden"), number(row, "layers")
    layer = attention(row) + gated(hidden, number(row, "intermediate")) + 2 * layer_norm(hidden)
    return layers * layer + (number(row, "vocab") + 2) * hidden + layer_norm(hidden)


def jina_bert(row: Row) -> int:
    """ALiBi positions, gated feed-forward with a bias on the way down only."""
    hidden, width = number(row, "hidden"), number(row, "intermediate")
    layer = attention(row, True, True) + hidden * 2 * width + linear(width, hidden, True) + 2 * layer_norm(hidden)
    return (
        number(row, "layers") * layer
        + (number(row, "vocab") + 2) * hidden
        + layer_norm(hidden)
        + linear(hidden, hidden, True)
    )


def multi_token_prediction(row: Row) -> int:
    """Parameters of the module that the hub totals of some checkpoints include and engines do not load."""
    hidden, family = number(row, "hidden"), row["family"]
    if family.startswith("qwen3"):
        return qwen35(row)[1]
    sparse = dict(row, layers="1", moe_layers="1", vocab="0")
    layer = FORMULAS[family](sparse) - hidden  # without the final norm
    return layer + 2 * hidden * hidden + 3 * hidden + 2 * number(row, "vocab") * hidden


def active(row: Row) -> int:
    """Everything but the routed experts that a token does not visit."""
    idle = number(row, "experts") - number(row, "experts_per_token")
    expert = gated(number(row, "hidden"), number(row, "moe_intermediate"))
    if row["family"] == "gpt-oss":
        expert += 2 * number(row, "moe_intermediate") + number(row, "hidden")
    return number(row, "parameters") - idle * expert * number(row, "moe_layers")


FORMULAS = {
    "bert": bert,
    "bloom": bloom,
    "chatglm": lambda row: decoder(row, qkv_bias=True),
    "deepseek-v2": mla,
    "deepseek-v2-lite": mla,
    "deepseek-v3": mla,
    "embeddinggemma": lambda row: gemma3(row) + 2 * number(row, "hidden") * 3072,
    "falcon": falcon,
    "gemma": decoder,
    "gemma-2": lambda row: decoder(row, norms=4),
    "gemma-3": gemma3,
    "glm-4.5": lambda row: decoder(row, qkv_bias=True, head_norm=True, router_bias=True),
    "glm-4.5-air": lambda row: decoder(row, qkv_bias=True, router_bias=True),
    "gpt-2": gpt2,
    "gpt-j": gpt_j,
    "gpt-neox": gpt_neox,
    "gpt-oss": gpt_oss,
    "granite": decoder,
    "jina-bert": jina_bert,
    "kimi-k2": mla,
    "llama": decoder,
    "llama-4": llama4,
    "llama-embed": decoder,
    "minimax-m2": lambda row: decoder(
        row,
        router_bias=True,
        layer_extra=(number(row, "attention_heads") + number(row, "kv_heads")) * number(row, "head_dim"),
    ),
    "mistral": decoder,
    "mistral-embed": decoder,
    "mistral-vision": mistral_vision,
    "mixtral": decoder,
    "modernbert": modernbert,
    "mpnet": lambda row: bert(row, types=0) + 32 * number(row, "attention_heads"),
    "mpt": mpt,
    "nomic-bert": nomic_bert,
    "opt": opt,
    "phi-2": phi2,
    "phi-3": decoder,
    "qwen2": lambda row: decoder(row, qkv_bias=True),
    "qwen2-embed": lambda row: decoder(row, qkv_bias=True),
    "qwen2-moe": lambda row: decoder(row, qkv_bias=True, shared_gate=True),
    "qwen2.5-vl": qwen25_vl,
    "qwen3": lambda row: decoder(row, head_norm=True),
    "qwen3-embed": lambda row: decoder(row, head_norm=True),
    "qwen3-moe": lambda row: decoder(row, head_norm=True),
    "qwen3-next": lambda row: qwen35_text(row)[0],
    "qwen3-vl": qwen3_vl,
    "qwen3-vl-moe": qwen3_vl,
    "qwen3.5": lambda row: qwen35(row)[0],
    "qwen3.5-moe": lambda row: qwen35(row)[0],
    "smollm3": decoder,
    "stablelm-2": stablelm2,
    "starcoder2": gpt_neox,
    "xlm-roberta": xlm_roberta,
}

# attention_heads x head_dim, where that is not the hidden size (config.json states head_dim there).
ATTENTION_WIDTH = {
    "MiniMaxAI/MiniMax-M2.5": 6144,
    "Qwen/Qwen3-0.6B": 2048,
    "Qwen/Qwen3-235B-A22B": 8192,
    "Qwen/Qwen3-30B-A3B": 4096,
    "Qwen/Qwen3-32B": 8192,
    "Qwen/Qwen3-4B": 4096,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 12288,
    "Qwen/Qwen3-Embedding-0.6B": 2048,
    "Qwen/Qwen3-Embedding-4B": 4096,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 4096,
    "Qwen/Qwen3-VL-235B-A22B-Instruct": 8192,
    "Qwen/Qwen3-VL-30B-A3B-Instruct": 4096,
    "Qwen/Qwen3-VL-32B-Instruct": 8192,
    "Qwen/Qwen3-VL-4B-Instruct": 4096,
    "Qwen/Qwen3.5-122B-A10B": 8192,
    "Qwen/Qwen3.5-27B": 6144,
    "Qwen/Qwen3.5-35B-A3B": 4096,
    "Qwen/Qwen3.5-397B-A17B": 8192,
    "google/gemma-2-27b": 4096,
    "google/gemma-2-2b": 2048,
    "google/gemma-2-9b": 4096,
    "google/gemma-3-12b-pt": 4096,
    "google/gemma-3-1b-pt": 1024,
    "google/gemma-3-27b-pt": 4096,
    "google/gemma-3-4b-pt": 2048,
    "google/gemma-7b": 4096,
    "mistralai/Ministral-3-14B-Base-2512": 4096,
    "mistralai/Ministral-3-3B-Base-2512": 4096,
    "mistralai/Mistral-Nemo-Base-2407": 4096,
    "mistralai/Mistral-Small-24B-Base-2501": 4096,
    "mistralai/Mistral-Small-3.1-24B-Base-2503": 4096,
    "openai/gpt-oss-120b": 4096,
    "openai/gpt-oss-20b": 4096,
    "zai-org/GLM-4.5": 12288,
    "zai-org/GLM-4.5-Air": 12288,
}

# Learned positions, where the sequence limit of the row is another number.
POSITIONS = {"sentence-transformers/all-MiniLM-L6-v2": 512, "sentence-transformers/all-mpnet-base-v2": 514}

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
    "zai-org/GLM-4.5-Air": 110468824832,
}


def read(name: str) -> list[Row]:
    with (CATALOG / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


ARCHITECTURES = {row["id"]: row for row in read("architectures.csv")}
CHECKPOINTS = read("checkpoints.csv")


def computed(row: Row) -> int:
    if row["id"] in POSITIONS:
        row = dict(row, trained_context=str(POSITIONS[row["id"]]))
    return FORMULAS[row["family"]](row)


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_each_file_is_utf8_with_lf_the_exact_header_and_sorted_unique_keys(name: str) -> None:
    raw = (CATALOG / name).read_bytes()
    assert b"\r" not in raw and raw.endswith(b"\n")
    text = raw.decode("utf-8")
    assert text.splitlines()[0] == ",".join(HEADERS[name])
    keys = [row[KEYS[name]] for row in read(name)]
    assert keys == sorted(keys) and len(keys) == len(set(keys)) > 0


@pytest.mark.parametrize("name", sorted(HEADERS))
def test_every_row_has_all_its_cells_a_source_and_an_iso_date(name: str) -> None:
    for row in read(name):
        assert None not in row and None not in row.values(), row
        assert row["source"].strip(), row
        assert datetime.date.fromisoformat(row["date"]).isoformat() == row["date"], row


def test_every_checkpoint_points_to_an_architecture_and_names_a_known_dtype_and_quantization() -> None:
    for row in CHECKPOINTS:
        assert row["architecture"] in ARCHITECTURES, row
        assert row["dtype"] in DTYPES, row
        assert row["quantization"] in QUANTIZED | {""}, row


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


def test_a_checkpoint_with_another_vocabulary_has_the_parameters_of_that_vocabulary() -> None:
    counts = {row["checkpoint"]: int(row["parameters"]) for row in CHECKPOINTS if row["parameters"]}
    vocabularies = {
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
    assert counts == {
        name: computed(dict(ARCHITECTURES[base], vocab=str(vocab))) for name, (base, vocab) in vocabularies.items()
    }


def test_a_copy_with_another_vocabulary_has_the_published_count() -> None:
    counts = {row["checkpoint"]: row["parameters"] for row in CHECKPOINTS}
    assert counts["ibm-granite/granite-3.1-2b-base"] == "2533525504"
    assert counts["ibm-granite/granite-3.3-2b-instruct"] == "2533539840"
    assert counts["ibm-granite/granite-3.3-8b-instruct"] == "8170864640"
    assert counts["teknium/OpenHermes-2.5-Mistral-7B"] == "7241748480"


def test_the_quantization_file_lists_exactly_the_names_that_checkpoints_may_use() -> None:
    assert {row["quantization"] for row in read("quantization.csv")} == QUANTIZED | DTYPES


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
    assert {row["quantization"]: float(row["bytes_per_weight"]) for row in read("quantization.csv")} == expected


@pytest.mark.parametrize("row", ARCHITECTURES.values(), ids=list(ARCHITECTURES))
def test_the_cells_of_an_architecture_fit_together(row: Row) -> None:
    heads, kv_heads, head = number(row, "attention_heads"), number(row, "kv_heads"), number(row, "head_dim")
    assert heads and kv_heads and head and heads % kv_heads == 0
    assert min(number(row, name) for name in ("parameters", "layers", "hidden", "vocab")) > 0
    assert number(row, "trained_context") > 0 or "context not established" in row["source"]
    assert row["gated_mlp"] in {"yes", "no"} and row["tied_embeddings"] in {"yes", "no"}
    assert row["dtype"] in DTYPES and row["task"] in {"generate", "embed", "score"}
    assert row["modality"] in {"text", "vision"}
    if row["kv_lora_rank"]:
        assert head == MLA[row["family"]][1] + number(row, "qk_rope_head_dim")
    else:
        assert heads * head == ATTENTION_WIDTH.get(row["id"], number(row, "hidden"))
    attending = number(row, "layers") - number(row, "linear_attention_layers")
    assert 0 <= number(row, "sliding_layers") <= attending
    assert bool(row["sliding_window"]) == (number(row, "sliding_layers") > 0)
    if row["experts"]:
        assert 0 < number(row, "experts_per_token") < number(row, "experts")
        assert 0 < number(row, "moe_layers") <= number(row, "layers") and row["moe_intermediate"]
        assert number(row, "active_parameters") == active(row)
    else:
        assert not any(
            row[name]
            for name in (
                "active_parameters",
                "experts_per_token",
                "moe_layers",
                "moe_intermediate",
                "shared_intermediate",
            )
        )


@pytest.mark.parametrize("name", [name for name, row in ARCHITECTURES.items() if row["family"] in FORMULAS])
def test_the_parameter_count_follows_exactly_from_the_shape(name: str) -> None:
    assert computed(ARCHITECTURES[name]) == number(ARCHITECTURES[name], "parameters")


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_parameter_count_equals_the_figure_that_others_published(name: str) -> None:
    count, where = PUBLISHED[name]
    assert where and number(ARCHITECTURES[name], "parameters") == count


@pytest.mark.parametrize("name", sorted(WITH_MODULE))
def test_the_main_model_and_its_prediction_module_add_up_to_the_hub_total(name: str) -> None:
    row = ARCHITECTURES[name]
    assert number(row, "parameters") + multi_token_prediction(row) == WITH_MODULE[name]


def test_every_architecture_is_checked_against_its_shape_or_a_published_figure() -> None:
    unchecked = [name for name, row in ARCHITECTURES.items() if row["family"] not in FORMULAS and name not in PUBLISHED]
    assert unchecked == []


def test_at_least_45_counts_are_recomputed_from_the_shape() -> None:
    assert sum(row["family"] in FORMULAS for row in ARCHITECTURES.values()) >= 45
