"""Helm charts: Chart.yaml, and templates of Helm or another tool.

The objects of a chart are those of its values. A template has those of a chart whose values name no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.charts import helm_values
from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("{{", "{%", "<%", "@", "$", "dependencies", "appVersion", "version")
TRIGGERS = ()
READS = ("object", "plain", "template")

DESCRIPTIONS = ("Chart.yaml", "Chart.yml")
FOLDER = "templates"
PARTIAL = "_helpers.tpl"
EXPRESSION = "{{"


def claims(document: Document) -> Claim:
    return Claim.EXACT.where(_describes(document) or _is_template(document))


def kind(document: Document) -> str:
    if _describes(document):
        return "Helm chart"
    if helm_values.NAMED.search(document.path):
        return "Helm values"
    folders = document.path.split("/")
    return "Helm template" if FOLDER in folders[:-1] or folders[-1] == PARTIAL else "template"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what a template renders to if the chart has no values that concern GPUs; else these values do."""
    if not _is_template(document) or FOLDER not in document.path.split("/")[:-1]:
        return
    first = next((other for other in document.beside if _is_template(other)), document)
    if first.index == document.index:
        from gpulint.adapters.charts import templates  # few templates mention GPUs

        yield from templates.find_template_workloads(document, repository)


def _describes(document: Document) -> bool:
    data = document.data
    named = document.path.rsplit("/", 1)[-1] in DESCRIPTIONS
    return named and isinstance(data, dict) and {"apiVersion", "name", "version"} <= data.keys()


def _is_template(document: Document) -> bool:
    """Return whether a text is a template.

    That is a text that a tool completes, or a document with Helm's expressions in its templates
    folder.
    """
    if document.format == "template":
        return True
    if FOLDER not in document.path.split("/")[:-1] or EXPRESSION not in document.text:
        return False
    data = document.data
    own = document.text[document.root.start : document.root.end]
    return isinstance(data, dict) and {"apiVersion", "kind"} <= data.keys() and EXPRESSION in own
