"""Inferred checkpoints: what a server calls its model, what is downloaded for it, and what is named after it."""

from __future__ import annotations

import pytest
import samples

from gpulint.catalog.architecture import names
from gpulint.report.model import Severity

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
{init}  containers:
    - name: main
      image: {image}
      {start}
      env: [{{name: {variable}, value: {value}}}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
VLLM = "args: [--model=/model, --max-model-len=4096{}]"
OWN = "command: [python, serve.py]"


def write(start: str, init: str = "", image: str = "vllm/vllm-openai:v0.11.0", **given: str) -> str:
    """A pod on an L4 with a start, an init container and one variable."""
    given = {"name": "chat", "variable": "A", "value": "b", **given}
    return POD.format(start=start, init=init, image=image, **given)


def checkpoint(text: str, path: str = "pod.yaml") -> str:
    """The model of the only role."""
    (role,) = samples.roles(samples.report(text, path=path))
    return role.architecture


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("vllm-qwen2-5-7b-instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("llama32-3b-instruct", "meta-llama/Llama-3.2-3B-Instruct"),
        ("modelcar-qwen3-8b-fp8-dynamic:1.5", "RedHatAI/Qwen3-8B-FP8-dynamic"),
        ("gemma-2-2b-it", "google/gemma-2-2b-it"),
        ("whisper-large-v3", "openai/whisper-large-v3"),
        ("stable-diffusion-xl", "stabilityai/stable-diffusion-xl-base-1.0"),
        ("flux-1-dev", "black-forest-labs/FLUX.1-dev"),
        ("qwen2-57b", ""),  # the points of Qwen2.5-7B do not stand there
        ("mistral-7b-instruct", ""),  # v0.1 and v0.3 differ
        ("llama-2-7b-medical", ""),
        ("llama-3-8b-lora", ""),
        ("job-2", ""),
        ("chat-server", ""),
    ],
)
def test_a_name_means_the_checkpoint_whose_id_has_its_words(name: str, reference: str) -> None:
    assert names.find(name) == reference


def test_a_served_name_tells_what_a_local_path_holds() -> None:
    text = write(VLLM.format(", --served-model-name=qwen3-8b"))
    assert checkpoint(text) == "Qwen/Qwen3-8B"
    assert checkpoint(write(VLLM.format(", --served-model-name=chat"))) == "? (the model in /model)"


def test_a_stated_checkpoint_is_never_replaced_by_a_name() -> None:
    text = write("args: [--model=Qwen/Qwen3-0.6B]", name="qwen3-8b", variable="MODEL_ID", value="Qwen/Qwen3-14B")
    assert checkpoint(text) == "Qwen/Qwen3-0.6B"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"variable": "MODEL_NAME", "value": "Qwen/Qwen3-8B"}, "Qwen/Qwen3-8B"),
        ({"variable": "STORAGE_URI", "value": "oci://quay.io/acme/qwen3-8b:1"}, "Qwen/Qwen3-8B"),
        ({"name": "llama-2-7b-chat"}, "meta-llama/Llama-2-7b-chat"),
        ({"image": "acme/llama-2-7b:latest"}, "meta-llama/Llama-2-7b"),
        ({"name": "chat-7b"}, "?"),  # a size alone may be anything in a program that is not known
        ({"name": "llama-2-7b-finetune"}, "?"),
        ({"name": "llama-2-7b", "image": "acme/llama-2-13b:1"}, "?"),
    ],
)
def test_the_names_of_an_unknown_program_mean_a_checkpoint(given: dict[str, str], found: str) -> None:
    assert checkpoint(write(OWN, **{"image": "acme/server:1", **given})) == found


def test_weights_of_which_only_a_name_tells_the_model_may_be_quantised() -> None:
    # 27.5 GiB in 16 bits do not fit in 22 GiB, 8 and 4 bits do: nothing certain is said, and nothing is an error
    found = samples.report(write(VLLM.format(", --served-model-name=qwen3-14b")), path="pod.yaml")
    assert {finding.severity for finding in found.findings if "weights" in finding.rule} <= {
        Severity.NOTE,
        Severity.WARNING,
    }
    (role,) = samples.roles(found)
    assert role.verdict == "likely does not fit"


