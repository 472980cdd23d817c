"""Commands that write weights: downloads of a hub, converters, quantisers, and trainers by their flags."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters.programs import launchers
from gpulint.adapters.weights import produced
from gpulint.adapters.weights.produced import Produced
from gpulint.catalog.architecture import gguf_names
from gpulint.engines import Argument
from gpulint.source.shell import HOLE
from gpulint.workload import Origin

ID = re.compile(r"[A-Za-z0-9][\w.-]{0,100}/[\w.-]{0,100}\w")
FILE_OF_HUB = re.compile(
    r"https?://(?:huggingface\.co|hf-mirror\.com)/(?P<id>[\w.-]+/[\w.-]+)/(?:resolve|blob)/[^/]+/(?P<file>[^?#]+)(?:[?#].*)?"
)
HUB = frozenset({"huggingface-cli", "hf"})
FETCHES = frozenset({"wget", "curl", "aria2c"})
CONVERTS_TO_GGUF = re.compile(r"convert(?:[-_]hf)?[-_](?:to[-_])?gguf(?:[-_]update)?\.py|convert\.py")
QUANTISES = frozenset({"llama-quantize", "quantize"})
CTRANSLATE = "ct2-transformers-converter"
CTRANSLATE_FORMATS = {"float16": "float16", "bfloat16": "bfloat16", "float32": "float32"}
SWITCHES = frozenset(
    {"--force", "--quiet", "--resume-download", "--force-download", "-q", "-c", "-L", "-s", "-S", "-f"}
)
MODEL = (
    "--model_name_or_path",
    "--model",
    "--base_model",
    "--model_id",
    "--model_name",
    "--pretrained_model_name_or_path",
)
OUTPUT = ("--export_dir", "--output_dir", "--save_dir", "--output_path", "--save_path", "--merged_path")
ADAPTER = ("--adapter_name_or_path", "--adapter", "--lora_path", "--peft_model_path", "--adapters", "--lora_model")
TUNING = ("--finetuning_type", "--train_type", "--tuner_type", "--use_peft", "--use_lora")
MERGES = re.compile(r"merge|export", re.IGNORECASE)


def read(words: Sequence[Argument]) -> Iterator[Produced]:
    """Yield the weights that a command without launchers writes."""
    if not words:
        return
    name, origin = launchers.base(words[0]), words[0].origin
    texts = [word.source_text if word.text is None else word.text for word in words]
    texts = [HOLE if word.text is None and not word.flag else text for word, text in zip(words, texts, strict=True)]
    second = texts[1] if len(texts) > 1 else ""
    if name in HUB and second == "download":
        yield from _read_hub(texts[2:], origin, f"{name} download")
    elif name == "modelscope" and second == "download":
        yield from _read_modelscope(texts[2:], origin)
    elif name == "git":
        yield from _read_clone(texts[1:], origin)
    elif name in FETCHES:
        yield from _read_fetch(name, texts[1:], origin)
    elif name in QUANTISES:
        yield from _read_quantize(texts[1:], origin)
    elif any(CONVERTS_TO_GGUF.fullmatch(posixpath.basename(text)) for text in texts[:3]):
        yield from _read_gguf(texts, origin)
    elif name == CTRANSLATE:
        yield from _read_ctranslate(texts[1:], origin)
    else:
        yield from _read_flags(texts, origin)


def _parse(texts: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the values of the options of a command, by their names with hyphens as underscores, and its other words."""
    options: dict[str, str] = {}
    others: list[str] = []
    at = 0
    while at < len(texts):
        text = texts[at]
        flag, equals, value = text.partition("=")
        if not text.startswith("-") or text == "-":
            others.append(text)
        elif equals:
            options[_name(flag)] = value
        elif text not in SWITCHES and at + 1 < len(texts) and not texts[at + 1].startswith("-"):
            options[_name(flag)] = texts[at + 1]
            at += 1
        at += 1
    return options, others


def _name(flag: str) -> str:
    dashes = len(flag) - len(flag.lstrip("-"))
    return flag[:dashes] + flag[dashes:].replace("-", "_")


def _first(options: Mapping[str, str], names: Sequence[str]) -> str:
    return next((options[name] for name in names if options.get(name)), "")


# ---- downloads


