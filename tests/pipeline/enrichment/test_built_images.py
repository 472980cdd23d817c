"""A container whose image the repository builds runs what the Dockerfile and its scripts start."""

from __future__ import annotations

import textwrap
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository
from gpulint.workload import Role

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: chat}
    spec:
      containers:
        - name: server
          image: IMAGE
          resources: {limits: {nvidia.com/gpu: 2}}
"""
IMAGE = "registry.example.com/team/llm:1.0"
SCRIPT = """
    #!/bin/bash
    ARGS=(--model "$MODEL_ID" --tensor-parallel-size "${TP:-1}")
    exec vllm serve "${ARGS[@]}" "$@"
"""


def pod(image: str = IMAGE, **keys: str) -> str:
    further = "".join(f"          {name}: {value}\n" for name, value in keys.items())
    return textwrap.dedent(POD.replace("IMAGE", image) + textwrap.indent(textwrap.dedent(further), " " * 10))


def read(files: dict[str, str], path: str = "k8s/pod.yaml") -> list[Role]:
    held = ExampleRepository({name: textwrap.dedent(text).lstrip("\n").encode() for name, text in files.items()})
    repository = cast("Repository", held)
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def values(role: Role, *names: str) -> list[object]:
    return [role.value(name) for name in names]


def test_a_script_of_the_image_gets_the_variables_and_the_arguments_of_the_manifest() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(
                command='["/entrypoint.sh"]',
                args='["--max-model-len", "4096"]',
                env='[{name: MODEL_ID, value: Qwen/Qwen3-8B}, {name: TP, value: "2"}]',
            ),
            "docker/llm/Dockerfile": "FROM nvidia/cuda:12.4.1\nCOPY scripts/start.sh /entrypoint.sh\n",
            "docker/llm/scripts/start.sh": SCRIPT,
        }
    )
    assert values(role, "engine", "checkpoint", "tensor_parallel", "max_model_len") == [
        "vllm",
        "Qwen/Qwen3-8B",
        2,
        4096,
    ]
    tensor_parallel = role.fields["tensor_parallel"]
    assert [origin.document.path for origin in tensor_parallel.origins] == [
        "k8s/pod.yaml",
        "docker/llm/scripts/start.sh",
    ]
    assert tensor_parallel.origins[0].text() == "2"


STARTS = {
    "entry point and command": ('ENTRYPOINT ["vllm", "serve"]\nCMD ["Qwen/Qwen3-8B"]', {}, "Qwen/Qwen3-8B"),
    "args replace the command": (
        'ENTRYPOINT ["vllm", "serve"]\nCMD ["Qwen/Qwen3-8B"]',
        {"args": '["Qwen/Qwen3-4B"]'},
        "Qwen/Qwen3-4B",
    ),
    "a shell's command": ("CMD vllm serve Qwen/Qwen3-8B --port 80", {}, "Qwen/Qwen3-8B"),
    "a variable of the image": ("ENV M=Qwen/Qwen3-8B\nCMD vllm serve $M", {}, "Qwen/Qwen3-8B"),
    "the manifest's variable over the image's": (
        "ENV M=Qwen/Qwen3-8B\nCMD vllm serve $M",
        {"env": "[{name: M, value: Qwen/Qwen3-4B}]"},
        "Qwen/Qwen3-4B",
    ),
    "an argument of the build": ("ARG M=Qwen/Qwen3-8B\nENV M=${M}\nCMD vllm serve $M", {}, "Qwen/Qwen3-8B"),
    "a script that runs the command": (
        'COPY run.sh /\nENTRYPOINT ["/run.sh"]\nCMD ["vllm", "serve", "a/b"]',
        {},
        "a/b",
    ),
    "a script in a folder of PATH": (
        'COPY run.sh /usr/local/bin/\nENTRYPOINT ["run.sh"]\nCMD vllm serve a/b',
        {},
        "a/b",
    ),
    "a script from another stage": (
        'COPY --from=files /in/run.sh /run.sh\nENTRYPOINT ["/run.sh"]\nCMD ["vllm", "serve", "a/b"]',
        {},
        "a/b",
    ),
}


@pytest.mark.parametrize(("steps", "keys", "checkpoint"), STARTS.values(), ids=STARTS)
def test_what_an_image_starts_and_what_the_manifest_replaces(steps: str, keys: dict[str, str], checkpoint: str) -> None:
    dockerfile = f"FROM a AS files\nWORKDIR /in\nCOPY *.sh ./\nFROM nvidia/cuda:12.4.1\n{steps}\n"
    run = '#!/bin/sh\nset -e\nexec "$@"\n'
    (role,) = read({"k8s/pod.yaml": pod(**keys), "llm/Dockerfile": dockerfile, "llm/run.sh": run})
    assert values(role, "engine", "checkpoint") == ["vllm", checkpoint]


def test_a_command_of_the_manifest_leaves_nothing_of_the_image() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(command='["sleep", "infinity"]'),
            "llm/Dockerfile": 'FROM vllm/vllm-openai:v0.10.1\nCMD ["--model", "a/b"]\n',
        }
    )
    assert role.text("engine") == ""


def test_a_base_image_of_an_engine_is_that_engine_in_its_release() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(args='["--model", "a/b"]'),
            "llm/Dockerfile": "FROM vllm/vllm-openai:v0.10.1\nRUN pip install boto3\n",
        }
    )
    assert values(role, "engine", "checkpoint", "engine_version") == ["vllm", "a/b", "0.10.1"]


@pytest.mark.parametrize(
    ("steps", "release"),
    [
        pytest.param("RUN pip install vllm==0.8.5", "0.8.5", id="pinned"),
        pytest.param("RUN pip install --no-cache-dir \\\n    'vllm[audio]==0.8.5' ray", "0.8.5", id="continued"),
        pytest.param("ARG V=0.8.5\nRUN uv pip install vllm==${V}", None, id="an argument that the build may set"),
        pytest.param("RUN pip install vllm", None, id="not pinned"),
        pytest.param(
            'RUN if [ "$V" = a ]; then pip install vllm==0.8.5; else pip install vllm; fi', None, id="one of two"
        ),
        pytest.param("RUN pip install vllm==0.8.5 vllm-flash-attn==2.6 /wheels/vllm", "0.8.5", id="other names"),
        pytest.param("COPY requirements.txt .\nRUN pip install -r requirements.txt", "0.9.2", id="requirements"),
    ],
)
def test_the_release_that_a_dockerfile_installs(steps: str, release: str | None) -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(),
            "llm/Dockerfile": f'FROM nvidia/cuda:12.4.1\nWORKDIR /app\n{steps}\nENTRYPOINT ["vllm", "serve", "a/b"]\n',
            "llm/requirements.txt": "ray>=2\nvllm==0.9.2  # CUDA 12.6\n",
        }
    )
    assert values(role, "engine", "engine_version") == ["vllm", release]


def test_a_python_program_is_found_where_the_image_has_it() -> None:
    program = """
        import os
        from vllm import LLM
        llm = LLM(model=os.environ["MODEL"], tensor_parallel_size=2)
    """
    (role,) = read(
        {
            "k8s/pod.yaml": pod(env="[{name: MODEL, value: a/b}]"),
            "llm/Dockerfile": 'FROM python:3.12\nWORKDIR /app\nCOPY src/ /app/\nCMD ["python", "-m", "server.main"]\n',
            "llm/src/server/main.py": program,
            "other/server/main.py": "from vllm import LLM\nLLM(model='c/d')\n",
        }
    )
    assert values(role, "engine", "checkpoint", "tensor_parallel") == ["vllm", "a/b", 2]


def test_another_dockerfile_of_the_repository_is_the_base() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(),
            "llm/Dockerfile": 'ARG REG=r.example.com\nFROM ${REG}/team/base:1\nCMD ["a/b"]\n',
            "base/Dockerfile": 'FROM nvidia/cuda:12.4.1\nENTRYPOINT ["vllm", "serve"]\nCMD ["c/d"]\n',
        }
    )
    assert values(role, "engine", "checkpoint") == ["vllm", "a/b"]


def test_dockerfiles_that_build_on_one_another_end() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(),
            "llm/Dockerfile": "FROM x/base\n",
            "base/Dockerfile": "FROM x/llm\nCMD vllm serve a/b\n",
        }
    )
    assert role.text("checkpoint") == "a/b"


@pytest.mark.parametrize(
    ("keys", "assumed"),
    [({}, False), ({"envFrom": "[{secretRef: {name: tokens}}]"}, True), ({"env": "[{name: M, value: a/b}]"}, False)],
)
def test_a_variable_of_the_image_that_another_object_may_replace_is_assumed(
    keys: dict[str, str], assumed: bool
) -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(**keys),
            "build.sh": "#!/bin/bash\ndocker build -t team/llm llm\n",
            "llm/Dockerfile": "FROM x\nENV M=a/b\nCMD vllm serve $M\n",
        }
    )
    assert role.text("checkpoint") == "a/b"
    assert bool(role.image_assumption) == assumed


# ---- which Dockerfile


NAMED = {
    "compose": ("compose.yaml", "services:\n  a: {image: team/llm, build: {context: ., dockerfile: x/Dockerfile}}\n"),
    "skaffold": (
        "skaffold.yaml",
        "apiVersion: skaffold/v4\nkind: Config\nbuild: {artifacts: [{image: llm, context: x}]}\n",
    ),
    "bake": ("docker-bake.hcl", 'target "a" {\n  tags = ["${R}/llm:1"]\n  context = "x"\n}\n'),
    "a Makefile": ("Makefile", "IMAGE ?= team/llm\nbuild:\n\tdocker build -t $(IMAGE):latest x\n"),
    "a script": ("ci/build.sh", "#!/bin/bash\ndocker buildx build --push -f x/Dockerfile -t $REG/llm:$TAG .\n"),
    "a workflow": (
        ".github/workflows/ci.yml",
        "env: {NAME: team/llm}\njobs: {b: {steps: [{uses: docker/build-push-action@v6,"
        " with: {file: x/Dockerfile, tags: '${{ env.NAME }}:1'}}]}}\n",
    ),
    "GitLab": (".gitlab-ci.yml", "b:\n  script:\n    - docker build -t $CI_REGISTRY_IMAGE/llm:1 x\n"),
    "kaniko": (".gitlab-ci.yml", "b:\n  script: [/kaniko/executor --context x --destination $R/llm:1]\n"),
}


@pytest.mark.parametrize(("path", "text"), NAMED.values(), ids=NAMED)
def test_a_file_says_which_dockerfile_builds_an_image(path: str, text: str) -> None:
    files = {
        "k8s/pod.yaml": pod(),
        "x/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve a/b\n",
        "y/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve c/d\n",
    }
    (role,) = read({**files, path: text})
    assert values(role, "engine", "checkpoint") == ["vllm", "a/b"]
    assert role.image_assumption == ""


ASSUMED = {
    "the folder's name": ("llm/Dockerfile", "y/Dockerfile", "the file or its folder has the name of the image"),
    "the file's name": (
        "docker/Dockerfile.llm",
        "docker/Dockerfile.web",
        "the file or its folder has the name of the image",
    ),
    "the file's first name": (
        "docker/llm.Dockerfile",
        "docker/web.Dockerfile",
        "the file or its folder has the name of the image",
    ),
    "the only one": (
        "Dockerfile",
        ".devcontainer/Dockerfile",
        "it is the only Dockerfile outside folders such as tests and docs",
    ),
}


@pytest.mark.parametrize(("path", "other", "reason"), ASSUMED.values(), ids=ASSUMED)
def test_a_dockerfile_that_only_its_name_tells_is_assumed(path: str, other: str, reason: str) -> None:
    text = "FROM nvidia/cuda:12.4.1\nCMD vllm serve a/b\n"
    (role,) = read({"k8s/pod.yaml": pod(), path: text, other: text.replace("a/b", "c/d")})
    assert role.text("checkpoint") == "a/b"
    assert reason in role.image_assumption
    assert role.image_assumption in role.fields["checkpoint"].assumption
    assert role.fields["gpus_per_pod"].assumption == ""


UNRELATED = {
    "two Dockerfiles": (IMAGE, {}, {"a/Dockerfile": "a/b", "b/Dockerfile": "c/d"}),
    "an image of the maker": ("vllm/vllm-openai:v0.10.1", {}, {"Dockerfile": "a/b"}),
    "the base image itself": ("nvidia/cuda:12.4.1", {}, {"Dockerfile": "a/b"}),
    "another image of the base's publisher": ("nvidia/tritonserver:24.01", {}, {"Dockerfile": "a/b"}),
    "a script that the image does not have": (IMAGE, {"command": '["/start.sh"]'}, {"Dockerfile": "a/b"}),
    "only the Dockerfile of an editor": (IMAGE, {}, {".devcontainer/Dockerfile": "a/b"}),
}


@pytest.mark.parametrize(("image", "keys", "files"), UNRELATED.values(), ids=UNRELATED)
def test_an_image_that_may_be_another_one_is_not_read(image: str, keys: dict[str, str], files: dict[str, str]) -> None:
    own = {path: f"FROM nvidia/cuda:12.4.1\nCMD vllm serve {name}\n" for path, name in files.items()}
    (role,) = read({"k8s/pod.yaml": pod(image, **keys), **own})
    assert role.text("checkpoint") == ""


# ---- what starts the container

START = """
    #!/bin/bash
    exec python3 -m vllm.entrypoints.openai.api_server --model "${MODEL:-a/b}" --tensor-parallel-size ${TP:-1} "$@"
