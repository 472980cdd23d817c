"""Node pools in Terraform: of GKE, EKS, AKS, OKE and Nebius, by their resources and the clouds'
modules.

hashicorp/terraform-provider-google (container_node_pool, container_cluster), -aws (eks_node_group), -azurerm
(kubernetes_cluster, kubernetes_cluster_node_pool), oracle/terraform-provider-oci (containerengine_node_pool),
terraform-aws-modules/eks v18 to v21 and terraform-google-modules/kubernetes-engine. `inventory` also yields
the machines of google_compute_instance, aws_instance, aws_autoscaling_group and azurerm_linux_virtual_machine, and
the limits of GKE's node auto-provisioning.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes import kubernetes_pools, machine_types
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.nodes.terraform import blocks, google, instance_types, instances, node_counts
from gpulint.adapters.nodes.terraform.instances import Instance, Settlement
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.adapters.objects import embedded
from gpulint.adapters.pods import taints
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Unknown

FILE_NAMES = (r"\.tf$", r"\.tf\.\w+$", r"\.tfvars$", r"\.tfvars\.\w+$")
GKE_MODULE = "terraform-google-modules/kubernetes-engine/google"
EKS_MODULE = "terraform-aws-modules/eks/aws"
POOLS_MAX = 2_000
EKS_NAME = "eks.amazonaws.com/nodegroup"
AKS_NAMES = ("agentpool", "kubernetes.azure.com/agentpool")


def pools(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the pools of all Terraform files among the documents."""
    code = tuple(document for document in documents if document.format == "hcl")
    if not code:
        return
    modules = load_modules(code)
    for document in code:
        yield from _read_document(document, modules)
        yield from kubernetes_pools.pools(_read_manifests(document))


def _read_manifests(document: Document) -> Iterator[Document]:
    """Yield the Kubernetes objects that a file applies, as a text or as a Terraform map."""
    for name in _read_names(document.get(("resource", "kubectl_manifest"))):
        inner = embedded.document(document, ("resource", "kubectl_manifest", name, "yaml_body"))
        if inner is not None:
            yield inner
    for name in _read_names(document.get(("resource", "kubernetes_manifest"))):
        node = document.node(("resource", "kubernetes_manifest", name, "manifest"))
        if node is not None and node.kind == "mapping":
            yield Document(document.path, document.index, document.text, node, document.format)


@functools.lru_cache(maxsize=4)
def load_modules(code: tuple[Document, ...]) -> Modules:
    """Return the modules of a repository. Its files are read once."""
    return Modules(code)


def _read_document(document: Document, modules: Modules) -> Iterator[Pool]:
    for kind, read in RESOURCES.items():
        for spot in resources(document, kind, modules):
            yield from read(spot, modules)
    for spot, read in _find_module_calls(document):
        yield from read(spot, modules)


def _find_module_calls(document: Document) -> Iterator[tuple[Spot, Reader]]:
    """Yield the calls of the clouds' modules, each with the function that reads it."""
    for name in _read_names(document.get(("module",))):
        spot = Spot(document, ("module", name))
        source = str(spot.descend("source").value()).partition("//")[0]
        if source in MODULES:
            yield spot, MODULES[source]


