"""Networks that a program loads by a name of a library: speech, pictures, detection."""

from __future__ import annotations

import json
import textwrap

import pytest

from gpulint.catalog import tables
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Workload


def read(program: str) -> list[Workload]:
    repository = ExampleRepository({"x.py": textwrap.dedent(program).encode()})
    (document,) = repository.read_documents("x.py")
    return list(enrichment.read(document, repository))


def read_role(program: str) -> Role:
    (workload,) = read(program)
    (role,) = workload.roles
    return role


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


@pytest.mark.parametrize(
    ("program", "checkpoint", "dtype"),
    [
        pytest.param(
            "import whisper\nwhisper.load_model('large-v3').transcribe('x.wav')",
            "openai/whisper-large-v3",
            "float32",
            id="Whisper of OpenAI keeps 32 bits on the GPU that it finds",
        ),
        pytest.param(
            "from faster_whisper import WhisperModel\nWhisperModel('turbo').transcribe('x.wav')",
            "openai/whisper-large-v3-turbo",
            "float16",
            id="faster-whisper downloads 16 bits",
        ),
        pytest.param(
            "from faster_whisper import WhisperModel\nWhisperModel('small', compute_type='float32')",
            "openai/whisper-small",
            "float32",
            id="faster-whisper in 32 bits",
        ),
        pytest.param(
            "from faster_whisper import WhisperModel\nWhisperModel('/models/own', device='cuda')",
            "/models/own",
            "float32",
            id="the folder of a conversion has at most 32 bits",
        ),
        pytest.param(
            "from ultralytics import YOLO\nYOLO('weights/yolov8s.pt').predict('x.png')",
            "ultralytics/yolov8s.pt",
            "float32",
            id="Ultralytics, from a folder",
        ),
        pytest.param(
            "import timm\ntimm.create_model('resnet50.a1_in1k', pretrained=True).to('cuda')",
            "timm/resnet50",
            "float32",
            id="timm, with the tag of the weights",
        ),
        pytest.param(
            "from torchvision import models\nmodels.vit_b_16(weights='DEFAULT').cuda()",
            "torchvision/vit_b_16",
            "float32",
            id="torchvision",
        ),
        pytest.param(
            "from chatterbox.tts import ChatterboxTTS\nChatterboxTTS.from_pretrained(device='cuda').generate('x')",
            "ResembleAI/chatterbox",
            "float32",
            id="Chatterbox names no model",
        ),
        pytest.param(
            "import torch\nfrom qwen_tts import Qwen3TTSModel\n"
            "Qwen3TTSModel.from_pretrained('Qwen/Qwen3-TTS-12Hz-0.6B-Base', device_map='cuda:0', dtype=torch.bfloat16)",
            "Qwen/Qwen3-TTS-12Hz-0.6B-Base",
            "bfloat16",
            id="Qwen3-TTS",
        ),
        pytest.param(
            "from FlagEmbedding import BGEM3FlagModel\nBGEM3FlagModel('BAAI/bge-m3')",
            "BAAI/bge-m3",
            "float16",
            id="FlagEmbedding in 16 bits",
        ),
        pytest.param(
            "from FlagEmbedding import FlagReranker\nFlagReranker('BAAI/bge-reranker-v2-m3', use_fp16=False)",
            "BAAI/bge-reranker-v2-m3",
            "float32",
            id="FlagEmbedding in 32 bits",
        ),
        pytest.param(
            "from TTS.api import TTS\nTTS('tts_models/multilingual/multi-dataset/xtts_v2').to('cuda').tts('x')",
            "coqui/XTTS-v2",
            "float32",
            id="XTTS",
        ),
    ],
)
def test_a_network_is_loaded_by_the_name_of_its_library(program: str, checkpoint: str, dtype: str | None) -> None:
    assert values(read_role(program), "task", "checkpoint", "weight_dtype", "quantization") == {
        "task": "inference",
        "checkpoint": checkpoint,
        "weight_dtype": dtype,
        "quantization": None,
    }


def test_faster_whisper_may_hold_its_weights_in_8_bits() -> None:
    role = read_role(
        "from faster_whisper import WhisperModel\nWhisperModel('large-v3', device='cuda', compute_type='int8_float16')"
    )
    assert values(role, "quantization", "weight_dtype") == {"quantization": "int8", "weight_dtype": None}


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("import whisper\nwhisper.load_model('base', device='cpu')", id="on the CPU"),
        pytest.param("import timm\ntimm.create_model('resnet50')", id="never moved to a GPU"),
        pytest.param("import torchvision\ntorchvision.models.resnet50_like(1).cuda", id="no network of the library"),
        pytest.param("from TTS.api import TTS\nTTS('xtts_v2')", id="Coqui stays on the CPU unless told otherwise"),
    ],
)
def test_a_program_that_does_not_compute_on_a_gpu_is_no_workload(program: str) -> None:
    assert read(program) == []


def test_a_training_loop_trains_the_network_of_a_library() -> None:
    role = read_role("""
        import torch
        import torchvision
        model = torchvision.models.resnet50(weights="DEFAULT").cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for x, y in torch.utils.data.DataLoader(data, batch_size=64):
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    """)
    assert values(role, "engine", "task", "checkpoint", "optimizer", "micro_batch_size") == {
        "engine": "pytorch",
        "task": "training",
        "checkpoint": "torchvision/resnet50",
        "optimizer": "adamw",
        "micro_batch_size": 64,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            "",
            {"micro_batch_size": 16, "gpus_per_pod": 1, "optimizer": "adamw", "training_dtype": "float16"},
            id="the defaults",
        ),
        pytest.param(
            ", batch=32, optimizer='SGD', amp=False",
            {"micro_batch_size": 32, "gpus_per_pod": 1, "optimizer": "sgd", "training_dtype": "float32"},
            id="in 32 bits",
        ),
        pytest.param(
            ", device=[0, 1]", {"gpus_per_pod": 2, "gpus_per_replica": 2, "sharding": "ddp"}, id="on two GPUs"
        ),
        pytest.param(", device='0,1,2,3'", {"gpus_per_pod": 4, "sharding": "ddp"}, id="on four, as a text"),
        pytest.param(", device=0", {"gpus_per_pod": 1, "sharding": None}, id="on the first"),
    ],
)
def test_ultralytics_trains_its_network(given: str, expected: dict[str, object]) -> None:
    role = read_role(f"""
        from ultralytics import YOLO
        model = YOLO("yolov8n.pt")
        model.train(data="coco8.yaml", epochs=100, imgsz=640{given})
    """)
    assert values(role, "engine", "task", "checkpoint") == {
        "engine": "pytorch",
        "task": "training",
        "checkpoint": "ultralytics/yolov8n.pt",
    }
    assert values(role, *expected) == expected


def test_ultralytics_on_the_cpu_is_no_workload() -> None:
    program = "from ultralytics import YOLO\nYOLO('yolov8n.pt').train(data='coco8.yaml', device='cpu')"
    assert read(program) == []


def test_a_file_of_one_s_own_is_at_most_as_large_as_the_largest_network_of_its_library() -> None:
    role = read_role("from ultralytics import YOLO\nYOLO('/tmp/best.pt').predict('x.png')")
    largest = max(int(row["parameters"]) for row in tables.rows("networks") if row["id"].startswith("ultralytics/"))
    assert role.value("checkpoint") == "/tmp/best.pt"
    assert json.loads(str(role.value("network")))["parameters"] == largest
    assert "at most as large as" in role.fields["network"].assumption
