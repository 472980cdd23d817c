"""Vision and audio towers: where the text network stands in their config.json, and their parameters with the projector.

Source of every count: the classes of that model_type in huggingface/transformers 5.23.0, `modeling_*.py`; of
internvl_chat, the modelling code beside the weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gpulint.catalog.architecture import parts
from gpulint.catalog.architecture.config import Config, Unread
from gpulint.catalog.architecture.parts import Parts


@dataclass(frozen=True, slots=True)
class Tower:
    """A family with a tower: its name, the family of the text model unless the file declares it,
    and the count.
    """

    family: str
    text_type: str
    count: Callable[[Config, int], int]
    text_key: str = "text_config"
    modality: str = "vision"


def family(model_type: str) -> str:
    """Return the catalog's name of a family with a tower; empty for any other."""
    return TOWERS[model_type].family if model_type in TOWERS else ""


def modality(model_type: str) -> str:
    return TOWERS[model_type].modality if model_type in TOWERS else "text"


def count_parts(top: Config, hidden: int) -> Parts:
    """Return the tower's parameters, or none without a tower; `hidden` is the width of the text
    model.
    """
    tower = TOWERS.get(top.model_type)
    return Counter({parts.TOWERS: tower.count(top, hidden)}) if tower else Counter()


def _linear(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + (outputs if bias else 0)


def _block(width: int, mlp: int, biased_qkv: bool = True, norm: int = 2) -> int:
    """A vision transformer's block: attention and a two-matrix MLP with biases, two norms."""
    attention = _linear(width, 3 * width, biased_qkv) + _linear(width, width)
    return attention + _linear(width, mlp) + _linear(mlp, width) + 2 * norm * width


def _count_llama_block(width: int, mlp: int) -> int:
    """A block as in Llama, without biases."""
    return 4 * width * width + 3 * width * mlp + 2 * width


def _find_level(top: Config, key: str, model_type: str) -> Config:
    """Return the tower's own level, which real files always have."""
    if not isinstance(top.stated.get(key), dict):
        raise Unread(f"{key} is missing")
    return top.inner(key, model_type=model_type)


def _patches(vision: Config) -> int:
    side = vision.count("image_size") // vision.count("patch_size")
    return side * side


def _patch_values(vision: Config) -> int:
    """Return the number of values of one patch."""
    return vision.count("num_channels", "in_channels", "in_chans") * vision.count("patch_size") ** 2


# ---- vision transformers


def _clip(vision: Config) -> int:
    """CLIP: a class token, positions, norms before and after."""
    width, patches = vision.count("hidden_size"), _patches(vision)
    blocks = vision.count("num_hidden_layers") * _block(width, vision.count("intermediate_size"))
    return blocks + width * _patch_values(vision) + width + (patches + 1) * width + 4 * width


def _siglip(vision: Config) -> int:
    """SigLIP: positions, a norm after, and a pooling head unless vision_use_head is off."""
    width, mlp = vision.count("hidden_size"), vision.count("intermediate_size")
    if vision.value("vision_use_head") is not False:
        raise Unread("a SigLIP tower with its pooling head is not counted")
    blocks = vision.count("num_hidden_layers") * _block(width, mlp)
    return blocks + _linear(_patch_values(vision), width) + _patches(vision) * width + 2 * width


def _pixtral(vision: Config) -> int:
    width = vision.count("hidden_size")
    blocks = vision.count("num_hidden_layers") * _count_llama_block(width, vision.count("intermediate_size"))
    return blocks + _patch_values(vision) * width + width


VISION = {"clip_vision_model": _clip, "siglip_vision_model": _siglip, "pixtral": _pixtral}


def _count_vision(top: Config) -> tuple[Config, int]:
    """Return the vision_config of LLaVA and its relatives, and the parameters of that tower."""
    vision = _find_level(top, "vision_config", "clip_vision_model")
    if vision.model_type not in VISION:
        raise Unread(f"the vision tower {vision.model_type[:60]} is not counted")
    return vision, VISION[vision.model_type](vision)


# ---- towers with their projectors


def _llava(top: Config, hidden: int) -> int:
    """LLaVA: two matrices between the tower and the text."""
    vision, tower = _count_vision(top)
    layers = top.value("vision_feature_layer")
    inputs = vision.count("hidden_size") * (len(layers) if isinstance(layers, list) else 1)
    bias = top.value("multimodal_projector_bias") is not False
    return tower + _linear(inputs, hidden, bias) + _linear(hidden, hidden, bias)


def _llava_next(top: Config, hidden: int) -> int:
    """LLaVA-NeXT: a learned line break as well."""
    return _llava(top, hidden) + hidden


def _mistral3(top: Config, hidden: int) -> int:
    vision, tower = _count_vision(top)
    width, merged = vision.count("hidden_size"), top.count("spatial_merge_size") ** 2
    bias = top.flag("multimodal_projector_bias")
    merger = width + merged * width * width
    return tower + merger + _linear(width, hidden, bias) + _linear(hidden, hidden, bias)


def _gemma3(top: Config, hidden: int) -> int:
    vision = _find_level(top, "vision_config", "siglip_vision_model")
    if "vision_use_head" not in vision.stated:
        vision = Config({**vision.stated, "vision_use_head": False}, vision.model_type)
    width = vision.count("hidden_size")
    return _siglip(vision) + width * hidden + width


def _gemma4(top: Config, hidden: int) -> int:
    """Gemma 4: gated blocks with four norms, two tables of positions; the small networks have an audio tower too."""
    vision = _find_level(top, "vision_config", "gemma4_vision")
    if vision.flag("attention_bias"):
        raise Unread("a Gemma 4 vision tower with biases is not counted")
    width, head_dim = vision.count("hidden_size"), vision.count("head_dim")
    queries, keys = vision.heads * head_dim, vision.kv_heads * head_dim
    block = 2 * width * (queries + keys) + 2 * head_dim + 3 * width * vision.count("intermediate_size") + 4 * width
    table = 2 * vision.count("position_embedding_size") * width + 3 * vision.count("patch_size") ** 2 * width
    audio = _gemma4_audio(top, hidden) if top.value("audio_config") is not None else 0
    return vision.count("num_hidden_layers") * block + table + width * hidden + audio


def _gemma4_audio(top: Config, hidden: int) -> int:
    """Gemma 4's audio tower: two convolutions and Conformer blocks."""
    audio = _find_level(top, "audio_config", "gemma4_audio")
    width, out = audio.hidden, audio.count("output_proj_dims")
    channels = audio.sequence("subsampling_conv_channels")
    if not (
        isinstance(channels, list) and len(channels) == 2 and all(isinstance(channel, int) for channel in channels)
    ):
        raise Unread("subsampling_conv_channels is no pair")
    first, second = (Config({"channels": channel}, "").count("channels") for channel in channels)
    convolutions = 9 * first + first + 9 * first * second + second + second * 32 * width
    feed_forward = 2 * 4 * width * width + 2 * width
    attention = 5 * width * width + width // audio.heads
    convolution = 3 * width * width + width * audio.count("conv_kernel_size") + 2 * width
    block = 2 * feed_forward + attention + convolution + 3 * width
    return convolutions + audio.count("num_hidden_layers") * block + _linear(width, out) + out * hidden


def _merger(width: int, merged: int, hidden: int, norm: int) -> int:
    """Qwen: neighbouring patches side by side through two matrices."""
    inputs = width * merged
    return norm + _linear(inputs, inputs) + _linear(inputs, hidden)


def _qwen2_vl(top: Config, hidden: int) -> int:
    vision = _find_level(top, "vision_config", "qwen2_vl_vision")
    width, merged = vision.count("embed_dim"), vision.count("spatial_merge_size") ** 2
    blocks = vision.count("depth") * _block(width, vision.count("mlp_ratio") * width)
    patch = _patch_values(vision) * vision.count("temporal_patch_size") * width
    return blocks + patch + _merger(width, merged, vision.count("hidden_size"), 2 * width)


def _qwen25_vl(top: Config, hidden: int) -> int:
    vision = _find_level(top, "vision_config", "qwen2_5_vl_vision")
    width, mlp, merged = vision.hidden, vision.count("intermediate_size"), vision.count("spatial_merge_size") ** 2
    block = (
        _linear(width, 3 * width) + _linear(width, width) + 2 * _linear(width, mlp) + _linear(mlp, width) + 2 * width
    )
    patch = _patch_values(vision) * vision.count("temporal_patch_size") * width
    return vision.count("depth") * block + patch + _merger(width, merged, vision.count("out_hidden_size"), width)


def _qwen3_vl(top: Config, hidden: int) -> int:
    """Qwen3-VL: positions, and a merger of its own for each layer whose output enters the text network."""
    vision = _find_level(top, "vision_config", f"{top.model_type}_vision")
    width, merged, out = vision.hidden, vision.count("spatial_merge_size") ** 2, vision.count("out_hidden_size")
    blocks = vision.count("depth") * _block(width, vision.count("intermediate_size"))
    patch = _linear(_patch_values(vision) * vision.count("temporal_patch_size"), width)
    positions = vision.count("num_position_embeddings") * width
    deep = len(vision.sequence("deepstack_visual_indexes") or ()) * _merger(width, merged, out, 2 * merged * width)
    return blocks + patch + positions + _merger(width, merged, out, 2 * width) + deep


def _llama4(top: Config, hidden: int) -> int:
    vision = _find_level(top, "vision_config", "llama4_vision_model")
    width, mlp, out = vision.hidden, vision.count("intermediate_size"), vision.count("vision_output_dim")
    blocks = vision.count("num_hidden_layers") * _block(width, mlp)
    middle = vision.count("projector_input_dim")
    shuffled = mlp * middle + middle * vision.count("projector_output_dim")
    return (
        blocks
        + width * _patch_values(vision)
        + width
        + (_patches(vision) + 1) * width
        + 4 * width
        + shuffled
        + out * hidden
    )


def _mllama(top: Config, hidden: int) -> int:
    """Llama 3.2 Vision: local and gated global blocks, positions of patches and of tiles before and after."""
    vision = _find_level(top, "vision_config", "mllama_vision_model")
    width, mlp = vision.hidden, vision.count("intermediate_size")
    tiles = vision.count("max_num_tiles")
    ratios = len(vision.sequence("supported_aspect_ratios") or ()) + 1
    attention, norms = 4 * width * width, 4 * width
    block = attention + _linear(width, mlp) + _linear(mlp, width) + norms
    blocks = vision.count("num_hidden_layers") * block + vision.count("num_global_layers") * (block + 2)
    spots = (_patches(vision) + 1) * width
    positions = 1 + spots + ratios * tiles * spots + 2 * (1 + ratios * tiles * width)
    tower = blocks + positions + width * _patch_values(vision) + width + 4 * width
    return tower + _linear(vision.count("vision_output_dim"), hidden)


def _internvl(top: Config, hidden: int) -> int:
    """InternVL: InternViT with scaled residuals, pixel shuffle and two matrices."""
    vision = top.inner(
        "vision_config", model_type="internvl_vision" if top.model_type == "internvl" else "intern_vit_6b"
    )
    chat = top.model_type == "internvl_chat"
    width, mlp = vision.hidden, vision.count("intermediate_size")
    norm = 1 if vision.value("norm_type") == "rms_norm" else 2
    block = _block(width, mlp, vision.flag("qkv_bias" if chat else "attention_bias"), norm) + 2 * width
    block += 2 * width if vision.flag("qk_normalization" if chat else "use_qk_norm") else 0
    side = _read_side(vision, "image_size") // _read_side(vision, "patch_size")
    table = _linear(3 * _read_side(vision, "patch_size") ** 2, width) + width + (side * side + 1) * width
    ratio = top.value("downsample_ratio")
    if ratio not in (None, 0.5):
        raise Unread("downsample_ratio is not 0.5")
    shuffled = 4 * width
    projector = 2 * shuffled + _linear(shuffled, hidden) + _linear(hidden, hidden)
    return vision.count("num_hidden_layers") * block + table + projector


def _read_side(vision: Config, key: str) -> int:
    """Return a side in pixels, which some files write as a pair."""
    value = vision.value(key)
    return Config({key: value[0]}, "").count(key) if isinstance(value, list) and value else vision.count(key)


def _kimi(top: Config, hidden: int) -> int:
    """Kimi K2.5: MoonViT, whose positions are a grid, and a merger."""
    vision = _find_level(top, "vision_config", "kimi_k25_vision")
    width, mlp = vision.count("vt_hidden_size"), vision.count("vt_intermediate_size")
    if vision.value("merge_kernel_size") != [2, 2]:
        raise Unread("merge_kernel_size is not 2 x 2")
    grid = vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width") * width
    patch = _linear(3 * vision.count("patch_size") ** 2, width)
    blocks = vision.count("vt_num_hidden_layers") * _block(width, mlp)
    return blocks + patch + grid + 2 * width + _merger(width, 4, hidden, 2 * width)


def _glm4v(top: Config, hidden: int) -> int:
    """GLM-4.1V: gated blocks without biases, a strided convolution and a gated merger."""
    vision = _find_level(top, "vision_config", "glm4v_vision")
    if vision.flag("attention_bias"):
        raise Unread("a GLM vision tower with biases is not counted")
    width, out, merge = vision.hidden, vision.count("out_hidden_size"), vision.count("spatial_merge_size")
    blocks = vision.count("depth") * _count_llama_block(width, out)
    patch = _linear(_patch_values(vision) * vision.count("temporal_patch_size"), width)
    merger = out * out + 2 * out + 3 * out * vision.count("intermediate_size")
    downsample = _linear(width * merge * merge, out)
    return blocks + patch + _patches(vision) * width + 2 * width + downsample + merger


def _paligemma(top: Config, hidden: int) -> int:
    vision = _find_level(top, "vision_config", "siglip_vision_model")
    vision = Config({"vision_use_head": False, **vision.stated}, vision.model_type)
    return _siglip(vision) + _linear(vision.hidden, hidden)


def _idefics3(top: Config, hidden: int) -> int:
    """Idefics3 and SmolVLM: SigLIP without its head, pixel shuffle and one matrix."""
    vision = _find_level(top, "vision_config", f"{top.model_type}_vision")
    vision = Config({**vision.stated, "vision_use_head": False}, vision.model_type)
    return _siglip(vision) + vision.hidden * top.count("scale_factor") ** 2 * hidden


def _qwen2_audio(top: Config, hidden: int) -> int:
    """Qwen2-Audio: Whisper's encoder and one matrix."""
    audio = _find_level(top, "audio_config", "qwen2_audio_encoder")
    width, mlp, mels = audio.count("d_model"), audio.count("encoder_ffn_dim"), audio.count("num_mel_bins")
    block = 4 * width * width + 3 * width + _linear(width, mlp) + _linear(mlp, width) + 4 * width
    convolutions = _linear(3 * mels, width) + _linear(3 * width, width)
    table = audio.count("max_source_positions") * width + 2 * width
    return audio.count("encoder_layers") * block + convolutions + table + _linear(width, hidden)


def _refuse_count(top: Config, hidden: int) -> int:
    raise Unread(f"the towers of {top.model_type[:60]} are not counted")


TOWERS = {
    "gemma3": Tower("gemma-3", "gemma3_text", _gemma3),
    "gemma3n": Tower("gemma-3n", "gemma3n_text", _refuse_count),
    "gemma4": Tower("gemma-4", "gemma4_text", _gemma4),
    "glm4v": Tower("glm-4v", "glm4v_text", _glm4v),
    "idefics3": Tower("idefics3", "llama", _idefics3),
    "internvl": Tower("internvl", "qwen2", _internvl),
    "internvl_chat": Tower("internvl", "", _internvl, "llm_config"),
    "kimi_k25": Tower("kimi-k2.5", "kimi_k2", _kimi),
    "llama4": Tower("llama-4", "llama4_text", _llama4),
    "llava": Tower("llava", "llama", _llava),
    "llava_next": Tower("llava", "llama", _llava_next),
    "mistral3": Tower("mistral-vision", "mistral", _mistral3),
    "mllama": Tower("llama-3.2-vision", "mllama_text_model", _mllama),
    "paligemma": Tower("paligemma", "gemma", _paligemma),
    "qwen2_5_vl": Tower("qwen2.5-vl", "qwen2_5_vl_text", _qwen25_vl),
    "qwen2_audio": Tower("qwen2-audio", "qwen2", _qwen2_audio, modality="audio"),
    "qwen2_vl": Tower("qwen2-vl", "qwen2_vl_text", _qwen2_vl),
    "qwen3_5": Tower("qwen3.5", "qwen3_5_text", _qwen3_vl),
    "qwen3_5_moe": Tower("qwen3.5-moe", "qwen3_5_moe_text", _qwen3_vl),
    "qwen3_vl": Tower("qwen3-vl", "qwen3_vl_text", _qwen3_vl),
    "qwen3_vl_moe": Tower("qwen3-vl-moe", "qwen3_vl_moe_text", _qwen3_vl),
    "smolvlm": Tower("idefics3", "llama", _idefics3),
}
