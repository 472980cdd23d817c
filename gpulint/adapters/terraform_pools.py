"""Pools of nodes that Terraform makes: of GKE, EKS, AKS, OKE and Nebius, by their resources and by the clouds' own modules.

hashicorp/terraform-provider-google (container_node_pool, container_cluster), -aws (eks_node_group), -azurerm
(kubernetes_cluster, kubernetes_cluster_node_pool), oracle/terraform-provider-oci (containerengine_node_pool),
terraform-aws-modules/eks v18 to v21 and terraform-google-modules/kubernetes-engine.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import hardware
from gpulint.adapters import nested, node_objects
from gpulint.adapters import pools as nodes
from gpulint.adapters.pools import Pool, Taint
from gpulint.adapters.terraform_values import Modules, Spot
from gpulint.documents import Document
from gpulint.workload import Field, Unknown

EFFECTS: Mapping[str, str] = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
GKE_MODULE = "terraform-google-modules/kubernetes-engine/google"
EKS_MODULE = "terraform-aws-modules/eks/aws"
GKE_NAME = "cloud.google.com/gke-nodepool"
EKS_NAME = "eks.amazonaws.com/nodegroup"
AKS_NAMES = ("agentpool", "kubernetes.azure.com/agentpool")


class Machine(NamedTuple):
    """A machine as one block describes it: its type, and the card attached to it with its count and slice."""

    spot: Spot
    kind: Field | None
    guest: Field | None
    guests: Field | None
    partition: Field | None
    sharing: Field | None = None


def pools(found: Iterable[Document]) -> Iterator[Pool]:
    """The pools of all Terraform files among the documents."""
    code = tuple(document for document in found if document.format == "hcl")
    if not code:
        return
    modules = modules_of(code)
    for document in code:
        yield from _of_document(document, modules)
        yield from node_objects.pools(_manifests(document))


def _manifests(document: Document) -> Iterator[Document]:
    """The objects of Kubernetes that a file applies: as a text, or as a map of Terraform's."""
    for name in _names(document.get(("resource", "kubectl_manifest"))):
        inner = nested.document(document, ("resource", "kubectl_manifest", name, "yaml_body"))
        if inner is not None:
            yield inner
    for name in _names(document.get(("resource", "kubernetes_manifest"))):
        node = document.node(("resource", "kubernetes_manifest", name, "manifest"))
        if node is not None and node.kind == "mapping":
            yield Document(document.path, document.index, document.text, node, document.format)


@functools.lru_cache(maxsize=4)
def modules_of(code: tuple[Document, ...]) -> Modules:
    """The modules of a repository, whose files are read once."""
    return Modules(code)


def _of_document(document: Document, modules: Modules) -> Iterator[Pool]:
    for kind, read in RESOURCES.items():
        for spot in resources(document, kind, modules):
            yield from read(spot, modules)
    for name in _names(document.get(("module",))):
        spot = Spot(document, ("module", name))
        source = str(spot.below("source").value())
        if source.partition("//")[0] == EKS_MODULE:
            yield from _eks_module(spot, modules)
        elif source.partition("//")[0] == GKE_MODULE:
            yield from _gke_module(spot, modules)


def resources(document: Document, kind: str, modules: Modules) -> Iterator[Spot]:
    """Where resources of a type stand, once for each that their `count` or `for_each` makes."""
    for name in _names(document.get(("resource", kind))):
        block = Spot(document, ("resource", kind, name))
        made = modules.repeated(block)
        yield from (block,) if isinstance(made, Unknown) else made


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, dict) else ()


# ---- Google


def machine(config: Spot, modules: Modules) -> Machine:
    """The machine of a `node_config`, or of an instance that is described alike."""
    kind = modules.field(config.below("machine_type"))
    listed = config.below("guest_accelerator")
    guests = modules.items(listed)
    if config.below("dynamic", "guest_accelerator").value() is not None:
        guests = Unknown("a dynamic block attaches the GPUs")
    if isinstance(guests, Unknown):
        unknown = Field(guests, (listed.origin(),))
        return Machine(config, kind, unknown, unknown, None)
    if not guests:
        return Machine(config, kind, None, None, None)
    partition = modules.field(guests[0].below("gpu_partition_size"))
    blank = partition is not None and partition.value == ""
    return Machine(
        config,
        kind,
        modules.field(guests[0].below("type")),
        modules.field(guests[0].below("count")),
        None if blank else partition,
        _sharing(guests[0], modules),
    )


