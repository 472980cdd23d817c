"""The pod template: what each container that computes asks for, runs, and is placed on."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from gpulint import engines, units
from gpulint.adapters.objects import mounted_files as mounted
from gpulint.adapters.pods import contradictions as hazards
from gpulint.adapters.pods import download_volume as volume
from gpulint.adapters.pods import gpu_resources as accelerator_resources
from gpulint.adapters.pods import image_tag, image_vendor, placement
from gpulint.adapters.pods import probes as startup
from gpulint.adapters.programs import container_command as command
from gpulint.adapters.programs import custom_arguments as own_words
from gpulint.adapters.programs import nccl_variables as variables
from gpulint.adapters.trainers import settings_file as config_file
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation, Reading
from gpulint.facts import objective_words as objectives
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown, Value

GPU = accelerator_resources.GPU
NOT_A_GPU = re.compile(r"google\.com/tpu|aws\.amazon\.com/neuron|huawei\.com/|cambricon\.com/|qualcomm\.com/")
RAY = re.compile(r"(?:^|[/_-])ray(?:$|[_.-])|multi-node-serving")
GPU_IMAGE = re.compile(
    r"/vllm-openai\b|/sglang\b|/text-generation-inference\b|/lmdeploy\b|nvcr\.io/nim/|/tensorrt-llm/"
)
"""Images that their makers build for GPUs; builds for other devices are other repositories or tags, which engines read."""
DEVICES = re.compile(r"(?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*")
HAMI = frozenset({"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"})
RDMA = re.compile(r"rdma/|vpc\.amazonaws\.com/efa|nvidia\.com/hostdev|/rdma|networking\.gke\.io\.networks/rdma")
PLACING = frozenset({"serving.kserve.io/gke-accelerator", "serving.kubeflow.org/gke-accelerator"})

REQUESTED = Unknown("each request names the model", "caller's variable")
"""What an Ollama server runs that no command of its container pulls."""


def roles(
    document: Document, spec: Path, annotations: Mapping[str, Origin], supplied: Mapping[str, Argument] = {}
) -> Iterator[Role]:
    """One role for each container of a pod template that asks for GPUs or starts a known engine.

    `supplied` are variables that the object's controller sets where the container does not.
    """
    placed = placement.fields(document, spec)
    given = _annotated(annotations)
    of_pod = hazards.of_pod(document, spec)
    for path in _containers(document, spec):
        for role in _container(document, spec, path, placed, given, supplied):
            yield role.having(**of_pod)
            of_pod = {}


def _containers(document: Document, spec: Path) -> Iterator[Path]:
    """Where the containers stand, those too that are started before the others and run beside them."""
    for key in ("containers", "initContainers"):
        listed = document.get((*spec, key))
        for at, container in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(container, dict) and (key == "containers" or container.get("restartPolicy") == "Always"):
                yield (*spec, key, at)


def _container(
    document: Document,
    spec: Path,
    path: Path,
    placed: Mapping[str, Field],
    given: Mapping[str, Field],
    supplied: Mapping[str, Argument],
) -> Iterator[Role]:
    resources = _resources(document, path)
    environment = command.environment(document, path, supplied)
    find = functools.partial(mounted.file, document, spec, path)
    invocations = _invocations(document, path, environment, find)
    read = [(reading, one) for one in invocations if (reading := config_file.trainer(_read(one, find), find))]
    if not resources:
        read = [(reading, one) for reading, one in read if one.arguments]
    claimed = {} if resources else _claimed(document, spec, path)
    if not (resources or read or claimed):
        return
    name = document.get((*path, "name"))
    anchor = Origin(document, (*path, "name")) if isinstance(name, str) else Origin(document, path)
    asked = {**_hardware(document, path, resources), **claimed}
    pod = {**asked, **_settings(document, spec, path, environment), **placed}
    pod |= accelerator_resources.chosen(asked, placed)
    pod |= hazards.of(document, spec, path, environment, bool(resources or claimed))
    pod |= variables.fields(variables.exported(environment, invocations))
    pod |= {**image_vendor.fields(document, (*path, "image")), **startup.fields(document, path)}
    pod |= image_tag.fields(document, (*path, "image")) if read else {}
    if "sharing" in placed and pod["gpus_per_pod"].value not in (0, 1):
        pod["gpus_per_pod"] = Field(Unknown("the count is of shares of cards"), pod["gpus_per_pod"].origins)
    if share := _granted_share(document, path):
        pod["sharing"] = Field("HAMi", (share,))
        pod["device_memory_bytes"] = Field(Unknown("a share of the card's memory is granted"), (share,))
    if variable := command.self_reference(environment):
        pod["unexpanded_variable"] = variable
    if _joins_a_cluster(invocations, environment):
        pod["multi_node"] = Field(True, source="Ray in the script")
    pod |= {} if read else _program(document, path, invocations, find)
    pod |= _off_card(document, path, invocations) if resources and not read else {}
    for reading in settled(read, pod["gpus_per_pod"].value) or (Reading({}, None),):
        own = {**pod, **reading.fields, **_askless(document, spec, path, reading), **_told(given, reading)}
        checkpoint, engine = (str(own[name].value) if name in own else "" for name in ("checkpoint", "engine"))
        if engine == "ollama" and "checkpoint" not in own:
            own["checkpoint"] = Field(REQUESTED, (Origin(document, (*path, "image")),))
        if any(name in environment for name in engines.own_variables(engine)):
            own["service_links"] = Field(False, source="the container sets the variable itself")
        moved = any(volume.elsewhere(one.arguments) for _, one in read)
        if not moved and (room := volume.size(document, spec, path, environment, engine, checkpoint)):
            own["model_volume_bytes"] = room
        yield Role(str(name or path[-1]), anchor, own, reading.arguments, reading.open_ended)


def _invocations(
    document: Document, path: Path, environment: command.Environment, find: Callable[[str], Origin | None]
) -> tuple[Invocation, ...]:
    """The programs of a container, with the arguments that files which are mounted into it hold."""
    started = command.invocations(document, path, environment, find)
    return tuple(config_file.expanded(one, find) for one in started)


def _claimed(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """The devices that resource claims bring."""
    if "laims" not in document.text:  # resourceClaims of the pod, claims of the container
        return {}
    from gpulint.adapters.pods import device_claims

    return device_claims.fields(document, spec, path)


def launched(document: Document, spec: Path, supplied: Mapping[str, Argument]) -> Reading | None:
    """What the first container of a pod without GPUs starts in the pods of others: an engine, or else a program."""
    for path in _containers(document, spec):
        environment = command.environment(document, path, supplied)
        find = functools.partial(mounted.file, document, spec, path)
        invocations = _invocations(document, path, environment, find)
        said = variables.fields(variables.exported(environment, invocations))
        started = (config_file.trainer(engines.read(one), find) for one in invocations if one.arguments)
        read = [reading for reading in started if reading is not None]
        if len(read) == 1:
            return read[0]._replace(fields={**said, **read[0].fields})
        from gpulint.adapters.trainers import custom_trainer as programs  # most containers start an engine by itself

        named = programs.started(invocations)
        return Reading({**said, "program": Field(named.text, (named.origin,))}, None) if named else None
    return None


def _read(invocation: Invocation, find: Callable[[str], Origin | None]) -> Reading | None:
    """The engine that a command starts, or the trainer behind a launcher."""
    found = engines.read(invocation)
    if found is None and invocation.arguments:
        from gpulint.adapters.trainers import custom_trainer as programs

        found = programs.reading(invocation, find)
    nodes = found.fields.get("pods_per_replica") if found else None
    if (
        found is None
        or nodes is None
        or nodes.value == 1
        or engines.purpose(str(found.fields["engine"].value)) != "training"
    ):
        return found
    several = Field(True, source="the launcher starts ranks on several nodes")
    others = {name: field for name, field in found.fields.items() if name != "pods_per_replica"}
    return found._replace(fields={**others, "multi_node": several})


def _program(
    document: Document, path: Path, invocations: Sequence[Invocation], find: Callable[[str], Origin | None]
) -> dict[str, Field]:
    """What runs where no engine that we read does: the program that the command names, or else what the image holds."""
    from gpulint.adapters.trainers import custom_trainer as programs

    if trained := programs.fields(invocations, find):
        return trained
    if name := programs.started(invocations):
        return {
            "program": Field(name.text, (name.origin,)),
            **own_words.devices(word for one in invocations for word in one.arguments),
        }
    image = Origin(document, (*path, "image"))
    if not isinstance(document.get(image.path), str):
        return {}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _off_card(document: Document, path: Path, invocations: Sequence[Invocation]) -> dict[str, Field]:
    from gpulint.adapters.programs import cpu_only_images as off_card  # most containers start an engine

    return off_card.fields(document, path, invocations)


def _told(given: Mapping[str, Field], reading: Reading) -> dict[str, Field]:
    """What annotations state, read as the engine reads it: the name of a model may tell more than its checkpoint."""
    engine, stated = reading.fields.get("engine"), given.get("checkpoint")
    if engine is None or stated is None:
        return dict(given)
    return {**given, **engines.named(str(engine.value), str(stated.value), stated.origins[0])}


def _askless(document: Document, spec: Path, path: Path, reading: Reading) -> dict[str, Field]:
    """The image of an engine whose container lists resources, but none that gives it a GPU."""
    asked = [document.get((*path, "resources", side)) for side in ("limits", "requests")]
    names = [str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts]
    granted = any("/" in name for name in names) or document.get((*path, "resources", "claims"))
    elsewhere = document.get((*spec, "runtimeClassName")) or document.get((*spec, "resourceClaims"))
    image = document.get((*path, "image"))
    if not names or granted or elsewhere or not isinstance(image, str) or "engine" not in reading.fields:
        return {}
    if not GPU_IMAGE.search(image):
        return {}
    return {"engine_image": Field(image, (Origin(document, (*path, "image")),))}


def _granted_share(document: Document, path: Path) -> Origin | None:
    """Where HAMi's resources grant a share of a card."""
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if name in HAMI:
                return Origin(document, (*path, "resources", side, name))
    return None


