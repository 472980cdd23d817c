"""The NIM operator's objects: services, caches and pipelines of NIM images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters import kubernetes
from gpulint.adapters import pods as pod
from gpulint.adapters.objects import merge as joined
from gpulint.adapters.objects import synthetic as tree
from gpulint.adapters.pods import contradictions as hazards
from gpulint.adapters.pods import device_claims, placement
from gpulint.adapters.pods import gpu_resources as accelerator_resources
from gpulint.adapters.programs import container_command as command
from gpulint.adapters.programs import nccl_variables as variables
from gpulint.adapters.programs import replica as instance
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.serving import nim
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("apps.nvidia.com",)

GROUP = "apps.nvidia.com"
KINDS = frozenset({(GROUP, "NIMService"), (GROUP, "NIMCache"), (GROUP, "NIMPipeline")})
MOUNTED = "the NIM operator mounts /dev/shm (k8s-nim-operator v3.1.2 api/apps/v1alpha1/nimservice_types.go)"
DOWNLOADS = "the operator's job downloads the model without a GPU"
GPU_CLASS = "gpu.nvidia.com"
"""The class of a device that names none (k8s-nim-operator v3.1.2 api/apps/v1alpha1/dra_types.go)."""
SELECTORS = ("attributeSelectors", "capacitySelectors", "celExpressions")


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload an object; a pipeline has a role for each of its services."""
    kind = document.get(("kind",))
    if kind == "NIMCache":
        roles, purpose = tuple(_cache(document)), "unknown"
    elif kind == "NIMPipeline":
        roles, purpose = tuple(_pipeline(document, repository)), "inference"
    else:
        roles, purpose = tuple(_service(document, ("spec",), _name(document), repository)), "inference"
    if roles:
        yield Workload(_name(document), purpose, "nim", document, (), roles)


def _name(document: Document) -> str:
    return str(document.get(("metadata", "name")) or document.get(("kind",)))


def _pipeline(document: Document, repository: Repository) -> Iterator[Role]:
    listed = document.get(("spec", "services"))
    for at, service in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(service, dict) and service.get("enabled") is not False:
            yield from _service(document, ("spec", "services", at, "spec"), str(service.get("name") or at), repository)


def _service(document: Document, spec: Path, name: str, repository: Repository) -> Iterator[Role]:
    """The container that the operator makes of a service: what it runs, asks for and is placed on."""
    environment = _environment(document, spec)
    started = list(command.invocations(document, spec, environment))
    invocation = started[0]._replace(image=_image(document, (*spec, "image"))) if len(started) == 1 else None
    reading = (nim.read(invocation) if invocation else None) or Reading({}, None)
    fields = {**_asked(document, spec), **placement.fields(document, spec), **_stored(document, spec)}
    fields |= _claimed(document, spec, repository)
    fields |= hazards.of(document, spec, spec, environment, asked=True)
    fields |= variables.fields(environment)
    fields.update(
        {**(_cached(document, spec, repository) if reading.fields else _program(document, spec)), **reading.fields}
    )
    if "engine" in reading.fields and "checkpoint" not in fields:
        image = Origin(document, (*spec, "image", "repository"))
        fields["checkpoint"] = Field(Unknown("the image serves the model that it is given", "image default"), (image,))
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


def _program(document: Document, spec: Path) -> dict[str, Field]:
    """What an image that is no language model of ours runs: what its maker put into it."""
    image = Origin(document, (*spec, "image", "repository"))
    if document.get(image.path) is None:
        return {}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _cached(document: Document, spec: Path, repository: Repository) -> dict[str, Field]:
    """What the cache of another object says of the model that an image for any model serves."""
    origin = Origin(document, (*spec, "storage", "nimCache", "name"))
    name = document.get(origin.path)
    if not isinstance(name, str):
        return {}
    found = [one for one in document.beside if _is_cache(one, name)]
    found = found or [one for one in repository.objects("NIMCache", name, document.path) if _is_cache(one, name)]
    held = _downloaded(found[0]).get("checkpoint") if len(found) == 1 else None
    if held is not None and not isinstance(held.value, Unknown):
        return {"checkpoint": replace(held, origins=(origin, *held.origins))}
    reason = Unknown(f"the cache {name} says which model it holds", "another object")
    return {"checkpoint": Field(reason, (origin,))}


def _is_cache(document: Document, name: str) -> bool:
    data = document.data
    is_kind = isinstance(data, dict) and kubernetes.group_and_kind(data) == (GROUP, "NIMCache")
    return is_kind and document.get(("metadata", "name")) == name


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
        why = Unknown("several accelerator resources are asked for") if names else _ungranted(document, spec)
        return {**fields, "gpus_per_pod": Field(why, origins or (Origin(document, (*spec, "image", "repository")),))}
    (name,) = names
    fields["accelerator_resource"] = Field(name)
    fields["gpus_per_pod"] = Field(pod.gpu_count(document, origins[0]), origins)
    for (side, _), origin in gpus.items():
        fields[f"gpu_{side.removesuffix('s')}"] = Field(pod.gpu_count(document, origin), (origin,))
    if sliced := accelerator_resources.MIG.fullmatch(name):
        fields["mig_profile"] = Field(sliced["profile"], tuple(origin._replace(key=True) for origin in origins))
    return fields


