"""KServe's LLMInferenceService: decode and prefill workloads on the configurations that the operator keeps for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import shell, units
from gpulint.adapters import instance, joined, pod, tree
from gpulint.adapters.joined import Places
from gpulint.documents import Document, Node, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

KIND = "LLMInferenceService"
CONFIG = "LLMInferenceServiceConfig"
GROUP = "serving.kserve.io"
MAIN = "main"
ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
OWN = "kserve-config-"
"""Begins the names of the operator's own configurations, which are read here by what they say."""
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
    """One workload of a service: where it stands, its merged settings, and the places of what other objects give it."""

    document: Document
    base: Path
    settings: Node
    places: Places
    unread: str


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload: decode and prefill where they are apart, else one role."""
    found = list(_sections(document, repository))
    names = ("decode", "prefill") if len(found) > 1 else (MAIN,)
    roles = tuple(role for name, section in zip(names, found, strict=False) for role in _roles(name, section))
    name = str(document.get(("metadata", "name")) or KIND)
    if roles:
        yield Workload(name, "inference", "kserve", document, (), roles)


def _sections(document: Document, repository: Repository) -> Iterator[Section]:
    places = Places()
    settings, unread = document.node(("spec",)), ""
    base: Node | None = None
    for config, reference in _configurations(document, repository):
        if config is None:
            unread = unread or f"the configuration {reference.text()} may add arguments"
        else:
            base = joined.merged(base, places.copied(config, ("spec",), reference))
    whole = joined.merged(base, settings)
    if whole is None or whole.kind != "mapping":
        return
    yield Section(document, ("spec",), whole, places, unread)
    if prefill := joined.value(whole, "prefill"):
        model = joined.entries(whole).get("model")
        apart = {**joined.entries(prefill), **({"model": model} if model else {})}
        yield Section(
            document,
            ("spec", "prefill"),
            Node("mapping", prefill.start, prefill.end, list(apart.values())),
            places,
            unread,
        )


def _configurations(document: Document, repository: Repository) -> Iterator[tuple[Document | None, Origin]]:
    """The configurations that a service names, in order; None for one that is not in the repository, or not surely."""
    for at in instance.items(document, ("spec", "baseRefs")):
        name = document.get((*at, "name"))
        if isinstance(name, str) and not name.startswith(OWN):
            found = _held(document, name, repository)
            yield (found[0] if len(found) == 1 else None), Origin(document, (*at, "name"))


def _held(document: Document, name: str, repository: Repository) -> Sequence[Document]:
    same_file = [
        one for one in document.beside if (one.get(("kind",)), one.get(("metadata", "name"))) == (CONFIG, name)
    ]
    found = same_file or repository.objects(CONFIG, name, document.path)
    return [one for one in found if str(one.get(("apiVersion",))).startswith(f"{GROUP}/")]


# ---- the pods of one workload


def _roles(name: str, section: Section) -> Iterator[Role]:
    """The containers with GPUs, each on as many pods as the service spreads one instance over."""
    spec = joined.merged(joined.merged(_mounting(section), _template(section)), _main(section))
    if spec is None:
        return
    made = joined.pod(section.document, spec)
    given = pod.hints(section.document, ("metadata",))
    for role in pod.roles(made, ("spec",), given):
        is_main = role.name == MAIN
        if is_main or role.value("gpus_per_pod"):
            whole = _counted(section, section.places.resolved(_completed(section, role) if is_main else role))
            yield replace(whole, name=name if is_main else f"{name}/{role.name}")


def _template(section: Section) -> Node | None:
    return joined.value(section.settings, "template")


def _mounting(section: Section) -> Node:
    """The mounts of the operator's configuration, whose volumes a template may state anew."""
    at = tree.place(section.document, (*section.base, "template"))
    mounts: list[tree.Part] = [{"mountPath": path, "name": name} for path, name in MOUNTS.items()]
    name = joined.value(_container(section), "name") or MAIN
    return tree.written({"containers": [{"name": name, "volumeMounts": mounts}]}, at)


def _main(section: Section) -> Node:
    """What the operator's configuration adds to the main container: the command, unless another is stated."""
    at = tree.place(section.document, (*section.base, "template"))
    container = _container(section)
    main: joined.Parts = {"name": joined.value(container, "name") or MAIN}
    if joined.value(container, "command") is None:
        main["command"] = [tree.word("vllm", at), tree.word("serve", at), *_served(section, at)]
        main["args"] = [*_parallel(section), *_adapters(section), *_additional(section), *_own(container)]
    return tree.written({"containers": [main]}, at)


