"""Requested models: what other files ask an Ollama server for, which is started without a model."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import RoleSummary

GPU = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}"
SERVER = f"""\
services:
  ollama:
    image: ollama/ollama:0.9.0
    {GPU}
"""
PLAIN = "services: {ollama: {image: 'ollama/ollama:0.9.0'}}\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: ollama}
spec:
  containers:
    - name: ollama
      image: ollama/ollama:0.9.0
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def find_role(text: str, files: dict[str, str], path: str = "docker-compose.yml") -> RoleSummary:
    """The server, with files beside it."""
    held = {name: content.encode() for name, content in files.items()}
    return next(role for role in samples.roles(samples.report(text, path=path, files=held)) if role.engine == "ollama")


@pytest.mark.parametrize(
    ("files", "checkpoint"),
    [
        ({".env": "OLLAMA_MODEL=llama3.2:3b\n"}, "meta-llama/Llama-3.2-3B-Instruct"),
        ({".env.example": "LLM_MODEL=qwen2.5:7b # or others\n"}, "Qwen/Qwen2.5-7B-Instruct"),
        ({"entrypoint.sh": "ollama serve &\nollama pull llama3.1\n"}, "meta-llama/Llama-3.1-8B-Instruct"),
        ({"run.sh": "M=llama3.1:8b\nollama run $M hello\n"}, "meta-llama/Llama-3.1-8B-Instruct"),
        ({"Dockerfile": "FROM ollama/ollama\nARG M=qwen2.5:7b\nRUN ollama pull $M\n"}, "Qwen/Qwen2.5-7B-Instruct"),
        ({"app/chat.py": 'ollama.chat(model="llama3.2:3b", messages=[])\n'}, "meta-llama/Llama-3.2-3B-Instruct"),
        ({"a.py": 'M = os.getenv("OLLAMA_MODEL", "llama3.2:3b")\n'}, "meta-llama/Llama-3.2-3B-Instruct"),
        ({"a.py": 'MODEL_NAME = os.getenv("OLLAMA_MODEL", "llama3.2:3b")\n'}, "meta-llama/Llama-3.2-3B-Instruct"),
        ({"pull.sh": 'curl h:11434/api/pull -d \'{"name": "qwen2.5:7b"}\'\n'}, "Qwen/Qwen2.5-7B-Instruct"),
        ({"pull.sh": 'curl h:11434/api/pull \\\n  -d \'{"name": "qwen2.5:7b"}\'\n'}, "Qwen/Qwen2.5-7B-Instruct"),
        # the largest of those that it must run
        ({".env": "CHAT_MODEL=qwen2.5:7b\nEMBED_MODEL=nomic-embed-text:latest\n"}, "Qwen/Qwen2.5-7B-Instruct"),
        ({".env": "A_MODEL=qwen2.5:7b\nB_MODEL=llama3.2:3b\n"}, "Qwen/Qwen2.5-7B-Instruct"),
        # a file of settings precedes a program, and the folder of the server a further one
        ({".env": "MODEL=llama3.2:3b\n", "a.py": 'model="qwen2.5:7b"\n'}, "meta-llama/Llama-3.2-3B-Instruct"),
        # what names no model of Ollama, or no model that is used
        ({".env": "OPENAI_MODEL=gpt-4o\n"}, "?"),
        ({".env": "# OLLAMA_MODEL=llama3.2:3b\n"}, "?"),
        ({"run.sh": "ollama pull $1\n"}, "?"),
        (
            {"a.py": "".join(f'model="{name}"\n' for name in ("llama3.2:3b", "llama3.1:8b", "qwen2.5:7b", "qwen3:8b"))},
            "?",
        ),
        ({"docs/a.py": 'ollama.chat(model="llama3.2:3b")\n', "tests/a.py": 'model="qwen2.5:7b"\n'}, "?"),
        ({"README.md": "ollama pull llama3.2:3b\n"}, "?"),
    ],
)
def test_a_server_runs_the_model_that_files_beside_it_ask_for(files: dict[str, str], checkpoint: str) -> None:
    found = find_role(SERVER, files)
    assert found.architecture.partition(" ")[0] == checkpoint


def test_the_servers_own_file_precedes_all_others() -> None:
    pull = 'curl http://ollama:11434/api/pull -d \'{"name":"llama3.2:3b"}\''
    init = f"  init:\n    image: curlimages/curl\n    entrypoint:\n      - sh\n      - -c\n      - |\n        {pull}\n"
    found = find_role(SERVER + init, {".env": "MODEL=qwen2.5:7b\n"})
    assert found.architecture == "meta-llama/Llama-3.2-3B-Instruct"
    assert any("llama3.2:3b, which docker-compose.yml names" in text for text in found.assumptions)


def test_a_file_that_chooses_a_model_at_run_time_leaves_it_open() -> None:
    script = (
        "    entrypoint: [sh, -c, 'ollama serve & M=$$(./choose); ollama pull \"$$M\" || ollama pull qwen2.5:7b']\n"
    )
    assert find_role(SERVER + script, {".env": "MODEL=llama3.2:3b\n"}).architecture.startswith("?")


def test_all_gpus_of_a_host_are_one_for_a_model_of_ollama() -> None:
    found = find_role(SERVER, {".env": "MODEL=llama3.2:3b\n"})
    assert (found.accelerator.partition(" ×")[0], found.verdict.partition(" 1")[0]) == ("1", "needs")


def test_a_service_without_a_gpu_computes_on_the_cpu() -> None:
    found = find_role(PLAIN, {".env": "MODEL=llama3.2:3b\n"})
    assert (found.verdict, found.architecture) == ("no GPU", "meta-llama/Llama-3.2-3B-Instruct")
    assert found.accelerator == "none"


def test_a_pod_asks_the_files_of_its_repository_too() -> None:
    client = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ui}\ndata: {DEFAULT_MODEL: 'llama3.2:3b'}\n"
    assert find_role(POD, {"k8s/ui.yaml": client}, "k8s/ollama.yaml").architecture == "meta-llama/Llama-3.2-3B-Instruct"
