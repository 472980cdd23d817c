"""Servers of speech, voices and embeddings: how they are recognised, and which network they load."""

from __future__ import annotations

import pytest
import reading

from gpulint.catalog import tables
from gpulint.engines.serving import network_servers

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
TEI = "image: ghcr.io/huggingface/text-embeddings-inference"
ASR = "image: onerahmet/openai-whisper-asr-webservice"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            f"{TEI}:1.8\nargs: [--model-id=BAAI/bge-m3]",
            ["text-embeddings-inference", "BAAI/bge-m3", "float16", None, None],
            id="Text Embeddings Inference",
        ),
        pytest.param(
            f"{TEI}:1.8\nargs: [--dtype, float32]\nenv: [{{name: MODEL_ID, value: intfloat/e5-small}}]",
            ["text-embeddings-inference", "intfloat/e5-small", "float32", None, None],
            id="its model in a variable",
        ),
        pytest.param(
            f"{TEI}:cpu-1.8\nargs: [--model-id=BAAI/bge-m3]",
            ["text-embeddings-inference", "BAAI/bge-m3", "float16", None, "cpu"],
            id="its build for the CPU",
        ),
        pytest.param(
            f"{ASR}:latest-gpu\nenv: [{{name: ASR_MODEL, value: large-v3}}]",
            ["openai-whisper-asr-webservice", "openai/whisper-large-v3", "float32", None, None],
            id="the web service of Whisper",
        ),
        pytest.param(
            f"{ASR}:latest",
            ["openai-whisper-asr-webservice", "openai/whisper-base", None, None, "cpu"],
            id="the same for the CPU, with its default",
        ),
        pytest.param(
            "image: example.com/speech:1\ncommand: [whisper-server, -m, /models/ggml-large-v3-turbo-q5_0.bin]",
            ["whisper.cpp", "openai/whisper-large-v3-turbo", "float16", "gguf-q5_0", None],
            id="whisper.cpp, quantised",
        ),
        pytest.param(
            "image: ghcr.io/ggml-org/whisper.cpp:main-cuda\n"
            "command: [/app/whisper-server, --model=models/ggml-medium.bin]",
            ["whisper.cpp", "openai/whisper-medium", "float16", None, None],
            id="whisper.cpp in 16 bits",
        ),
        pytest.param(
            "image: example.com/tts:1\ncommand: [python, -m, xtts_api_server, -d, cuda]",
            ["xtts-api-server", "coqui/XTTS-v2", "float32", None, None],
            id="XTTS",
        ),
        pytest.param(
            "image: ghcr.io/remsky/kokoro-fastapi-gpu:v0.2.2",
            ["kokoro-fastapi", "hexgrad/Kokoro-82M", "float32", None, None],
            id="Kokoro",
        ),
    ],
)
def test_a_server_loads_the_network_that_it_is_told(lines: str, expected: list[object]) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint", "weight_dtype", "quantization", "device") == expected


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: example.com/text-embeddings-inference-proxy:1", id="a proxy"),
        pytest.param("image: example.com/app:1\ncommand: [curl, 'http://whisper-server:8080']", id="a request"),
        pytest.param(f"{ASR}:latest-gpu\ncommand: [sh, -c, 'sleep infinity']", id="another program of its image"),
    ],
)
def test_what_is_no_such_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


def test_every_row_is_read_where_its_words_occur() -> None:
    for row in tables.rows("network_servers"):
        for word in filter(None, (*row["images"].split("|"), *row["programs"].split("|"))):
            assert any(mention in word for mention in network_servers.MENTIONS), word


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param("image: yanwk/comfyui-boot:cu128-slim", ["comfyui", None], id="an image of ComfyUI"),
        pytest.param("image: yanwk/comfyui-boot:cpu", ["comfyui", "cpu"], id="the same for the CPU"),
        pytest.param(
            "image: example.com/app:1\ncommand: [python3, -u, /workspace/ComfyUI/main.py, --port, '3000']",
            ["comfyui", None],
            id="ComfyUI by its folder",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [python, main.py, --cpu, --listen]",
            ["comfyui", "cpu"],
            id="ComfyUI by its flags",
        ),
        pytest.param("image: ghcr.io/invoke-ai/invokeai:v6.13.7-cuda", ["invokeai", None], id="InvokeAI"),
        pytest.param(
            "image: example.com/app:1\ncommand: [./webui.sh, --api, --xformers]",
            ["stable-diffusion-webui", None],
            id="the web interface of Stable Diffusion",
        ),
    ],
)
def test_users_decide_the_model_of_a_server_of_images(lines: str, expected: list[object]) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "device") == expected
    assert "decide" in found.fields["checkpoint"].value.reason
    assert reading.values(found, "tensor_parallel", "pipeline_parallel", "data_parallel") == [1, 1, 1]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("command: [python, main.py, --port, '8188']", id="a program of that name"),
        pytest.param("command: [python, /app/main.py, --listen]", id="a program in another folder"),
        pytest.param("command: [python, /ComfyUI/manage.py, --listen]", id="another program of its folder"),
        pytest.param("command: [torchrun, launch.py, --xformers]", id="another launcher"),
    ],
)
def test_other_programs_named_so_are_no_server_of_images(lines: str) -> None:
    found = reading.started(f"image: example.com/app:1\n{lines}\n{GPU}")
    assert reading.values(found, "engine") != ["comfyui"] and reading.values(found, "engine") != [
        "stable-diffusion-webui"
    ]
