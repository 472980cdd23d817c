"""Dockerfile: the image that a build stands on, what it starts, and how a compose service is read with it."""

from __future__ import annotations

import pytest
from reading import values
from test_compose import GPU, asked, role, service, workloads

from gpulint.adapters.programs import dockerfile
from gpulint.adapters.programs.dockerfile import BuiltImage, StartCommand
from gpulint.workload import Unknown

FILES = {"deploy/Dockerfile": "FROM vllm/vllm-openai:v0.10.1\nCMD ['--model', 'a/b']\n".replace("'", '"')}


def built(text: str, target: str = "", **arguments: str) -> BuiltImage:
    found = dockerfile.read(text, arguments, target)
    assert found is not None
    return found


# ---- what it states


@pytest.mark.parametrize(
    ("text", "image"),
    [
        pytest.param("FROM a/b:1", "a/b:1", id="one stage"),
        pytest.param("# syntax=x\n\nFROM --platform=linux/amd64 a/b:1 AS run", "a/b:1", id="a platform and a name"),
        pytest.param("FROM c AS build\nRUN make\nFROM a/b:1\nCOPY --from=build /x /x", "a/b:1", id="the last stage"),
        pytest.param("FROM a/b:1 AS base\nFROM base", "a/b:1", id="a stage on an earlier one"),
        pytest.param("ARG TAG=1\nFROM a/b:${TAG}", "a/b:1", id="an argument's default"),
        pytest.param("FROM a/b:${TAG:-1}", "a/b:1", id="a default where it is used"),
        pytest.param("FROM a/b:1\nRUN pip install vllm==0.9", "a/b:$built", id="another release is installed"),
    ],
)
def test_the_image_is_the_one_that_the_last_stage_is_built_on(text: str, image: str) -> None:
    assert built(text).image == image + dockerfile.BUILT


def test_a_target_and_the_arguments_of_the_build_count() -> None:
    assert built("FROM a:1 AS one\nFROM b:1 AS two", target="one").image == "a:1@built"
    assert built("ARG TAG=1\nFROM a:$TAG", TAG="2").image == "a:2@built"


@pytest.mark.parametrize("text", ["", "RUN make", "FROM $IMAGE", "FROM scratch", "FROM a:${TAG}"])
def test_an_image_that_is_not_stated_is_none(text: str) -> None:
    assert dockerfile.read(text, {}) is None


@pytest.mark.parametrize(
    ("steps", "entrypoint", "command"),
    [
        pytest.param(
            'ENTRYPOINT ["a", "b"]', StartCommand(("a", "b")), StartCommand(), id="its own entry point has no command"
        ),
        pytest.param('CMD ["c"]', None, StartCommand(("c",)), id="the base image's entry point"),
        pytest.param("CMD c \\\nd", None, StartCommand(script="c   d"), id="a shell's script over two lines"),
        pytest.param('CMD ["a"]\nCMD ["b"]', None, StartCommand(("b",)), id="the last one"),
        pytest.param('CMD ["a"]\nFROM x\n', None, StartCommand(("a",)), id="a stage before"),
        pytest.param('CMD ["a"]\nFROM x\nENTRYPOINT ["b"]', StartCommand(("b",)), StartCommand(), id="taken away"),
        pytest.param("# CMD a\nLABEL x=y", None, None, id="nothing"),
    ],
)
def test_what_it_starts_is_the_last_entry_point_and_command(
    steps: str, entrypoint: StartCommand | None, command: StartCommand | None
) -> None:
    found = built(f"FROM a:1 AS x\n{steps}")
    told = [one and one._replace(places=(), at=0) for one in (found.entrypoint, found.command)]
    assert told == [entrypoint, command]


def test_variables_are_those_that_refer_to_no_other() -> None:
    assert built('FROM a:1\nENV A=1 B="x y" C=$A\nENV OLD a b\n').variables == {"A": "1", "B": "x y", "OLD": "a b"}


# ---- a compose service with it


def test_a_service_is_what_its_dockerfile_builds_on_and_starts() -> None:
    found = service("build: .", GPU, files=FILES)
    assert values(found, "engine", "engine_version", "checkpoint") == ["vllm", "0.10.1", "a/b"]


