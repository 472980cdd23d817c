"""Commands that write weights: where, from what, and in which format."""

from __future__ import annotations

import pytest

from gpulint.adapters.programs.process import Reader
from gpulint.adapters.weights import commands, texts


def read(script: str) -> list[tuple[str, str, str | None, bool]]:
    """Path, reference, format of what the last command of a script writes, and whether it is adapters."""
    *_, last = Reader(texts.make_script("a.sh", script), None).read()
    return [(one.path, one.reference, one.quantization, one.is_adapter) for one in commands.read(last.words)]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("hf download acme/own --local-dir w", ("w", "acme/own", None, False)),
        ("huggingface-cli download acme/own --quiet --include '*.json' --local-dir=w", ("w", "acme/own", None, False)),
        ("git clone --depth 1 https://huggingface.co/acme/own", ("own", "acme/own", None, False)),
        ("modelscope download acme/own --cache_dir /c", ("/c/acme/own", "acme/own", None, False)),
        (
            "wget -q https://huggingface.co/acme/own-GGUF/resolve/main/own-Q4_K_M.gguf -O /m/own.gguf",
            ("/m/own.gguf", "acme/own-GGUF", "gguf-q4_k_m", False),
        ),
        (
            "curl -L -o own.gguf 'https://huggingface.co/acme/own-GGUF/resolve/main/own-Q8_0.gguf?download=true'",
            ("own.gguf", "acme/own-GGUF", "gguf-q8_0", False),
        ),
        ("./llama-quantize a-f16.gguf a-q4.gguf Q4_K_M 8", ("a-q4.gguf", "a-f16.gguf", "gguf-q4_k_m", False)),
        ("python convert_hf_to_gguf.py w --outfile w.gguf --outtype q8_0", ("w.gguf", "w", "gguf-q8_0", False)),
        (
            "ct2-transformers-converter --model acme/own --output_dir w --quantization int8",
            ("w", "acme/own", "int8", False),
        ),
        ("llamafactory-cli export --model_name_or_path acme/own --export_dir w", ("w", "acme/own", None, False)),
        (
            "llamafactory-cli train --model_name_or_path acme/own --finetuning_type lora --output_dir w",
            ("w", "acme/own", None, True),
        ),
    ],
)
def test_a_command_writes_weights(script: str, found: tuple[str, str, str | None, bool]) -> None:
    assert read(script) == [found]


@pytest.mark.parametrize(
    "script",
    [
        "hf download acme/own",  # into the cache, under its own name
        "hf download acme/data --repo-type=dataset --local-dir w",
        "hf upload acme/own w",
        "git clone https://github.com/acme/own w",
        "wget https://example.com/own.gguf -O w.gguf",
        "llama-quantize --help",
        "python evaluate.py --model w",
        "hf",
    ],
)
def test_a_command_that_writes_no_weights_is_left_out(script: str) -> None:
    assert read(script) == []


def test_the_shell_parts_of_other_files_keep_their_places() -> None:
    text = "FROM a:1\nENV ID=acme/own\nRUN hf download $ID \\\n    --local-dir /w\n"
    script = texts.read_dockerfile("Dockerfile", text)
    assert script is not None
    assert len(script.text) == len(text)
    assert read(script.text) == [("/w", "acme/own", None, False)]
    guide = (
        "# Own\n\n```bash\n$ hf download acme/own --local-dir w\n```\n\n```python\nhf download a/b --local-dir c\n```\n"
    )
    shown = texts.read_readme("README.md", guide)
    assert shown is not None
    assert read(shown.text) == [("w", "acme/own", None, False)]
