"""The pod template: what each computing container requests and runs, and where it is placed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from gpulint import engines, units
from gpulint.adapters.objects import mounted_files
from gpulint.adapters.pods import (
    container_environment,
    contradictions,
    download_volume,
    gpu_resources,
    image_tag,
    image_vendor,
    kept_mounts,
    placement,
    probes,
    runtime_class,
    sealed,
    several_commands,
    starts_and_stops,
)
from gpulint.adapters.programs import (
    container_command,
    custom_arguments,
    launchers,
    nccl_variables,
    processes,
    python_program,
    visible_devices,
)
from gpulint.adapters.trainers import settings_file
from gpulint.catalog import capabilities, hardware, resource_names
from gpulint.engines import Argument, Invocation, Reading
from gpulint.facts import objective_words
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown, Value

GPU = gpu_resources.GPU
RAY = re.compile(r"(?:^|[/_-])ray(?:$|[_.-])|multi-node-serving")
DEVICES = re.compile(r"(?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*")
RDMA = re.compile(r"rdma/|vpc\.amazonaws\.com/efa|nvidia\.com/hostdev|/rdma|networking\.gke\.io\.networks/rdma")
PLACING = frozenset({"serving.kserve.io/gke-accelerator", "serving.kubeflow.org/gke-accelerator"})

MISTAKES = frozenset(
    {
        *("misspelt_variable", "unread_variable", "renamed_variable", "retired_variable", "impossible_value"),
        *("silent_value", "interface_mistaken", "unexpanded_reference", "unexpanded_variable"),
        "repeated_visible_device",
    }
)
"""Facts for which a container without GPUs is reported."""
REQUESTED = Unknown("each request names the model", "caller's variable")
"""The model of an Ollama server for which no command pulls one."""


def roles(
    document: Document, spec: Path, annotations: Mapping[str, Origin], supplied: Mapping[str, Argument] = {}
) -> Iterator[Role]:
    """Yield one role for each container that requests GPUs or starts a known engine.

    `supplied` are variables that the object's controller sets where the container does not.
    """
    placed = placement.fields(document, spec)
    given = _read_annotations(annotations)
    of_pod = contradictions.find_pod_contradictions(document, spec)
    for path in _list_containers(document, spec):
        stopped = starts_and_stops.fields(document, spec, path)
        for role in _read_container(document, spec, path, placed, given, supplied):
            yield role.having(**of_pod, **stopped)
            of_pod = {}


def list_without_gpus(document: Document, spec: Path, supplied: Mapping[str, Argument] = {}) -> Iterator[Role]:
    """Yield one role for each container without GPUs whose variables or words hold a mistake: a launcher, a submitter."""
    for path in _list_containers(document, spec):
        if _list_resources(document, path) or not isinstance(document.get((*path, "image")), str):
            continue
        environment = container_environment.read(document, path, supplied)
        find = functools.partial(mounted_files.file, document, spec, path)
        invocations = _list_invocations(document, spec, path, environment, find)
        if _read_engines(invocations, find, idle=True) or _find_claimed(document, spec, path):
            continue
        stated = nccl_variables.fields(nccl_variables.merge_exported(environment, invocations))
        if document.mentions("$") and any(map(_starts_ranks, invocations)):
            from gpulint.adapters.pods import unexpanded  # most containers state their values

            stated |= unexpanded.find(document, path, environment, runs_engine=False)
        if not MISTAKES & stated.keys():
            continue
        name = document.get((*path, "name"))
        anchor = Origin(document, (*path, "name")) if isinstance(name, str) else Origin(document, path)
        none = {"gpus_per_pod": Field(0, (anchor,)), "device": Field("cpu", (anchor,))}
        command = python_program.choose(invocations)
        yield Role(str(name or path[-1]), anchor, {**stated, **none}, command=command)


def _starts_ranks(invocation: Invocation) -> bool:
    """Return whether a program is started by a launcher of ranks."""
    return any(step.launcher in processes.RANKED for step in launchers.unwrap(invocation.arguments).steps)


def _list_containers(document: Document, spec: Path) -> Iterator[Path]:
    """Yield the paths of the containers, including sidecars that start before the others."""
    for key in ("containers", "initContainers"):
        listed = document.get((*spec, key))
        for at, container in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(container, dict) and (key == "containers" or container.get("restartPolicy") == "Always"):
                yield (*spec, key, at)


def _read_container(
    document: Document,
    spec: Path,
    path: Path,
    placed: Mapping[str, Field],
    given: Mapping[str, Field],
    supplied: Mapping[str, Argument],
) -> Iterator[Role]:
    """Yield the roles of one container: one for each engine that it starts, else one for its GPUs."""
    resources = _list_resources(document, path)
    environment = container_environment.read(document, path, supplied)
    find = functools.partial(mounted_files.file, document, spec, path)
    invocations = _list_invocations(document, spec, path, environment, find)
    given_by_class = {} if resources else runtime_class.fields(document, spec, environment)
    started = _read_engines(invocations, find, idle=not (resources or given_by_class))
    claimed = {} if resources else _find_claimed(document, spec, path)
    if not (resources or started or claimed):
        return
    name = document.get((*path, "name"))
    anchor = Origin(document, (*path, "name")) if isinstance(name, str) else Origin(document, path)
    asked = {**_read_hardware(document, path, resources), **given_by_class, **claimed}
    pod = _merge_hardware(document, path, asked, _read_settings(document, spec, path, environment), placed)
    pod |= contradictions.find_contradictions(document, spec, path, environment, bool(resources or claimed))
    pod |= visible_devices.cut_short(environment, pod["gpus_per_pod"])
    pod |= _read_processes(document, path, environment, invocations, runs_engine=bool(started))
    pod |= image_tag.fields(document, (*path, "image")) if started else _read_program(document, path, invocations, find)
    idle = resources and not started and pod["gpus_per_pod"].value != 0
    pod |= _find_cpu_program(document, path, invocations) if idle else {}
    moved = any(download_volume.is_moved(invocation.arguments) for _, invocation in started)
    for reading in several_commands.settle(started, pod["gpus_per_pod"].value) or (Reading({}, None),):
        own = {**pod, **reading.fields, **_find_gpu_image(document, spec, path, reading)}
        own |= _read_model_name(given, reading)
        own |= _complete_engine(document, spec, path, own, environment, moved)
        own |= gpu_resources.find_uncounted(document, resources, own)
        command = python_program.choose(invocations)
        container = container_command.read_container(document, path, environment)
        kept, lost = (read(document, spec, path) for read in (kept_mounts.list_kept, kept_mounts.list_lost))
        role = Role(str(name or path[-1]), anchor, own, reading.arguments, reading.open_ended, command=command)
        yield role if container is None else replace(role, container=container._replace(mounts=kept, lost_mounts=lost))


def _read_engines(
    invocations: Sequence[Invocation], find: Callable[[str], Origin | None], *, idle: bool
) -> list[tuple[Reading, Invocation]]:
    """Return the engines and trainers that a container starts; one without GPUs (`idle`) has to state arguments."""
    readings = (
        (settings_file.merge_trainer_files(_read_engine(invocation, find), find), invocation)
        for invocation in invocations
    )
    return [(reading, invocation) for reading, invocation in readings if reading and (invocation.arguments or not idle)]


def _merge_hardware(
    document: Document,
    path: Path,
    asked: Mapping[str, Field],
    settings: Mapping[str, Field],
    placed: Mapping[str, Field],
) -> dict[str, Field]:
    """Return what a container requests on the nodes where its pod is placed, and whether it shares a GPU."""
    fields = {**asked, **settings, **placed, **gpu_resources.choose_accelerator(asked, placed)}
    if "sharing" in placed and fields["gpus_per_pod"].value not in (0, 1):
        shares = Unknown("the count is of GPU shares, not of whole GPUs")
        fields["gpus_per_pod"] = Field(shares, fields["gpus_per_pod"].origins)
    if share := _locate_share(document, path):
        fields["sharing"] = Field("HAMi", (share,))
        fields["device_memory_bytes"] = Field(Unknown("only a share of the GPU's memory is granted"), (share,))
    return fields


def _read_processes(
    document: Document,
    path: Path,
    environment: container_command.Environment,
    invocations: Sequence[Invocation],
    *,
    runs_engine: bool,
) -> dict[str, Field]:
    """Return what the image, the probes, the variables and the commands of a container set for any program."""
    fields = nccl_variables.fields(nccl_variables.merge_exported(environment, invocations))
    fields |= {**image_vendor.fields(document, (*path, "image")), **probes.fields(document, path)}
    if document.mentions("$"):
        from gpulint.adapters.pods import unexpanded  # most containers state their values

        fields |= unexpanded.find(document, path, environment, runs_engine=runs_engine)
    if _joins_ray_cluster(invocations, environment):
        fields["multi_node"] = Field(True, source="Ray in the script")
    return fields


def _complete_engine(
    document: Document,
    spec: Path,
    path: Path,
    fields: Mapping[str, Field],
    environment: container_command.Environment,
    moved: bool,
) -> dict[str, Field]:
    """Return an engine's model, service links and download volume, as far as the container decides them.

    moved: a command names another folder for downloads.
    """
    own: dict[str, Field] = {}
    checkpoint, engine = (str(fields[name].value) if name in fields else "" for name in ("checkpoint", "engine"))
    if engine == "ollama" and "checkpoint" not in fields:
        own["checkpoint"] = Field(REQUESTED, (Origin(document, (*path, "image")),))
    if any(name in environment for name in engines.list_own_variables(engine)):
        own["service_links"] = Field(False, source="the container sets the variable itself")
    if not moved and (room := download_volume.size(document, spec, path, environment, engine, checkpoint)):
        own["model_volume_bytes"] = room
    return own


def _list_invocations(
    document: Document,
    spec: Path,
    path: Path,
    environment: container_command.Environment,
    find: Callable[[str], Origin | None],
) -> tuple[Invocation, ...]:
    """Return the programs of a container, with arguments from mounted files."""
    started = tuple(container_command.invocations(document, path, environment, find))
    if len(started) == 1 and sealed.is_sealed(document, spec, path):
        started = (started[0]._replace(sealed=True),)
    return tuple(settings_file.expand(invocation, find) for invocation in started)


def _find_claimed(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Return the devices of resource claims."""
    if not document.mentions("laims"):  # resourceClaims of the pod, claims of the container
        return {}
    from gpulint.adapters.pods import device_claims

    return device_claims.fields(document, spec, path)