@pytest.mark.parametrize(
    ("lines", "checkpoint"),
    [
        (["build: {context: .}", "command: [--model, c/d]"], "c/d"),
        (["build: .", "entrypoint: [vllm, serve, c/d]"], "c/d"),
        (["build: .", "command: vllm serve c/d", "entrypoint: []"], "c/d"),
    ],
)
def test_what_the_service_states_stands_before_the_dockerfile(lines: list[str], checkpoint: str) -> None:
    assert values(service(*lines, GPU, files=FILES), "engine", "checkpoint") == ["vllm", checkpoint]


def test_an_engine_that_is_installed_is_read_by_its_entry_point_without_a_release() -> None:
    text = 'FROM nvidia/cuda:12\nRUN pip install vllm==0.9.1\nENTRYPOINT ["vllm", "serve"]\n'
    found = service("build: .", "command: a/b -tp 2", GPU, files={"deploy/Dockerfile": text})
    assert values(found, "engine", "checkpoint", "tensor_parallel") == ["vllm", "a/b", 2]
    assert "engine_version" not in found.fields


def test_no_tag_of_a_base_image_is_called_moving() -> None:
    found = service("build: .", GPU, files={"deploy/Dockerfile": "FROM vllm/vllm-openai\n"})
    assert found.text("engine") == "vllm" and "moving_image" not in found.fields


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        (["build: ."], {}),
        (["build: {context: 'https://example.com/a.git'}"], FILES),
        (["build: {context: ., dockerfile: $FILE}"], FILES),
        (["build: {context: ., dockerfile_inline: FROM a}"], FILES),
        (["build: ../.."], FILES),
    ],
)
def test_a_dockerfile_that_is_not_there_leaves_the_program_open(lines: list[str], files: dict[str, str]) -> None:
    found = service(*lines, GPU, files=files)
    assert found.text("engine") == "" and asked(found.fields["program"]) == ("unknown", "own program")


def test_an_own_program_is_named() -> None:
    text = 'FROM python:3.12\nCMD ["python", "app.py"]\n'
    found = service("build: .", GPU, files={"deploy/Dockerfile": text})
    assert found.text("engine") == "" and found.text("program") == "app.py"
    assert isinstance(found.value("checkpoint"), Unknown)


def test_an_entry_point_that_is_taken_away_leaves_the_command_alone() -> None:
    text = 'FROM vllm/vllm-openai:v0.10.1\nENTRYPOINT []\nCMD ["python3", "-m", "uvicorn", "app:app"]\n'
    found = service("build: .", GPU, files={"deploy/Dockerfile": text})
    assert found.text("engine") == "" and found.text("program") == "uvicorn"


def test_an_engine_that_is_built_for_processors_is_no_gpu_work() -> None:
    text = 'FROM ghcr.io/ggml-org/llama.cpp:server\nCMD ["-m", "/m/a.gguf"]\n'
    assert not workloads("services: {llm: {build: .}}", {"deploy/Dockerfile": text})
    assert role(f"services: {{llm: {{build: ., {GPU}}}}}", {"deploy/Dockerfile": text})


@pytest.mark.parametrize(
    "command", ['["--model", "a/b", "--max-model-len", "8192"]', '["--model", \\\n  "a/b", "--max-model-len", "8192"]']
)
def test_words_of_a_dockerfile_are_shown_where_it_is_named_and_changed_where_they_stand(command: str) -> None:
    text = f"# 8192\nFROM vllm/vllm-openai:v0.10.1\nCMD {command}\n"
    found = service("build: .", GPU, files={"deploy/Dockerfile": text})
    shown, stated = found.fields["max_model_len"].origins
    assert (shown.document.path, shown.location().line) == ("deploy/compose.yaml", 3)
    assert (stated.document.path, stated.text()) == ("deploy/Dockerfile", "8192")
    assert found.arguments is None


def test_a_shells_script_of_a_dockerfile_is_read_at_its_place() -> None:
    text = "FROM nvidia/cuda:12\nCMD vllm serve a/b \\\n    --max-model-len 8192\n"
    found = service("build: .", GPU, files={"deploy/Dockerfile": text})
    assert values(found, "engine", "checkpoint", "max_model_len") == ["vllm", "a/b", 8192]
    assert found.fields["max_model_len"].origins[1].location().line == 3
