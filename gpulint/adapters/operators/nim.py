"""The NIM operator's objects: services, caches and pipelines of NIM images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters import kubernetes
from gpulint.adapters import pods as adapters_pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge, synthetic
from gpulint.adapters.pods import container_environment, contradictions, device_claims, gpu_resources, placement
from gpulint.adapters.programs import container_command, nccl_variables, replica
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
"""The device class that the operator uses if none is named (k8s-nim-operator v3.1.2
api/apps/v1alpha1/dra_types.go).
"""
SELECTORS = ("attributeSelectors", "capacitySelectors", "celExpressions")


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload per object. A pipeline has a role for each of its services."""
    kind = document.get(("kind",))
    if kind == "NIMCache":
        roles, purpose = tuple(_read_cache(document)), "unknown"
    elif kind == "NIMPipeline":
        roles, purpose = tuple(_read_pipeline(document, repository)), "inference"
    else:
        roles, purpose = tuple(_read_service(document, ("spec",), _find_name(document), repository)), "inference"
    if roles:
        yield Workload(_find_name(document), purpose, "nim", document, (), roles)


def _find_name(document: Document) -> str:
    return str(document.get(("metadata", "name")) or document.get(("kind",)))


def _read_pipeline(document: Document, repository: Repository) -> Iterator[Role]:
    listed = document.get(("spec", "services"))
    for at, service in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(service, dict) and service.get("enabled") is not False:
            yield from _read_service(
                document, ("spec", "services", at, "spec"), str(service.get("name") or at), repository
            )


def _read_service(document: Document, spec: Path, name: str, repository: Repository) -> Iterator[Role]:
    """Yield the container that the operator creates for a service, with its engine, resources and
    placement.
    """
    environment = _read_environment(document, spec)
    started = list(container_command.invocations(document, spec, environment))
    invocation = started[0]._replace(image=_read_image(document, (*spec, "image"))) if len(started) == 1 else None
    reading = (nim.read(invocation) if invocation else None) or Reading({}, None)
    fields = {
        **_read_resources(document, spec),
        **placement.fields(document, spec),
        **_read_volume_size(document, spec),
    }
    fields |= _find_claimed(document, spec, repository)
    fields |= contradictions.find_contradictions(document, spec, spec, environment, asked=True)
    fields |= nccl_variables.fields(environment)
    fields.update(
        {
            **(_find_cached_model(document, spec, repository) if reading.fields else _read_program(document, spec)),
            **reading.fields,
        }
    )
    if "engine" in reading.fields and "checkpoint" not in fields:
        image = Origin(document, (*spec, "image", "repository"))
        fields["checkpoint"] = Field(Unknown("the image serves whichever model it is given", "image default"), (image,))
    if "engine_version" in fields:
        fields["engine_version"] = replace(
            fields["engine_version"], origins=(Origin(document, (*spec, "image", "tag")),)
        )
    role = Role(name, Origin(document, (*spec, "image", "repository")), fields, None, reading.open_ended)
    yield _add_pods(document, spec, role)


def _read_image(document: Document, path: Path) -> Argument:
    repository, tag = document.get((*path, "repository")), document.get((*path, "tag"))
    origin = Origin(document, (*path, "repository"))
    if not isinstance(repository, str):
        return Argument(None, origin, "no image")
    return Argument(f"{repository}:{tag}" if isinstance(tag, str | int | float) else repository, origin)


def _read_environment(document: Document, spec: Path) -> container_command.Environment:
    """Return the variables of a service.

    They override those that the operator sets from other fields.
    """
    variables = container_environment.read(document, spec)
    made = {
        "NIM_TENSOR_PARALLEL_SIZE": (*spec, "multiNode", "parallelism", "tensor"),
        "NIM_PIPELINE_PARALLEL_SIZE": (*spec, "multiNode", "parallelism", "pipeline"),
        "NIM_MODEL_PROFILE": (*spec, "storage", "nimCache", "profile"),
    }
    for name, path in made.items():
        value = document.get(path)
        if name not in variables and isinstance(value, str | int) and value != "":
            variables[name] = Argument(str(value), Origin(document, path))
    return variables