def inventory(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the pools and machines that Terraform creates, once for each call of their module."""
    code = tuple(document for document in documents if document.format == "hcl")
    if not code:
        return
    modules = load_modules(code)
    settlement = Settlement(modules)
    left = POOLS_MAX
    for document in code:
        yield from kubernetes_pools.inventory(_read_manifests(document))
        found = tuple(_find_blocks(document))
        for each in instances.list_instances(document, modules) if found else ():
            read = list(itertools.islice(_read_instance(found, each, settlement), left + 1))
            modules.pins = {}
            left -= len(read)
            if left < 0:
                yield _make_overflow(code)
                return
            yield from read


def _make_overflow(code: Iterable[Document]) -> Pool:
    """Return one unknown pool in place of those over the limit; a change of any file may change it."""
    unknown = Field(Unknown(f"there are more than {POOLS_MAX} node pools"))
    basis = tuple(Origin(document, ()) for document in code)
    return Pool("further node pools", basis[0], {}, unknown, amount=Amount(unknown, unknown), basis=basis)


def _find_blocks(document: Document) -> Iterator[tuple[Spot, Reader]]:
    """Yield the blocks that create nodes, each with the function that reads it."""
    for kind, read in (*RESOURCES.items(), *MACHINES.items()):
        yield from (
            (Spot(document, ("resource", kind, name)), read) for name in _read_names(document.get(("resource", kind)))
        )
    yield from _find_module_calls(document)


def _read_instance(found: Iterable[tuple[Spot, Reader]], each: Instance, settlement: Settlement) -> Iterator[Pool]:
    """Yield the pools of blocks in one instance of their module."""
    modules = settlement.modules
    modules.pins = each.pins
    for block, read in found:
        for spot, copies in instances.repeat(block, modules):
            number = instances.multiply(copies, each.copies)
            yield from (settlement.settle(pool, spot, number) for pool in read(spot, modules))


def resources(document: Document, kind: str, modules: Modules) -> Iterator[Spot]:
    """Yield the locations of resources of a type, once for each item of `count` or `for_each`."""
    for name in _read_names(document.get(("resource", kind))):
        block = Spot(document, ("resource", kind, name))
        made = modules.repeat_block(block)
        yield from (block,) if isinstance(made, Unknown) else made


def _read_names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, dict) else ()


# ---- Amazon


def _read_eks(spot: Spot, modules: Modules) -> Iterator[Pool]:
    name = modules.field(spot.descend("node_group_name"))
    pool = _build_eks_pool(spot, spot, instance_types.read_with_template(spot, modules), name, "taint", modules)
    yield pool._replace(amount=node_counts.read_eks(spot, modules))


def _read_eks_module(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Yield the groups of the module, which adds a random suffix to their names."""
    for key in ("eks_managed_node_groups", "self_managed_node_groups"):
        entries = modules.entries(spot.descend(key))
        for name, group in () if isinstance(entries, Unknown) else entries.items():
            resolved = modules.resolve_spot(group)
            inner = resolved if isinstance(resolved, Spot) else group
            shared = spot.descend(f"{key.removesuffix('s')}_defaults")
            kinds = instance_types.read(inner, modules) or instance_types.read(shared, modules)
            pool = _build_eks_pool(group, inner, kinds, None, "taints", modules)
            least = 1 if key == "eks_managed_node_groups" else 0
            yield pool._replace(name=name, amount=node_counts.read_eks_module(inner, shared, least, modules))


def _build_eks_pool(
    spot: Spot, inner: Spot, kinds: Sequence[Field], name: Field | None, taint: str, modules: Modules
) -> Pool:
    """Return an EKS group with the labels that EKS sets:
    docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html.
    """
    labels, unknown = blocks.read_labels(inner.descend("labels"), modules)
    tainted = blocks.read_taints(inner.descend(taint), modules)
    card, count, machine_type = kubernetes_pools.resolve_machine_types(kinds, "aws")
    blocks.set_label(labels, EKS_NAME, name)
    if kinds and all(isinstance(kind.value, str) for kind in kinds):
        values = frozenset(str(kind.value) for kind in kinds)
        labels |= dict.fromkeys(("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"), values)
    is_open = unknown or not isinstance(name.value if name else None, str)
    pool = Pool(blocks.read_name(name, spot), spot.name(), labels, card, count, machine_type, tainted, is_open)
    return pool._replace(naming=(EKS_NAME,))


class Group(NamedTuple):
    """An EKS node group: its machine types, its image, and whether it has EFA interfaces."""

    kinds: list[Field]
    image: Field | None
    efa: Field | None


def groups(document: Document, modules: Modules) -> Iterator[Group]:
    """Yield the node groups of a file."""
    for spot in resources(document, "aws_eks_node_group", modules):
        yield Group(instance_types.read(spot, modules), modules.field(spot.descend("ami_type")), None)
    for name in _read_names(document.get(("module",))):
        spot = Spot(document, ("module", name))
        if str(spot.descend("source").value()).partition("//")[0] == EKS_MODULE:
            entries = modules.entries(spot.descend("eks_managed_node_groups"))
            for group in () if isinstance(entries, Unknown) else entries.values():
                fields = (modules.field(group.descend(key)) for key in ("ami_type", "enable_efa_support"))
                yield Group(instance_types.read(group, modules), *fields)


# ---- Azure, Oracle, Nebius


def _build_aks_pool(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Return an AKS pool with the labels that AKS sets: learn.microsoft.com/azure/aks/use-labels."""
    name, kind = modules.field(spot.descend("name")), modules.field(spot.descend("vm_size"))
    labels, unknown = blocks.read_labels(spot.descend("node_labels"), modules)
    items = modules.items(spot.descend("node_taints"))
    listed = () if isinstance(items, Unknown) else items
    texts = [field.value for item in listed if (field := modules.field(item)) is not None]
    tainted = tuple(taint for text in taints.strings(texts) if (taint := taints.read(text)))
    card, count = machine_types.find_accelerator(kind, None, None, "azure")
    for key in AKS_NAMES:
        blocks.set_label(labels, key, name)
    blocks.set_label(labels, "node.kubernetes.io/instance-type", kind)
    is_open = unknown or not isinstance(name.value if name else None, str)
    pool = Pool(
        blocks.read_name(name, spot),
        spot.name(),
        labels,
        card,
        count,
        blocks.find_listed_type(kind, "azure"),
        tainted,
        is_open,
    )
    yield pool._replace(naming=AKS_NAMES, amount=node_counts.read_aks(spot, modules))


def _read_aks_cluster(spot: Spot, modules: Modules) -> Iterator[Pool]:
    for inner in blocks.blocks(spot.descend("default_node_pool"), modules):
        yield from _build_aks_pool(inner, modules)


def _build_oke_pool(spot: Spot, modules: Modules) -> Iterator[Pool]:
    name, kind = modules.field(spot.descend("name")), modules.field(spot.descend("node_shape"))
    labels: dict[str, frozenset[str]] = {}
    is_open = False
    for inner in blocks.blocks(spot.descend("initial_node_labels"), modules):
        key, value = (modules.field(inner.descend(part)) for part in ("key", "value"))
        if key is None or not isinstance(key.value, str):
            is_open = True
        else:
            blocks.set_label(labels, key.value, value)
    blocks.set_label(labels, "node.kubernetes.io/instance-type", kind)
    card, count = machine_types.find_accelerator(kind, None, None, "oci")
    pool = Pool(
        blocks.read_name(name, spot), spot.name(), labels, card, count, blocks.find_listed_type(kind), (), is_open
    )
    yield pool._replace(amount=node_counts.read_oke(spot, modules))


def _build_nebius_pool(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Return a Nebius node group. Its machine type is a platform with a preset."""
    named = [modules.field(spot.descend("template", "resources", key)) for key in ("platform", "preset")]
    labels, unknown = blocks.read_labels(spot.descend("template", "metadata", "labels"), modules)
    stated = [part for part in named if part is not None]
    unresolved = next((part for part in stated if isinstance(part.value, Unknown)), None)
    origins = tuple(origin for part in stated for origin in part.origins)
    kind = unresolved or (Field("_".join(str(part.value) for part in stated), origins) if len(stated) == 2 else None)
    if kind is not None and isinstance(kind.value, str) and kind.value.startswith("cpu-"):
        card, count = machine_types.NO_ACCELERATOR, None
    else:
        card, count = machine_types.find_accelerator(kind, None, None, "nebius")
    name = modules.field(spot.descend("name"))
    pool = Pool(
        blocks.read_name(name, spot), spot.name(), labels, card, count, blocks.find_listed_type(kind), (), unknown
    )
    yield pool._replace(amount=node_counts.read_nebius(spot, modules))


def _read_aws_instance(spot: Spot, modules: Modules) -> Iterator[Pool]:
    kinds = instance_types.read_with_template(spot, modules)
    pool = _build_eks_pool(spot, spot, kinds, None, "taint", modules)
    yield pool._replace(amount=node_counts.ONE)


def _read_autoscaling(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Return an Auto Scaling group, if its folder states the instance types."""
    if kinds := instance_types.read_autoscaling(spot, modules):
        pool = _build_eks_pool(spot, spot, kinds, None, "taint", modules)
        yield pool._replace(amount=node_counts.read_autoscaling(spot, modules))


def _read_azure_machine(spot: Spot, modules: Modules) -> Iterator[Pool]:
    name, kind = (modules.field(spot.descend(key)) for key in ("name", "size"))
    card, count = machine_types.find_accelerator(kind, None, None, "azure")
    machine = blocks.find_listed_type(kind, "azure")
    yield Pool(blocks.read_name(name, spot), spot.name(), {}, card, count, machine, amount=node_counts.ONE)


Reader = Callable[[Spot, Modules], Iterator[Pool]]
RESOURCES: Mapping[str, Reader] = {
    "google_container_node_pool": google.pool,
    "google_container_cluster": google.cluster,
    "aws_eks_node_group": _read_eks,
    "azurerm_kubernetes_cluster": _read_aks_cluster,
    "azurerm_kubernetes_cluster_node_pool": _build_aks_pool,
    "oci_containerengine_node_pool": _build_oke_pool,
    "nebius_mk8s_v1_node_group": _build_nebius_pool,
}
MACHINES: Mapping[str, Reader] = {
    "google_container_cluster": google.limits,
    "google_compute_instance": google.instance,
    "aws_autoscaling_group": _read_autoscaling,
    "aws_instance": _read_aws_instance,
    "azurerm_linux_virtual_machine": _read_azure_machine,
}
MODULES: Mapping[str, Reader] = {EKS_MODULE: _read_eks_module, GKE_MODULE: google.module}
