"""The NIM operator's objects: services, caches and pipelines of NIM images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters import command, kubernetes, placement, pod
from gpulint.documents import Document, Path
from gpulint.engines import Argument, Invocation, Reading, nim
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("apps.nvidia.com",)

GROUP = "apps.nvidia.com"
KINDS = frozenset({(GROUP, "NIMService"), (GROUP, "NIMCache"), (GROUP, "NIMPipeline")})
MOUNTED = "the NIM operator mounts /dev/shm (k8s-nim-operator v3.1.2 api/apps/v1alpha1/nimservice_types.go)"


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload an object; a pipeline has a role for each of its services."""
    kind = document.get(("kind",))
    if kind == "NIMCache":
        roles, purpose = tuple(_cache(document)), "unknown"
    elif kind == "NIMPipeline":
        roles, purpose = tuple(_pipeline(document)), "inference"
    else:
        roles, purpose = tuple(_service(document, ("spec",), _name(document))), "inference"
    if roles:
        yield Workload(_name(document), purpose, "nim", document, (), roles)


def _name(document: Document) -> str:
    return str(document.get(("metadata", "name")) or document.get(("kind",)))


def _pipeline(document: Document) -> Iterator[Role]:
    listed = document.get(("spec", "services"))
    for at, service in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(service, dict) and service.get("enabled") is not False:
            yield from _service(document, ("spec", "services", at, "spec"), str(service.get("name") or at))


def _service(document: Document, spec: Path, name: str) -> Iterator[Role]:
    """The container that the operator makes of a service: what it runs, asks for and is placed on."""
    environment = _environment(document, spec)
    started = list(command.invocations(document, spec, environment))
    invocation = started[0]._replace(image=_image(document, (*spec, "image"))) if len(started) == 1 else None
    reading = (nim.read(invocation) if invocation else None) or Reading({}, None)
    fields = {**_asked(document, spec), **placement.fields(document, spec), **_stored(document, spec)}
    fields.update({**(_cached(document, spec) if reading.fields else {}), **reading.fields})
    if "engine_version" in fields:
        fields["engine_version"] = replace(
            fields["engine_version"], origins=(Origin(document, (*spec, "image", "tag")),)
        )
    role = Role(name, Origin(document, (*spec, "image", "repository")), fields, None, reading.open_ended)
    yield _counted(document, spec, role)


def _image(document: Document, path: Path) -> Argument:
    repository, tag = document.get((*path, "repository")), document.get((*path, "tag"))
    origin = Origin(document, (*path, "repository"))
    if not isinstance(repository, str):
        return Argument(None, origin, "no image")
    return Argument(f"{repository}:{tag}" if isinstance(tag, str | int | float) else repository, origin)


def _environment(document: Document, spec: Path) -> command.Environment:
    """The variables of a service, and those that the operator makes of its other fields, which the former override."""
    known = command.environment(document, spec)
    made = {
        "NIM_TENSOR_PARALLEL_SIZE": (*spec, "multiNode", "parallelism", "tensor"),
        "NIM_PIPELINE_PARALLEL_SIZE": (*spec, "multiNode", "parallelism", "pipeline"),
        "NIM_MODEL_PROFILE": (*spec, "storage", "nimCache", "profile"),
    }
    for name, path in made.items():
        value = document.get(path)
        if name not in known and isinstance(value, str | int) and value != "":
            known[name] = Argument(str(value), Origin(document, path))
    return known


def _cached(document: Document, spec: Path) -> dict[str, Field]:
    """That a cache of another object says which model an image for any model serves."""
    origin = Origin(document, (*spec, "storage", "nimCache", "name"))
    cache = document.get(origin.path)
    return {"checkpoint": Field(Unknown(f"the cache {cache} says which model it holds"), (origin,))} if cache else {}


def _asked(document: Document, spec: Path) -> dict[str, Field]:
    """GPUs and memory of one pod; a service without a GPU count gets one from the operator or from its claims."""
    sides = {side: document.get((*spec, "resources", side)) for side in ("limits", "requests")}
    found = {
        (side, str(name)): Origin(document, (*spec, "resources", side, name))
        for side, amounts in sides.items()
        for name in (amounts if isinstance(amounts, dict) else ())
    }
    gpus = {key: origin for key, origin in found.items() if pod.GPU.fullmatch(key[1])}
    fields = {"shared_memory_default": Field(False, source=MOUNTED)}
    if (memory := found.get(("limits", "memory"))) and isinstance(value := document.get(memory.path), str):
        fields["host_memory_bytes"] = Field(_bytes(value), (memory,))
    names, origins = {name for _, name in gpus}, tuple(gpus.values())
    if len(names) != 1:
        why = "several accelerator resources are asked for" if names else _ungranted(document, spec)
        return {**fields, "gpus_per_pod": Field(Unknown(why), origins)}
    (name,) = names
    fields["accelerator_resource"] = Field(name)
    fields["gpus_per_pod"] = Field(pod.gpu_count(document, origins[0]), origins)
    for (side, _), origin in gpus.items():
        fields[f"gpu_{side.removesuffix('s')}"] = Field(pod.gpu_count(document, origin), (origin,))
    if sliced := pod.MIG.fullmatch(name):
        fields["mig_profile"] = Field(sliced["profile"], tuple(origin._replace(key=True) for origin in origins))
    return fields


