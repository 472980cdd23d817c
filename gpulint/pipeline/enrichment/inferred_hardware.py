"""Hardware that names and comments of a file, or its repository, suggest: assumed where nothing states the accelerator."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint.catalog import hardware, resource_names
from gpulint.pipeline.enrichment import hardware_evidence, head_comments, notebook_runtime, public_clusters
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.documents import Comment, Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Hint, Origin, Role, Unknown, Workload

OPEN = frozenset(
    {"queue or partition", "any host", "caller's variable", "platform variable", "placeholder", "another object"}
)
"""Why an accelerator may be open that a name or a comment can suggest: somebody else decides it."""
ANY_GPU = frozenset({"dstack"})
"""Formats whose files state every GPU that they accept."""
SHOWN = {"accelerator": "accelerator", "gpus_per_replica": "gpus"}
"""Assumed quantities, and the words of a hint that would declare them."""
COUNTS = ("gpus_per_replica", "gpus_per_pod", "pods_per_replica")
RANKS = ("tensor_parallel", "pipeline_parallel", "data_parallel")
NODE_GPUS = 8
HEADS_MAX = 8
"""Files that a workload reads whose heads are read."""
NAMED = {"partition": "partition", "node_features": "node features", "qos": "QOS"}
GRES = re.compile(r"gpu:(?P<type>[A-Za-z][\w-]*|\d{4}\w*)")


def infer(role: Role, workload: Workload, repository: Repository) -> Role | None:
    """Return a role with the accelerator and GPUs that only names and comments suggest; None if none do.

    Those of the file precede the README and the node pools of its repository. Places that do not agree suggest nothing.
    """
    if not _is_open(role) or workload.adapter in ANY_GPU:
        return None
    found = list(_find(role, workload.document, repository))
    left = frozenset.intersection(*(frozenset(one.products) for one in found)) if found else frozenset()
    products = tuple(product.id for product in hardware.list_accelerators() if product.id in left)
    if not products or not _has_vendor(products, role):
        return None
    comment = next((one for one in found if one.comment is not None), None)
    counting = comment or next((one for one in found if one.gpus is not None and _agrees(role, one.gpus)), None)
    counted = _count(role, counting) if counting else {}
    fields = {"accelerator": _build(products, " and ".join(dict.fromkeys(one.place for one in found))), **counted}
    place = comment.comment if comment else role.anchor
    hints = tuple(_build_hint(name, fields[name], role, place) for name in SHOWN if name in fields)
    return replace(role.having(**fields), hints=(*role.hints, *hints))


def _find(role: Role, document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield what the first kind of place that suggests anything suggests."""
    of_cluster = list(public_clusters.find(role, document))
    found = of_cluster or [*_read_names(role), *_read_heads(role, document), *_read_path(document.path)]
    found = found or [_limit(one, role) for one in notebook_runtime.find(document, repository)]
    yield from found or hardware_evidence.find(document, repository, _is_local(role))


def _limit(runtime: Evidence, role: Role) -> Evidence:
    """Return the evidence of a runtime without its number of GPUs, if the program is one process and takes one of them."""
    is_one = role.value("spills") is None and role.value("launcher") is None
    return runtime._replace(gpus=None) if is_one else runtime


def _is_local(role: Role) -> bool:
    """Whether a role runs on any host, and not on the nodes of a cluster."""
    value = role.value("accelerator")
    return isinstance(value, Unknown) and value.category == "any host" and role.value("launcher") is None


def _build_hint(name: str, field: Field, role: Role, place: Comment | Origin | None) -> Hint:
    """Return an assumed field as the hint that a review sees."""
    value = " or ".join(field.value.choices) if isinstance(field.value, Unknown) else field.value
    kind = "comment" if isinstance(place, Comment) else "name"
    return Hint(f"{SHOWN[name]}={value}, from {field.source}", kind, name, field, role.fields.get(name), place)


def _is_open(role: Role) -> bool:
    """Whether somebody else decides the accelerator, and the role states nothing that does."""
    value = role.value("accelerator")
    if role.text("device") not in ("", "gpu") or role.fields.keys() & {"mig_profile", "device_memory_bytes"}:
        return False
    if role.text("instance_type") or role.value("gpus_per_pod") == 0:
        return False
    return value is None or (isinstance(value, Unknown) and value.category in OPEN and not value.choices)


