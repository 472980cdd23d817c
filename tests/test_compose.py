"""docker-compose: which files are one, the words and variables with their places, the GPUs, and what is left alone."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest
from reading import place, source, values
from samples import ExampleRepository

from gpulint import adapters
from gpulint.adapters.platforms import compose_devices, compose_interpolation
from gpulint.source import documents
from gpulint.workload import Field, Role, Unknown, Workload

IMAGE = "image: vllm/vllm-openai:v0.10.1"
GPU = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}"


def workloads(text: str, files: Mapping[str, str] | None = None) -> list[Workload]:
    held = ExampleRepository({path: content.encode() for path, content in (files or {}).items()})
    loaded = documents.load("deploy/compose.yaml", textwrap.dedent(text).encode())
    return [one for document in loaded.documents for one in adapters.read(document, held)]


def role(text: str, files: Mapping[str, str] | None = None) -> Role:
    (workload,) = workloads(text, files)
    (found,) = workload.roles
    return found


def service(*lines: str, files: Mapping[str, str] | None = None) -> Role:
    return role("services:\n  chat:\n" + "".join(f"    {line}\n" for line in lines), files)


def claimed(text: str) -> str:
    (document,) = documents.load("compose.yaml", textwrap.dedent(text).encode()).documents
    adapter = adapters.find_adapter(document)
    return adapters.kind(adapter, document) if adapter else ""


def asked(field: Field | None) -> tuple[object, str]:
    assert field is not None
    return ("unknown", field.value.category) if isinstance(field.value, Unknown) else (field.value, "")


# ---- which files are one


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("services: {web: {image: nginx}}", id="one service"),
        pytest.param("version: '3'\nservices: {web: {build: .}}\nx-common: {a: 1}", id="a version and an extension"),
        pytest.param("name: stack\nservices: {web: {environment: [A=1]}}", id="a patch for another file"),
        pytest.param("include: [other.yaml]", id="a file that names others"),
    ],
)
def test_services_of_composes_keys_are_a_compose_file(text: str) -> None:
    assert claimed(text) == "docker-compose"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("services: {web: {image: {repository: nginx, tag: '1'}, replicaCount: 1}}", id="Helm values"),
        pytest.param("services: [postgres]\nimage: python", id="GitLab CI"),
        pytest.param("apiVersion: v1\nkind: Foo\nservices: {web: {image: nginx}}", id="a Kubernetes object"),
        pytest.param("services: {}\nreplicas: 1", id="no service"),
        pytest.param("services: {web: nginx}", id="a service that is no mapping"),
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert claimed(text) != "docker-compose"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("services: {web: {image: nginx, ports: ['80:80']}}", id="no GPU"),
        pytest.param(f"services: {{vllm: {{{GPU}}}}}", id="a patch without image and build"),
        pytest.param("services: {web: null}\nx-a: {image: vllm/vllm-openai}", id="an empty service"),
    ],
)
def test_a_service_without_gpus_or_image_is_no_workload(text: str) -> None:
    assert workloads(text) == []


# ---- the command


def test_a_list_of_words_is_read_each_at_its_place() -> None:
    found = service(IMAGE, GPU, "command: ['--model', 'Qwen/Qwen3-8B', '--tensor-parallel-size', '2']")
    assert values(found, "engine", "engine_version", "checkpoint", "tensor_parallel") == [
        "vllm",
        "0.10.1",
        "Qwen/Qwen3-8B",
        2,
    ]
    assert source(found, "tensor_parallel") == "'2'"


def test_a_string_is_taken_apart_with_exact_places() -> None:
    found = service(IMAGE, GPU, "command: --model 'Qwen/Qwen3-8B' --max-model-len 4096")
    assert values(found, "checkpoint", "max_model_len") == ["Qwen/Qwen3-8B", 4096]
    assert source(found, "max_model_len") == "4096"


def test_a_folded_string_is_one_command() -> None:
    found = service(IMAGE, GPU, "command: >-", "  --model Qwen/Qwen3-8B", "  --tensor-parallel-size ${TP:-2}")
    assert values(found, "checkpoint", "tensor_parallel") == ["Qwen/Qwen3-8B", 2]
    assert place(found, "tensor_parallel") == "7:36-37"


def test_a_script_is_read_after_compose_has_filled_it_in() -> None:
    found = service(
        IMAGE,
        GPU,
        "entrypoint:",
        "  - bash",
        "  - -c",
        "  - |",
        "    LEN=$${MAX:-4096}",
        '    exec vllm serve "$$@" --max-model-len $$LEN --gpu-memory-utilization ${UTIL:-0.8}',
        "  - --",
        "command: ['Qwen/Qwen3-8B']",
    )
    assert values(found, "checkpoint", "max_model_len", "gpu_memory_utilization") == ["Qwen/Qwen3-8B", 4096, 0.8]
    assert source(found, "gpu_memory_utilization") == "0.8"


def test_an_emptied_entry_point_leaves_the_command_as_the_program() -> None:
    found = service(IMAGE, GPU, 'entrypoint: ""', "command: [nvidia-smi]")
    assert values(found, "engine", "program") == [None, "nvidia-smi"]


def test_alternatives_of_a_script_keep_what_they_agree_on() -> None:
    found = service(
        IMAGE,
        GPU,
        "entrypoint:",
        "  - sh",
        "  - -c",
        "  - |",
        '    if [ "$$LINK" = 1 ]; then exec vllm serve Qwen/Qwen3-8B --max-num-seqs 4; fi',
        "    exec vllm serve Qwen/Qwen3-8B --max-num-seqs 8",
    )
    assert values(found, "checkpoint", "gpus_per_pod") == ["Qwen/Qwen3-8B", 2]
    assert isinstance(found.value("max_num_seqs"), Unknown)


def test_nothing_runs_after_a_program_that_takes_the_place_of_the_shell() -> None:
    script = "exec vllm serve Qwen/Qwen3-8B; vllm serve Qwen/Qwen3-32B"
    found = service(IMAGE, GPU, "entrypoint: [sh, -c]", f'command: ["{script}"]')
    assert values(found, "checkpoint", "gpus_per_replica") == ["Qwen/Qwen3-8B", 2]


@pytest.mark.parametrize(
    "script",
    [
        "exec vllm serve Qwen/Qwen3-8B & vllm serve Qwen/Qwen3-32B",
        "(exec vllm serve Qwen/Qwen3-8B) & vllm serve Qwen/Qwen3-32B",
        "exec vllm serve Qwen/Qwen3-8B 2>&1 | tee log; vllm serve Qwen/Qwen3-32B",
        "exec > log; vllm serve Qwen/Qwen3-8B & vllm serve Qwen/Qwen3-32B",
    ],
)
def test_a_shell_of_its_own_leaves_the_others_running(script: str) -> None:
    text = f"services: {{chat: {{{IMAGE}, gpus: [{{count: 2}}], entrypoint: [sh, -c], command: ['{script}']}}}}"
    (found,) = workloads(text)
    assert [one.value("checkpoint") for one in found.roles] == ["Qwen/Qwen3-8B", "Qwen/Qwen3-32B"]


def test_the_gpus_that_a_script_counts_are_those_of_the_service() -> None:
    found = service(
        IMAGE,
        GPU,
        "entrypoint: [sh, -c]",
        'command: ["vllm serve Qwen/Qwen3-8B --tensor-parallel-size $$(nvidia-smi -L | wc -l)"]',
    )
    assert found.value("tensor_parallel") == 2


# ---- variables


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A:-x}", "x"),
        ("${A-x}", "x"),
        ("${SET:-x}", "one"),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY-x}", ""),
        ("${A:-${B:-all}}", "all"),
        ("${A:-${SET}}", "one"),
        ("$SET/${SET}", "one/one"),
        ("$$SET and $${A}", "$SET and ${A}"),
        ("${SET:+--flag}", "--flag"),
        ("${A:+--flag}", ""),
        ("a$ b", "a$ b"),
        ('{"a": "${A:-}"}', '{"a": ""}'),
    ],
)
def test_references_are_filled_in_as_compose_does(text: str, filled: str) -> None:
    found = compose_interpolation.fill(text, {"SET": "one", "EMPTY": ""})
    assert (found.text, found.holes) == (filled, ())


@pytest.mark.parametrize("text", ["$A", "${A}", "${A:?set it first}", "${A?no}", "${B:-${A}}"])
def test_a_variable_without_a_value_leaves_a_hole(text: str) -> None:
    assert [hole.name for hole in compose_interpolation.fill(text, {}).holes] == ["A"]


def test_a_default_stands_where_it_is_written() -> None:
    found = compose_interpolation.fill("--tp=${TP:-2}", {})
    assert found.span(5, 6) == (11, 12)
    assert found.span(0, 6) == (0, 13)
    assert compose_interpolation.fill("${A:-x}/${B:-y}", {}).span(0, 3) == (0, 15)


def test_the_env_file_beside_the_compose_file_states_variables() -> None:
    found = service(
        IMAGE, GPU, "command: ['--model', '${MODEL}']", files={"deploy/.env": "# ours\nMODEL='Qwen/Qwen3-8B'\n"}
    )
    assert found.value("checkpoint") == "Qwen/Qwen3-8B"
    assert source(found, "checkpoint") == "${MODEL}"


@pytest.mark.parametrize("word", ["${MODEL}", "${MODEL:?set it}", "${MODEL:-}"])
def test_a_variable_that_nothing_states_is_the_callers(word: str) -> None:
    found = service(IMAGE, GPU, f"command: ['--model', '{word}']")
    assert asked(found.fields["checkpoint"]) == ("unknown", "caller's variable")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["environment: {MODEL_ID: Qwen/Qwen3-8B}"], id="a map"),
        pytest.param(["environment:", "  - MODEL_ID=Qwen/Qwen3-8B"], id="a list"),
        pytest.param(["environment:", "  MODEL_ID: ${ID:-Qwen/Qwen3-8B}"], id="a default"),
        pytest.param(["env_file: chat.env"], id="a file"),
        pytest.param(["env_file:", "  - path: chat.env"], id="a file with a path"),
    ],
)
def test_the_environment_of_a_container(lines: list[str]) -> None:
    image = "image: ghcr.io/huggingface/text-generation-inference:3.3.4"
    found = service(image, GPU, *lines, files={"deploy/chat.env": "export MODEL_ID=Qwen/Qwen3-8B # ours\n"})
    assert found.value("checkpoint") == "Qwen/Qwen3-8B"


def test_a_bare_name_is_taken_from_the_caller() -> None:
    found = service(IMAGE, GPU, "environment: [CUDA_VISIBLE_DEVICES]", "command: ['--model', 'a/b']")
    assert found.value("visible_devices") is None


# ---- GPUs


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (["gpus: all"], ("unknown", "any host")),
        (["gpus: [{count: 2}]"], (2, "")),
        (["gpus: [{driver: nvidia}]"], ("unknown", "any host")),
        (["runtime: nvidia", "environment: ['NVIDIA_VISIBLE_DEVICES=0,1']"], (2, "")),
        (["runtime: nvidia", "environment: [NVIDIA_VISIBLE_DEVICES=all]"], ("unknown", "any host")),
        (["runtime: nvidia"], ("unknown", "image default")),
        (["runtime: nvidia", "environment: [NVIDIA_VISIBLE_DEVICES]"], ("unknown", "caller's variable")),
        (["devices: [/dev/kfd, /dev/dri]"], ("unknown", "any host")),
        (["devices: ['nvidia.com/gpu=0', 'nvidia.com/gpu=1']"], (2, "")),
        (["devices: ['nvidia.com/gpu=all']"], ("unknown", "any host")),
        (["gpus: all", "environment: {CUDA_VISIBLE_DEVICES: '0,1,2'}"], (3, "")),
    ],
)
def test_how_many_gpus_a_service_is_given(lines: list[str], count: tuple[object, str]) -> None:
    assert asked(service("image: pytorch/pytorch", *lines).fields["gpus_per_pod"]) == count


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ("count: 1", (1, "")),
        ("count: all", ("unknown", "any host")),
        ("count: '${GPUS:-all}'", ("unknown", "any host")),
        ("count: '${GPUS:-4}'", (4, "")),
        ("count: '${GPUS}'", ("unknown", "caller's variable")),
        ("device_ids: ['0', '3']", (2, "")),
        ("device_ids: ['0,1,2,3']", (4, "")),
        ('device_ids: ["${IDS:-${CUDA_VISIBLE_DEVICES:-0,1}}"]', (2, "")),
        ("driver: nvidia", ("unknown", "any host")),
    ],
)
def test_how_many_gpus_are_reserved(request_: str, count: tuple[object, str]) -> None:
    devices = f"devices: [{{{request_}, capabilities: [gpu]}}]"
    found = service("image: pytorch/pytorch", f"deploy: {{resources: {{reservations: {{{devices}}}}}}}")
    assert asked(found.fields["gpus_per_pod"]) == count


def test_a_swarm_reserves_gpus_as_generic_resources() -> None:
    generic = "generic_resources: [{discrete_resource_spec: {kind: NVIDIA-GPU, value: 2}}]"
    found = service("image: pytorch/pytorch", f"deploy: {{resources: {{reservations: {{{generic}}}}}}}")
    assert found.value("gpus_per_pod") == 2


def test_the_host_decides_which_gpu_it_is() -> None:
    assert asked(service("image: pytorch/pytorch", GPU).fields["accelerator"]) == ("unknown", "any host")


def test_a_reservation_of_something_else_is_no_gpu() -> None:
    devices = "devices: [{driver: tpm, count: 1, capabilities: [tpm]}]"
    assert workloads(f"services: {{a: {{image: b, deploy: {{resources: {{reservations: {{{devices}}}}}}}}}}}") == []


# ---- what else a service states


@pytest.mark.parametrize(
    ("line", "default"),
    [
        ("restart: always", True),
        ("shm_size: 64m", True),
        ("shm_size: 16gb", False),
        ("ipc: host", False),
        ("ipc: private", True),
        ("tmpfs: [/dev/shm]", False),
        ("volumes: ['/dev/shm:/dev/shm']", False),
        ("volumes: [{type: tmpfs, target: /dev/shm}]", False),
    ],
)
def test_docker_gives_64_mib_of_shared_memory(line: str, default: bool) -> None:
    assert service("image: pytorch/pytorch", GPU, line).value("shared_memory_default") is default


@pytest.mark.parametrize(
    ("line", "memory_bytes"),
    [("mem_limit: 2g", 2 * 2**30), ("mem_limit: ${MEM:-512m}", 512 * 2**20), ("mem_limit: '1073741824'", 2**30)],
)
def test_sizes_count_in_steps_of_1024(line: str, memory_bytes: int) -> None:
    assert service("image: pytorch/pytorch", GPU, line).value("host_memory_bytes") == memory_bytes


def test_replicas_and_scale() -> None:
    assert service("image: pytorch/pytorch", GPU, "scale: 3").value("replicas") == 3
    assert service("image: pytorch/pytorch", "gpus: all", "deploy: {replicas: 2}").value("replicas") == 2


def test_a_launcher_may_join_other_hosts() -> None:
    found = service("image: pytorch/pytorch", GPU, "command: torchrun --nnodes=2 --nproc_per_node=2 train.py")
    assert values(found, "engine", "processes_per_pod", "pods_per_replica") == ["torchrun", 2, 2]
    assert isinstance(found.value("gpus_per_replica"), Unknown)


def test_what_a_build_runs_is_the_repositorys_own() -> None:
    assert asked(service("build: .", GPU).fields["program"]) == ("unknown", "own program")


# ---- services made of others


def test_a_service_is_merged_with_the_one_it_extends() -> None:
    found = workloads(
        f"""
        services:
          base:
            {IMAGE}
            environment: {{HF_HOME: /x}}
          chat:
            extends: {{service: base}}
            gpus: [{{count: 1}}]
            command: ['--model', 'Qwen/Qwen3-8B']
        """
    )
    (chat,) = [one for one in found if one.name == "chat"]
    assert values(chat.roles[0], "engine", "gpus_per_pod", "checkpoint") == ["vllm", 1, "Qwen/Qwen3-8B"]


def test_a_service_of_another_file_is_read_there_and_shown_where_it_is_named() -> None:
    files = {"deploy/base.yaml": f"services: {{base: {{{IMAGE}, {GPU}, command: [--model, Qwen/Qwen3-8B]}}}}"}
    found = service("extends: {file: base.yaml, service: base}", files=files)
    assert values(found, "engine", "gpus_per_pod", "checkpoint") == ["vllm", 2, "Qwen/Qwen3-8B"]
    assert found.fields["gpus_per_pod"].origins[0].location().path == "deploy/compose.yaml"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("services: {a: {extends: {service: a}, gpus: all}}", id="itself"),
        pytest.param("services: {a: {extends: b, gpus: all}, b: {extends: a, gpus: all}}", id="one another"),
        pytest.param("services: {a: {extends: {file: gone.yaml, service: a}, gpus: all}}", id="a file that is gone"),
    ],
)
def test_what_extends_nothing_that_can_be_read_is_no_workload(text: str) -> None:
    assert workloads(text) == []


def test_the_override_file_beside_the_default_one_comes_first() -> None:
    files = {"deploy/compose.override.yml": "services: {chat: {gpus: [{count: 4}], command: [--model, Qwen/Qwen3-8B]}}"}
    found = service(IMAGE, GPU, "command: ['--model', 'a/b']", files=files)
    assert found.value("checkpoint") == "Qwen/Qwen3-8B"
    assert found.fields["checkpoint"].origins[0].location().path == "deploy/compose.yaml"


def test_anchors_and_merge_keys_are_the_files_own() -> None:
    found = workloads(
        f"""
        x-gpu: &gpu
          {GPU}
        services:
          one: {{<<: *gpu, image: pytorch/pytorch}}
          two: {{<<: *gpu, image: pytorch/pytorch}}
        """
    )
    assert [one.roles[0].value("gpus_per_pod") for one in found] == [2, 2]


# ---- a file behind the default one, scripts that are mounted, images that are partly the caller's


BASE = {"deploy/docker-compose.yml": "services: {chat: {image: ollama/ollama:0.9.0}, web: {image: nginx}}"}


def further(text: str, files: Mapping[str, str], path: str = "deploy/docker-compose.gpu.yml") -> list[Workload]:
    held = ExampleRepository({name: content.encode() for name, content in files.items()})
    (document,) = documents.load(path, text.encode()).documents
    return list(adapters.read(document, held))


def test_gpus_that_a_further_file_gives_are_given_to_the_service_of_the_default_one() -> None:
    (found,) = further(f"services: {{chat: {{{GPU}}}}}", BASE)
    assert values(found.roles[0], "engine", "engine_version", "gpus_per_pod") == ["ollama", "0.9.0", 2]
    assert found.roles[0].fields["engine"].origins[0].document.path == "deploy/docker-compose.gpu.yml"


@pytest.mark.parametrize(
    ("text", "files", "path"),
    [
        pytest.param("services: {chat: {restart: always}}", BASE, "deploy/compose.prod.yml", id="it gives no GPU"),
        pytest.param(f"services: {{chat: {{{GPU}}}}}", {}, "deploy/compose.gpu.yml", id="no default file"),
        pytest.param(f"services: {{else: {{{GPU}}}}}", BASE, "deploy/compose.gpu.yml", id="no such service there"),
        pytest.param(f"services: {{chat: {{{GPU}}}}}", BASE, "deploy/docker-compose.override.yml", id="read with it"),
        pytest.param(f"services: {{chat: {{{GPU}}}}}", BASE, "deploy/gpu.yml", id="another name"),
        pytest.param(f"services: {{chat: {{{GPU}}}}}", BASE, "other/compose.gpu.yml", id="another folder"),
    ],
)
def test_other_files_that_hold_parts_of_services_state_no_workload(
    text: str, files: Mapping[str, str], path: str
) -> None:
    assert not further(text, files, path)


@pytest.mark.parametrize(
    ("image", "engine"),
    [
        ("ollama/ollama:${TAG}", "ollama"),
        ("ollama/ollama:${TAG:?it must be set}", "ollama"),
        ("${REGISTRY}/ollama/ollama:0.9.0", "ollama"),
        ("${IMAGE}", ""),
        ("${NAME}:${TAG}", ""),
        ("example.com/${NAME}:0.9.0", ""),
    ],
)
def test_an_image_keeps_its_name_where_only_the_registry_or_the_tag_is_the_callers(image: str, engine: str) -> None:
    found = service(f"image: '{image}'", GPU)
    assert found.text("engine") == engine and "moving_image" not in found.fields


SCRIPT = {"deploy/start.sh": '#!/bin/sh\nexec vllm serve "$MODEL" --max-model-len ${LENGTH:-4096} "$@"\n'}
MOUNT = "volumes: ['./start.sh:/opt/start:ro']"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["entrypoint: [/opt/start]", "command: [-tp, '2']"], id="the program"),
        pytest.param(["entrypoint: [bash, /opt/start, -tp, '2']"], id="a shell's script"),
        pytest.param(["entrypoint: ['/bin/sh', './start']", "working_dir: /opt", "command: -tp 2"], id="a folder"),
    ],
)
def test_a_script_that_is_mounted_is_read_with_the_words_it_is_given(lines: list[str]) -> None:
    found = service(IMAGE, GPU, MOUNT, "environment: {MODEL: a/b}", *lines, files=SCRIPT)
    assert values(found, "checkpoint", "max_model_len", "tensor_parallel") == ["a/b", 4096, 2]
    places = [field.origins[0] for name in ("checkpoint", "max_model_len") if (field := found.fields[name]).origins]
    assert {origin.document.path for origin in places} == {"deploy/compose.yaml"}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["entrypoint: [/opt/other]"], id="another file"),
        pytest.param(["entrypoint: [python, /opt/start]"], id="another interpreter"),
        pytest.param(["entrypoint: [bash, $WHICH, /opt/start]"], id="a word that is not known"),
    ],
)
def test_another_file_is_not_taken_for_the_script(lines: list[str]) -> None:
    found = service(IMAGE, GPU, MOUNT, *lines, files=SCRIPT)
    assert "max_model_len" not in found.fields


def test_a_variable_of_a_file_that_is_not_there_keeps_its_default_open() -> None:
    found = service(IMAGE, GPU, MOUNT, "entrypoint: [/opt/start]", "env_file: .env", files=SCRIPT)
    assert found.text("checkpoint") == ""
    assert asked(found.fields["max_model_len"]) == ("unknown", "another object")


@pytest.mark.parametrize(
    ("devices", "gpus"),
    [
        ("[/dev/dri]", ("unknown", compose_devices.HOST)),
        ("['/dev/dri/:/dev/dri/']", ("unknown", compose_devices.HOST)),
        ("['/dev/dri/renderD128:/dev/dri/renderD128']", (1, "")),
        ("[/dev/dri/renderD128, /dev/dri/renderD129, /dev/dri/card0]", (2, "")),
    ],
)
def test_render_nodes_are_the_gpus_of_an_engine(devices: str, gpus: tuple[object, str]) -> None:
    found = service("image: intel/vllm:0.10.0-xpu", "command: vllm serve a/b", f"devices: {devices}")
    assert asked(found.fields["gpus_per_pod"]) == gpus
    assert "is asked for" not in str(found.value("gpus_per_pod"))


def test_render_nodes_of_a_program_that_is_no_engine_may_only_decode_video() -> None:
    assert not workloads("services: {media: {image: jellyfin/jellyfin, devices: [/dev/dri]}}")
