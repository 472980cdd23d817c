"""`gpulint architecture CONFIG.json`: the network of a config.json, as text and as a row of the catalog."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import published_networks
import pytest
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.catalog import tables

CONFIGS = {one.id: one.config for one in published_networks.NETWORKS}
QWEN3_NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"

SHOWN = """\
Qwen/Qwen3-Next-80B-A3B-Instruct
family                   qwen3-next
layers                   48
hidden                   2,048
intermediate             5,120
gated_mlp                yes
attention_heads          16
kv_heads                 2
head_dim                 256
vocab                    151,936
tied_embeddings          no
trained_context          32,768
linear_attention_layers  36
state_elements           548,864
experts                  512
experts_per_token        10
moe_layers               48
moe_intermediate         512
shared_intermediate      512
task                     generate
modality                 text
parameters               79,674,391,296
  embeddings             311,164,928
  attention              327,155,712
  linear attention       1,213,857,792
  MLP                    150,994,944
  experts                77,309,411,328
  routers                50,429,952
  norms and biases       211,712
  output head            311,164,928
active_parameters        3,874,929,408
KV cache of a token      24 KiB in 16 bits
state of a sequence      19,759,104 elements
"""


def shown(folder: Path, stated: object, *options: str) -> Result:
    """What the command prints about a config.json."""
    file = folder / "config.json"
    file.write_text(stated if isinstance(stated, str) else json.dumps(stated), encoding="utf-8")
    return CliRunner().invoke(cli.main, ["architecture", str(file), *options])


def test_the_whole_output_for_one_network(tmp_path: Path) -> None:
    result = shown(tmp_path, CONFIGS[QWEN3_NEXT], "--id", QWEN3_NEXT)
    assert (result.stdout, result.exit_code) == (SHOWN, 0)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("meta-llama/Llama-3.1-8B", "KV cache of a token  128 KiB in 16 bits"),
        ("deepseek-ai/DeepSeek-V3", "KV cache of a token  68.62 KiB in 16 bits"),
        ("openai/gpt-oss-20b", "KV cache in the window  24 KiB a token of the last 128"),
        ("openai/whisper-tiny", "encoder_tokens       1,500"),
    ],
)
def test_the_kv_cache_of_a_token_is_shown(tmp_path: Path, name: str, line: str) -> None:
    assert line in shown(tmp_path, CONFIGS[name]).stdout


def test_the_row_has_the_catalogs_columns_and_leaves_the_date_to_the_person(tmp_path: Path) -> None:
    result = shown(tmp_path, CONFIGS["google/gemma-4-31B"], "--csv", "--id", "a/b", "--source", "config.json of a/b")
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert list(row) == list(tables.rows("architectures")[0])
    expected = {"id": "a/b", "family": "gemma-4", "gated_mlp": "yes", "sliding_kv_heads": "16", "head_dim": "512"}
    assert {name: row[name] for name in expected} == expected
    assert (row["source"], row["date"], row["active_parameters"]) == ("config.json of a/b", "", "")


def test_the_folder_names_a_network_that_has_no_id(tmp_path: Path) -> None:
    assert shown(tmp_path, CONFIGS["openai-community/gpt2"]).stdout.splitlines()[0] == tmp_path.name


def test_why_parameters_are_not_counted_is_said(tmp_path: Path) -> None:
    stated: dict[str, Any] = {**CONFIGS["meta-llama/Llama-3.1-8B"], "architectures": ["LlamaForTokenClassification"]}
    line = "parameters           not counted: the head of LlamaForTokenClassification is not known"
    assert line in shown(tmp_path, stated).stdout


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("model: llama", "the file is not JSON; gpulint reads a Hugging Face config.json"),
        ("[1]", "the file holds no mapping; gpulint reads a Hugging Face config.json"),
        ({"dim": 4096}, "it has no model_type; gpulint reads only a Hugging Face config.json, not params.json"),
        ({"model_type": "acme"}, "the family acme is not supported"),
        ({"model_type": "llama", "hidden_size": "wide"}, "hidden_size is not a size: wide"),
        ({"model_type": "llama", "num_hidden_layers": 0}, "num_hidden_layers is 0"),
    ],
)
def test_a_file_that_gives_no_architecture_ends_with_2_and_a_sentence(
    tmp_path: Path, stated: object, said: str
) -> None:
    result = shown(tmp_path, stated)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"gpulint: {tmp_path / 'config.json'}: {said}\n"
