"""KServe's LLMInferenceService: decode and prefill workloads.

They are read together with the configurations that the operator keeps for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import units
from gpulint.adapters import pods
from gpulint.adapters.objects import merge, stored_weights, synthetic
from gpulint.adapters.objects.merge import Places
from gpulint.adapters.programs import replica
from gpulint.source import shell
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

KIND = "LLMInferenceService"
CONFIG = "LLMInferenceServiceConfig"
GROUP = "serving.kserve.io"
MAIN = "main"
ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
OWN = "kserve-config-"
"""Prefix of the operator's own configurations, whose content is built in here."""
MOUNTS = {
    "/home": "home",
    "/tmp": "tmp-dir",
    "/dev/shm": "dshm",
    "/models": "model-cache",
    "/var/run/kserve/tls": "tls-certs",
}
MOUNTED = "KServe mounts /dev/shm (kserve v0.20.0 config/llmisvcconfig/config-llm-template.yaml)"
PRESET = "the operator's configuration starts vllm serve (kserve v0.20.0 config/llmisvcconfig)"
DEVICE_CLASS = f"{GROUP}/exp-dra-device-class"
DEVICE_COUNT = f"{GROUP}/exp-dra-device-count"
GPU_CLASSES = frozenset({"gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"})


class Section(NamedTuple):
    """One workload of a service: its path, merged settings, and locations in other objects."""

    document: Document
    base: Path
    settings: Node
    places: Places
    unread: str


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload: decode and prefill if they are separate, else one role."""
    sections = list(_find_sections(document, repository))
    names = ("decode", "prefill") if len(sections) > 1 else (MAIN,)
    roles = tuple(role for name, section in zip(names, sections, strict=False) for role in _read_roles(name, section))
    name = str(document.get(("metadata", "name")) or KIND)
    if roles:
        yield Workload(name, "inference", "kserve", document, (), roles)


def _find_sections(document: Document, repository: Repository) -> Iterator[Section]:
    places = Places()
    settings, unread = document.node(("spec",)), ""
    base: Node | None = None
    for config, reference in _find_configurations(document, repository):
        if config is None:
            unread = unread or f"the configuration {reference.text()} may add arguments"
        else:
            base = merge.merge(base, places.copy(config, ("spec",), reference))
    whole = merge.merge(base, settings)
    if whole is None or whole.kind != "mapping":
        return
    yield Section(document, ("spec",), whole, places, unread)
    if prefill := merge.value(whole, "prefill"):
        model = merge.entries(whole).get("model")
        apart = {**merge.entries(prefill), **({"model": model} if model else {})}
        yield Section(
            document,
            ("spec", "prefill"),
            Node("mapping", prefill.start, prefill.end, list(apart.values())),
            places,
            unread,
        )


def _find_configurations(document: Document, repository: Repository) -> Iterator[tuple[Document | None, Origin]]:
    """Yield the configurations that a service names, in order.

    None replaces one that is missing from the repository or ambiguous.
    """
    for at in replica.items(document, ("spec", "baseRefs")):
        name = document.get((*at, "name"))
        if isinstance(name, str) and not name.startswith(OWN):
            objects = _find_objects(document, name, repository)
            yield (objects[0] if len(objects) == 1 else None), Origin(document, (*at, "name"))


def _find_objects(document: Document, name: str, repository: Repository) -> Sequence[Document]:
    candidates = document.find_beside(CONFIG, name) or repository.objects(CONFIG, name, document.path)
    return [candidate for candidate in candidates if str(candidate.get(("apiVersion",))).startswith(f"{GROUP}/")]


# ---- the pods of one workload


def _read_roles(name: str, section: Section) -> Iterator[Role]:
    """Yield the containers with GPUs, each on the pods that one instance is spread over."""
    spec = merge.merge(merge.merge(_build_mounts(section), _find_template(section)), _build_main(section))
    if spec is None:
        return
    made = merge.pod(section.document, spec)
    given = pods.hints(section.document, ("metadata",))
    for role in pods.roles(made, ("spec",), given):
        is_main = role.name == MAIN
        if is_main or role.value("gpus_per_pod"):
            whole = _count_instance(section, section.places.resolve(_complete_role(section, role) if is_main else role))
            yield replace(whole, name=name if is_main else f"{name}/{role.name}")


def _find_template(section: Section) -> Node | None:
    return merge.value(section.settings, "template")


def _build_mounts(section: Section) -> Node:
    """Return the mounts of the operator's configuration, whose volumes a template may replace."""
    at = synthetic.place(section.document, (*section.base, "template"))
    mounts: list[synthetic.Part] = [{"mountPath": path, "name": name} for path, name in MOUNTS.items()]
    name = merge.value(_find_container(section), "name") or MAIN
    return synthetic.build_node({"containers": [{"name": name, "volumeMounts": mounts}]}, at)