@pytest.mark.parametrize(
    "command",
    [
        "hf download Qwen/Qwen3-14B --local-dir /model",
        "huggingface-cli download --quiet $ID --local-dir=/model",
        "git clone https://huggingface.co/Qwen/Qwen3-14B /model",
        'python -c \'snapshot_download(repo_id="Qwen/Qwen3-14B", local_dir="/model")\'',
        "aws s3 cp --recursive s3://bucket/models/Qwen3-14B /model",
        "sh /scripts/sync.sh Qwen/Qwen3-14B /model",
    ],
)
def test_what_an_init_container_downloads_is_the_model(command: str) -> None:
    words = command.split(" ") if command.startswith("sh ") else ["sh", "-c", command]
    listed = ", ".join(f"'{word.replace(chr(39), chr(39) * 2)}'" for word in words)
    init = (
        "  initContainers:\n    - name: fetch\n      image: acme/fetch:1\n"
        f"      command: [{listed}]\n      env: [{{name: ID, value: Qwen/Qwen3-14B}}]\n"
    )
    found = samples.report(write(VLLM.format(""), init), path="pod.yaml")
    (role,) = samples.roles(found)
    assert role.architecture == "Qwen/Qwen3-14B"
    assert role.verdict == "does not fit"  # a download states the model: 27.5 GiB on 22 GiB
    assert any("fetch downloads" in text for text in role.assumptions)


def test_two_downloads_to_one_folder_say_nothing() -> None:
    command = "hf download Qwen/Qwen3-14B --local-dir /model; hf download Qwen/Qwen3-8B --local-dir /model"
    init = f"  initContainers: [{{name: fetch, image: 'a:1', command: [sh, -c, '{command}']}}]\n"
    assert checkpoint(write(VLLM.format(""), init)) == "? (the model in /model)"


SERVICE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.11.0
    command: [--model, /model, --max-model-len, "4096"]
    environment:
      ABOUT: {about}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
  other:
    image: acme/other:1
    environment: {{ABOUT: {other}}}
"""


@pytest.mark.parametrize(
    ("about", "other", "guide", "found"),
    [
        ("Qwen/Qwen3-8B", "x", "", "Qwen/Qwen3-8B"),
        ("acme/Own-8B", "x", "", "acme/Own-8B"),  # not in the catalog, but a release of that size
        ("x", "x", "Put Qwen/Qwen3-8B below /model.", "Qwen/Qwen3-8B"),
        ("x", "x", "See https://huggingface.co/Qwen/Qwen3-8B.", "Qwen/Qwen3-8B"),
        ("x", "Qwen/Qwen3-8B", "", "? (the model in /model)"),  # of another service
        ("x # Qwen/Qwen3-8B", "x", "", "? (the model in /model)"),
        ("x", "x", "Qwen/Qwen3-8B or Qwen/Qwen3-14B", "? (the model in /model)"),
        ("BAAI/bge-m3", "x", "", "? (the model in /model)"),  # an encoder
    ],
)
def test_the_only_model_that_the_files_around_a_server_name_is_assumed(
    about: str, other: str, guide: str, found: str
) -> None:
    text = SERVICE.format(about=about, other=other)
    report = samples.report(text, path="compose.yaml", files={"README.md": guide.encode()})
    (role, *_) = samples.roles(report)
    assert role.architecture == found


def test_a_section_that_states_owner_and_name_apart_names_a_model() -> None:
    values = """\
model: {root: mistralai, id: Mistral-7B-Instruct-v0.2, name: mistral-7b}
image: {repository: vllm/vllm-openai, tag: v0.11.0}
resources: {limits: {nvidia.com/gpu: 1}}
"""
    assert checkpoint(values, "values.yaml") == "mistralai/Mistral-7B-Instruct-v0.2"


def test_of_a_server_whose_size_alone_is_known_no_model_is_shown() -> None:
    text = write("args: [--model=/model, --served-model-name=own-8b]")
    assert checkpoint(text) == "? (about 8 billion parameters, by --served-model-name own-8b)"


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        pytest.param("deepseek-ai/DeepSeek-R1-Distill-Qwen-${SIZE}", "?", id="another release of that family"),
        pytest.param("deepseek-ai/${MODEL}", "deepseek-ai/DeepSeek-R1", id="only the owner is stated"),
        pytest.param("deepseek-ai/DeepSeek-${RELEASE}", "deepseek-ai/DeepSeek-R1", id="a beginning of the release"),
        pytest.param("${MODEL}", "deepseek-ai/DeepSeek-R1", id="nothing is stated"),
    ],
)
def test_the_name_of_a_folder_does_not_replace_what_is_stated_of_a_model(stated: str, shown: str) -> None:
    text = write(f"args: ['--model={stated}']")
    assert checkpoint(text, "deepseek-r1/pod.yaml").partition(" (")[0] == shown


def test_a_size_in_a_name_holds_whatever_the_beginning_of_the_model_is() -> None:
    (role,) = samples.roles(samples.report(write("args: ['--model=acme/Chat-${SIZE}']", name="chat-7b"), path="a.yaml"))
    assert "7 billion parameters" in " ".join(str(one) for one in role.assumptions)


def test_a_server_whose_users_load_models_is_not_given_one_that_a_name_means() -> None:
    text = write("args: []", image="yanwk/comfyui-boot:cu128-slim", variable="MODEL", value="Qwen/Qwen3-8B")
    assert checkpoint(text, "deepseek-r1/pod.yaml") == "? (the workflows that users load decide the model)"