def _sharing(guest: Spot, modules: Modules) -> Field | None:
    """How GKE shares the cards of a pool out: by time or by MPS."""
    for settings in blocks(guest.below("gpu_sharing_config"), modules):
        stated = modules.field(settings.below("gpu_sharing_strategy"))
        named = str(stated.value) if stated is not None and isinstance(stated.value, str) else "shared"
        return Field(named, (settings.origin(),))
    return None


def _gke(spot: Spot, modules: Modules) -> Iterator[Pool]:
    for config in blocks(spot.below("node_config"), modules):
        yield _gke_pool(spot, config, modules.field(spot.below("name")), modules)


def _gke_cluster(spot: Spot, modules: Modules) -> Iterator[Pool]:
    removed = modules.field(spot.below("remove_default_node_pool"))
    if removed is None:
        for config in blocks(spot.below("node_config"), modules):
            yield _gke_pool(spot, config, Field("default-pool", source="GKE"), modules)
    for inner in blocks(spot.below("node_pool"), modules):
        yield from _gke(inner, modules)


def _gke_pool(spot: Spot, config: Spot, name: Field | None, modules: Modules) -> Pool:
    own, unknown = _labels(config.below("labels"), modules)
    taints = _taints(config.below("taint"), modules)
    return google_pool(spot, machine(config, modules), name, own, taints, unknown)


def google_pool(
    spot: Spot,
    of: Machine,
    name: Field | None,
    own: Mapping[str, frozenset[str]],
    taints: tuple[Taint, ...],
    is_open: bool,
) -> Pool:
    """A pool of GKE with the labels that it sets itself: cloud.google.com/kubernetes-engine/docs/concepts/node-pools."""
    guest = of.guest if not _holds_cards(of.kind) else None
    card, count = nodes.held(of.kind, guest, of.guests, "gcp")
    labels = dict(own)
    if card.value is not None:
        _label(labels, "cloud.google.com/gke-accelerator", of.guest)
        _label(labels, "cloud.google.com/gke-gpu-partition-size", of.partition)
    if of.guest is None and isinstance(card.value, str):
        labels["cloud.google.com/gke-accelerator"] = _written(card.value)
    _label(labels, GKE_NAME, name)
    _label(labels, "node.kubernetes.io/instance-type", of.kind)
    _label(labels, "beta.kubernetes.io/instance-type", of.kind)
    if of.partition is not None or of.sharing is not None:
        parts = of.partition or of.sharing
        count = Field(Unknown("the cards are shared out in parts"), parts.origins if parts else ())
    is_open = is_open or not isinstance(name.value if name else None, str)
    pool = Pool(_called(name, spot), spot.name(), labels, card, count, _type(of.kind), taints, is_open)
    cut = of.partition if of.partition is None or isinstance(of.partition.value, str) else None
    return pool._replace(naming=(GKE_NAME,), mig_profile=cut, sharing=of.sharing)


def _holds_cards(kind: Field | None) -> bool:
    """Whether a machine type holds the cards that a `guest_accelerator` repeats."""
    node = nodes.of_type(str(kind.value), "gcp") if kind is not None else None
    return node is not None and bool(node.accelerator)


def _written(product: str) -> frozenset[str]:
    """The values of GKE's label that a product has: its nodes carry one, whether or not a pool repeats the card."""
    key = "cloud.google.com/gke-accelerator"
    return frozenset(value for (label, value), named in hardware.labels().items() if label == key and named == product)


def _gke_module(spot: Spot, modules: Modules) -> Iterator[Pool]:
    listed = modules.items(spot.below("node_pools"))
    shared, hidden = _labels(spot.below("node_pools_labels", "all"), modules)
    for item in () if isinstance(listed, Unknown) else listed:
        name = modules.field(item.below("name"))
        guest, count = (modules.field(item.below(key)) for key in ("accelerator_type", "accelerator_count"))
        if guest is not None and (guest.value == "" or (count is not None and count.value == 0)):
            guest = count = None
        of = Machine(item, modules.field(item.below("machine_type")), guest, count, None)
        own, unknown = _labels(spot.below("node_pools_labels", str(name.value if name else "")), modules)
        open_map = isinstance(spot.below("node_pools_labels").value(), str)
        taints = _taints(spot.below("node_pools_taints", str(name.value if name else "")), modules)
        yield google_pool(item, of, name, {**shared, **own}, taints, unknown or hidden or open_map)


# ---- Amazon