def _read_program(document: Document, spec: Path) -> dict[str, Field]:
    """Return the program of an image that is no known language model: its maker decides it."""
    image = Origin(document, (*spec, "image", "repository"))
    if document.get(image.path) is None:
        return {}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _find_cached_model(document: Document, spec: Path, repository: Repository) -> dict[str, Field]:
    """Return the model in the NIMCache of a service whose image serves any model."""
    origin = Origin(document, (*spec, "storage", "nimCache", "name"))
    name = document.get(origin.path)
    if not isinstance(name, str):
        return {}
    caches = [sibling for sibling in document.find_beside("NIMCache", name) if _is_cache(sibling, name)]
    caches = caches or [
        document_ for document_ in repository.objects("NIMCache", name, document.path) if _is_cache(document_, name)
    ]
    checkpoint = _read_model(caches[0]).get("checkpoint") if len(caches) == 1 else None
    if checkpoint is not None and not isinstance(checkpoint.value, Unknown):
        return {"checkpoint": replace(checkpoint, origins=(origin, *checkpoint.origins))}
    reason = Unknown(f"the NIMCache {name} decides the model", "another object")
    return {"checkpoint": Field(reason, (origin,))}


def _is_cache(document: Document, name: str) -> bool:
    data = document.data
    is_kind = isinstance(data, dict) and kubernetes.group_and_kind(data) == (GROUP, "NIMCache")
    return is_kind and document.get(("metadata", "name")) == name


def _read_resources(document: Document, spec: Path) -> dict[str, Field]:
    """Return GPUs and memory of one pod. Without a GPU count, the operator or a claim sets it."""
    sides = {side: document.get((*spec, "resources", side)) for side in ("limits", "requests")}
    requested = {
        (side, str(name)): Origin(document, (*spec, "resources", side, name))
        for side, amounts in sides.items()
        for name in (amounts if isinstance(amounts, dict) else ())
    }
    gpus = {key: origin for key, origin in requested.items() if adapters_pods.GPU.fullmatch(key[1])}
    fields = {"shared_memory_default": Field(False, source=MOUNTED)}
    if (memory := requested.get(("limits", "memory"))) and isinstance(value := document.get(memory.path), str):
        fields["host_memory_bytes"] = Field(_parse_bytes(value), (memory,))
    names, origins = {name for _, name in gpus}, tuple(gpus.values())
    if len(names) != 1:
        why = Unknown("several accelerator resources are requested") if names else _explain_missing_gpus(document, spec)
        return {**fields, "gpus_per_pod": Field(why, origins or (Origin(document, (*spec, "image", "repository")),))}
    (name,) = names
    fields["accelerator_resource"] = Field(name)
    fields["gpus_per_pod"] = Field(adapters_pods.gpu_count(document, origins[0]), origins)
    for (side, _), origin in gpus.items():
        fields[f"gpu_{side.removesuffix('s')}"] = Field(adapters_pods.gpu_count(document, origin), (origin,))
    if sliced := gpu_resources.MIG.fullmatch(name):
        fields["mig_profile"] = Field(sliced["profile"], tuple(origin._replace(key=True) for origin in origins))
    return fields


def _explain_missing_gpus(document: Document, spec: Path) -> Unknown:
    if document.get((*spec, "draResources")):
        return Unknown("GPUs come from a resource claim", "another object")
    return Unknown("the operator requests the GPUs of the profile", "operator preset")


def _find_claimed(document: Document, spec: Path, repository: Repository) -> dict[str, Field]:
    """Return the devices of claims: those that the operator creates, or one that the repository
    defines.
    """
    listed = list(replica.items(document, (*spec, "draResources")))
    if not listed:
        return {}
    made = [(*at, "claimCreationSpec", "devices") for at in listed if document.get((*at, "claimCreationSpec"))]
    if len(made) == len(listed):
        return _read_created_claims(document, [at for path in made for at in replica.items(document, path)])
    return _read_referenced_claims(document, spec, listed, repository) if not made else {}