def read_launched(document: Document, spec: Path, supplied: Mapping[str, Argument]) -> Reading | None:
    """Return the engine or program that the first container of a GPU-less pod starts in other pods."""
    for path in _list_containers(document, spec):
        environment = container_environment.read(document, path, supplied)
        find = functools.partial(mounted_files.file, document, spec, path)
        invocations = _list_invocations(document, spec, path, environment, find)
        environment_fields = nccl_variables.fields(nccl_variables.merge_exported(environment, invocations))
        started = (
            settings_file.merge_trainer_files(engines.read(invocation), find)
            for invocation in invocations
            if invocation.arguments
        )
        read = [reading for reading in started if reading is not None]
        if len(read) == 1:
            return read[0]._replace(fields={**environment_fields, **read[0].fields})
        from gpulint.adapters.trainers import custom_trainer  # most containers start an engine by itself

        named = custom_trainer.find_program(invocations)
        return Reading({**environment_fields, "program": Field(named.text, (named.origin,))}, None) if named else None
    return None


def _read_engine(invocation: Invocation, find: Callable[[str], Origin | None]) -> Reading | None:
    """Return the engine that a command starts, or the trainer behind a launcher."""
    reading = engines.read(invocation)
    if reading is None and invocation.arguments:
        from gpulint.adapters.trainers import custom_trainer

        reading = custom_trainer.reading(invocation, find)
    nodes = reading.fields.get("pods_per_replica") if reading else None
    if (
        reading is None
        or nodes is None
        or nodes.value == 1
        or engines.find_purpose(str(reading.fields["engine"].value)) != "training"
    ):
        return reading
    several = Field(True, source="the launcher starts ranks on several nodes")
    others = {name: field for name, field in reading.fields.items() if name != "pods_per_replica"}
    return reading._replace(fields={**others, "multi_node": several})