def _read_hub(texts: Sequence[str], origin: Origin, how: str) -> Iterator[Produced]:
    """Yield a download with huggingface-cli: huggingface_hub v1.0 cli/download.py."""
    words = [text for text in texts if text not in SWITCHES]
    options, others = _parse(words)
    named = [other for other in others if ID.fullmatch(other)]
    folder = options.get("--local_dir", "")
    if not named or not folder or options.get("--repo_type", "model") != "model":
        return
    yield Produced(folder, named[0], how, origin)
    for file in others[others.index(named[0]) + 1 :]:
        if produced.WEIGHT_FILE.fullmatch(file):
            yield Produced(posixpath.join(folder, file), named[0], how, origin, _find_gguf(file))


def _read_modelscope(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    """Yield a download with modelscope: modelscope/cli/download.py."""
    options, others = _parse(texts)
    reference = options.get("--model") or next((other for other in others if ID.fullmatch(other)), "")
    folder, cache = options.get("--local_dir", ""), options.get("--cache_dir", "")
    if ID.fullmatch(reference) and (folder or cache):
        yield Produced(folder or posixpath.join(cache, reference), reference, "modelscope download", origin)


def _read_clone(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    if "clone" not in texts[:4]:
        return
    at = next((at for at, text in enumerate(texts) if produced.find_id(text)), None)
    if at is None:
        return
    reference = produced.find_id(texts[at])
    behind = [text for text in texts[at + 1 :] if not text.startswith("-")]
    yield Produced(behind[0] if behind else posixpath.basename(reference), reference, "git clone", origin)


def _read_fetch(name: str, texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    """Yield the file of a hub that wget, curl or aria2c stores."""
    match = next((found for text in texts if (found := FILE_OF_HUB.fullmatch(text))), None)
    if match is None:
        return
    options, _ = _parse([text for text in texts if text not in SWITCHES])
    file = posixpath.basename(match["file"])
    folder = _first(options, ("-P", "--directory_prefix", "--output_dir", "-d", "--dir"))
    stated = _first(options, ("-O", "-o", "--output_document", "--output", "--out"))
    path = posixpath.join(folder, stated or file)
    yield Produced(path, match["id"], name, origin, _find_gguf(file))


def _find_gguf(file: str) -> str | None:
    """Return the number format that the name of a GGUF file states; None for any other file."""
    return (gguf_names.parse_file_name(file).quantization or None) if file.lower().endswith(".gguf") else None


# ---- converters


def _read_quantize(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    """Yield what llama-quantize writes: ggml-org/llama.cpp tools/quantize/quantize.cpp."""
    files = [text for text in texts if text.endswith(".gguf")]
    behind = texts[texts.index(files[-1]) + 1 :] if files else ()
    if len(files) == 2 and behind and re.fullmatch(r"\w+", behind[0]):
        yield Produced(files[1], files[0], "llama-quantize", origin, gguf_names.find_format(behind[0]))


def _read_gguf(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    """Yield what the converter of llama.cpp writes: ggml-org/llama.cpp convert_hf_to_gguf.py."""
    at = next(at for at, text in enumerate(texts) if CONVERTS_TO_GGUF.fullmatch(posixpath.basename(text)))
    options, others = _parse(texts[at + 1 :])
    path = options.get("--outfile", "")
    if path and others:
        type_ = options.get("--outtype", "f16")
        yield Produced(path, others[0], posixpath.basename(texts[at]), origin, gguf_names.find_format(type_))


def _read_ctranslate(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    options, _ = _parse(texts)
    reference, folder = options.get("--model", ""), options.get("--output_dir", "")
    if reference and folder:
        type_ = options.get("--quantization", "")
        format_ = CTRANSLATE_FORMATS.get(type_) or ("int8" if type_.startswith("int8") else None)
        yield Produced(folder, reference, CTRANSLATE, origin, "" if format_ in CTRANSLATE_FORMATS else format_)


def _read_flags(texts: Sequence[str], origin: Origin) -> Iterator[Produced]:
    """Yield what a trainer writes by its flags; one that merges or exports writes whole weights."""
    options, others = _parse(texts)
    reference, folder = _first(options, MODEL), _first(options, OUTPUT)
    if not reference or not folder:
        return
    merges = any(MERGES.search(posixpath.basename(other)) for other in others[:4])
    tuned = _first(options, TUNING).lower()
    given = [posixpath.basename(other) for other in others if other.endswith(".py")]
    how = given[0] if given else " ".join(posixpath.basename(other) for other in others[:2])
    is_adapter = not merges and ("lora" in tuned or tuned in ("true", "1", "yes"))
    if not merges and not is_adapter and _first(options, ADAPTER):
        return
    yield Produced(folder, reference, how, origin, None, is_adapter, not merges)