def _read_created_claims(document: Document, devices: list[Path]) -> dict[str, Field]:
    """Return the devices that the operator claims, each request with its class and count."""
    counts = [replica.count(document, (*at, "count"), 1) for at in devices]
    total = replica.product(Field(1), *counts) if len(counts) == 1 else _add_counts(counts)
    places = tuple(Origin(document, at) for at in devices)
    other = [at for at in devices if document.get((*at, "deviceClassName"), GPU_CLASS) not in device_claims.GPU_CLASSES]
    if other:
        return {"gpus_per_pod": Field(Unknown("the claim decides the devices", "another object"), places)}
    selected = [at for at in devices for key in SELECTORS if document.get((*at, key))]
    fields = {"gpus_per_pod": replace(total, origins=total.origins or places, source="")}
    if selected:
        chosen = Unknown("the accelerator depends on the selectors of the claim", "another object")
        fields["accelerator"] = Field(chosen, (Origin(document, selected[0]),))
    return fields


def _add_counts(counts: list[Field]) -> Field:
    origins = tuple(origin for count in counts for origin in count.origins)
    unknown = next((count.value for count in counts if not isinstance(count.value, int)), None)
    return Field(
        unknown if unknown is not None else sum(count.value for count in counts if isinstance(count.value, int)),
        origins,
    )


def _read_referenced_claims(
    document: Document, spec: Path, listed: list[Path], repository: Repository
) -> dict[str, Field]:
    """Return the GPUs of claims that other objects define."""
    at = synthetic.place(document, (*spec, "draResources"))
    named: list[synthetic.Part] = []
    used: list[synthetic.Part] = []
    claims: list[Document] = []
    for number, path in enumerate(listed):
        for key, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            if (node := document.node((*path, key))) is not None:
                named.append({"name": f"claim-{number}", key: node})
                used.append({"name": f"claim-{number}"})
                claims += repository.objects(kind, merge.text(node), document.path)
    container: synthetic.Part = {"name": "nim", "resources": {"claims": used}}
    made = merge.pod(document, synthetic.build_node({"resourceClaims": named, "containers": [container]}, at))
    made.beside = (*document.beside, *(claim for claim in claims if claim.path != document.path))
    return device_claims.fields(made, ("spec",), ("spec", "containers", 0))


def _read_volume_size(document: Document, spec: Path) -> dict[str, Field]:
    """Return the size of the volume that the object itself creates for the weights."""
    storage = (*spec, "storage")
    path = (*storage, "pvc", "size")
    if document.get((*storage, "pvc", "create")) is not True:
        path = (*storage, "emptyDir", "sizeLimit")
    size = document.get(path)
    return {"model_volume_bytes": Field(_parse_bytes(size), (Origin(document, path),))} if isinstance(size, str) else {}


def _parse_bytes(text: str) -> int | Unknown:
    try:
        return units.bytes_of(text)
    except ValueError:
        return Unknown(f"{text} is not a quantity")


def _add_pods(document: Document, spec: Path, role: Role) -> Role:
    """Return the role with its pods.

    A multi-node instance has one pod per stage (the operator's GetLWSSize).
    """
    pods = Field(1, source="one pod per replica")
    if document.get((*spec, "multiNode")) is not None:
        stages = role.fields.get("pipeline_parallel", Field(Unknown("the pipeline stages are not stated")))
        pods = Field(stages.value, stages.origins)
    per_pod = role.fields["gpus_per_pod"]
    whole: Field = Field(Unknown("the GPUs of a pod are not known"), per_pod.origins)
    if isinstance(per_pod.value, int) and isinstance(pods.value, int):
        whole = Field(per_pod.value * pods.value, (*per_pod.origins, *pods.origins))
    scaled = _read_autoscaler(document, spec)
    return role.having(pods_per_replica=pods, replicas=_read_replicas(document, spec), gpus_per_replica=whole, **scaled)