def _read_program(
    document: Document, path: Path, invocations: Sequence[Invocation], find: Callable[[str], Origin | None]
) -> dict[str, Field]:
    """Return what runs without a known engine: the program of the command, or else of the image."""
    from gpulint.adapters.trainers import custom_trainer

    if trained := custom_trainer.fields(invocations, find):
        return trained
    if name := custom_trainer.find_program(invocations):
        return {
            "program": Field(name.text, (name.origin,)),
            **custom_arguments.read_devices(word for invocation in invocations for word in invocation.arguments),
        }
    image = Origin(document, (*path, "image"))
    if not isinstance(document.get(image.path), str):
        return {}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _find_cpu_program(document: Document, path: Path, invocations: Sequence[Invocation]) -> dict[str, Field]:
    from gpulint.adapters.programs import cpu_only_images  # most containers start an engine

    return cpu_only_images.fields(document, path, invocations)


def _read_model_name(given: Mapping[str, Field], reading: Reading) -> dict[str, Field]:
    """Return the fields of annotations as the engine reads them.

    A model's name may set more than a checkpoint.
    """
    engine, stated = reading.fields.get("engine"), given.get("checkpoint")
    if engine is None or stated is None:
        return dict(given)
    return {**given, **engines.read_model_name(str(engine.value), str(stated.value), stated.origins[0])}