def _container(section: Section) -> Node | None:
    listed = joined.items(joined.value(_template(section), "containers"))
    return next((one for one in listed if joined.text(joined.value(one, "name")) == MAIN), None)


def _own(container: Node | None) -> Sequence[Node]:
    return joined.items(joined.value(container, "args"))


def _served(section: Section, at: Node) -> Iterator[Node]:
    """The model as a word: the id of a hub, else the folder that the weights are put into."""
    uri = joined.value(section.settings, "model", "uri")
    scheme, separator, name = joined.text(uri).partition("://")
    if uri is not None and scheme == "hf" and separator and name:
        yield _part(section.document, ("spec", "model", "uri"), uri, len(scheme) + len(separator))
    elif uri is not None:
        yield tree.word("/mnt/models", uri)


def _part(document: Document, path: Path, node: Node, start: int) -> Node:
    """The rest of a scalar of the file from a character on."""
    name = str(node.value)[start:]
    if document.node(path) is not node:
        return tree.word(name, node)
    return Node("scalar", document.offset(path, start), document.offset(path, start + len(name)), name, tree.WRITTEN)


def _parallel(section: Section) -> Iterator[Node]:
    """The sizes that the configurations turn into arguments; of several nodes also copies, stages and experts."""
    flags = {"tensor": "--tensor-parallel-size"}
    if joined.value(section.settings, "worker"):
        flags |= {"data": "--data-parallel-size", "pipeline": "--pipeline-parallel-size"}
        expert = joined.value(section.settings, "parallelism", "expert")
        if joined.text(expert).lower() == "true" and expert is not None:
            yield tree.word("--enable-expert-parallel", expert)
    for key, flag in flags.items():
        if size := joined.value(section.settings, "parallelism", key):
            yield from (tree.word(flag, size), size)


def _adapters(section: Section) -> Iterator[Node]:
    lora = joined.value(section.settings, "model", "lora")
    if lora is None or not joined.items(joined.value(lora, "adapters")):
        return
    yield tree.word("--enable-lora", tree.place(section.document, ("spec", "model", "lora")))
    for key, flag in (("maxRank", "--max-lora-rank"), ("maxAdapters", "--max-loras")):
        if size := joined.value(lora, key):
            yield from (tree.word(flag, size), size)


def _additional(section: Section) -> Iterator[Node]:
    """The words of the variable that the command ends with, each at its place in it."""
    held = _variable(section)
    if held is None:
        return
    made = joined.pod(section.document, tree.written({"value": held}, held))
    path: Path = ("spec", "value")
    copy = section.places.of(Origin(made, path))
    for command in shell.commands(str(held.value)):
        for word in command.words:
            text = word.raw if word.text is None else word.text
            if copy is not None:
                yield section.places.word(text, copy, (word.start, word.end))
            else:
                start, end = made.offset(path, word.start), made.offset(path, word.end)
                yield Node("scalar", start, end, text, tree.WRITTEN)


def _variable(section: Section) -> Node | None:
    for entry in joined.items(joined.value(_container(section), "env")):
        if joined.text(joined.value(entry, "name")) == ADDITIONAL:
            return joined.value(entry, "value")
    return None


# ---- what the operator decides


def _completed(section: Section, role: Role) -> Role:
    """The main container with what the operator mounts, downloads and claims for it."""
    fields = {key: field for key, field in role.fields.items() if key not in ("model_volume_bytes", "multi_node")}
    fields |= {"shared_memory_default": Field(False, source=MOUNTED), "engine_image": Field(None)}
    if section.unread:
        fields["unmounted_memory_volume"] = Field(None)
    preset = joined.value(_container(section), "command") is None
    if preset and role.text("engine") == "vllm":
        at = Origin(section.document, (*section.base, "template"))
        fields["engine"] = Field("vllm", (at,), assumption=PRESET)
    if str(fields.get("checkpoint", Field("/mnt/models")).value) in ("/mnt/models", "/mnt/models/"):
        fields |= _elsewhere(section)
    fields |= _claimed(section) | _offloaded(section)
    unread = section.unread or ("another object holds " + ADDITIONAL if _by_reference(section) else "")
    return replace(role, fields=fields, open_ended=role.open_ended or unread)


def _by_reference(section: Section) -> bool:
    listed = joined.items(joined.value(_container(section), "env"))
    return any(joined.text(joined.value(one, "name")) == ADDITIONAL for one in listed) and _variable(section) is None


