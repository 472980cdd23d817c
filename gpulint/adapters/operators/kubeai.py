"""KubeAI: a Model names an engine, its arguments, and a resource profile of the chart."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import engines
from gpulint.adapters import kubernetes
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import stored_weights
from gpulint.adapters.programs import container_command
from gpulint.catalog import tables
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.serving import ollama
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kubeai.org",)

KINDS = frozenset({("kubeai.org", "Model")})
URL: Path = ("spec", "url")
PROFILE: Path = ("spec", "resourceProfile")
MOUNTED = "KubeAI mounts /dev/shm (kubeai v0.21.0 internal/modelcontroller/engine_vllm.go, engine_ollama.go)"
PROGRAMS = {"VLLM": ("python3", "-m", "vllm.entrypoints.openai.api_server"), "OLlama": ("ollama", "serve")}
"""The program that KubeAI starts for an engine; Ollama's image starts its own.

Source: kubeai v0.21.0 internal/modelcontroller/engine_vllm.go.
"""


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload of one role: a pod of the chosen engine on the profile's GPUs."""
    if not isinstance(document.get(URL), str):
        return
    name = str(document.get(("metadata", "name")) or "Model")
    reading = engines.read(_build_invocation(document)) or Reading({}, None)
    fields = {**_read_profile(document), **reading.fields, **_read_model(document, reading)}
    fields["shared_memory_default"] = Field(False, source=MOUNTED)
    if served := fields.get("engine"):
        fields["engine"] = Field(served.value, (Origin(document, ("spec", "engine")),))
    arguments = reading.arguments if document.get(("spec", "args")) else None
    role = Role("server", Origin(document, ("spec", "engine")), fields, arguments, reading.open_ended)
    yield Workload(name, "inference", "kubeai", document, (), (_count_instance(document, role),))


def _build_invocation(document: Document) -> Invocation:
    """Return the command that KubeAI writes into the pod, each word at its location."""
    engine = str(document.get(("spec", "engine")))
    named = Origin(document, ("spec", "engine"))
    image = document.get(("spec", "image"))
    own = Argument(image, Origin(document, ("spec", "image"))) if isinstance(image, str) else None
    program = tuple(Argument(word, named) for word in PROGRAMS.get(engine, ()))
    if engine == "VLLM":
        program += (_build_model_argument(document),)
    return Invocation(
        own or Argument("", named, "the chart chooses the image"),
        (*program, *_read_arguments(document)),
        _read_environment(document),
        entrypoint=False,
    )


def _read_arguments(document: Document) -> Iterator[Argument]:
    listed = document.get(("spec", "args"))
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        origin = Origin(document, ("spec", "args", at))
        node = document.node(origin.path)
        if isinstance(word, dict | list):
            yield Argument(None, origin, "an argument is not a string")
        else:
            yield Argument(node.value if node and isinstance(node.value, str) else str(word), origin)


def _read_environment(document: Document) -> container_command.Environment:
    given = document.get(("spec", "env"))
    environment = container_command.Environment()
    environment.open_ended = bool(document.get(("spec", "envFrom")))
    for name, value in given.items() if isinstance(given, dict) else ():
        environment[str(name)] = Argument(str(value), Origin(document, ("spec", "env", name)))
    return environment


def _build_model_argument(document: Document) -> Argument:
    """Return `--model` as KubeAI fills it in from the URL.

    Weights on a volume or in a bucket have a path of their own.
    """
    url = str(document.get(URL))
    scheme, _, reference = url.partition("://")
    start = len(scheme) + len("://")
    end = start + len(reference.partition("?")[0])
    if scheme != "hf":
        return Argument(f"--model={url}", Origin(document, URL))
    return Argument(f"--model={url[start:end]}", Origin(document, URL, (start, end)))


def _read_model(document: Document, reading: Reading) -> dict[str, Field]:
    """Return the model of an engine whose command does not name it."""
    if "checkpoint" in reading.fields:
        return {}
    url = str(document.get(URL))
    scheme, _, reference = url.partition("://")
    start = len(scheme) + len("://")
    name = reference.partition("?")[0]
    place = Origin(document, URL, (start, start + len(name)))
    if scheme == "ollama":
        return ollama.read_model_name(name, (place,))
    if scheme == "hf":
        return {"checkpoint": Field(name, (place,))}
    return {"checkpoint": stored_weights.read(url, Origin(document, URL))}


def _read_profile(document: Document) -> dict[str, Field]:
    """Return the GPUs of a chart profile times its count; a cluster may redefine its profiles."""
    text = document.get(PROFILE)
    if not isinstance(text, str):
        return {"gpus_per_pod": Field(Unknown("no resource profile is named"))}
    name, _, count = text.partition(":")
    row = next(
        (row for row in tables.rows("resource_profiles") if (row["platform"], row["profile"]) == ("kubeai", name)),
        None,
    )
    place, times = Origin(document, PROFILE, (0, len(name))), Origin(document, PROFILE, (len(name) + 1, len(text)))
    if row is None:
        own = Unknown(f"the cluster defines the profile {name}", "operator preset")
        return {"gpus_per_pod": Field(own, (place,)), "accelerator": Field(own, (place,))}
    if not row["resource"]:
        return {"device": Field("cpu", (place,)), "gpus_per_pod": Field(0, (place,))}
    fields = {"accelerator_resource": Field(row["resource"])}
    number = int(count) if count.isdecimal() else Unknown(f"the count of {text} is not a number")
    fields["gpus_per_pod"] = Field(number, (times,))
    assumption = f"the profile {name} is assumed to be the one in KubeAI's chart"
    accelerator = row["accelerator"] or Unknown(f"the catalog has no accelerator for the profile {name}")
    fields["accelerator"] = Field(accelerator, (place,), assumption=assumption if row["accelerator"] else "")
    return fields


def _count_instance(document: Document, role: Role) -> Role:
    """Return the role with one pod per instance; the autoscaler sets the replicas in its bounds."""
    minimum, maximum = (document.get(("spec", key)) for key in ("minReplicas", "maxReplicas"))
    replicas = Field(Unknown("KubeAI's autoscaler decides the number of replicas"))
    if isinstance(maximum, int) and minimum == maximum:
        replicas = Field(maximum, (Origin(document, ("spec", "maxReplicas")),))
    gpus = role.fields["gpus_per_pod"]
    return role.having(
        pods_per_replica=Field(1, source="one pod per replica"), gpus_per_replica=gpus, replicas=replicas
    )