def settled(read: Sequence[tuple[Reading, Invocation]], gpus: Value | Unknown) -> tuple[Reading, ...]:
    """The readings of a container's engines, with what several of them, or a branch around one, leave open."""
    branched = any(one.conditional for _, one in read)
    if branched and all(one.final for _, one in read[:-1]) and (len(read) > 1 or read[0][1].final):
        return (agreed([reading for reading, _ in read]),)
    if len(read) > 1 and branched:
        reason = "which of several commands runs is decided by the script"
        return (Reading({"engine": read[0][0].fields["engine"]}, None, reason),)
    if len(read) > 1 and gpus == 1:
        readings = [reading for reading, _ in read]
        return tuple(_beside(one, readings[:at], len(readings)) for at, one in enumerate(readings))
    if len(read) > 1:
        shared = Field(Unknown("several engines share the container"))
        return tuple(reading._replace(fields={**reading.fields, "gpus_per_pod": shared}) for reading, _ in read)
    if branched:
        counted = Field(Unknown("the engine is started in a branch or a loop of the script"))
        return tuple(reading._replace(fields={**reading.fields, "gpus_per_pod": counted}) for reading, _ in read)
    return tuple(reading for reading, _ in read)


def agreed(readings: Sequence[Reading]) -> Reading:
    """What alternatives of which one runs have in common; a field that they state differently is unknown."""
    first, *others = readings
    if any(one.fields["engine"].value != first.fields["engine"].value for one in others):
        return Reading({}, None, "which of several engines runs is decided by the script")
    names = dict.fromkeys(name for one in readings for name in one.fields)
    fields = {name: _common([one.fields.get(name) for one in readings]) for name in names}
    reason = next((one.open_ended for one in readings if one.open_ended), "")
    return Reading(fields, None if others else first.arguments, reason)


