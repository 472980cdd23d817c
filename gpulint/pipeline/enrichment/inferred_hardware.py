"""Hardware that names and comments of a file, or its repository, suggest: assumed where nothing states the accelerator."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint.catalog import hardware, resource_names
from gpulint.pipeline.enrichment import hardware_evidence
from gpulint.pipeline.enrichment.hardware_evidence import ALTERNATIVES, Evidence
from gpulint.source.documents import Comment, Document, places
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
HEAD_MAX, LINE_MAX = 10_000, 500
"""Characters of a head, and of a line of it, that are read."""
QUOTE_MAX = 60
"""Letters: of a longer comment, only the words that name the hardware are quoted."""
LEADS = re.compile(
    r"\W*(?:hardware|gpus?|accelerators?|machine|instance|nodes?|requires?|requirements?|needs?|tested on|runs? on|trained on"
    r"|designed for|made for|optimi[sz]ed for)\b",
    re.IGNORECASE,
)
COMMENT = re.compile(r"\s*#(?!\s*gpulint:|!|SBATCH|PBS|BSUB)\s*(?P<text>[^\r\n]*)")
FORMATS = frozenset({"yaml", "shell", "toml"})
"""Formats whose comments begin with #."""


def infer(role: Role, workload: Workload, repository: Repository) -> Role | None:
    """Return a role with the accelerator and GPUs that only names and comments suggest; None if none do.

    Those of the file precede the README and the node pools of its repository. Places that do not agree suggest nothing.
    """
    if not _is_open(role) or workload.adapter in ANY_GPU:
        return None
    found = [*_read_names(role), *_read_head(role, workload.document), *_read_path(workload.document.path)]
    found = found or list(hardware_evidence.find(workload.document, repository))
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


def _build_hint(name: str, field: Field, role: Role, place: Comment | Origin | None) -> Hint:
    """Return an assumed field as the hint that a review sees."""
    value = " or ".join(field.value.choices) if isinstance(field.value, Unknown) else field.value
    kind = "comment" if isinstance(place, Comment) else "name"
    return Hint(f"{SHOWN[name]}={value}, from {field.source}", kind, name, field, role.fields.get(name), place)


def _is_open(role: Role) -> bool:
    """Whether somebody else decides the accelerator, and the role states nothing that does."""
    value = role.value("accelerator")
    if role.value("device") not in (None, "gpu") or role.fields.keys() & {"mig_profile", "device_memory_bytes"}:
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
    for name in ("partition", "node_features"):
        yield from _read_name(role.text(name), name.replace("_", " "))
    field = role.fields.get("accelerator")
    if field is not None and "partition" not in role.fields:
        for origin in field.origins:
            if origin.path and not origin.key and origin.span is None and origin.document.format == "yaml":
                key = origin.path[-1] if isinstance(origin.path[-1], str) else "the label"
                yield from _read_name(origin.text(), key)


def _read_name(text: str, place: str) -> Iterator[Evidence]:
    """Yield the accelerators that each name of a list means."""
    found = [hardware.find_in_name(name) for name in re.split(r"[,|]", text)]
    if text and all(found):
        yield Evidence(tuple(dict.fromkeys(product for one in found for product in one)), f"{place} {text}")


# ---- comments at the head


def _read_head(role: Role, document: Document) -> Iterator[Evidence]:
    """Yield the hardware that the comments before the content of a document name, if they name one only."""
    if document.format not in FORMATS:
        return
    mentioned = [(number, text, list(hardware.find_in_sentence(text))) for number, text in _list_head(document)]
    told = [(number, text, found) for number, text, found in mentioned if found]
    everything = [mention for *_, found in told for mention in found]
    if not everything or any(ALTERNATIVES.search(text) for _, text, _ in told):
        return
    if len({mention.products for mention in everything}) > 1 or not everything[0].products:
        return
    counts = {mention.gpus for mention in everything if mention.gpus is not None}
    if len(counts) > 1 or not _agrees(role, next(iter(counts), None)):
        return
    deciding = next(((at, text, found) for at, text, found in told if _tells(text, found)), None)
    if deciding is not None:
        at, text, found = deciding
        shown = text if len(text) <= QUOTE_MAX else next((one.words for one in found if one.gpus), found[0].words)
        comment = Comment(at, 1, text)
        yield Evidence(everything[0].products, f'the comment "{shown}" in line {at}', next(iter(counts), None), comment)


def _tells(text: str, found: list[hardware.Mention]) -> bool:
    """Whether a comment says what the file runs on: a count of a product, or a product after a word such as Hardware."""
    return any(mention.gpus is not None for mention in found) or LEADS.match(text) is not None


def _agrees(role: Role, count: int | None) -> bool:
    """Whether a count is one that the file states too; it is none that the ranks of the file contradict."""
    stated = {value for name in COUNTS[:2] if isinstance(value := role.value(name), int)}
    ranks = [value for name in RANKS if isinstance(value := role.value(name), int)]
    whole = 1
    for value in ranks:
        whole *= value
    return count is None or (count in stated if stated else count % max(whole, 1) == 0)


def _list_head(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments before the content of a document, without those for gpulint and batch systems."""
    if document.index == 0:
        number, lines = 1, document.text[:HEAD_MAX].splitlines()
        lines = list(itertools.takewhile(lambda line: _is_head(line) or line.strip() == "---", lines))
    else:
        end = document.root.start
        above = document.text[max(end - HEAD_MAX, 0) : end].splitlines()
        kept = list(itertools.takewhile(_is_head, reversed(above)))
        number, lines = places.find_line(document.text, end) - len(kept), kept[::-1]
    for at, line in enumerate(lines, number):
        if len(line) <= LINE_MAX and (comment := COMMENT.fullmatch(line)):
            yield at, comment["text"].strip()


def _is_head(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


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
