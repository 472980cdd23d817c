"""Chart: the values given to a Helm chart, and the objects that it creates from them.

Each part of an object is located at the value that decides it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters import kubernetes
from gpulint.adapters.objects import synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

EXPRESSION = re.compile(r"\{\{|\$\{|\$\(|\$[A-Za-z_]")
"""Text that a caller fills in: a template expression of Helm, Terraform, Jinja or envsubst."""
PLACEHOLDER = re.compile(r"<[^<>]+>|(?i:\byour[-_ ]|\b(?:change|replace)[-_ ]?me|^cfg\.|placeholder)")
DECIDED_BY_CHART = "the chart's own templates and values decide it"
SIZES = ("tensor_parallel", "pipeline_parallel", "data_parallel")
ALL_TAKEN = "the stated parallelism already uses all requested GPUs"
COMMON_FOLDERS = frozenset({"helm", "chart", "charts", "values", "recipe", "templates", "deploy", "."})
OF_VALUE = re.compile(r"\s*\"?\{\{-?\s*\.Values\.([\w.]+)\s*-?\}\}\"?\s*")


class Values(NamedTuple):
    """A mapping of values and its path in the document."""

    document: Document
    path: Path = ()

    def get(self, *path: str | int, default: object = None) -> object:
        return self.document.get((*self.path, *path), default)

    def descend(self, *path: str | int) -> Values:
        return Values(self.document, (*self.path, *path))

    def node(self, *path: str | int) -> Node | None:
        """Return the value as the file writes it; None if there is none."""
        return None if self.get(*path) is None else self.document.node((*self.path, *path))

    def scalar(self, *path: str | int) -> Node | None:
        """Return the value if it is a scalar, which may be a name."""
        node = self.node(*path)
        return node if node is not None and node.kind == "scalar" else None

    def find_node(self, *path: str | int) -> Node:
        """Return the node of a value: itself, its key, or the nearest one above."""
        return synthetic.place(self.document, (*self.path, *path))

    def origin(self, *path: str | int) -> Origin:
        """Return the location of a value."""
        return Origin(self.document, (*self.path, *path))

    def word(self, text: str, *path: str | int) -> Node:
        """Return a text that the chart writes because of a value."""
        return synthetic.word(text, self.find_node(*path))

    def key(self, text: str, *path: str | int) -> Node:
        """Return a text that the chart writes, located at the key of a value."""
        node = self.document.key_node((*self.path, *path))
        return synthetic.word(text, node or self.find_node(*path))

    def text(self, *path: str | int) -> str:
        """Return a value as text; empty if there is none."""
        value = self.get(*path)
        return (
            value if isinstance(value, str) else "" if value is None or isinstance(value, dict | list) else str(value)
        )

    def items(self, *path: str | int) -> list[Node]:
        """Return the items of a list."""
        node = self.document.node((*self.path, *path))
        return list(node.value) if node is not None and node.kind == "sequence" else []

    def entries(self, *path: str | int) -> Mapping[str, object]:
        value = self.get(*path)
        return value if isinstance(value, dict) else {}

    def object(self, part: Part) -> Document:
        """Return an object that the chart creates from these values."""
        return synthetic.document(self.document, part, self.find_node())


def flag(values: Values, name: str, *path: str | int) -> list[Node]:
    """Return a flag and its value as two words of a command; empty if the value is not stated."""
    node = values.node(*path)
    return [] if node is None else [values.key(name, *path), node]


def image(values: Values, *path: str | int, registry: str = "registry", name: str = "repository") -> Node | None:
    """Return the image of `registry`, `repository` and `tag`, or a text as it is.

    None if it is not stated.
    """
    value = values.get(*path)
    if isinstance(value, str):
        return values.node(*path) if value else None
    repository, tag, digest = (values.text(*path, part) for part in (name, "tag", "digest"))
    if not repository:
        return None
    host = values.text(*path, registry)
    whole = f"{host}/{repository}" if host else repository
    whole += f":{tag}" if tag else f"@{digest}" if digest.startswith("sha256:") else ""
    return values.word(whole, *path, name)


def variables(values: Values, *path: str | int) -> list[Part]:
    """Return environment variables from a list of `name` and `value`, or from a mapping."""
    listed = values.get(*path)
    if isinstance(listed, list):
        return list(values.items(*path))
    return [
        {"name": values.key(name, *path, name), "value": values.node(*path, name)}
        for name, value in values.entries(*path).items()
        if isinstance(value, str | int | float)
    ]


def probe(values: Values, path: Path, defaults: Mapping[str, int]) -> Part:
    """Return a probe of the server's health, with the chart's defaults; a null removes it."""
    if values.get(*path, default=...) is None:
        return None
    numbers: dict[str | Node, Part] = {
        name: values.node(*path, name) or synthetic.number(value, values.find_node(*path))
        for name, value in defaults.items()
    }
    stated = dict(pairs(values.node(*path)))
    return synthetic.build_node({"httpGet": {"path": "/health"}, **stated, **numbers}, values.find_node(*path))


def pairs(node: Node | None) -> Iterator[tuple[str | Node, Part]]:
    """Yield the entries of a mapping that the file writes, by name."""
    if node is not None and node.kind == "mapping":
        yield from ((key.value, value) for key, value in node.value)


def deployment(values: Values, pod: Part, replicas: Part = None, annotations: Part = None) -> Document:
    """Return a Deployment that a chart creates."""
    spec: Part = {"replicas": replicas, "selector": {"matchLabels": {}}, "template": {"spec": pod}}
    return values.object(_describe_object("apps/v1", "Deployment", spec, annotations))


def group(
    values: Values, size: Part, workers: Part, leader: Part = None, replicas: Part = None, annotations: Part = None
) -> Document:
    """Return a LeaderWorkerSet that a chart creates; without a leader, all pods are alike."""
    led: dict[str | Node, Part] = {"leaderTemplate": {"spec": leader}} if leader is not None else {}
    template: Part = {"size": size, **led, "workerTemplate": {"spec": workers}}
    spec: Part = {"replicas": replicas, "leaderWorkerTemplate": template}
    return values.object(_describe_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, annotations))


def _describe_object(version: str, kind: str, spec: Part, annotations: Part) -> Part:
    return {"apiVersion": version, "kind": kind, "metadata": {"annotations": annotations}, "spec": spec}


def folder(document: Document) -> str:
    """Return the folder that states what a values file is for."""
    folders = [part for part in document.path.split("/")[:-1] if part not in COMMON_FOLDERS]
    return folders[-1] if folders else "values"


def expression(values: Values, text: str) -> Path | None:
    """Return the path of the value that a text only refers to: `{{ .Values.model.name }}`."""
    named = OF_VALUE.fullmatch(text)
    return tuple(named[1].split(".")) if named else None


def read_autoscaler(values: Values, autoscaler: Path, minimum_key: str, budget: Path) -> dict[str, Field]:
    """Return the fields of an enabled autoscaler and disruption budget."""
    fields: dict[str, Field] = {}
    if values.get(*autoscaler, "enabled") is True:
        moved = Unknown("an autoscaler sets the replicas", "another object")
        fields["replicas"] = Field(moved, (values.origin(*autoscaler),))
        if isinstance(fewest := values.get(*autoscaler, minimum_key), int):
            fields["replicas_least"] = Field(fewest, (values.origin(*autoscaler, minimum_key),))
    kept = values.get(*budget, "minAvailable")
    if values.get(*budget, "enabled") is True and isinstance(kept, int) and not isinstance(kept, bool):
        fields["pods_kept"] = Field(kept, (values.origin(*budget, "minAvailable"),))
    return fields


def workloads(values: Values, made: Document, repository: Repository, name: str = "") -> Iterator[Workload]:
    """Yield the workloads of an object that a chart creates, as those of its values."""
    for workload in kubernetes.workloads(made, repository):
        yield adopt(workload, values, name)


def adopt(workload: Workload, values: Values, name: str = "") -> Workload:
    """Return a workload of an object that a chart creates, as one of its values.

    Arguments can be added only if the values have a list of them.
    """
    roles = tuple(_restrict_arguments(explain_unknowns(role), values.document) for role in workload.roles)
    return replace(
        workload,
        name=name or workload.name,
        adapter="helm_values",
        document=values.document,
        path=values.path,
        roles=roles,
    )


def _restrict_arguments(role: Role, document: Document) -> Role:
    """Return a role without a location for arguments unless they are in a list of the file."""
    last = role.arguments and role.arguments.document.node(role.arguments.path)
    return role if last is not None and _is_item(document.root, last) else replace(role, arguments=None)


def _is_item(node: Node, wanted: Node) -> bool:
    """Return whether a node is an item of a list below another node.

    An aliased node is at its anchor.
    """
    if node.target is not None:
        return False
    if node.kind == "sequence":
        return any(item is wanted or _is_item(item, wanted) for item in node.value)
    return node.kind == "mapping" and any(_is_item(value, wanted) for _, value in node.value)


def open_workload(workload: Workload, reason: str = DECIDED_BY_CHART) -> Workload:
    """Return a workload as open, because the chart's templates are not read.

    They may add volumes, arguments and replicas.
    """
    return replace(workload, roles=tuple(_open_role(role, reason) for role in workload.roles))


def _open_role(role: Role, reason: str) -> Role:
    fields: dict[str, Field] = {
        "shared_memory_default": Field(False, source=reason),
        "engine_image": Field(None),
        "service_links": Field(False, source=reason),
    }
    if not role.text("checkpoint") and role.text("engine") and "checkpoint" not in role.fields:
        fields["checkpoint"] = Field(Unknown(reason, "another object"), (role.anchor,))
    if not {"engine", "program"} & role.fields.keys():
        fields["engine"] = Field(Unknown(reason, "another object"), (role.anchor,))
    return replace(role.having(**fields), arguments=None, open_ended=role.open_ended or reason)


def fill_parallel_sizes(role: Role) -> Role:
    """Return a role of an open chart whose stated parallelism already uses all GPUs.

    The other parallel sizes are then 1.
    """
    gpus = role.fields.get("gpus_per_replica")
    if gpus is None or not isinstance(gpus.value, int) or not role.text("engine"):
        return role
    sizes = [role.fields[name].value for name in SIZES if name in role.fields]
    stated = [size for size in sizes if isinstance(size, int)]
    if len(stated) < len(sizes) or math.prod(stated) != gpus.value:
        return role
    missing = [name for name in SIZES if name not in role.fields]
    remaining = {
        name: Field(1, source=ALL_TAKEN, assumption="" if at else ALL_TAKEN) for at, name in enumerate(missing)
    }
    return role.having(**remaining)


def explain_unknowns(role: Role) -> Role:
    """Return a role whose unknown values name who fills them in, if their text shows it.

    A container that selects its devices without the scheduler does not lack a GPU by mistake.
    """
    fields = {name: _explain_field(field) for name, field in role.fields.items()}
    if role.value("devices_unscheduled") is not None:
        fields["engine_image"] = Field(None)
    return replace(role, fields=fields)


def _explain_field(field: Field) -> Field:
    if not isinstance(field.value, Unknown) or field.value.category or not field.origins:
        return field
    origin = field.origins[0]
    node = origin.document.node(origin.path)
    text = node.value if node is not None and isinstance(node.value, str) else ""
    if EXPRESSION.search(text):
        return replace(field, value=replace(field.value, category="caller's variable"))
    if PLACEHOLDER.search(text):
        return replace(field, value=replace(field.value, category="placeholder"))
    return field