def _read_autoscaler(document: Document, spec: Path) -> dict[str, Field]:
    """Return the minimum replicas of the operator's autoscaler, and the only resource that scales
    them.
    """
    hpa = (*spec, "scale", "hpa")
    if document.get((*spec, "scale", "enabled")) is not True:
        return {}
    fields = {"replicas_least": replica.count(document, (*hpa, "minReplicas"), 1)}
    metrics = [(*at, "resource", "name") for at in replica.items(document, (*hpa, "metrics"))]
    if metrics and all(document.get(path) in ("cpu", "memory") for path in metrics):
        fields["autoscaler_metric"] = Field(str(document.get(metrics[0])), (Origin(document, metrics[0]),))
    return fields


def _read_replicas(document: Document, spec: Path) -> Field:
    if document.get((*spec, "scale", "enabled")) is True:
        minimum, maximum = (document.get((*spec, "scale", "hpa", key), 1) for key in ("minReplicas", "maxReplicas"))
        if isinstance(maximum, int) and minimum == maximum:
            return Field(maximum, (Origin(document, (*spec, "scale", "hpa", "maxReplicas")),))
        return Field(Unknown("an autoscaler decides", "another object"), (Origin(document, (*spec, "scale")),))
    replicas = document.get((*spec, "replicas"))
    if replicas is None:
        return Field(1, source="default of Kubernetes")
    is_count = isinstance(replicas, int) and not isinstance(replicas, bool)
    value = replicas if is_count else Unknown(f"replicas is {replicas}")
    return Field(value, (Origin(document, (*spec, "replicas")),))  # type: ignore[arg-type]


# ---- caches


def _read_cache(document: Document) -> Iterator[Role]:
    """Yield the job that downloads a model, if the object states the model and its volume's size."""
    fields = {**_read_model(document), **_read_volume_size(document, ("spec",))}
    no_gpus, one_pod = Field(0, source=DOWNLOADS), Field(1, source=DOWNLOADS)
    role = Role(_find_name(document), Origin(document, ("metadata", "name")), fields)
    if role.text("checkpoint") and role.value("model_volume_bytes") is not None:
        counts = {
            "gpus_per_pod": no_gpus,
            "gpus_per_replica": no_gpus,
            "pods_per_replica": one_pod,
            "replicas": one_pod,
        }
        yield role.having(**counts)


def _read_model(document: Document) -> dict[str, Field]:
    """Return the model of a NIM image or from Hugging Face, in the requested precision."""
    hub, ngc = ("spec", "source", "hf"), ("spec", "source", "ngc")
    owner, model = (document.get((*hub, key)) for key in ("namespace", "modelName"))
    if isinstance(owner, str) and isinstance(model, str):
        origins = (Origin(document, (*hub, "modelName")),)
        return {"engine": Field("nim"), "checkpoint": Field(f"{owner}/{model}", origins)}
    puller = Argument(str(document.get((*ngc, "modelPuller"))), Origin(document, (*ngc, "modelPuller")))
    reading = nim.read(Invocation(puller, (), _read_profile(document, ngc), entrypoint=True))
    fields = dict(reading.fields) if reading else {}
    precision = Origin(document, (*ngc, "model", "precision"))
    if isinstance(stated := document.get(precision.path), str) and stated:
        fields["quantization"] = Field(stated, (precision,))
    return fields


def _read_profile(document: Document, ngc: Path) -> container_command.Environment:
    """Return the one profile to download, as the variable that would select it."""
    variables = container_environment.read(document, ("spec",))
    profiles = document.get((*ngc, "model", "profiles"))
    if isinstance(profiles, list) and len(profiles) == 1:
        variables["NIM_MODEL_PROFILE"] = Argument(str(profiles[0]), Origin(document, (*ngc, "model", "profiles", 0)))
    return variables