def _common(stated: Sequence[Field | None]) -> Field:
    first = next(field for field in stated if field is not None)
    if all(field is not None and field.value == first.value for field in stated):
        return first
    return Field(Unknown("the commands of which the script runs one state it differently"), first.origins)


def _beside(reading: Reading, earlier: Sequence[Reading], engines_on_card: int) -> Reading:
    """An engine that shares the container's one card with those started before and after it."""
    stated = [one.fields["gpu_memory_utilization"].value for one in earlier if "gpu_memory_utilization" in one.fields]
    shares = [share for share in stated if isinstance(share, float)]
    source = "the container's script"
    fields = {
        **reading.fields,
        "engines_on_card": Field(engines_on_card, source=source),
        "earlier_engines": Field(len(earlier), source=source),
    }
    if len(shares) == len(earlier):
        fields["earlier_memory_utilization"] = Field(sum(shares), source=source)
    elif stated:
        fields["earlier_memory_utilization"] = Field(Unknown("a neighbour's share of the card is not stated"))
    return reading._replace(fields=fields)


def _joins_a_cluster(invocations: Sequence[Invocation], environment: Mapping[str, object]) -> bool:
    """Whether the script starts or joins a Ray cluster, whose other pods may lend GPUs."""
    words = (argument.text or "" for invocation in invocations for argument in invocation.arguments)
    return "RAY_ADDRESS" in environment or any(RAY.search(word) for word in words)


