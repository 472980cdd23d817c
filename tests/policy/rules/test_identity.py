"""Subjects: what a finding is about stays the same whatever is moved, renamed or rewritten around it, and changes with it."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import Subject

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: ml
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args:
            - --model=meta-llama/Llama-3.1-8B-Instruct
            - --max-model-len=131072
          resources:
            limits: {nvidia.com/gpu: 1}
"""
"""One error: serving-does-not-fit at 131072."""

REWRITTEN = """\
# a server for the chat
kind: "Deployment"
apiVersion: 'apps/v1'
metadata: {namespace: ml, name: "chat"}  # of team ml
spec:
    template:
        spec:
            containers:
            -   image: "vllm/vllm-openai:v0.10.1"
                resources:
                    limits:
                        nvidia.com/gpu: "1"
                args: ["--max-model-len", "131072", "--model", "meta-llama/Llama-3.1-8B-Instruct"]
                name: server
            nodeSelector:
                cloud.google.com/gke-accelerator: "nvidia-l4"
        metadata:
            labels:
                app: chat
    selector:
        matchLabels:
            app: chat
"""

TRAINER = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: python:3.12
      resources:
        requests: {nvidia.com/gpu: 1}
"""
"""One error: gpu-limit-missing."""

CHAT = Subject(
    "apps/Deployment ml/chat",
    "max_model_len",
    "131072; accelerator l4; checkpoint meta-llama/Llama-3.1-8B-Instruct; engine vllm; gpus_per_pod 1",
)


def subject(text: str, rule: str = "serving-does-not-fit", path: str = "") -> Subject:
    (found,) = samples.of_rule(samples.report(text, path=path), rule)
    return found.subject


def test_a_subject_names_the_object_the_quantity_and_what_is_stated_of_it() -> None:
    assert subject(SERVER) == CHAT


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (SERVER, "clusters/eu/chat.yml"),
        (TRAINER + "---\n" + SERVER, ""),
        (SERVER + "---\n" + TRAINER, ""),
        (REWRITTEN, ""),
        (SERVER.replace("\n", "\r\n"), ""),
        (SERVER.replace("        - name: server", "        # answers\n        - name: server"), ""),
        (SERVER.replace("apps/v1", "apps/v1beta2"), ""),
        (SERVER.replace("app: chat", "app: talk"), ""),
        (SERVER.replace("            - --model", "            - --port=8080\n            - --model"), ""),
    ],
    ids=["moved", "behind", "before", "rewritten", "line ends", "comment", "version", "labels", "another argument"],
)
def test_what_does_not_change_the_defect_leaves_its_subject(text: str, path: str) -> None:
    assert subject(text, path=path) == CHAT


def test_what_is_wrong_with_any_model_is_the_same_with_another() -> None:
    moving = SERVER.replace(":v0.10.1", ":latest")
    expected = Subject("apps/Deployment ml/chat", "moving_image", "vllm/vllm-openai:latest")
    for model in ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"):
        text = moving.replace("meta-llama/Llama-3.1-8B-Instruct", model)
        assert subject(text, "engine-image-unpinned") == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("131072", "100000"),
        ("name: chat\n", "name: talk\n"),
        ("namespace: ml", "namespace: prod"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("kind: Deployment", "kind: StatefulSet"),
    ],
)
def test_a_changed_defect_and_one_of_another_object_have_another_subject(old: str, new: str) -> None:
    assert subject(SERVER.replace(old, new)) != CHAT


@pytest.mark.parametrize(
    ("one", "other"), [("80Gi", "81920Mi"), ('"80Gi"', "85899345920"), ("8", '"8"'), ("8", "8000m")]
)
def test_an_amount_is_the_same_however_it_is_written(one: str, other: str) -> None:
    text = TRAINER.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 1, memory: MEMORY")
    values = {subject(text.replace("MEMORY", amount), "gpu-limit-missing") for amount in (one, other)}
    assert len(values) == 1


def test_a_count_is_the_same_in_quotes_and_another_where_it_is_another() -> None:
    plain, quoted, two = (TRAINER.replace("gpu: 1", f"gpu: {count}") for count in ("1", '"1"', "2"))
    assert subject(plain, "gpu-limit-missing") == subject(quoted, "gpu-limit-missing")
    assert subject(plain, "gpu-limit-missing") != subject(two, "gpu-limit-missing")


def test_what_a_table_says_of_a_machine_type_is_no_part_of_a_subject() -> None:
    text = SERVER.replace("cloud.google.com/gke-accelerator: nvidia-l4", "node.kubernetes.io/instance-type: g6.2xlarge")
    assert "; accelerator g6.2xlarge; " in subject(text).value
    assert "l4" not in subject(text).value.replace("Llama", "")


def test_an_object_without_a_namespace_is_given_none() -> None:
    assert subject(TRAINER, "gpu-limit-missing").object == "Pod train"


def test_a_workload_without_an_object_goes_by_its_name() -> None:
    compose = """\
services:
  chat:
    image: vllm/vllm-openai:v0.10.1
    command: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=131072]
    labels: {gpulint.accelerator: l4}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
"""
    found = samples.report(compose, path="stack/compose.yaml", accelerator="l4")
    assert samples.of_rule(found, "serving-does-not-fit")[0].subject.object == "chat"


# ---- about the text of a document


def test_a_finding_about_the_text_has_the_object_the_keys_and_what_stands_there() -> None:
    text = TRAINER.replace("gpu: 1}", "gpu: 1}\n      # gpulint: ignore[gpus-left-idle] for now")
    (found,) = samples.of_rule(samples.report(text), "unused-suppression")
    assert found.subject == Subject("Pod train", "", "# gpulint: ignore[gpus-left-idle] for now")


def test_a_key_that_is_stated_twice_is_named_by_its_keys_in_every_order_of_documents() -> None:
    twice = TRAINER.replace("      image: python:3.12\n", "      image: python:3.12\n      image: python:3.13\n")
    alone = subject(twice, "duplicate-key")
    assert alone == Subject("Pod train", "spec.containers[train].image", "image")
    assert (
        subject(SERVER.replace("--max-model-len=131072", "--max-model-len=4096") + "---\n" + twice, "duplicate-key")
        == alone
    )


def test_a_file_that_does_not_parse_goes_by_its_own_name() -> None:
    broken = "apiVersion: v1\nkind: Pod\nmetadata: {name: x\nspec: nvidia.com/gpu\n"
    one, other = (subject(broken, "invalid-syntax", path) for path in ("a/pod.yaml", "b/pod.yaml"))
    assert (one.object, one) == ("pod.yaml", other)


def test_a_long_text_is_told_by_its_beginning_and_from_others_like_it() -> None:
    twice = "      image: python:3.12\n      ? " + "k" * 200 + "x\n      : a\n      ? " + "k" * 200 + "x\n      : b\n"
    values = {
        subject(TRAINER.replace("      image: python:3.12\n", twice.replace("x\n", end)), "duplicate-key").value
        for end in ("x\n", "y\n")
    }
    assert {value[:161] for value in values} == {"k" * 160 + "…"}
    assert [len(value) for value in values] == [174, 174]