def _find_gpu_image(document: Document, spec: Path, path: Path, reading: Reading) -> dict[str, Field]:
    """Return an engine's image if its container lists resources, but no GPU."""
    asked = [document.get((*path, "resources", side)) for side in ("limits", "requests")]
    names = [str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts]
    granted = any("/" in name for name in names) or document.get((*path, "resources", "claims"))
    elsewhere = document.get((*spec, "runtimeClassName")) or document.get((*spec, "resourceClaims"))
    image = document.get((*path, "image"))
    if not names or granted or elsewhere or not isinstance(image, str) or "engine" not in reading.fields:
        return {}
    if not capabilities.compile_gpu_images().search(image):
        return {}
    return {"engine_image": Field(image, (Origin(document, (*path, "image")),))}


def _locate_share(document: Document, path: Path) -> Origin | None:
    """Locate the HAMi resource that grants a share of a GPU."""
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if resource_names.counts(str(name)) == "shares":
                return Origin(document, (*path, "resources", side, name))
    return None


def _joins_ray_cluster(invocations: Sequence[Invocation], environment: Mapping[str, object]) -> bool:
    """Return True if the script starts or joins a Ray cluster, whose other pods may lend GPUs."""
    words = (argument.text or "" for invocation in invocations for argument in invocation.arguments)
    return "RAY_ADDRESS" in environment or any(RAY.search(word) for word in words)


def _read_hardware(document: Document, path: Path, resources: Mapping[str, tuple[Origin, ...]]) -> dict[str, Field]:
    """Return GPU count, resource name and MIG profile. A container without an image is a patch."""
    if not resources:
        return {"gpus_per_pod": Field(Unknown("no GPU resource is requested")), **_find_other_device(document, path)}
    (name, origins), *others = resources.items()
    fields = {"accelerator_resource": Field(name)}
    count = Unknown("several accelerator resources are requested") if others else gpu_count(document, origins[0])
    fields["gpus_per_pod"] = Field(count, origins)
    if isinstance(count, float):
        fields["gpu_count_whole"] = Field(False, origins)
    if count == 0:
        fields["device"] = Field("cpu", origins)
    whole = isinstance(document.get((*path, "image")), str)
    for origin in origins if whole else ():
        side = "gpu_limit" if "limits" in origin.path else "gpu_request"
        fields[side] = Field(gpu_count(document, origin), (origin,))
    return fields if others else fields | gpu_resources.fields(name, origins)


def _find_other_device(document: Document, path: Path) -> dict[str, Field]:
    """Return an accelerator that is not a GPU."""
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if resource_names.counts(str(name)) == "other":
                return {"device": Field(str(name), (Origin(document, (*path, "resources", side, name), key=True),))}
    return {}


def gpu_count(document: Document, origin: Origin) -> Value | Unknown:
    """Return a GPU count as written. If it is not a number it is unknown, never zero."""
    value = document.get(origin.path)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return Unknown("the GPU count is empty")
    try:
        amount = Fraction(units.quantity(value))
    except ValueError:
        return Unknown(f"the GPU count is {value}", "caller's variable" if "$" in str(value) else "placeholder")
    return int(amount) if amount.denominator == 1 else float(amount)


def _list_resources(document: Document, path: Path) -> dict[str, tuple[Origin, ...]]:
    """Return the accelerator resources of a container: limits first, then requests."""
    resources: dict[str, list[Origin]] = {}
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if GPU.fullmatch(str(name)):
                resources.setdefault(str(name), []).append(Origin(document, (*path, "resources", side, name)))
    return {name: tuple(origins) for name, origins in resources.items()}