def _hardware(document: Document, path: Path, resources: Mapping[str, tuple[Origin, ...]]) -> dict[str, Field]:
    """GPU count, resource name and MIG profile; a container without an image is a patch, whose other half is elsewhere."""
    if not resources:
        return {"gpus_per_pod": Field(Unknown("no GPU resource is asked for")), **_other_device(document, path)}
    (name, origins), *others = resources.items()
    fields = {"accelerator_resource": Field(name)}
    count = Unknown("several accelerator resources are asked for") if others else gpu_count(document, origins[0])
    fields["gpus_per_pod"] = Field(count, origins)
    if isinstance(count, float):
        fields["gpu_count_whole"] = Field(False, origins)
    if count == 0:
        fields["device"] = Field("cpu", origins)
    whole = isinstance(document.get((*path, "image")), str)
    for origin in origins if whole else ():
        side = "gpu_limit" if "limits" in origin.path else "gpu_request"
        fields[side] = Field(gpu_count(document, origin), (origin,))
    return fields if others else fields | accelerator_resources.fields(name, origins)


def _other_device(document: Document, path: Path) -> dict[str, Field]:
    """An accelerator that is no GPU, or the CPU of an image or a command that says so."""
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if NOT_A_GPU.match(str(name)):
                return {"device": Field(str(name), (Origin(document, (*path, "resources", side, name), key=True),))}
    return {}


def gpu_count(document: Document, origin: Origin) -> Value | Unknown:
    """A GPU count as written; what is no number is unknown, never zero."""
    value = document.get(origin.path)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return Unknown("the GPU count is empty")
    try:
        amount = Fraction(units.quantity(value))
    except ValueError:
        return Unknown(f"the GPU count is {value}", "caller's variable" if "$" in str(value) else "placeholder")
    return int(amount) if amount.denominator == 1 else float(amount)


def _resources(document: Document, path: Path) -> dict[str, tuple[Origin, ...]]:
    """Accelerator resources of a container: limits first, then requests."""
    found: dict[str, list[Origin]] = {}
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if GPU.fullmatch(str(name)):
                found.setdefault(str(name), []).append(Origin(document, (*path, "resources", side, name)))
    return {name: tuple(origins) for name, origins in found.items()}


