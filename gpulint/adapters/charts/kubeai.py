"""The charts of KubeAI: enabled models of its catalog, and the resource profiles they name.

Read from its templates (substratusai/kubeai v0.23: charts/models/templates/models.yaml,
charts/kubeai/values.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.operators import kubeai
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

TRIGGERS = ("kubeai",)
CATALOGS = (("catalog",), ("models", "catalog"))
COPIED = (
    "features",
    "owner",
    "url",
    "adapters",
    "engine",
    "args",
    "env",
    "minReplicas",
    "maxReplicas",
    "resourceProfile",
    "image",
)


def fits(values: Values) -> bool:
    profiles = values.entries("resourceProfiles").values()
    profiled = any(
        isinstance(entry, dict) and {"limits", "requests", "nodeSelector", "imageName"} & entry.keys()
        for entry in profiles
    )
    catalogs = (values.entries(*path).values() for path in CATALOGS)
    return profiled or any(isinstance(entry, dict) and _is_model(entry) for models in catalogs for entry in models)


def _is_model(entry: dict[str, object]) -> bool:
    return "resourceProfile" in entry or "url" in entry or set(entry) == {"enabled"}


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield a Model for each enabled entry that states what it serves."""
    for path in CATALOGS:
        every = values.get(*path[:-1], "all", "enabled") is True
        for name, entry in values.entries(*path).items():
            if (
                isinstance(entry, dict)
                and (every or entry.get("enabled") is True)
                and isinstance(entry.get("url"), str)
            ):
                model = values.descend(*path, name)
                for workload in kubeai.workloads(_build_object(model, name), repository):
                    yield charts_values.adopt(workload, model, str(name))


def _build_object(model: Values, name: str) -> Document:
    return model.object(
        {
            "apiVersion": "kubeai.org/v1",
            "kind": "Model",
            "metadata": {"name": name},
            "spec": {key: model.node(key) for key in COPIED},
        }
    )
