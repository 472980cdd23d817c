"""A change of one document among the unchanged documents of its file, which are not read again."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpulint.pipeline import enrichment, evaluate
from gpulint.pipeline.evaluate import Evaluated
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.source.repository import Repository
from gpulint.suggestions.edits.apply import ChangedDocument

if TYPE_CHECKING:
    from gpulint.pipeline.enrichment.hints import Override


class UnchangedFile:
    """An evaluated file, and the roles of its workloads after a change of one of its documents."""

    def __init__(self, evaluated: Evaluated, repository: Repository) -> None:
        self._evaluated = evaluated
        self._repository = repository
        self._roles: dict[str, list[EvaluatedRole]] = defaultdict(list)
        self._positions: dict[str, set[int]] = defaultdict(set)
        positions = {id(document): at for at, document in enumerate(evaluated.parsed.loaded.documents)}
        for entry in evaluated.documents:
            for workload in entry.workloads:
                self._roles[workload.workload.name] += workload.roles
                self._positions[workload.workload.name].add(positions[id(entry.document)])

    def roles(self, workload: str) -> Sequence[EvaluatedRole]:
        """Return the roles of the workloads of one name as the file is."""
        return self._roles[workload]

    def all_roles(self) -> Sequence[EvaluatedRole]:
        """Return the roles of all workloads as the file is."""
        return [role for roles in self._roles.values() for role in roles]

    def change(self, changed: ChangedDocument, workload: str) -> Sequence[EvaluatedRole] | None:
        """Return the same roles after a change; None if it may reach more than one document."""
        if not self._is_alone(changed):
            return None
        return [role for entry in self._evaluate(changed, workload) for role in entry]

    def _is_alone(self, changed: ChangedDocument) -> bool:
        """Whether other documents see the change only if they ask for the document that it is made in."""
        before, adapter = self._evaluated.parsed.documents[changed.position]
        if self._evaluated.facilities or changed.document.get(("kind",)) == "Service":
            return False
        return adapter is None or adapter.claims(before) == adapter.claims(changed.document)

    def _evaluate(self, changed: ChangedDocument, workload: str) -> Iterator[Iterable[EvaluatedRole]]:
        documents = list(self._evaluated.parsed.loaded.documents)
        documents[changed.position] = changed.document
        repository = self._repository.rewritten({changed.document.path: changed.content})
        context = self._context._replace(repository=repository)
        for position in sorted(self._positions[workload] | {changed.position}):
            adapter = self._evaluated.parsed.documents[position].adapter
            if adapter is None:
                continue
            if position == changed.position:
                document, overrides = changed.document, [_move(entry, changed) for entry in context.overrides]
            else:
                document, overrides = documents[position].copy(), list(context.overrides)
            document.beside = tuple(documents)
            here = context._replace(overrides=overrides)
            yield from (found.roles for found in evaluate.find_workloads(adapter, document, here, workload))

    @functools.cached_property
    def _context(self) -> enrichment.Context:
        return enrichment.read_context(self._evaluated.parsed.loaded, self._repository, self._evaluated.policy)


def _move(override: Override, changed: ChangedDocument) -> Override:
    """Return an override with the number of its line after the change."""
    return override._replace(line=override.line + sum(added for line, added in changed.lines if line < override.line))