def _settings(document: Document, spec: Path, path: Path, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Memory, CPU, visible devices, shared memory and RDMA of a container."""
    fields: dict[str, Field] = {}
    limits = document.get((*path, "resources", "limits"))
    for name in limits if isinstance(limits, dict) else ():
        origin = Origin(document, (*path, "resources", "limits", name))
        if name == "memory":
            fields["host_memory_bytes"] = Field(_parsed(document, origin, units.bytes_of), (origin,))
        elif name == "cpu":
            fields["cpu_cores"] = Field(_parsed(document, origin, lambda text: float(units.quantity(text))), (origin,))
        elif RDMA.search(str(name)):
            fields["rdma_devices"] = Field(gpu_count(document, origin), (origin,))
    requested = Origin(document, (*path, "resources", "requests", "memory"))
    if document.get(requested.path) is not None:
        fields["host_memory_request_bytes"] = Field(_parsed(document, requested, units.bytes_of), (requested,))
    fields["shared_memory_default"] = Field(not _mounts_shared_memory(document, spec, path))
    further = isinstance(environment, command.Environment) and environment.open_ended
    if document.get((*spec, "enableServiceLinks")) is False or further:
        fields["service_links"] = Field(False)
    return {**fields, **_told_by_environment(environment)}


def _told_by_environment(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """How many devices stay visible, where they are listed."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not DEVICES.fullmatch(visible.text or ""):
        return {}
    return {"visible_devices": Field(len((visible.text or "").split(",")), (visible.origin,))}


def _parsed(document: Document, origin: Origin, parse: object) -> Value | Unknown:
    value = document.get(origin.path)
    try:
        parsed: Value = parse(value)  # type: ignore[operator]
    except (ValueError, TypeError):
        return Unknown(f"{value} is not a quantity")
    return parsed


def _mounts_shared_memory(document: Document, spec: Path, path: Path) -> bool:
    """Whether anything but the runtime's 64 MiB stands at /dev/shm."""
    if document.get((*spec, "hostIPC")) is True:
        return True
    mounts = document.get((*path, "volumeMounts"))
    return any(
        isinstance(mount, dict) and str(mount.get("mountPath", "")).rstrip("/") in ("/dev/shm", "/dev")
        for mount in (mounts if isinstance(mounts, list) else ())
    )


# ---- hints


def hints(document: Document, *metadata: Path) -> dict[str, Origin]:
    """The labels and annotations that say what a pod is about, of an object and of its template."""
    found: dict[str, Origin] = {}
    for path in (place for one in metadata for place in ((*one, "labels"), (*one, "annotations"))):
        given = document.get(path)
        for key in given if isinstance(given, dict) else ():
            if str(key).startswith("gpulint/") or key in PLACING:
                found[str(key)] = Origin(document, (*path, key))
    return found


def _annotated(annotations: Mapping[str, Origin]) -> dict[str, Field]:
    """Fields that annotations state: gpulint's own, and KServe's, which becomes a node selector."""
    fields: dict[str, Field] = {}
    for key, origin in annotations.items():
        text = origin.text().strip()
        if key == "gpulint/model":
            fields["checkpoint"] = Field(text, (origin,))
        elif key == "gpulint/accelerator":
            product = hardware.named(text)
            unlisted = Unknown(f"the catalog has no accelerator {text}")
            fields["accelerator"] = Field(product.id if product else unlisted, (origin,))
        elif key == "gpulint/nvlink-bridge":
            known = text.lower() in ("true", "false")
            fields["nvlink_bridge"] = Field(
                text.lower() == "true" if known else Unknown("neither true nor false"), (origin,)
            )
        elif (word := key.removeprefix("gpulint/")) in objectives.WORDS:
            fields[objectives.WORDS[word].quantity] = Field(_objective(word, text), (origin,))
        elif (listed := hardware.labels().get(("cloud.google.com/gke-accelerator", text))) and key in PLACING:
            fields["accelerator"] = Field(listed, (origin,))
    return fields


def _objective(word: str, text: str) -> Value | Unknown:
    try:
        return objectives.read(word, text)
    except ValueError as error:
        return Unknown(str(error))
