"""Pools of nodes that objects describe: eksctl's ClusterConfig, Karpenter's NodePools, GKE's ComputeClasses.

eksctl.io/v1alpha5 (eksctl-io/eksctl pkg/apis), karpenter.sh/v1, v1beta1 and v1alpha5 (aws/karpenter-provider-aws
website/content/en/docs/concepts), cloud.google.com/v1 ComputeClass (cloud.google.com/kubernetes-engine/docs/reference/crds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes import DECIDED, Pool
from gpulint.adapters.nodes import machine_types as machines
from gpulint.adapters.pods import taints
from gpulint.adapters.pods.taints import Taint
from gpulint.adapters.programs import replica as instance
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

KARPENTER = {"karpenter.sh/v1": "NodePool", "karpenter.sh/v1beta1": "NodePool", "karpenter.sh/v1alpha5": "Provisioner"}
INSTANCE = "node.kubernetes.io/instance-type"
AWS = "karpenter.k8s.aws/instance-"


class Requirement(NamedTuple):
    """What a NodePool demands of the label of a machine."""

    key: str
    operator: str
    values: frozenset[str]
    path: Path


def pools(found: Iterable[Document]) -> Iterator[Pool]:
    """The pools of all such objects among the documents."""
    for document in found:
        version, kind = str(document.get(("apiVersion",)) or ""), str(document.get(("kind",)) or "")
        if is_eksctl(document):
            yield from _of_eksctl(document)
        elif KARPENTER.get(version) == kind:
            yield _of_karpenter(document)
        elif version.startswith("cloud.google.com/") and kind == "ComputeClass":
            yield from _of_compute_class(document)


def is_eksctl(document: Document) -> bool:
    version, kind = document.get(("apiVersion",)), document.get(("kind",))
    return isinstance(version, str) and version.startswith("eksctl.io/") and kind == "ClusterConfig"


def text(document: Document, path: Path) -> Field | None:
    """A text as a field; one that a tool completes is unknown."""
    value = document.get(path)
    if value is None or isinstance(value, dict | list):
        return None
    origin = (Origin(document, path),)
    if "$" in str(value) or "{{" in str(value) or str(value).startswith("<"):
        return Field(Unknown(f"{value} is filled in elsewhere", "placeholder"), origin)
    return Field(str(value).lower() if isinstance(value, bool) else str(value), origin)


def _labels(document: Document, path: Path) -> dict[str, frozenset[str]]:
    given = document.get(path)
    labels = {}
    for key in given if isinstance(given, dict) else ():
        field = text(document, (*path, key))
        if field is not None and isinstance(field.value, str):
            labels[str(key)] = frozenset({field.value})
    return labels


def _taints(document: Document, path: Path) -> tuple[Taint, ...]:
    """Taints as a list of mappings, or eksctl's older map from keys to `value:effect`."""
    given = document.get(path)
    if isinstance(given, dict):
        texts = (f"{key}={value}" for key, value in given.items())
        return tuple(taint for text in texts if (taint := taints.read(text)))
    listed = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    found = [
        [str(one.get(key) if one.get(key) is not None else "") for key in ("key", "value", "effect")] for one in listed
    ]
    return tuple(Taint(*parts) for parts in found)


# ---- eksctl


def _of_eksctl(document: Document) -> Iterator[Pool]:
    for group in ("managedNodeGroups", "nodeGroups"):
        for path in instance.items(document, (group,)):
            yield _node_group(document, path, managed=group == "managedNodeGroups")


def _node_group(document: Document, path: Path, managed: bool) -> Pool:
    name = text(document, (*path, "name"))
    types = kinds(document, path)
    labels = _labels(document, (*path, "labels"))
    if name is not None and isinstance(name.value, str):
        labels["alpha.eksctl.io/nodegroup-name"] = frozenset({name.value})
        labels |= {"eks.amazonaws.com/nodegroup": frozenset({name.value})} if managed else {}
    texts = [kind.value for kind in types if isinstance(kind.value, str)]
    if types and len(texts) == len(types):
        labels[INSTANCE] = labels["beta.kubernetes.io/instance-type"] = frozenset(texts)
    card, count, kind = of_kinds(types, "aws")
    tainted = _taints(document, (*path, "taints"))
    called = str(name.value) if name is not None and isinstance(name.value, str) else path[0]
    pool = Pool(str(called), Origin(document, path), labels, card, count, kind, tainted, name is None)
    return pool._replace(
        naming=("alpha.eksctl.io/nodegroup-name", *(("eks.amazonaws.com/nodegroup",) if managed else ()))
    )