"""
STARTED = {
    "compose builds it": (
        "compose.yaml",
        """
        services:
          chat:
            build: {context: llm}
            environment: {TP: 2}
            command: ["--max-model-len", "4096"]
            deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}
        """,
    ),
    "compose names it": (
        "compose.yaml",
        """
        services:
          chat:
            image: team/llm:1
            environment: [TP=2]
            command: --max-model-len 4096
            deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}
        """,
    ),
    "docker run": (
        "run.sh",
        """
        #!/bin/bash
        docker run -d --gpus 2 -e TP=2 registry/llm:1 --max-model-len 4096
        """,
    ),
    "docker run without words": (
        "run.sh",
        """
        #!/bin/bash
        docker build -t llm llm
        docker run -d --gpus 2 -e TP=2 -e LENGTH=4096 llm
        """,
    ),
    "a Makefile": ("Makefile", "run:\n\tdocker run --gpus 2 -e TP=2 llm --max-model-len 4096\n"),
    "Nomad": (
        "chat.nomad",
        """
        job "chat" {
          group "g" {
            task "chat" {
              driver = "docker"
              config {
                image = "registry/llm:1"
                args  = ["--max-model-len", "4096"]
              }
              env { TP = "2" }
              resources {
                device "nvidia/gpu" { count = 2 }
              }
            }
          }
        }
        """,
    ),
}


@pytest.mark.parametrize(("path", "text"), STARTED.values(), ids=STARTED)
def test_every_format_passes_its_variables_and_words_to_the_image(path: str, text: str) -> None:
    dockerfile = (
        "FROM nvidia/cuda:12.4.1\nWORKDIR /app\nCOPY start.sh .\n"
        'ENTRYPOINT ["./start.sh"]\nCMD ["--max-model-len", "4096"]\n'
    )
    (role,) = read({path: text, "llm/Dockerfile": dockerfile, "llm/start.sh": START}, path)
    assert values(role, "engine", "checkpoint", "tensor_parallel", "max_model_len", "gpus_per_pod") == [
        "vllm",
        "a/b",
        2,
        4096,
        2,
    ]


def test_a_variable_of_the_host_does_not_reach_a_container() -> None:
    run = "#!/bin/bash\nexport TP=2 MODEL=c/d\ndocker run --gpus 2 -e MODEL llm\n"
    files = {"llm/Dockerfile": 'FROM x\nCOPY start.sh /\nENTRYPOINT ["/start.sh"]\n', "llm/start.sh": START}
    (role,) = read({"run.sh": run, **files}, "run.sh")
    assert values(role, "checkpoint", "tensor_parallel") == ["c/d", 1]


def test_a_container_of_an_image_that_is_not_built_here_stays_unknown() -> None:
    assert (
        read({"run.sh": "#!/bin/bash\ndocker run --gpus all other/thing\n", "llm/Dockerfile": "FROM x\n"}, "run.sh")
        == []
    )


def test_another_program_in_an_image_of_an_engine_gets_no_arguments_of_the_engine() -> None:
    files = {
        "llm/Dockerfile": "FROM vllm/vllm-openai:v0.10.1\nENTRYPOINT []\nCOPY own /own\n",
        "llm/own/work.py": "print(1)\n",
    }
    run = "#!/bin/bash\ndocker run --gpus 1 team/llm:1 python3 -m own.work --model a/b\n"
    (role,) = read({"run.sh": run, **files}, "run.sh")
    assert values(role, "engine", "checkpoint") == [None, None]


def test_the_only_dockerfile_is_not_that_of_an_image_if_a_file_says_that_it_builds_another() -> None:
    files = {
        "k8s/pod.yaml": pod("ghcr.io/other/plex:1"),
        "x/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve a/b\n",
    }
    assert read(files)[0].text("checkpoint") == "a/b"
    (role,) = read({**files, "build.sh": "#!/bin/sh\ndocker build -t llm x\n"})
    assert role.text("checkpoint") == ""
    gpu = "deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}"
    compose = f"services: {{a: {{build: x}}, b: {{image: other/plex, {gpu}}}}}"
    found = read({"compose.yaml": compose, "x/Dockerfile": files["x/Dockerfile"]}, "compose.yaml")
    assert [role.text("checkpoint") for role in found] == ["a/b", ""]


def test_a_program_behind_an_image_named_like_an_engine_is_no_model() -> None:
    run = "#!/bin/bash\ndocker run --gpus all -e MODEL=c/d balanced-vllm:latest python /app/launch.py --model a/b\n"
    program = "import os\nfrom vllm import LLM\nLLM(model=os.environ['MODEL'])\n"
    (role,) = read({"run.sh": run, "scripts/launch.py": program}, "run.sh")
    assert values(role, "engine", "checkpoint") == ["vllm", "c/d"]


# ---- the script alone


SERVE = "#!/bin/bash\nexec vllm serve a/b\n"


@pytest.mark.parametrize(
    ("files", "roles"),
    [
        pytest.param({}, 1, id="nothing else"),
        pytest.param(
            {"llm/Dockerfile": 'FROM x\nCOPY start.sh /\nCMD ["/start.sh"]\n'}, 0, id="an image that is a workload"
        ),
        pytest.param(
            {"llm/Dockerfile": 'FROM x\nCOPY start.sh /\nCMD ["/start.sh"]\n', "k8s/pod.yaml": pod()},
            0,
            id="a pod runs it",
        ),
        pytest.param(
            {
                "llm/Dockerfile": "FROM x\nCOPY start.sh /\nCMD bash /start.sh\n",
                "compose.yaml": "services: {a: {build: llm}}",
            },
            0,
            id="compose builds it",
        ),
        pytest.param(
            {"llm/Dockerfile": "FROM x\nCOPY start.sh /\nCMD sleep 1\n", "k8s/pod.yaml": pod()}, 1, id="another command"
        ),
    ],
)
def test_a_script_that_a_container_starts_is_no_workload_of_its_own(files: dict[str, str], roles: int) -> None:
    assert len(read({"llm/start.sh": SERVE, **files}, "llm/start.sh")) == roles


def test_a_launcher_of_the_image_starts_a_program_of_the_image() -> None:
    start = '#!/bin/bash\nexec torchrun --nproc_per_node=${NPROC} train.py "$@"\n'
    program = """
        import argparse
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
        parser = argparse.ArgumentParser()
        parser.add_argument("--batch", type=int, default=1)
        args = parser.parse_args()
        model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")
        Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=args.batch)).train()
    """
    (role,) = read(
        {
            "k8s/pod.yaml": pod(args='["--batch=4"]', env='[{name: NPROC, value: "2"}]'),
            "llm/Dockerfile": 'FROM x\nWORKDIR /app\nCOPY . .\nENTRYPOINT ["/app/start.sh"]\n',
            "llm/start.sh": start,
            "llm/train.py": program,
        }
    )
    assert values(role, "engine", "checkpoint", "micro_batch_size", "processes_per_pod") == [
        "transformers",
        "Qwen/Qwen3-0.6B",
        4,
        2,
    ]


def test_a_kustomization_renames_an_image() -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod("app"),
            "overlay/kustomization.yaml": "resources: [../k8s]\nimages: [{name: app, newName: team/llm, newTag: '1'}]\n",
            "build.sh": "#!/bin/bash\ndocker build -t team/llm x\n",
            "x/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve a/b\n",
            "y/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve c/d\n",
        }
    )
    assert values(role, "checkpoint") == ["a/b"]


@pytest.mark.parametrize(
    ("built", "image", "found"),
    [
        ("team/llm", "registry.example.com/team/llm:1", "stated"),
        ("llm:dev", "registry.example.com/team/llm:1", "stated"),
        ("$REGISTRY/llm:$TAG", "registry.example.com/team/llm:1", "stated"),
        ("ghcr.io/org/llm", "registry.example.com/team/llm:1", "assumed"),
        ("vllm-openai", "vllm/vllm-openai:v0.10.1", ""),
        ("vllm/vllm-openai", "vllm/vllm-openai:v0.10.1", "stated"),
        ("team/other", "registry.example.com/team/llm:1", ""),
    ],
)
def test_an_image_of_another_registry_with_the_same_last_part_is_assumed(built: str, image: str, found: str) -> None:
    (role,) = read(
        {
            "k8s/pod.yaml": pod(image),
            "build.sh": f"#!/bin/bash\nREGISTRY=$1\ndocker build -t {built} x\n",
            "x/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve a/b\n",
            "y/Dockerfile": "FROM nvidia/cuda:12.4.1\nCMD vllm serve c/d\n",
        }
    )
    assert role.text("checkpoint") == ("a/b" if found else "")
    assert bool(role.image_assumption) == (found == "assumed")
