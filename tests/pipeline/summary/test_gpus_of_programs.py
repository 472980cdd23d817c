"""Summary: how many GPUs a program takes that no other file starts."""

from __future__ import annotations

import pytest
import samples

HEAD = "import torch\nfrom transformers import AutoModelForCausalLM, pipeline\n"
LOADS = "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B', torch_dtype=torch.float16{})\n"
ASKS = "model.generate(x, max_new_tokens=8)\n"


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        pytest.param(LOADS.format("") + "model.to('cuda')\n", "1 × ?", id="moved to one GPU"),
        pytest.param(LOADS.format(", device_map='cuda:0'"), "1 × ?", id="mapped to one GPU"),
        pytest.param(LOADS.format(", device_map='auto'"), "1 or more × ?", id="spread over all GPUs"),
        pytest.param(LOADS.format(", device_map='auto'") + "model.to('cuda')\n", "1 × ?", id="spread, then moved"),
        pytest.param("pipeline('text-generation', model='Qwen/Qwen3-8B', device=0)\n", "1 × ?", id="pipeline"),
        pytest.param(
            "pipeline('text-generation', model='Qwen/Qwen3-8B', device_map='auto')\n",
            "1 or more × ?",
            id="spread pipeline",
        ),
        pytest.param(
            "from vllm import LLM\nLLM('Qwen/Qwen3-8B', tensor_parallel_size=torch.cuda.device_count())\n",
            "1 or more × ?",
            id="a rank for each GPU of the machine",
        ),
        pytest.param("from vllm import LLM\nLLM('Qwen/Qwen3-8B', tensor_parallel_size=2)\n", "2 × ?", id="two ranks"),
    ],
)
def test_a_program_takes_one_gpu_unless_it_spreads_its_model(program: str, shown: str) -> None:
    (role,) = samples.roles(samples.report(HEAD + program + ASKS * ("model =" in program), path="serve.py"))
    assert role.accelerator.partition(" (")[0] == shown


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param("whisper-server -m models/ggml-large-v3.bin", "1 × ?", id="a network that is not divided"),
        pytest.param("python main.py --listen 0.0.0.0 --lowvram  # ComfyUI", "1 × ?", id="a server of images"),
        pytest.param("ollama serve", "? × ?", id="a server that spreads what does not fit on one GPU"),
        pytest.param("CUDA_VISIBLE_DEVICES=0,1 whisper-server -m ggml-base.bin", "2 × ?", id="given two"),
    ],
)
def test_a_server_with_its_whole_network_on_each_gpu_takes_one_unless_it_is_given_more(
    command: str, shown: str
) -> None:
    (role,) = samples.roles(samples.report(f"#!/bin/bash\n{command}\n", path="serve.sh"))
    assert role.accelerator.partition(" (")[0] == shown