def _read_settings(document: Document, spec: Path, path: Path, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return memory, CPU, visible devices, shared memory and RDMA of a container."""
    fields: dict[str, Field] = {}
    limits = document.get((*path, "resources", "limits"))
    for name in limits if isinstance(limits, dict) else ():
        origin = Origin(document, (*path, "resources", "limits", name))
        if name == "memory":
            fields["host_memory_bytes"] = Field(_parse(document, origin, units.bytes_of), (origin,))
        elif name == "cpu":
            fields["cpu_cores"] = Field(_parse(document, origin, lambda text: float(units.quantity(text))), (origin,))
        elif RDMA.search(str(name)):
            fields["rdma_devices"] = Field(gpu_count(document, origin), (origin,))
    requested = Origin(document, (*path, "resources", "requests", "memory"))
    if document.get(requested.path) is not None:
        fields["host_memory_request_bytes"] = Field(_parse(document, requested, units.bytes_of), (requested,))
    fields["shared_memory_default"] = Field(not _mounts_shared_memory(document, spec, path))
    further = isinstance(environment, container_command.Environment) and environment.open_ended
    if document.get((*spec, "enableServiceLinks")) is False or further:
        fields["service_links"] = Field(False)
    return {**fields, **_read_visible_devices(environment)}


def _read_visible_devices(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return how many devices stay visible, if they are listed."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not DEVICES.fullmatch(visible.text or ""):
        return {}
    return {"visible_devices": Field(len((visible.text or "").split(",")), (visible.origin,))}


def _parse(document: Document, origin: Origin, parse: object) -> Value | Unknown:
    value = document.get(origin.path)
    try:
        parsed: Value = parse(value)  # type: ignore[operator]
    except (ValueError, TypeError):
        return Unknown(f"{value} is not a quantity")
    return parsed


def _mounts_shared_memory(document: Document, spec: Path, path: Path) -> bool:
    """Return True if something other than the runtime's 64 MiB is mounted at /dev/shm."""
    if document.get((*spec, "hostIPC")) is True:
        return True
    mounts = document.get((*path, "volumeMounts"))
    return any(
        isinstance(mount, dict) and str(mount.get("mountPath", "")).rstrip("/") in ("/dev/shm", "/dev")
        for mount in (mounts if isinstance(mounts, list) else ())
    )


# ---- hints


def hints(document: Document, *metadata: Path) -> dict[str, Origin]:
    """Return the labels and annotations that describe a pod, of an object and of its template."""
    origins: dict[str, Origin] = {}
    for path in (place for base in metadata for place in ((*base, "labels"), (*base, "annotations"))):
        given = document.get(path)
        for key in given if isinstance(given, dict) else ():
            if str(key).startswith("gpulint/") or key in PLACING:
                origins[str(key)] = Origin(document, (*path, key))
    return origins


def _read_annotations(annotations: Mapping[str, Origin]) -> dict[str, Field]:
    """Return the fields in annotations: gpulint's own, and KServe's, which becomes a node selector."""
    fields: dict[str, Field] = {}
    for key, origin in annotations.items():
        text = origin.text().strip()
        if key == "gpulint/model":
            fields["checkpoint"] = Field(text, (origin,))
        elif key == "gpulint/accelerator":
            product = hardware.find_accelerator(text)
            unlisted = Unknown(f"the catalog has no accelerator {text}")
            fields["accelerator"] = Field(product.id if product else unlisted, (origin,))
        elif key == "gpulint/nvlink-bridge":
            is_flag = text.lower() in ("true", "false")
            fields["nvlink_bridge"] = Field(
                text.lower() == "true" if is_flag else Unknown("neither true nor false"), (origin,)
            )
        elif (word := key.removeprefix("gpulint/")) in objective_words.WORDS:
            fields[objective_words.WORDS[word].quantity] = Field(_read_objective(word, text), (origin,))
        elif (listed := hardware.labels().get(("cloud.google.com/gke-accelerator", text))) and key in PLACING:
            fields["accelerator"] = Field(listed, (origin,))
    return fields


def _read_objective(word: str, text: str) -> Value | Unknown:
    try:
        return objective_words.parse(word, text)
    except ValueError as error:
        return Unknown(str(error))
