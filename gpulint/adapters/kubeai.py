"""KubeAI: a Model names an engine, its arguments, and a resource profile of the chart."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import catalog, engines
from gpulint.adapters import command, kubernetes
from gpulint.documents import Document, Path
from gpulint.engines import Argument, Invocation, Reading, ollama
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kubeai.org",)

KINDS = frozenset({("kubeai.org", "Model")})
URL: Path = ("spec", "url")
PROFILE: Path = ("spec", "resourceProfile")
MOUNTED = "KubeAI mounts /dev/shm (kubeai v0.21.0 internal/modelcontroller/engine_vllm.go, engine_ollama.go)"
PROGRAMS = {"VLLM": ("python3", "-m", "vllm.entrypoints.openai.api_server"), "OLlama": ("ollama", "serve")}
"""What KubeAI starts for an engine (kubeai v0.21.0 internal/modelcontroller/engine_vllm.go; of Ollama, its image does)."""


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload of one role: a pod of the chosen engine on the profile's GPUs."""
    if not isinstance(document.get(URL), str):
        return
    name = str(document.get(("metadata", "name")) or "Model")
    reading = engines.read(_invocation(document)) or Reading({}, None)
    fields = {**_asked(document), **reading.fields, **_served(document, reading)}
    fields["shared_memory_default"] = Field(False, source=MOUNTED)
    if served := fields.get("engine"):
        fields["engine"] = Field(served.value, (Origin(document, ("spec", "engine")),))
    arguments = reading.arguments if document.get(("spec", "args")) else None
    role = Role("server", Origin(document, ("spec", "engine")), fields, arguments, reading.open_ended)
    yield Workload(name, "inference", "kubeai", document, (), (_counted(document, role),))


def _invocation(document: Document) -> Invocation:
    """The command that KubeAI writes into the pod, each word at the place that states it."""
    engine = str(document.get(("spec", "engine")))
    named = Origin(document, ("spec", "engine"))
    image = document.get(("spec", "image"))
    own = Argument(image, Origin(document, ("spec", "image"))) if isinstance(image, str) else None
    program = tuple(Argument(word, named) for word in PROGRAMS.get(engine, ()))
    if engine == "VLLM":
        program += (_checkpoint(document),)
    return Invocation(
        own or Argument("", named, "the chart chooses the image"),
        (*program, *_arguments(document)),
        _environment(document),
        entrypoint=False,
    )


def _arguments(document: Document) -> Iterator[Argument]:
    listed = document.get(("spec", "args"))
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        origin = Origin(document, ("spec", "args", at))
        node = document.node(origin.path)
        if isinstance(word, dict | list):
            yield Argument(None, origin, "an argument is not a string")
        else:
            yield Argument(node.value if node and isinstance(node.value, str) else str(word), origin)


def _environment(document: Document) -> command.Environment:
    given = document.get(("spec", "env"))
    known = command.Environment()
    known.open_ended = bool(document.get(("spec", "envFrom")))
    for name, value in given.items() if isinstance(given, dict) else ():
        known[str(name)] = Argument(str(value), Origin(document, ("spec", "env", name)))
    return known


def _checkpoint(document: Document) -> Argument:
    """`--model` as KubeAI fills it in from the URL; weights on a volume or in a bucket have a path of their own."""
    url = str(document.get(URL))
    scheme, _, reference = url.partition("://")
    start = len(scheme) + len("://")
    end = start + len(reference.partition("?")[0])
    if scheme != "hf":
        return Argument(f"--model={url}", Origin(document, URL))
    return Argument(f"--model={url[start:end]}", Origin(document, URL, (start, end)))


def _served(document: Document, reading: Reading) -> dict[str, Field]:
    """The model of an engine whose command does not name it."""
    if "checkpoint" in reading.fields:
        return {}
    url = str(document.get(URL))
    scheme, _, reference = url.partition("://")
    start = len(scheme) + len("://")
    name = reference.partition("?")[0]
    place = Origin(document, URL, (start, start + len(name)))
    if scheme == "ollama":
        return ollama.named(name, (place,))
    if scheme == "hf":
        return {"checkpoint": Field(name, (place,))}
    return {"checkpoint": Field(Unknown(f"what {url} holds is not stated", "another object"), (Origin(document, URL),))}


def _asked(document: Document) -> dict[str, Field]:
    """The GPUs of a profile of the chart, times its count; a cluster may define its profiles anew."""
    text = document.get(PROFILE)
    if not isinstance(text, str):
        return {"gpus_per_pod": Field(Unknown("no resource profile is named"))}
    name, _, count = text.partition(":")
    row = next(
        (row for row in catalog.rows("resource_profiles") if (row["platform"], row["profile"]) == ("kubeai", name)),
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
    meant = f"the profile {name} is assumed to be the one in KubeAI's chart"
    product = row["accelerator"] or Unknown(f"the catalog has no accelerator for the profile {name}")
    fields["accelerator"] = Field(product, (place,), assumption=meant if row["accelerator"] else "")
    return fields


def _counted(document: Document, role: Role) -> Role:
    """One pod an instance; the autoscaler moves their number between a least and a most."""
    least, most = (document.get(("spec", key)) for key in ("minReplicas", "maxReplicas"))
    replicas = Field(Unknown("KubeAI's autoscaler decides the number of replicas"))
    if isinstance(most, int) and least == most:
        replicas = Field(most, (Origin(document, ("spec", "maxReplicas")),))
    gpus = role.fields["gpus_per_pod"]
    return role.having(
        pods_per_replica=Field(1, source="one pod per replica"), gpus_per_replica=gpus, replicas=replicas
    )
