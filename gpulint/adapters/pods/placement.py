"""Placement: the accelerator and machine type that a pod's selector and required affinity allow."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import gpu_sharing, hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

PLACEHOLDER = re.compile(r"<[^<>]+>|__\w+__|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)")
INSTANCE_KEYS = frozenset({"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"})
FAMILY_KEYS = frozenset({"karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family"})
NAMING_KEYS = frozenset({"gpu.nvidia.com/class", "gpu.nvidia.com/model"})
"""Keys of CoreWeave that other clouds and clusters reuse with product names of their own."""
PARTITION_KEY = "cloud.google.com/gke-gpu-partition-size"
PRODUCT_KEY = "nvidia.com/gpu.product"
SHARING_KEYS = frozenset({gpu_sharing.STRATEGY_KEY, gpu_sharing.CLIENTS_KEY})
SLICED_PRODUCT = re.compile(r"-MIG-(\d+g\.\d+gb)")
"""With the single strategy each `nvidia.com/gpu` is a slice, and the product label names its
profile.
"""
PRODUCT_SUFFIX = re.compile(r"(?:-MIG-\d+g\.\d+gb(?:[.-](?:me|gfx)(?:\.all)?)?)?(?:-SHARED)?$")
WHOLE_KEYS = frozenset({PRODUCT_KEY, "cloud.google.com/gke-accelerator"})
"""Labels of drivers and clouds for which the catalog has every value of its accelerators."""
VENDOR_WORDS = frozenset({"nvidia", "tesla", "geforce"})
FORM_WORD = re.compile(r"sxm\d?|pcie|nvlink|hbm\de?|gddr\d|(\d+gb)")
"""Words of a product name that state its form or memory, not its model."""
MUTE_KEYS = re.compile(
    r"(?:beta\.)?kubernetes\.io/(?:os|arch)|(?:topology|failure-domain\.beta|feature\.node)\.kubernetes\.io/.*"
    r"|cloud\.google\.com/gke-(?:spot|preemptible|flex-start|provisioning|gpu-driver-version|accelerator-count|.*-ssd)"
    r"|karpenter\.sh/capacity-type|eks\.amazonaws\.com/capacityType|kubernetes\.azure\.com/(?:scalesetpriority|mode|os-.*)"
    r"|nvidia\.com/(?:gpu\.(?:present|count|deploy\..*|replicas)|mig\.(?:config|strategy|capable).*|cuda\..*)"
)
"""Labels that distinguish nodes, but not by their accelerators."""
AFFINITY = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")

REGION = "topology.kubernetes.io/region"
SPOT: Mapping[str, str] = {
    "karpenter.sh/capacity-type": "spot",
    "eks.amazonaws.com/capacityType": "SPOT",
    "cloud.google.com/gke-spot": "true",
    "cloud.google.com/gke-preemptible": "true",
    "kubernetes.azure.com/scalesetpriority": "spot",
}
"""Labels of machines that a cloud may reclaim, and the value that marks them."""


class Label(NamedTuple):
    """A node label and its allowed values, each with its location."""

    key: str
    values: tuple[tuple[str, Origin], ...]


class Selection(NamedTuple):
    """What one set of labels allows: accelerators, values that the catalog lacks, and their
    locations.
    """

    products: frozenset[str]
    unlisted: tuple[str, ...]
    origins: tuple[Origin, ...]


def fields(document: Document, spec: Path) -> dict[str, Field]:
    """Return accelerator, machine type, MIG profile and sharing, if labels state them."""
    selector = list(_read_selector(document, spec))
    terms = list(_read_terms(document, spec)) or [[]]
    placed = _read_slices(selector)
    if cloud := next(
        (cloud for label in selector if (cloud := hardware.cloud_of(label.key, label.values[0][0]))), None
    ):
        placed["cloud"] = Field(cloud, tuple(origin for label in selector for _, origin in label.values))
    asked = [*selector, *(terms[0] if len(terms) == 1 else [])]
    if region := next((label for label in asked if label.key == REGION and len(label.values) == 1), None):
        placed["region"] = Field(region.values[0][0], (region.values[0][1],))
    if spot := next((label for label in asked if [value for value, _ in label.values] == [SPOT.get(label.key)]), None):
        placed["spot"] = Field(True, (spot.values[0][1],))
    if machine := _find_machine(asked):
        placed["instance_type"] = machine
    if accelerator := _choose_accelerator([_narrow([*selector, *term]) for term in terms]) or _defer_to_nodes(
        selector, terms
    ):
        placed["accelerator"] = accelerator
    return placed | _find_unmatched_label(asked)


def read_required_labels(document: Document, spec: Path) -> tuple[Label, ...]:
    """Return the labels that a node must carry: of the selector, and of an affinity with one term."""
    terms = list(_read_terms(document, spec))
    return (*_read_selector(document, spec), *(terms[0] if len(terms) == 1 else ()))


def find_accelerator(labels: list[Label]) -> Field | None:
    """Return the accelerator that a set of labels allows."""
    return _choose_accelerator([_narrow(labels)])


def _read_selector(document: Document, spec: Path) -> Iterator[Label]:
    selector = document.get((*spec, "nodeSelector"))
    for key, value in selector.items() if isinstance(selector, dict) else ():
        if isinstance(value, str | int | float):
            yield Label(str(key), ((str(value), Origin(document, (*spec, "nodeSelector", key))),))


def _read_terms(document: Document, spec: Path) -> Iterator[list[Label]]:
    """Yield the terms of the required node affinity.

    A node satisfies all labels of at least one.
    """
    path = (*spec, *AFFINITY)
    listed = document.get(path)
    for at, term in enumerate(listed if isinstance(listed, list) else ()):
        expressions = term.get("matchExpressions") if isinstance(term, dict) else None
        labels = []
        for nth, expression in enumerate(expressions if isinstance(expressions, list) else ()):
            if isinstance(expression, dict) and expression.get("operator") == "In":
                values = expression.get("values")
                place = (*path, at, "matchExpressions", nth, "values")
                origins = (
                    (str(value), Origin(document, (*place, index)))
                    for index, value in enumerate(values if isinstance(values, list) else ())
                )
                labels.append(Label(str(expression.get("key")), tuple(origins)))
        yield labels


def _narrow(labels: list[Label]) -> Selection:
    """Return the accelerators that satisfy all labels that name any."""
    left: frozenset[str] | None = None
    unlisted: list[str] = []
    origins: list[Origin] = []
    for label in labels:
        named = [(value, origin, _find_product(label.key, value)) for value, origin in label.values]
        if not any(product for *_, product in named) and not _names_products(label.key):
            continue
        unlisted += [value for value, _, product in named if not product]
        origins += [origin for _, origin, _ in named]
        products = frozenset(product for *_, product in named if product)
        if products:
            left = products if left is None else left & products
    return Selection(left or frozenset(), tuple(unlisted), tuple(origins))


def _choose_accelerator(terms: list[Selection]) -> Field | None:
    """Return the one accelerator that every term allows, or Unknown with the reason."""
    origins = tuple(origin for term in terms for origin in term.origins)
    if not origins:
        return None
    products = frozenset().union(*(term.products for term in terms))
    certain = all(len(term.products) == 1 for term in terms)
    if certain and len(products) == 1:
        return Field(next(iter(products)), origins)
    names = sorted(products) + sorted({value for term in terms for value in term.unlisted if not term.products})
    if len(names) == 1 and not products:
        return Field(Unknown(f"the label value {names[0]} is unknown", _find_decider(names[0])), origins)
    if not all(term.origins for term in terms):
        return Field(Unknown("one of the node selector terms names no accelerator"), origins)
    if not names:
        return Field(Unknown("the labels contradict each other"), origins)
    choices = () if any(term.unlisted for term in terms) else tuple(names)
    return Field(Unknown(f"one of {', '.join(names)}", "queue or partition", choices=choices), origins)


def _find_decider(value: str) -> str:
    """Return who fills in a value that is a variable or a placeholder."""
    if "$" in value or "{{" in value:
        return "caller's variable"
    return "placeholder" if PLACEHOLDER.search(value) else ""


def _defer_to_nodes(selector: list[Label], terms: list[list[Label]]) -> Field | None:
    """Return the cluster's own label that selects the nodes, and so decides the accelerator."""
    naming = [label for label in (*selector, *(terms[0] if len(terms) == 1 else ())) if _selects_nodes(label)]
    if not naming:
        return None
    stated = " or ".join(value for value, _ in naming[0].values)
    reason = Unknown(f"the accelerator depends on the nodes labelled {naming[0].key} {stated}", "queue or partition")
    return Field(reason, tuple(origin for _, origin in naming[0].values))