def _ungranted(document: Document, spec: Path) -> Unknown:
    if document.get((*spec, "draResources")):
        return Unknown("GPUs come from a resource claim", "another object")
    return Unknown("the operator asks for the GPUs of the profile", "operator preset")


def _claimed(document: Document, spec: Path, repository: Repository) -> dict[str, Field]:
    """The devices of claims: of those that the operator makes, or of one claim or template of the repository."""
    listed = list(instance.items(document, (*spec, "draResources")))
    if not listed:
        return {}
    made = [(*at, "claimCreationSpec", "devices") for at in listed if document.get((*at, "claimCreationSpec"))]
    if len(made) == len(listed):
        return _created(document, [at for path in made for at in instance.items(document, path)])
    return _referred(document, spec, listed, repository) if not made else {}


def _created(document: Document, devices: list[Path]) -> dict[str, Field]:
    """Devices that the operator claims, each request with its class and count."""
    counts = [instance.count(document, (*at, "count"), 1) for at in devices]
    total = instance.product(Field(1), *counts) if len(counts) == 1 else _added(counts)
    places = tuple(Origin(document, at) for at in devices)
    other = [at for at in devices if document.get((*at, "deviceClassName"), GPU_CLASS) not in device_claims.GPU_CLASSES]
    if other:
        return {"gpus_per_pod": Field(Unknown("what devices the claim asks for", "another object"), places)}
    selected = [at for at in devices for key in SELECTORS if document.get((*at, key))]
    fields = {"gpus_per_pod": replace(total, origins=total.origins or places, source="")}
    if selected:
        chosen = Unknown("the selectors of the claim decide the card", "another object")
        fields["accelerator"] = Field(chosen, (Origin(document, selected[0]),))
    return fields


def _added(counts: list[Field]) -> Field:
    origins = tuple(origin for one in counts for origin in one.origins)
    unknown = next((one.value for one in counts if not isinstance(one.value, int)), None)
    return Field(
        unknown if unknown is not None else sum(one.value for one in counts if isinstance(one.value, int)), origins
    )


def _referred(document: Document, spec: Path, listed: list[Path], repository: Repository) -> dict[str, Field]:
    """The GPUs of claims that other objects define."""
    at = tree.place(document, (*spec, "draResources"))
    named: list[tree.Part] = []
    used: list[tree.Part] = []
    found: list[Document] = []
    for number, path in enumerate(listed):
        for key, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            if (node := document.node((*path, key))) is not None:
                named.append({"name": f"claim-{number}", key: node})
                used.append({"name": f"claim-{number}"})
                found += repository.objects(kind, joined.text(node), document.path)
    container: tree.Part = {"name": "nim", "resources": {"claims": used}}
    made = joined.pod(document, tree.written({"resourceClaims": named, "containers": [container]}, at))
    made.beside = (*document.beside, *(one for one in found if one.path != document.path))
    return device_claims.fields(made, ("spec",), ("spec", "containers", 0))


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
    scaled = _scaled(document, spec)
    return role.having(pods_per_replica=pods, replicas=_replicas(document, spec), gpus_per_replica=whole, **scaled)


def _scaled(document: Document, spec: Path) -> dict[str, Field]:
    """The least replicas of the autoscaler that the operator makes, and the resource that alone moves them."""
    hpa = (*spec, "scale", "hpa")
    if document.get((*spec, "scale", "enabled")) is not True:
        return {}
    fields = {"replicas_least": instance.count(document, (*hpa, "minReplicas"), 1)}
    metrics = [(*at, "resource", "name") for at in instance.items(document, (*hpa, "metrics"))]
    if metrics and all(document.get(path) in ("cpu", "memory") for path in metrics):
        fields["autoscaler_metric"] = Field(str(document.get(metrics[0])), (Origin(document, metrics[0]),))
    return fields


def _replicas(document: Document, spec: Path) -> Field:
    if document.get((*spec, "scale", "enabled")) is True:
        least, most = (document.get((*spec, "scale", "hpa", key), 1) for key in ("minReplicas", "maxReplicas"))
        if isinstance(most, int) and least == most:
            return Field(most, (Origin(document, (*spec, "scale", "hpa", "maxReplicas")),))
        return Field(Unknown("an autoscaler decides", "another object"), (Origin(document, (*spec, "scale")),))
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
    none, one = Field(0, source=DOWNLOADS), Field(1, source=DOWNLOADS)
    role = Role(_name(document), Origin(document, ("metadata", "name")), fields)
    if role.text("checkpoint") and role.value("model_volume_bytes") is not None:
        counts = {"gpus_per_pod": none, "gpus_per_replica": none, "pods_per_replica": one, "replicas": one}
        yield role.having(**counts)


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