def _ungranted(document: Document, spec: Path) -> str:
    claimed = document.get((*spec, "draResources"))
    return "GPUs come from a resource claim" if claimed else "the operator asks for the GPUs of the profile"


def _stored(document: Document, spec: Path) -> dict[str, Field]:
    """The size of the volume that the object itself makes for the weights."""
    storage = (*spec, "storage")
    path = (*storage, "pvc", "size")
    if document.get((*storage, "pvc", "create")) is not True:
        path = (*storage, "emptyDir", "sizeLimit")
    size = document.get(path)
    return {"model_volume_bytes": Field(_bytes(size), (Origin(document, path),))} if isinstance(size, str) else {}


def _bytes(text: str) -> int | Unknown:
    try:
        return units.bytes_of(text)
    except ValueError:
        return Unknown(f"{text} is not a quantity")


def _counted(document: Document, spec: Path, role: Role) -> Role:
    """With several nodes, one instance has a pod for each pipeline stage (GetLWSSize of the operator)."""
    pods = Field(1, source="one pod a replica")
    if document.get((*spec, "multiNode")) is not None:
        stages = role.fields.get("pipeline_parallel", Field(Unknown("the pipeline stages are not stated")))
        pods = Field(stages.value, stages.origins)
    per_pod = role.fields["gpus_per_pod"]
    whole: Field = Field(Unknown("the GPUs of a pod are not known"), per_pod.origins)
    if isinstance(per_pod.value, int) and isinstance(pods.value, int):
        whole = Field(per_pod.value * pods.value, (*per_pod.origins, *pods.origins))
    return role.having(pods_per_replica=pods, replicas=_replicas(document, spec), gpus_per_replica=whole)


def _replicas(document: Document, spec: Path) -> Field:
    if document.get((*spec, "scale", "enabled")) is True:
        return Field(Unknown("an autoscaler sets the replicas"), (Origin(document, (*spec, "scale")),))
    replicas = document.get((*spec, "replicas"))
    if replicas is None:
        return Field(1, source="default of Kubernetes")
    known = isinstance(replicas, int) and not isinstance(replicas, bool)
    value = replicas if known else Unknown(f"replicas is {replicas}")
    return Field(value, (Origin(document, (*spec, "replicas")),))  # type: ignore[arg-type]


# ---- caches


def _cache(document: Document) -> Iterator[Role]:
    """The job that downloads a model, where the object says which and how large a volume it makes."""
    fields = {**_downloaded(document), **_stored(document, ("spec",))}
    count = Field(Unknown("a cache serves nothing"))
    role = Role(_name(document), Origin(document, ("metadata", "name")), fields)
    if role.text("checkpoint") and role.value("model_volume_bytes") is not None:
        yield role.having(gpus_per_pod=count, pods_per_replica=count, replicas=count, gpus_per_replica=count)


def _downloaded(document: Document) -> dict[str, Field]:
    """The model of a NIM image, or the one named from Hugging Face, in the precision that is asked for."""
    hub, ngc = ("spec", "source", "hf"), ("spec", "source", "ngc")
    owner, model = (document.get((*hub, key)) for key in ("namespace", "modelName"))
    if isinstance(owner, str) and isinstance(model, str):
        origins = (Origin(document, (*hub, "modelName")),)
        return {"engine": Field("nim"), "checkpoint": Field(f"{owner}/{model}", origins)}
    puller = Argument(str(document.get((*ngc, "modelPuller"))), Origin(document, (*ngc, "modelPuller")))
    reading = nim.read(Invocation(puller, (), _profile(document, ngc), entrypoint=True))
    fields = dict(reading.fields) if reading else {}
    precision = Origin(document, (*ngc, "model", "precision"))
    if isinstance(stated := document.get(precision.path), str) and stated:
        fields["quantization"] = Field(stated, (precision,))
    return fields


def _profile(document: Document, ngc: Path) -> command.Environment:
    """The one profile that is to be downloaded, as the variable that would select it."""
    known = command.environment(document, ("spec",))
    profiles = document.get((*ngc, "model", "profiles"))
    if isinstance(profiles, list) and len(profiles) == 1:
        known["NIM_MODEL_PROFILE"] = Argument(str(profiles[0]), Origin(document, (*ngc, "model", "profiles", 0)))
    return known
