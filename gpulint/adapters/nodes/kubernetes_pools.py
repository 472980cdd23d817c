"""Node pools that objects describe: eksctl's ClusterConfig, Karpenter's NodePools, GKE's
ComputeClasses.

eksctl.io/v1alpha5 (eksctl-io/eksctl pkg/apis), karpenter.sh/v1, v1beta1 and v1alpha5
(aws/karpenter-provider-aws website/content/en/docs/concepts), cloud.google.com/v1 ComputeClass
(cloud.google.com/kubernetes-engine/docs/reference/crds).

Numbers of nodes: eksctl creates `desiredCapacity` nodes, from `minSize` to `maxSize`. A bound that is absent
is `desiredCapacity`, else `minSize`, else 2 (pkg/cfn/builder/nodegroup.go). Karpenter's `limits` bound the sum
of a resource over all nodes, its `replicas` is a fixed number of nodes (karpenter.sh/docs/concepts/nodepools).
A ComputeClass states no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes import amounts, machine_types
from gpulint.adapters.nodes.pool import DECIDED, Amount, Pool
from gpulint.adapters.pods import taints
from gpulint.adapters.pods.taints import Taint
from gpulint.adapters.programs import replica
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

FILE_WORDS = (
    r"eksctl\.io/",
    r"karpenter\.sh/",
    r"karpenter\.k8s\.aws/",
    r"karpenter\.azure\.com/",
    r"kueue\.x-k8s\.io/",
    r"ComputeClass",
)
KARPENTER = {"karpenter.sh/v1": "NodePool", "karpenter.sh/v1beta1": "NodePool", "karpenter.sh/v1alpha5": "Provisioner"}
INSTANCE = "node.kubernetes.io/instance-type"
EKSCTL_NODES = 2
AWS = "karpenter.k8s.aws/instance-"


class Requirement(NamedTuple):
    """What a NodePool requires of a machine's label."""

    key: str
    operator: str
    values: frozenset[str]
    path: Path