def _eks(spot: Spot, modules: Modules) -> Iterator[Pool]:
    name = modules.field(spot.below("node_group_name"))
    yield _eks_pool(spot, spot, _kinds(spot, modules), name, "taint", modules)


def _eks_module(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """The groups of the module, which adds a random suffix to their names."""
    for key in ("eks_managed_node_groups", "self_managed_node_groups"):
        entries = modules.entries(spot.below(key))
        for name, group in () if isinstance(entries, Unknown) else entries.items():
            found = modules.at(group)
            inner = found if isinstance(found, Spot) else group
            shared = spot.below(f"{key.removesuffix('s')}_defaults")
            kinds = _kinds(inner, modules) or _kinds(shared, modules)
            pool = _eks_pool(group, inner, kinds, None, "taints", modules)
            yield pool._replace(name=name)


def _kinds(spot: Spot, modules: Modules) -> list[Field]:
    """The instance types of a group; one that is unknown stands for a list that is."""
    if single := modules.field(spot.below("instance_type")):
        return [single]
    listed = spot.below("instance_types")
    items = modules.items(listed)
    if isinstance(items, Unknown):
        return [Field(items, (listed.origin(),))]
    return [kind for item in items if (kind := modules.field(item)) is not None]


def _eks_pool(
    spot: Spot, inner: Spot, kinds: Sequence[Field], name: Field | None, taint: str, modules: Modules
) -> Pool:
    """A group of EKS with the labels that it sets itself: docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html."""
    labels, unknown = _labels(inner.below("labels"), modules)
    taints = _taints(inner.below(taint), modules)
    card, count, machine_type = node_objects.of_kinds(kinds, "aws")
    _label(labels, EKS_NAME, name)
    if kinds and all(isinstance(kind.value, str) for kind in kinds):
        values = frozenset(str(kind.value) for kind in kinds)
        labels |= dict.fromkeys(("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"), values)
    is_open = unknown or not isinstance(name.value if name else None, str)
    pool = Pool(_called(name, spot), spot.name(), labels, card, count, machine_type, taints, is_open)
    return pool._replace(naming=(EKS_NAME,))


class Group(NamedTuple):
    """A node group of EKS: its machine types, its image, and whether it has interfaces for EFA."""

    kinds: list[Field]
    image: Field | None
    efa: Field | None


def groups(document: Document, modules: Modules) -> Iterator[Group]:
    """The node groups of a file."""
    for spot in resources(document, "aws_eks_node_group", modules):
        yield Group(_kinds(spot, modules), modules.field(spot.below("ami_type")), None)
    for name in _names(document.get(("module",))):
        spot = Spot(document, ("module", name))
        if str(spot.below("source").value()).partition("//")[0] == EKS_MODULE:
            entries = modules.entries(spot.below("eks_managed_node_groups"))
            for group in () if isinstance(entries, Unknown) else entries.values():
                fields = (modules.field(group.below(key)) for key in ("ami_type", "enable_efa_support"))
                yield Group(_kinds(group, modules), *fields)


# ---- Azure, Oracle, Nebius


def _aks(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """A pool of AKS with the labels that it sets itself: learn.microsoft.com/azure/aks/use-labels."""
    name, kind = modules.field(spot.below("name")), modules.field(spot.below("vm_size"))
    labels, unknown = _labels(spot.below("node_labels"), modules)
    items = modules.items(spot.below("node_taints"))
    listed = () if isinstance(items, Unknown) else items
    texts = [field.value for item in listed if (field := modules.field(item)) is not None]
    taints = tuple(taint for text in nodes.strings(texts) if (taint := nodes.taint(text)))
    card, count = nodes.held(kind, None, None, "azure")
    for key in AKS_NAMES:
        _label(labels, key, name)
    _label(labels, "node.kubernetes.io/instance-type", kind)
    is_open = unknown or not isinstance(name.value if name else None, str)
    pool = Pool(_called(name, spot), spot.name(), labels, card, count, _type(kind, "azure"), taints, is_open)
    yield pool._replace(naming=AKS_NAMES)


def _aks_cluster(spot: Spot, modules: Modules) -> Iterator[Pool]:
    for inner in blocks(spot.below("default_node_pool"), modules):
        yield from _aks(inner, modules)


def _oke(spot: Spot, modules: Modules) -> Iterator[Pool]:
    name, kind = modules.field(spot.below("name")), modules.field(spot.below("node_shape"))
    labels: dict[str, frozenset[str]] = {}
    is_open = False
    for inner in blocks(spot.below("initial_node_labels"), modules):
        key, value = (modules.field(inner.below(part)) for part in ("key", "value"))
        if key is None or not isinstance(key.value, str):
            is_open = True
        else:
            _label(labels, key.value, value)
    _label(labels, "node.kubernetes.io/instance-type", kind)
    card, count = nodes.held(kind, None, None, "oci")
    yield Pool(_called(name, spot), spot.name(), labels, card, count, _type(kind), (), is_open)


def _nebius(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """A node group of Nebius: its machine type is a platform with a preset of it."""
    parts = [modules.field(spot.below("template", "resources", key)) for key in ("platform", "preset")]
    labels, unknown = _labels(spot.below("template", "metadata", "labels"), modules)
    stated = [part for part in parts if part is not None]
    told = next((part for part in stated if isinstance(part.value, Unknown)), None)
    origins = tuple(origin for part in stated for origin in part.origins)
    kind = told or (Field("_".join(str(part.value) for part in stated), origins) if len(stated) == 2 else None)
    if kind is not None and isinstance(kind.value, str) and kind.value.startswith("cpu-"):
        card, count = nodes.NO_CARD, None
    else:
        card, count = nodes.held(kind, None, None, "nebius")
    name = modules.field(spot.below("name"))
    yield Pool(_called(name, spot), spot.name(), labels, card, count, _type(kind), (), unknown)


RESOURCES: Mapping[str, Callable[[Spot, Modules], Iterator[Pool]]] = {
    "google_container_node_pool": _gke,
    "google_container_cluster": _gke_cluster,
    "aws_eks_node_group": _eks,
    "azurerm_kubernetes_cluster": _aks_cluster,
    "azurerm_kubernetes_cluster_node_pool": _aks,
    "oci_containerengine_node_pool": _oke,
    "nebius_mk8s_v1_node_group": _nebius,
}


# ---- parts


def blocks(spot: Spot, modules: Modules) -> tuple[Spot, ...]:
    """The blocks of a kind that stand in another one."""
    items = modules.items(spot)
    return () if isinstance(items, Unknown) else items


def _labels(spot: Spot, modules: Modules) -> tuple[dict[str, frozenset[str]], bool]:
    """The labels of a map with those whose value is known, and whether there may be others."""
    entries = modules.entries(spot)
    if isinstance(entries, Unknown):
        return {}, True
    labels: dict[str, frozenset[str]] = {}
    unknown = False
    for key, value in entries.items():
        field = modules.field(value)
        _label(labels, key, field)
        unknown = unknown or (field is not None and isinstance(field.value, Unknown))
    return labels, unknown


def _label(labels: dict[str, frozenset[str]], key: str, field: Field | None) -> None:
    """A label with its one value, written as Kubernetes writes it."""
    if field is None or isinstance(field.value, Unknown):
        return
    value = field.value
    labels[key] = frozenset({str(value).lower() if isinstance(value, bool) else str(value)})


def _taints(spot: Spot, modules: Modules) -> tuple[Taint, ...]:
    """The known taints of a list of blocks, or of a map of them."""
    items = modules.items(spot)
    if isinstance(items, Unknown):
        entries = modules.entries(spot)
        items = items if isinstance(entries, Unknown) else tuple(entries.values())
    if isinstance(items, Unknown):
        return ()
    found = [[modules.field(item.below(key)) for key in ("key", "value", "effect")] for item in items]
    return tuple(_taint(*parts) for parts in found if all(_is_known(part) for part in parts))


def _is_known(part: Field | None) -> bool:
    return part is None or not isinstance(part.value, Unknown)


def _taint(key: Field | None, value: Field | None, effect: Field | None) -> Taint:
    texts = ["" if part is None else str(part.value) for part in (key, value, effect)]
    if value is not None and isinstance(value.value, bool):
        texts[1] = texts[1].lower()
    return Taint(texts[0], texts[1], EFFECTS.get(texts[2], texts[2]))


def _called(name: Field | None, spot: Spot) -> str:
    if name is not None and isinstance(name.value, str):
        return name.value
    return str(spot.path[-1]) if isinstance(spot.path[-1], str) else posixpath.basename(spot.document.path)


def _type(kind: Field | None, cloud: str = "") -> Field | None:
    """The machine type in the catalog's spelling."""
    if kind is None or isinstance(kind.value, Unknown):
        return None
    node = nodes.of_type(str(kind.value), cloud)
    return Field(node.instance_type, kind.origins) if node else None