def kinds(document: Document, path: Path) -> list[Field]:
    """The machine types of a node group."""
    listed = document.get((*path, "instanceTypes")) or document.get((*path, "instancesDistribution", "instanceTypes"))
    key: Path = (
        ("instanceTypes",) if document.get((*path, "instanceTypes")) else ("instancesDistribution", "instanceTypes")
    )
    if isinstance(listed, list):
        found = (text(document, (*path, *key, at)) for at in range(len(listed)))
        return [field for field in found if field is not None]
    single = text(document, (*path, "instanceType"))
    return [] if single is None or single.value == "mixed" else [single]


def of_kinds(types: Sequence[Field], cloud: str) -> tuple[Field, Field | None, Field | None]:
    """The card, count and machine type of nodes that are of one of several types."""
    if not types:
        return Field(Unknown("the machine type is not stated")), None, None
    held = [machines.held(kind, None, None, cloud) for kind in types]
    cards = list(dict.fromkeys(card.value for card, _ in held))
    origins = tuple(origin for kind in types for origin in kind.origins)
    unknown = next((card for card in cards if isinstance(card, Unknown)), None)
    if unknown is not None or len(cards) > 1:
        return Field(unknown or Unknown(f"one of {', '.join(map(str, cards))}", DECIDED), origins), None, None
    counts = {count.value for _, count in held if count is not None}
    one = types[0] if len(types) == 1 and machines.of_type(str(types[0].value), cloud) else None
    return Field(cards[0], origins), held[0][1] if len(counts) == 1 else None, one


# ---- Karpenter


def _of_karpenter(document: Document) -> Pool:
    """A NodePool: its nodes may be of every machine type that meets its requirements."""
    spec = template(document)
    name = text(document, ("metadata", "name"))
    labels = _labels(document, metadata(document))
    demands = requirements(document, (*spec, "requirements"))
    for one in demands:
        if one.operator == "In" and one.values and not any("$" in value for value in one.values):
            labels[one.key] = one.values
    key = "karpenter.sh/provisioner-name" if document.get(("kind",)) == "Provisioner" else "karpenter.sh/nodepool"
    if name is not None and isinstance(name.value, str):
        labels[key] = frozenset({name.value})
    card, count, kind = _met(document, demands)
    tainted = _taints(document, (*spec, "taints"))
    called = str(name.value) if name is not None and isinstance(name.value, str) else "NodePool"
    pool = Pool(called, Origin(document, ("metadata", "name")), labels, card, count, kind, tainted, True)
    return pool._replace(naming=(key,))


def template(document: Document) -> Path:
    return ("spec",) if document.get(("kind",)) == "Provisioner" else ("spec", "template", "spec")


def metadata(document: Document) -> Path:
    return (
        ("spec", "labels") if document.get(("kind",)) == "Provisioner" else ("spec", "template", "metadata", "labels")
    )


def requirements(document: Document, path: Path) -> list[Requirement]:
    found = []
    for at in instance.items(document, path):
        values = document.get((*at, "values"))
        texts = frozenset(map(str, values)) if isinstance(values, list) else frozenset()
        found.append(Requirement(str(document.get((*at, "key"))), str(document.get((*at, "operator"))), texts, at))
    return found