def _has_vendor(products: tuple[str, ...], role: Role) -> bool:
    vendor = resource_names.find_vendor(role.text("accelerator_resource"))
    made = {product.vendor for name in products if (product := hardware.accelerator(name))}
    return not vendor or made == {vendor}


def _build(products: tuple[str, ...], place: str) -> Field:
    if len(products) == 1:
        return Field(products[0], source=place, assumption=f"{products[0]}, the accelerator that {place} names")
    names = ", ".join(products)
    reason = Unknown(f"{place} names one of {names}", "any host", choices=products)
    return Field(reason, source=place, assumption=f"one of {names}, the accelerators that {place} names")


def _count(role: Role, comment: Evidence) -> dict[str, Field]:
    """Return the GPUs of a role whose file states no count at all."""
    count = comment.gpus
    if count is None or any(isinstance(role.value(name), int) for name in COUNTS[:2]):
        return {}
    pods = role.value("pods_per_replica")
    nodes = pods if isinstance(pods, int) and pods > 1 else max(count // NODE_GPUS, 1)
    if count % nodes:
        return {}
    said = f"{count} {'GPU' if count == 1 else 'GPUs'}, as {comment.place} says"
    values = zip(COUNTS, (count, count // nodes, nodes), (said, "", ""), strict=True)
    return {name: Field(value, source=comment.place, assumption=assumption) for name, value, assumption in values}


# ---- partitions, queues and labels


def _read_names(role: Role) -> Iterator[Evidence]:
    """Yield what the partition, the queue or the label of the nodes is named after."""
    for name in ("partition", "node_features", "qos"):
        yield from _read_name(role.text(name), NAMED[name])
    field = role.fields.get("accelerator")
    for origin in field.origins if field is not None else ():
        if origin.document.format == "shell" and (typed := GRES.search(origin.text())):
            yield from _read_name(typed["type"], "the GPU type")
    if field is not None and "partition" not in role.fields:
        for origin in field.origins:
            if origin.path and not origin.key and origin.span is None and origin.document.format == "yaml":
                key = origin.path[-1] if isinstance(origin.path[-1], str) else "the label"
                yield from _read_name(origin.text(), key)


def _read_name(text: str, place: str) -> Iterator[Evidence]:
    """Yield the accelerators that each name of a list means."""
    found = [hardware.find_in_site_name(name) for name in re.split(r"[,|]", text)]
    if text and all(found):
        yield Evidence(tuple(dict.fromkeys(product for one in found for product in one)), f"{place} {text}")


# ---- comments at the head


def _read_heads(role: Role, document: Document) -> Iterator[Evidence]:
    """Yield what the heads of the file and of the files that it reads say, if their count is not another than stated."""
    others = {
        origin.document.path: origin.document
        for field in role.fields.values()
        for origin in field.origins
        if origin.document.path != document.path
    }
    for other in (document, *list(others.values())[:HEADS_MAX]):
        yield from (one for one in head_comments.read(other, other is document) if _agrees(role, one.gpus))


def _agrees(role: Role, count: int | None) -> bool:
    """Whether a count is one that the file states too; it is none that the ranks of the file contradict."""
    stated = {value for name in COUNTS[:2] if isinstance(value := role.value(name), int)}
    ranks = [value for name in RANKS if isinstance(value := role.value(name), int)]
    whole = 1
    for value in ranks:
        whole *= value
    return count is None or (count in stated if stated else count % max(whole, 1) == 0)


# ---- names of folders and files


def _read_path(path: str) -> Iterator[Evidence]:
    """Yield the accelerator after which the file or its nearest folder is named."""
    *folders, name = path.split("/")
    stem = posixpath.splitext(name)[0]
    if found := hardware.find_in_name(stem) or hardware.find_in_stem(stem):
        yield Evidence(found, f"the file name {name}")
    for folder in reversed(folders):
        if found := hardware.find_in_name(folder):
            yield Evidence(found, f"the folder name {folder}")
            return