def _selects_nodes(label: Label) -> bool:
    return bool(label.values) and not MUTE_KEYS.fullmatch(label.key) and label.key not in SHARING_KEYS | {PARTITION_KEY}


def _find_machine(labels: list[Label]) -> Field | None:
    values = {value: origin for label in labels if label.key in INSTANCE_KEYS for value, origin in label.values}
    if len(values) != 1:
        return None
    ((name, origin),) = values.items()
    return Field(name, (origin,))


def _read_slices(selector: list[Label]) -> dict[str, Field]:
    """Return MIG slices and shared GPUs that a cloud allocates by node label, as whole
    `nvidia.com/gpu`.
    """
    placed: dict[str, Field] = {}
    for label in selector:
        value, origin = label.values[0]
        if label.key == PARTITION_KEY:
            placed["mig_profile"] = Field(value, (origin,))
        elif label.key == PRODUCT_KEY and value.endswith("-SHARED"):
            placed["sharing"] = Field("time-slicing or MPS", (origin,))
        elif label.key == PRODUCT_KEY and (sliced := SLICED_PRODUCT.search(value)):
            placed["mig_profile"] = Field(sliced[1], (origin,))
    return placed | _read_sharing(selector)


def _read_sharing(selector: list[Label]) -> dict[str, Field]:
    """Return how GKE shares a GPU among pods, and among how many."""
    stated = {label.key: label.values[0] for label in selector if label.key in SHARING_KEYS}
    if not stated:
        return {}
    strategy, count = (
        stated[key][0] if key in stated else "" for key in (gpu_sharing.STRATEGY_KEY, gpu_sharing.CLIENTS_KEY)
    )
    words = gpu_sharing.describe(strategy, count) if count.isdecimal() else strategy or count
    return {"sharing": Field(words, tuple(origin for _, origin in stated.values()))}


