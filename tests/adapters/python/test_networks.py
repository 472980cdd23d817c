"""Networks that a program builds itself: their parameters are counted to the unit, and give weights and states."""

from __future__ import annotations

import json

import pytest

from gpulint.facts import checkpoints
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

JOB = "#!/bin/bash\n#SBATCH --gres=gpu:h100:1\npython train.py\n"
HEAD = """
import torch
import torch.nn as nn
from transformers import AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig
"""
LOOP = """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in data:
    loss = model(batch)
    loss.backward()
    optimizer.step()
"""
NANO = """
from dataclasses import dataclass

@dataclass
class GPTConfig:
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_embd: int = 768

class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.n_embd)
        self.c_attn = nn.Linear(c.n_embd, 3 * c.n_embd, bias=False)
        self.c_proj = nn.Linear(c.n_embd, c.n_embd, bias=False)
        self.ln_2 = nn.LayerNorm(c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList([Block(c) for _ in range(c.n_layer)])
        self.ln_f = nn.LayerNorm(c.n_embd)
        self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

model = GPT(GPTConfig(n_layer=24, n_embd=1024)).cuda()
"""


def read_role(program: str) -> Role:
    repository = ExampleRepository({"job.sh": JOB.encode(), "train.py": (HEAD + program + LOOP).encode()})
    (document,) = repository.read_documents("job.sh")
    (workload,) = enrichment.read(document, repository)
    (role,) = workload.roles
    return role


def count(program: str) -> object:
    resolved = checkpoints.find_stated(read_role(program))
    return resolved.architecture.parameters if resolved is not None and resolved.architecture is not None else None


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        # 24 layers: (4 + 8) h² + 2 x 2 h + 5 h; tables (50,304 + 1,024) h; the last norm 2 h; the head is the table
        (NANO, 354_772_992),
        # TinyLlama/TinyLlama-1.1B: 1,100,048,384 by its card
        (
            "config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,\n"
            "    num_attention_heads=32, num_key_value_heads=4)\n"
            "model = AutoModelForCausalLM.from_config(config)\n",
            1_100_048_384,
        ),
        # the defaults of GPT2Config are GPT-2 with 124 million parameters
        ("model = GPT2LMHeadModel(GPT2Config())\n", 124_439_808),
        # 784 x 128 + 128 + 128 x 10 + 10
        (
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.body = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))\n"
            "model = torch.nn.parallel.DistributedDataParallel(Net().cuda())\n",
            101_770,
        ),
        # 6 x (4 d² + 9 d + 2 d i + i), d = 512, i = 2048
        (
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        layer = nn.TransformerEncoderLayer(512, 8)\n"
            "        self.encoder = nn.TransformerEncoder(layer, num_layers=6)\n"
            "model = Net()\n",
            18_914_304,
        ),
    ],
)
def test_parameters_are_counted_to_the_unit(model: str, parameters: int) -> None:
    assert count(model) == parameters


@pytest.mark.parametrize(
    "model",
    [
        "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained('gpt2', n_layer=N))\n",
        "model = AutoModelForCausalLM.from_config(LlamaConfig(**load()))\n",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Linear(size(), 128)\nmodel = Net()\n",
        "import timm\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = timm.create_model('vit')\nmodel = Net()\n",
        "from elsewhere import Encoder\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.encoder = Encoder(12)\n        self.head = nn.Linear(768, 2)\nmodel = Net()\n",
        "class Net(nn.Module):\n    def __init__(self, encoder):\n        super().__init__()\n"
        "        self.encoder = encoder\n        self.head = nn.Linear(768, 2)\n"
        "    def forward(self, x):\n        return self.head(self.encoder(x))\nmodel = Net(load())\n",
    ],
)
def test_a_network_with_an_open_part_is_not_counted(model: str) -> None:
    assert count(model) is None


def test_a_program_that_freezes_weights_leaves_open_what_it_trains() -> None:
    frozen = "for weight in model.parameters():\n    weight.requires_grad = False\n"
    assert isinstance(read_role(NANO + frozen).value("trainable_parameters"), Unknown)
    assert read_role(NANO).value("trainable_parameters") is None


def test_a_layer_of_open_size_is_named() -> None:
    program = (
        "class Net(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
        "        self.body = nn.Linear(size, 128)\nmodel = Net(load().shape[1])\n"
    )
    stated = read_role(program).value("checkpoint")
    assert isinstance(stated, Unknown)
    assert "the size of every layer of the network Net" in stated.reason


def test_a_counted_network_names_its_class() -> None:
    program = """
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 10))

model = Classifier().cuda()
optimizer = torch.optim.AdamW(model.parameters())
loss = model(torch.zeros(8, 4096).cuda()).sum()
loss.backward()
"""
    network = json.loads(read_role(program).text("network"))
    assert network == {"name": "Classifier", "parameters": 4096 * 8192 + 8192 + 8192 * 10 + 10}
