"""Networks of a program's own: the layers of its classes are counted, and only decoders are given."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.catalog.architecture import stated
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role

JOB = """
    apiVersion: v1
    kind: Pod
    metadata: {name: own}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: train
          image: registry.example/own:1
          command: [python, train.py]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
HEAD = """
import torch
import torch.nn as nn
"""
LOOP = """
optimizer = torch.optim.AdamW(model.parameters())
for x, y in data():
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
GPT = """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
class GPT(nn.Module):
    def __init__(self, layers, width, words, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        SHARE
model = GPT(LAYERS, 768, 50257, 1024).cuda()
"""
LLAMA = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_heads = 8
        self.q, self.k = nn.Linear(512, 512, bias=False), nn.Linear(512, 128, bias=False)
        self.v, self.o = nn.Linear(512, 128, bias=False), nn.Linear(512, 512, bias=False)
        self.gate, self.up = nn.Linear(512, 1376, bias=False), nn.Linear(512, 1376, bias=False)
        self.down = nn.Linear(1376, 512, bias=False)
        self.first, self.second = nn.RMSNorm(512), nn.RMSNorm(512)
class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32000, 512)
        self.layers = nn.ModuleList(Layer() for _ in range(6))
        self.norm = nn.RMSNorm(512)
        self.head = nn.Linear(512, 32000, bias=False)
model = Llama()
"""
CLASSIFIER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 64, 3)
        self.layers = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 10))
model = Net()
"""


def read_role(program: str) -> Role:
    files = {"pod.yaml": textwrap.dedent(JOB), "train.py": HEAD + program + LOOP}
    repository = ExampleRepository({name: text.encode() for name, text in files.items()})
    (document,) = repository.read_documents("pod.yaml")
    (workload,) = enrichment.read(document, repository)
    return workload.roles[0]


def count(program: str) -> int | None:
    network = stated.parse(read_role(program).text("network"))
    return stated.build(network).parameters if network is not None else None


@pytest.mark.parametrize(
    ("program", "parameters"),
    [
        # 12 x (12 x 768² + 13 x 768) + (50257 + 1024) x 768 + 2 x 768: GPT-2
        (GPT.replace("LAYERS", "12").replace("SHARE", "self.head.weight = self.words.weight"), 124_439_808),
        # and 50257 x 768 more
        (GPT.replace("LAYERS", "12").replace("SHARE", ""), 163_037_184),
        # 6 x (2 x 512² + 2 x 512 x 128 + 3 x 512 x 1376 + 2 x 512) + 2 x 32000 x 512 + 512
        (LLAMA, 49_388_032),
        (GPT.replace("LAYERS", "int(input())").replace("SHARE", ""), None),
        (GPT.replace("LAYERS", "12").replace("SHARE", "self.more = nn.Linear(768, 4 * 50257)"), None),
        (CLASSIFIER, None),
    ],
)
def test_the_layers_of_a_decoder_are_counted(program: str, parameters: int | None) -> None:
    assert count(program) == parameters


def test_a_network_that_is_counted_is_assumed() -> None:
    field = read_role(LLAMA).fields["network"]
    assert field.assumption == "the parameters are counted from the layers in the program's own classes"
    assert (field.origins[-1].document.path, "kv_heads=2" in str(field.value)) == ("train.py", True)


def test_modules_that_hold_each_other_end() -> None:
    program = """
class Part(nn.Module):
    def __init__(self, owner):
        super().__init__()
        self.owner, self.again = owner, owner
        self.layer = nn.Linear(8, 8)
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Part(self) for _ in range(10**9)])
        self.table = nn.Embedding(16, 8)
model = Whole()
"""
    assert count(program) is None


@pytest.mark.parametrize(
    ("last", "dtype"),
    [
        ("", "float32"),
        ("model = model.to('cuda')", "float32"),
        ("model.to(torch.device('cuda', 0))", "float32"),
        ("model = model.to(torch.bfloat16)", None),
        ("model.half()", None),
    ],
)
def test_weights_are_in_32_bits_unless_the_program_casts_them(last: str, dtype: str | None) -> None:
    assert read_role(LLAMA + last).value("parameter_dtype") == dtype