def _find_unmatched_label(labels: list[Label]) -> dict[str, Field]:
    """Return a label value that no driver or cloud writes, with the nearest valid one if there is
    one.
    """
    for label in labels:
        if label.key in WHOLE_KEYS and len(label.values) == 1:
            value, origin = label.values[0]
            if nearest := _find_nearest(label.key, PRODUCT_SUFFIX.sub("", value)):
                return {"unmatched_label": Field(value, (origin,)), "nearest_label": Field(nearest, (origin,))}
    return {}


def _find_nearest(key: str, value: str) -> str | None:
    """Return the listed value of the same model that shares most words with this one; None on a tie."""
    words = _split_words(value)
    if not value.lower().startswith(("nvidia-", "tesla-")) or value in hardware.product_labels():
        return None  # drivers before 470 wrote GeForce and Quadro without the maker's name
    listed = {other: product for (label, other), product in hardware.labels().items() if label == key}
    if value in listed:
        return None
    same = [
        other
        for other, product in listed.items()
        if _find_model_words(other) == _find_model_words(value) and _matches_memory(words, product)
    ]
    shared = {other: _compute_similarity(words, _split_words(other)) for other in same}
    best = [other for other in same if shared[other] == max(shared.values())]
    if len({listed[other] for other in best}) != 1:
        return None
    return max(best, key=lambda other: difflib.SequenceMatcher(None, value.lower(), other.lower()).ratio())


def _split_words(value: str) -> frozenset[str]:
    """Return the words of a product name without the vendor's."""
    return frozenset(re.split(r"[-_ ]", value.lower())) - VENDOR_WORDS


def _find_model_words(value: str) -> frozenset[str]:
    """Return the words that identify the model: `NVIDIA-H100-80GB-HBM3` is an `h100`."""
    return frozenset(word for word in _split_words(value) if not FORM_WORD.fullmatch(word))


def _matches_memory(words: frozenset[str], product: str) -> bool:
    """Return True if the memory in a name, if any, is that of the accelerator."""
    stated = {word for word in words if (form := FORM_WORD.fullmatch(word)) and form[1]}
    accelerator = hardware.accelerator(product)
    return accelerator is not None and stated <= _split_words(accelerator.name)


def _compute_similarity(words: frozenset[str], other_words: frozenset[str]) -> float:
    return len(words & other_words) / len(words | other_words)


def _names_products(key: str) -> bool:
    """Return True if the values of a label name accelerators, even if this one does not."""
    return key in INSTANCE_KEYS or key in {label for label, _ in hardware.labels() if label != "alias"}


def _find_product(key: str, value: str) -> str | None:
    if key in INSTANCE_KEYS:
        machine = hardware.node(value)
        return machine.accelerator if machine else None
    if key in FAMILY_KEYS:
        accelerators = {
            node.accelerator for node in hardware.list_nodes() if node.instance_type.startswith(f"{value}.")
        }
        return accelerators.pop() if len(accelerators) == 1 else None
    listed = hardware.labels().get((key, PRODUCT_SUFFIX.sub("", value)))
    if listed is None and key in NAMING_KEYS:
        product = hardware.find_accelerator(value) or hardware.find_accelerator(value.replace("_", "-"))
        return product.id if product else None
    return listed