def _elsewhere(section: Section) -> dict[str, Field]:
    """The model of weights that lie on a volume or in a bucket: the hub id that it is served under, as an assumption."""
    document, name = section.document, _name(section)
    origin = Origin(document, ("spec", "model", "name"))
    if name.count("/") == 1 and document.get(origin.path) == name:
        return {
            "checkpoint": Field(
                name, (origin,), assumption=f"the weights are assumed to be those of {name}, from the model's name"
            )
        }
    uri = Origin(document, ("spec", "model", "uri"))
    reason = Unknown(f"what {document.get(uri.path)} holds is not stated", "another object")
    return {"checkpoint": Field(reason, (uri,))} if document.get(uri.path) else {}


def _name(section: Section) -> str:
    return joined.text(joined.value(section.settings, "model", "name"))


def _claimed(section: Section) -> dict[str, Field]:
    """The devices that annotations claim for the main container."""
    document = section.document
    key = ("metadata", "annotations")
    device_class = document.get((*key, DEVICE_CLASS))
    if not isinstance(device_class, str):
        return {}
    at = Origin(document, (*key, DEVICE_CLASS))
    placed = Field(Unknown("the device class determines the GPU model", "queue or partition"), (at,))
    if device_class not in GPU_CLASSES:
        return {
            "gpus_per_pod": Field(
                Unknown(f"the devices of class {device_class} are not known", "another object"), (at,)
            )
        }
    count = instance.count(document, (*key, DEVICE_COUNT), 1, "default of KServe")
    return {"gpus_per_pod": replace(count, origins=count.origins or (at,)), "accelerator": placed}


def _offloaded(section: Section) -> dict[str, Field]:
    """Host memory of the KV cache's further tier."""
    path = (*section.base, "kvCacheOffloading", "cpu")
    size = section.document.get(path)
    if size is None:
        return {}
    try:
        held = units.bytes_of(size)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return {"host_kv_bytes": Field(Unknown(f"{size} is not a quantity"), (Origin(section.document, path),))}
    return {"host_kv_bytes": Field(held, (Origin(section.document, path),))}


def _counted(section: Section, role: Role) -> Role:
    return instance.counted(role, _pods(section), _replicas(section))


def _pods(section: Section) -> Field:
    """Nodes of one instance: data over local data parallel size, else the pipeline stages (ParallelismSpec.GetSize)."""
    if joined.value(section.settings, "worker") is None:
        return instance.ONE_POD
    sizes = {key: _size(section, key) for key in ("data", "dataLocal", "pipeline")}
    if unknown := next((size for size in sizes.values() if size and isinstance(size.value, Unknown)), None):
        return unknown
    data, local, pipeline = (sizes[key] for key in ("data", "dataLocal", "pipeline"))
    if data or local:
        whole = data.value if data and isinstance(data.value, int) else 1
        part = local.value if local and isinstance(local.value, int) else 1
        origins = tuple(origin for size in (data, local) if size for origin in size.origins)
        return Field(max(whole // max(part, 1), 1), origins)
    return pipeline or instance.ONE_POD


def _size(section: Section, key: str) -> Field | None:
    """A size of the parallelism; one that another object states stands there."""
    node = joined.value(section.settings, "parallelism", key)
    if node is None:
        return None
    path = (*section.base, "parallelism", key)
    if section.document.get(path) is not None:
        return instance.count(section.document, path, 1)
    value = joined.text(node)
    origin = Origin(section.document, ("spec", "baseRefs"))
    return Field(int(value) if value.isdecimal() else Unknown(f"{key} is {value}"), (origin,))


def _replicas(section: Section) -> Field:
    scaling = (*section.base, "scaling")
    if section.document.get(scaling) is not None:
        least, most = (section.document.get((*scaling, key)) for key in ("minReplicas", "maxReplicas"))
        if isinstance(most, int) and least == most:
            return Field(most, (Origin(section.document, (*scaling, "maxReplicas")),))
        return Field(Unknown("an autoscaler decides", "another object"), (Origin(section.document, scaling),))
    stated = joined.value(section.settings, "replicas")
    path = (*section.base, "replicas")
    if stated is not None and section.document.get(path) is None and joined.text(stated).isdecimal():
        return Field(int(joined.text(stated)), (Origin(section.document, ("spec", "baseRefs")),))
    return instance.count(section.document, path, 1)