def _met(document: Document, demands: Sequence[Requirement]) -> tuple[Field, Field | None, Field | None]:
    """The card of the machines that requirements leave, where all of them are listed in the catalog."""
    told = [one for one in demands if one.operator == "In" and one.key in KEYS and one.values]
    origins = tuple(Origin(document, one.path) for one in told)
    if any("$" in value for one in told for value in one.values):
        return Field(Unknown("the requirements are filled in elsewhere", "placeholder"), origins), None, None
    categories = [one.values for one in told if one.key == f"{AWS}category"]
    if categories and not any(category & {"g", "gr", "p"} for category in categories):
        return Field(None, origins), None, None
    if not any(one.key in DECIDING for one in told):
        reason = "its requirements name no machine type, family or card"
        return Field(Unknown(reason, DECIDED), origins or (Origin(document, ("metadata", "name")),)), None, None
    left = [node for node in hardware.nodes() if node.cloud == "aws" and meets(node, told)]
    strangers = strange(told)
    if strangers:
        return Field(Unknown(f"the catalog does not list all machines of {strangers[0]}"), origins), None, None
    cards = sorted({node.accelerator for node in left})
    if len(cards) != 1:
        cpu = Field(None, origins) if not cards else Field(Unknown(f"one of {', '.join(cards)}", DECIDED), origins)
        return cpu, None, None
    counts = {node.node_gpus for node in left}
    kind = Field(left[0].instance_type, origins) if len(left) == 1 else None
    return Field(cards[0], origins), Field(counts.pop(), origins) if len(counts) == 1 else None, kind


def strange(told: Sequence[Requirement]) -> list[str]:
    """Families, machine types, sizes and cards that may be those of GPUs and that the catalog does not list."""
    listed = {key: {read(node) for node in hardware.nodes() if node.cloud == "aws"} for key, read in KEYS.items()}
    return [
        value
        for one in told
        if one.key in NAMING
        for value in sorted(one.values - listed[one.key])
        if one.key in CARDS or machines.has_gpus(f"{value.partition('.')[0]}.large", "aws") is not False
    ]


def meets(node: hardware.Node, told: Iterable[Requirement]) -> bool:
    """Whether a machine type meets all of these requirements."""
    return all(KEYS[one.key](node) in one.values for one in told)


def _gpu_name(node: hardware.Node) -> str:
    key = f"{AWS}gpu-name"
    values = [value for (label, value), card in hardware.labels().items() if label == key and card == node.accelerator]
    return values[0] if values else ""


KEYS: Mapping[str, Callable[[hardware.Node], str]] = {
    INSTANCE: lambda node: node.instance_type,
    "beta.kubernetes.io/instance-type": lambda node: node.instance_type,
    f"{AWS}family": lambda node: node.instance_type.partition(".")[0],
    f"{AWS}size": lambda node: node.instance_type.partition(".")[2],
    f"{AWS}category": lambda node: node.instance_type[:1],
    f"{AWS}gpu-name": _gpu_name,
    f"{AWS}gpu-count": lambda node: str(node.node_gpus),
    f"{AWS}gpu-manufacturer": lambda node: "nvidia",
}
"""What Karpenter's AWS provider labels a machine type with: karpenter.sh/docs/reference/instance-types."""
DECIDING = frozenset({INSTANCE, "beta.kubernetes.io/instance-type", f"{AWS}family", f"{AWS}gpu-name"})
"""Labels one of which tells which cards the machines hold."""
CARDS = frozenset({f"{AWS}gpu-name", f"{AWS}size"})
NAMING = frozenset({INSTANCE, "beta.kubernetes.io/instance-type", f"{AWS}family", *CARDS})
"""Labels whose values the catalog may lack, so that nothing is told of the machines that have them."""


# ---- GKE


def _of_compute_class(document: Document) -> Iterator[Pool]:
    """The priorities of a ComputeClass: each is a pool that GKE may make for whoever names the class."""
    name = text(document, ("metadata", "name"))
    if name is None or not isinstance(name.value, str):
        return
    labels = {"cloud.google.com/compute-class": frozenset({name.value})}
    for path in instance.items(document, ("spec", "priorities")):
        guest, count = (text(document, (*path, "gpu", key)) for key in ("type", "count"))
        kind = text(document, (*path, "machineType"))
        if guest is None and kind is None:
            unknown = Field(Unknown("a priority of the class names no card"), (Origin(document, path),))
            yield Pool(name.value, Origin(document, path), labels, unknown, is_open=True)
            continue
        card, held = machines.held(kind, guest, _number(count), "gcp")
        one = kind if kind is not None and machines.of_type(str(kind.value), "gcp") else None
        yield Pool(name.value, Origin(document, path), labels, card, held, one, (), True)


def _number(field: Field | None) -> Field | None:
    if field is None or not isinstance(field.value, str) or not field.value.isdecimal():
        return field
    return Field(int(field.value), field.origins)