def _build_main(section: Section) -> Node:
    """Return what the operator's configuration adds to the main container.

    It adds the command, unless another one is stated.
    """
    at = synthetic.place(section.document, (*section.base, "template"))
    container = _find_container(section)
    main: merge.Parts = {"name": merge.value(container, "name") or MAIN}
    if merge.value(container, "command") is None:
        main["command"] = [synthetic.word("vllm", at), synthetic.word("serve", at), *_build_model_word(section, at)]
        main["args"] = [
            *_build_parallel_arguments(section),
            *_build_adapter_arguments(section),
            *_split_additional(section),
            *_read_own_arguments(container),
        ]
    return synthetic.build_node({"containers": [main]}, at)


def _find_container(section: Section) -> Node | None:
    listed = merge.items(merge.value(_find_template(section), "containers"))
    return next((container for container in listed if merge.text(merge.value(container, "name")) == MAIN), None)


def _read_own_arguments(container: Node | None) -> Sequence[Node]:
    return merge.items(merge.value(container, "args"))


def _build_model_word(section: Section, at: Node) -> Iterator[Node]:
    """Yield the model as a word: the id of a hub, else the folder with the weights."""
    uri = merge.value(section.settings, "model", "uri")
    scheme, separator, name = merge.text(uri).partition("://")
    if uri is not None and scheme == "hf" and separator and name:
        yield _cut_scalar(section.document, ("spec", "model", "uri"), uri, len(scheme) + len(separator))
    elif uri is not None:
        yield synthetic.word("/mnt/models", uri)


def _cut_scalar(document: Document, path: Path, node: Node, start: int) -> Node:
    """Return the rest of a scalar of the file from a character on."""
    name = str(node.value)[start:]
    if document.node(path) is not node:
        return synthetic.word(name, node)
    return Node(
        "scalar", document.offset(path, start), document.offset(path, start + len(name)), name, synthetic.WRITTEN
    )


def _build_parallel_arguments(section: Section) -> Iterator[Node]:
    """Yield the sizes that the configurations turn into arguments.

    On several nodes, these include data, pipeline and expert parallelism.
    """
    flags = {"tensor": "--tensor-parallel-size"}
    if merge.value(section.settings, "worker"):
        flags |= {"data": "--data-parallel-size", "pipeline": "--pipeline-parallel-size"}
        expert = merge.value(section.settings, "parallelism", "expert")
        if merge.text(expert).lower() == "true" and expert is not None:
            yield synthetic.word("--enable-expert-parallel", expert)
    for key, flag in flags.items():
        if size := merge.value(section.settings, "parallelism", key):
            yield from (synthetic.word(flag, size), size)


def _build_adapter_arguments(section: Section) -> Iterator[Node]:
    lora = merge.value(section.settings, "model", "lora")
    if lora is None or not merge.items(merge.value(lora, "adapters")):
        return
    yield synthetic.word("--enable-lora", synthetic.place(section.document, ("spec", "model", "lora")))
    for key, flag in (("maxRank", "--max-lora-rank"), ("maxAdapters", "--max-loras")):
        if size := merge.value(lora, key):
            yield from (synthetic.word(flag, size), size)


def _split_additional(section: Section) -> Iterator[Node]:
    """Yield the words of the variable that the command ends with, each at its location."""
    variable = _find_variable(section)
    if variable is None:
        return
    made = merge.pod(section.document, synthetic.build_node({"value": variable}, variable))
    path: Path = ("spec", "value")
    copy = section.places.find_copy(Origin(made, path))
    for command in shell.read_commands(str(variable.value)):
        for word in command.words:
            text = word.raw if word.text is None else word.text
            if copy is not None:
                yield section.places.word(text, copy, (word.start, word.end))
            else:
                start, end = made.offset(path, word.start), made.offset(path, word.end)
                yield Node("scalar", start, end, text, synthetic.WRITTEN)


def _find_variable(section: Section) -> Node | None:
    for entry in merge.items(merge.value(_find_container(section), "env")):
        if merge.text(merge.value(entry, "name")) == ADDITIONAL:
            return merge.value(entry, "value")
    return None


# ---- what the operator decides


def _complete_role(section: Section, role: Role) -> Role:
    """Return the main container with what the operator mounts, downloads and claims for it."""
    fields = {key: field for key, field in role.fields.items() if key not in ("model_volume_bytes", "multi_node")}
    fields |= {"shared_memory_default": Field(False, source=MOUNTED), "engine_image": Field(None)}
    if section.unread:
        fields["unmounted_memory_volume"] = Field(None)
    preset = merge.value(_find_container(section), "command") is None
    if preset and role.text("engine") == "vllm":
        at = Origin(section.document, (*section.base, "template"))
        fields["engine"] = Field("vllm", (at,), assumption=PRESET, basis="default")
    if str(fields.get("checkpoint", Field("/mnt/models")).value) in ("/mnt/models", "/mnt/models/"):
        fields |= _resolve_stored_weights(section)
    fields |= _read_claim(section) | _read_offloading(section)
    unread = section.unread or ("another object holds " + ADDITIONAL if _is_by_reference(section) else "")
    return replace(role, fields=fields, open_ended=role.open_ended or unread)


