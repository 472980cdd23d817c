"""Values in objects that install a chart: Flux's HelmRelease, and the HelmChart of k3s and RKE2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import charts, kubernetes
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import embedded
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("helm.toolkit.fluxcd.io", "helm.cattle.io")
TRIGGERS = ()

FLUX = ("helm.toolkit.fluxcd.io", "HelmRelease")
K3S = (("helm.cattle.io", "HelmChart"), ("helm.cattle.io", "HelmChartConfig"))
KINDS = frozenset({FLUX, *K3S})
FURTHER = "valuesFrom brings further values"


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads that the chart creates from the object's values."""
    values = _read_values(document)
    if values is None:
        return
    for workload in charts.workloads(values, repository, _name_chart(document)):
        named = replace(workload, adapter="helm_release")
        yield charts_values.open_workload(named, FURTHER) if document.get(("spec", "valuesFrom")) else named


def _read_values(document: Document) -> Values | None:
    if isinstance(document.get(("spec", "values")), dict):
        return Values(document, ("spec", "values"))
    for path in (("spec", "valuesContent"), ("spec", "values")):
        if (inner := embedded.document(document, path)) is not None and isinstance(inner.data, dict):
            return Values(inner)
    return None


def _name_chart(document: Document) -> str:
    """Return the name of the chart, also from the end of a path or URL."""
    paths: tuple[Path, ...] = (("spec", "chart", "spec", "chart"), ("spec", "chart"), ("spec", "chartRef", "name"))
    return (
        next((text for path in paths if isinstance(text := document.get(path), str)), "").rstrip("/").rpartition("/")[2]
    )