def pools(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the node pools that the documents' objects describe."""
    for document in documents:
        version, kind = str(document.get(("apiVersion",)) or ""), str(document.get(("kind",)) or "")
        if is_eksctl(document):
            yield from _read_eksctl(document)
        elif KARPENTER.get(version) == kind:
            yield _read_karpenter(document)
        elif version.startswith("cloud.google.com/") and kind == "ComputeClass":
            yield from _read_compute_class(document)


def inventory(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the pools that state how many nodes they may have."""
    return (pool for pool in pools(documents) if pool.amount is not None)


def is_eksctl(document: Document) -> bool:
    version, kind = document.get(("apiVersion",)), document.get(("kind",))
    return isinstance(version, str) and version.startswith("eksctl.io/") and kind == "ClusterConfig"


def text(document: Document, path: Path) -> Field | None:
    """Return a text as a field. A text that a tool completes is unknown."""
    value = document.get(path)
    if value is None or isinstance(value, dict | list):
        return None
    origin = (Origin(document, path),)
    if "$" in str(value) or "{{" in str(value) or str(value).startswith("<"):
        return Field(Unknown(f"{value} is filled in elsewhere", "placeholder"), origin)
    return Field(str(value).lower() if isinstance(value, bool) else str(value), origin)


def _read_labels(document: Document, path: Path) -> dict[str, frozenset[str]]:
    given = document.get(path)
    labels = {}
    for key in given if isinstance(given, dict) else ():
        field = text(document, (*path, key))
        if field is not None and isinstance(field.value, str):
            labels[str(key)] = frozenset({field.value})
    return labels


def _read_taints(document: Document, path: Path) -> tuple[Taint, ...]:
    """Read taints as a list of mappings, or as eksctl's older map from keys to `value:effect`."""
    given = document.get(path)
    if isinstance(given, dict):
        texts = (f"{key}={value}" for key, value in given.items())
        return tuple(taint for text in texts if (taint := taints.read(text)))
    listed = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    taint_parts = [
        [str(entry.get(key) if entry.get(key) is not None else "") for key in ("key", "value", "effect")]
        for entry in listed
    ]
    return tuple(Taint(*parts) for parts in taint_parts)


# ---- eksctl


def _read_eksctl(document: Document) -> Iterator[Pool]:
    for group in ("managedNodeGroups", "nodeGroups"):
        for path in replica.items(document, (group,)):
            yield _read_node_group(document, path, managed=group == "managedNodeGroups")


def _read_node_group(document: Document, path: Path, managed: bool) -> Pool:
    name = text(document, (*path, "name"))
    types = read_machine_types(document, path)
    labels = _read_labels(document, (*path, "labels"))
    if name is not None and isinstance(name.value, str):
        labels["alpha.eksctl.io/nodegroup-name"] = frozenset({name.value})
        labels |= {"eks.amazonaws.com/nodegroup": frozenset({name.value})} if managed else {}
    texts = [kind.value for kind in types if isinstance(kind.value, str)]
    if types and len(texts) == len(types):
        labels[INSTANCE] = labels["beta.kubernetes.io/instance-type"] = frozenset(texts)
    card, count, kind = resolve_machine_types(types, "aws")
    tainted = _read_taints(document, (*path, "taints"))
    called = str(name.value) if name is not None and isinstance(name.value, str) else path[0]
    pool = Pool(str(called), Origin(document, path), labels, card, count, kind, tainted, name is None)
    return pool._replace(
        naming=("alpha.eksctl.io/nodegroup-name", *(("eks.amazonaws.com/nodegroup",) if managed else ())),
        amount=_read_group_amount(document, path),
    )


def _read_group_amount(document: Document, path: Path) -> Amount:
    """Return the nodes of a group, with eksctl's defaults (pkg/cfn/builder/nodegroup.go)."""
    desired, least, most = (text(document, (*path, key)) for key in ("desiredCapacity", "minSize", "maxSize"))
    start = desired or least or amounts.make_default(EKSCTL_NODES, "eksctl")
    return amounts.make_range(least or start, most or start, start)


def read_machine_types(document: Document, path: Path) -> list[Field]:
    """Return the machine types of a node group."""
    listed = document.get((*path, "instanceTypes")) or document.get((*path, "instancesDistribution", "instanceTypes"))
    key: Path = (
        ("instanceTypes",) if document.get((*path, "instanceTypes")) else ("instancesDistribution", "instanceTypes")
    )
    if isinstance(listed, list):
        types = (text(document, (*path, *key, at)) for at in range(len(listed)))
        return [field for field in types if field is not None]
    single = text(document, (*path, "instanceType"))
    return [] if single is None or single.value == "mixed" else [single]


def resolve_machine_types(types: Sequence[Field], cloud: str) -> tuple[Field, Field | None, Field | None]:
    """Return accelerator, count and machine type of nodes that have one of several types."""
    if not types:
        return Field(Unknown("the machine type is not stated")), None, None
    accelerators = [machine_types.find_accelerator(kind, None, None, cloud) for kind in types]
    cards = list(dict.fromkeys(card.value for card, _ in accelerators))
    origins = tuple(origin for kind in types for origin in kind.origins)
    unknown = next((card for card in cards if isinstance(card, Unknown)), None)
    if unknown is not None or len(cards) > 1:
        return Field(unknown or Unknown(f"one of {', '.join(map(str, cards))}", DECIDED), origins), None, None
    counts = {count.value for _, count in accelerators if count is not None}
    machine = types[0] if len(types) == 1 and machine_types.find_machine_type(str(types[0].value), cloud) else None
    return Field(cards[0], origins), accelerators[0][1] if len(counts) == 1 else None, machine


# ---- Karpenter


def _read_karpenter(document: Document) -> Pool:
    """Read a NodePool. Its nodes may have any machine type that meets its requirements."""
    spec = template(document)
    name = text(document, ("metadata", "name"))
    labels = _read_labels(document, metadata(document))
    demands = requirements(document, (*spec, "requirements"))
    for demand in demands:
        if demand.operator == "In" and demand.values and not any("$" in value for value in demand.values):
            labels[demand.key] = demand.values
    key = "karpenter.sh/provisioner-name" if document.get(("kind",)) == "Provisioner" else "karpenter.sh/nodepool"
    if name is not None and isinstance(name.value, str):
        labels[key] = frozenset({name.value})
    card, count, kind = _find_matching_machines(document, demands)
    tainted = _read_taints(document, (*spec, "taints"))
    called = str(name.value) if name is not None and isinstance(name.value, str) else "NodePool"
    pool = Pool(called, Origin(document, ("metadata", "name")), labels, card, count, kind, tainted, True)
    return pool._replace(naming=(key,), amount=_read_limit(document))


def _read_limit(document: Document) -> Amount:
    """Return the nodes of a static NodePool, or the GPUs that the limits of another one permit."""
    if (fixed := text(document, ("spec", "replicas"))) is not None:
        return amounts.make_fixed(fixed)
    limits: Path = ("spec", "limits", "resources") if document.get(("kind",)) == "Provisioner" else ("spec", "limits")
    named = document.get(limits)
    keys = [key for key in named if str(key).endswith("/gpu")] if isinstance(named, dict) else []
    place = Origin(document, limits if named is not None else ("metadata", "name"))
    unlimited = Field(Unknown("its limits name no GPU"), (place,))
    most = text(document, (*limits, keys[0])) if len(keys) == 1 else unlimited
    nothing = amounts.make_default(0, "Karpenter")
    return amounts.make_range(nothing, most)._replace(of_gpus=True)


def template(document: Document) -> Path:
    return ("spec",) if document.get(("kind",)) == "Provisioner" else ("spec", "template", "spec")


def metadata(document: Document) -> Path:
    return (
        ("spec", "labels") if document.get(("kind",)) == "Provisioner" else ("spec", "template", "metadata", "labels")
    )


def requirements(document: Document, path: Path) -> list[Requirement]:
    parsed = []
    for at in replica.items(document, path):
        values = document.get((*at, "values"))
        texts = frozenset(map(str, values)) if isinstance(values, list) else frozenset()
        parsed.append(Requirement(str(document.get((*at, "key"))), str(document.get((*at, "operator"))), texts, at))
    return parsed


def _find_matching_machines(
    document: Document, demands: Sequence[Requirement]
) -> tuple[Field, Field | None, Field | None]:
    """Return the accelerator of the machines that meet the requirements, if all are catalogued."""
    restrictions = [
        restriction
        for restriction in demands
        if restriction.operator == "In" and restriction.key in KEYS and restriction.values
    ]
    origins = tuple(Origin(document, restriction.path) for restriction in restrictions)
    if any("$" in value for restriction in restrictions for value in restriction.values):
        return Field(Unknown("the requirements are filled in elsewhere", "placeholder"), origins), None, None
    categories = [restriction.values for restriction in restrictions if restriction.key == f"{AWS}category"]
    if categories and not any(category & {"g", "gr", "p"} for category in categories):
        return Field(None, origins), None, None
    if not any(restriction.key in DECIDING for restriction in restrictions):
        reason = "its requirements name no machine type, family or GPU"
        return Field(Unknown(reason, DECIDED), origins or (Origin(document, ("metadata", "name")),)), None, None
    left = [node for node in hardware.list_nodes() if node.cloud == "aws" and meets(node, restrictions)]
    strangers = find_uncatalogued(restrictions)
    if strangers:
        return Field(Unknown(f"the catalog does not list all machines of {strangers[0]}"), origins), None, None
    cards = sorted({node.accelerator for node in left})
    if len(cards) != 1:
        cpu = Field(None, origins) if not cards else Field(Unknown(f"one of {', '.join(cards)}", DECIDED), origins)
        return cpu, None, None
    counts = {node.node_gpus for node in left}
    kind = Field(left[0].instance_type, origins) if len(left) == 1 else None
    return Field(cards[0], origins), Field(counts.pop(), origins) if len(counts) == 1 else None, kind


def find_uncatalogued(restrictions: Sequence[Requirement]) -> list[str]:
    """Return families, machine types, sizes and GPUs that the catalog lacks and that may have GPUs."""
    listed = {key: {read(node) for node in hardware.list_nodes() if node.cloud == "aws"} for key, read in KEYS.items()}
    return [
        value
        for restriction in restrictions
        if restriction.key in NAMING
        for value in sorted(restriction.values - listed[restriction.key])
        if restriction.key in CARDS or machine_types.has_gpus(f"{value.partition('.')[0]}.large", "aws") is not False
    ]


def meets(node: hardware.Node, restrictions: Iterable[Requirement]) -> bool:
    """Return True if a machine type meets all of these requirements."""
    return all(KEYS[restriction.key](node) in restriction.values for restriction in restrictions)


def _find_gpu_name(node: hardware.Node) -> str:
    key = f"{AWS}gpu-name"
    values = [value for (label, value), card in hardware.labels().items() if label == key and card == node.accelerator]
    return values[0] if values else ""


KEYS: Mapping[str, Callable[[hardware.Node], str]] = {
    INSTANCE: lambda node: node.instance_type,
    "beta.kubernetes.io/instance-type": lambda node: node.instance_type,
    f"{AWS}family": lambda node: node.instance_type.partition(".")[0],
    f"{AWS}size": lambda node: node.instance_type.partition(".")[2],
    f"{AWS}category": lambda node: node.instance_type[:1],
    f"{AWS}gpu-name": _find_gpu_name,
    f"{AWS}gpu-count": lambda node: str(node.node_gpus),
    f"{AWS}gpu-manufacturer": lambda node: "nvidia",
}
"""The labels that Karpenter's AWS provider gives a machine type:
karpenter.sh/docs/reference/instance-types.
"""
DECIDING = frozenset({INSTANCE, "beta.kubernetes.io/instance-type", f"{AWS}family", f"{AWS}gpu-name"})
"""Labels that decide which accelerator the machines have."""
CARDS = frozenset({f"{AWS}gpu-name", f"{AWS}size"})
NAMING = frozenset({INSTANCE, "beta.kubernetes.io/instance-type", f"{AWS}family", *CARDS})
"""Labels whose values the catalog may lack, so that their machines are unknown."""


# ---- GKE


def _read_compute_class(document: Document) -> Iterator[Pool]:
    """Yield the priorities of a ComputeClass. GKE may create a pool for each."""
    name = text(document, ("metadata", "name"))
    if name is None or not isinstance(name.value, str):
        return
    labels = {"cloud.google.com/compute-class": frozenset({name.value})}
    for path in replica.items(document, ("spec", "priorities")):
        guest, count = (text(document, (*path, "gpu", key)) for key in ("type", "count"))
        kind = text(document, (*path, "machineType"))
        if guest is None and kind is None:
            unknown = Field(Unknown("a priority of the class names no GPU"), (Origin(document, path),))
            yield Pool(name.value, Origin(document, path), labels, unknown, is_open=True)
            continue
        card, gpus = machine_types.find_accelerator(kind, guest, _parse_count(count), "gcp")
        machine = kind if kind is not None and machine_types.find_machine_type(str(kind.value), "gcp") else None
        yield Pool(name.value, Origin(document, path), labels, card, gpus, machine, (), True)


def _parse_count(field: Field | None) -> Field | None:
    if field is None or not isinstance(field.value, str) or not field.value.isdecimal():
        return field
    return Field(int(field.value), field.origins)