def _is_by_reference(section: Section) -> bool:
    listed = merge.items(merge.value(_find_container(section), "env"))
    return (
        any(merge.text(merge.value(entry, "name")) == ADDITIONAL for entry in listed)
        and _find_variable(section) is None
    )


def _resolve_stored_weights(section: Section) -> dict[str, Field]:
    """Return the model of weights on a volume or in a bucket.

    It is assumed to be the hub id that the model is served under.
    """
    document, name = section.document, _read_name(section)
    origin = Origin(document, ("spec", "model", "name"))
    if name.count("/") == 1 and document.get(origin.path) == name:
        return {
            "checkpoint": Field(
                name, (origin,), assumption=f"the weights are assumed to be those of {name}, from the model's name"
            )
        }
    uri = Origin(document, ("spec", "model", "uri"))
    stored = document.get(uri.path)
    return {"checkpoint": stored_weights.read(str(stored), uri)} if stored else {}


def _read_name(section: Section) -> str:
    return merge.text(merge.value(section.settings, "model", "name"))


def _read_claim(section: Section) -> dict[str, Field]:
    """Return the devices that annotations claim for the main container."""
    document = section.document
    key = ("metadata", "annotations")
    device_class = document.get((*key, DEVICE_CLASS))
    if not isinstance(device_class, str):
        return {}
    at = Origin(document, (*key, DEVICE_CLASS))
    placed = Field(Unknown("the accelerator depends on the device class", "queue or partition"), (at,))
    if device_class not in GPU_CLASSES:
        return {
            "gpus_per_pod": Field(
                Unknown(f"the devices of class {device_class} are not known", "another object"), (at,)
            )
        }
    count = replica.count(document, (*key, DEVICE_COUNT), 1, "default of KServe")
    return {"gpus_per_pod": replace(count, origins=count.origins or (at,)), "accelerator": placed}


def _read_offloading(section: Section) -> dict[str, Field]:
    """Return the host memory of the KV cache's next tier."""
    path = (*section.base, "kvCacheOffloading", "cpu")
    size = section.document.get(path)
    if size is None:
        return {}
    try:
        size_bytes = units.bytes_of(size)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return {"host_kv_bytes": Field(Unknown(f"{size} is not a quantity"), (Origin(section.document, path),))}
    return {"host_kv_bytes": Field(size_bytes, (Origin(section.document, path),))}


def _count_instance(section: Section, role: Role) -> Role:
    return replica.count_role(role, _count_pods(section), _count_replicas(section))


def _count_pods(section: Section) -> Field:
    """Return the nodes of one instance (ParallelismSpec.GetSize).

    They are data over local data parallel size, else the pipeline stages.
    """
    if merge.value(section.settings, "worker") is None:
        return replica.ONE_POD
    sizes = {key: _read_size(section, key) for key in ("data", "dataLocal", "pipeline")}
    if unknown := next((size for size in sizes.values() if size and isinstance(size.value, Unknown)), None):
        return unknown
    data, local, pipeline = (sizes[key] for key in ("data", "dataLocal", "pipeline"))
    if data or local:
        whole = data.value if data and isinstance(data.value, int) else 1
        part = local.value if local and isinstance(local.value, int) else 1
        origins = tuple(origin for size in (data, local) if size for origin in size.origins)
        return Field(max(whole // max(part, 1), 1), origins)
    return pipeline or replica.ONE_POD


def _read_size(section: Section, key: str) -> Field | None:
    """Return a size of the parallelism, also from another object."""
    node = merge.value(section.settings, "parallelism", key)
    if node is None:
        return None
    path = (*section.base, "parallelism", key)
    if section.document.get(path) is not None:
        return replica.count(section.document, path, 1)
    value = merge.text(node)
    origin = Origin(section.document, ("spec", "baseRefs"))
    return Field(int(value) if value.isdecimal() else Unknown(f"{key} is {value}"), (origin,))


def _count_replicas(section: Section) -> Field:
    scaling = (*section.base, "scaling")
    if section.document.get(scaling) is not None:
        minimum, maximum = (section.document.get((*scaling, key)) for key in ("minReplicas", "maxReplicas"))
        if isinstance(maximum, int) and minimum == maximum:
            return Field(maximum, (Origin(section.document, (*scaling, "maxReplicas")),))
        return Field(Unknown("an autoscaler decides", "another object"), (Origin(section.document, scaling),))
    stated = merge.value(section.settings, "replicas")
    path = (*section.base, "replicas")
    if stated is not None and section.document.get(path) is None and merge.text(stated).isdecimal():
        return Field(int(merge.text(stated)), (Origin(section.document, ("spec", "baseRefs")),))
    return replica.count(section.document, path, 1)
