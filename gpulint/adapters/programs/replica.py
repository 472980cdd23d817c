"""Instance: the pods and GPUs of one instance of a program, and the number of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpulint.source.documents import Document, Path
from gpulint.workload import Basis, Field, Origin, Role, Unknown

ONE_POD = Field(1, source="one pod per replica")


def count(document: Document, path: Path, absent: int, source: str = "default of Kubernetes") -> Field:
    """Return a count as written, or its default."""
    value = document.get(path)
    if value is None:
        return Field(absent, source=source)
    origins = (Origin(document, path),)
    if isinstance(value, int) and not isinstance(value, bool):
        return Field(value, origins)
    if isinstance(value, str) and value.isdecimal():
        return Field(int(value), origins)
    written = isinstance(value, str) and any(mark in value for mark in "${<")
    return Field(Unknown(f"{path[-1]} is {value}", "caller's variable" if written else ""), origins)


def items(document: Document, path: Path) -> Iterator[Path]:
    """Yield the paths of the mappings in a list."""
    listed = document.get(path)
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield (*path, at)


def product(*factors: Field) -> Field:
    """Multiply counts; an unknown count makes the result unknown, for the same reason."""
    origins = tuple(dict.fromkeys(origin for factor in factors for origin in factor.origins))
    total = 1
    for factor in factors:
        if isinstance(factor.value, Unknown):
            return Field(factor.value, factor.origins or origins)
        if not isinstance(factor.value, int) or isinstance(factor.value, bool):
            return Field(Unknown("a count is not a whole number"), factor.origins or origins)
        total *= factor.value
    return Field(total, origins, source="" if origins else factors[0].source, basis=_find_weakest(factors))


def _find_weakest(factors: Sequence[Field]) -> Basis | None:
    """Return the basis of a product of which a factor is not stated; None if that follows from its origins."""
    if any(factor.basis == "open" for factor in factors):
        return "open"
    return "assumed" if any(factor.assumption and factor.basis is None for factor in factors) else None


def count_role(role: Role, pods: Field, replicas: Field) -> Role:
    """Return a role with its multipliers and the GPUs of one instance."""
    gpus = product(role.fields["gpus_per_pod"], pods)
    return _resolve_multi_node(role.having(pods_per_replica=pods, replicas=replicas, gpus_per_replica=gpus), pods)


def _resolve_multi_node(role: Role, pods: Field) -> Role:
    """Resolve a role whose arguments let GPUs of other pods take part.

    The GPUs of an instance of several pods are counted; otherwise they are unknown.
    """
    if not role.value("multi_node"):
        return role
    if pods.value != 1:
        return replace(role, fields={name: field for name, field in role.fields.items() if name != "multi_node"})
    reason = Unknown(f"which other GPUs take part is decided elsewhere ({role.fields['multi_node'].source})")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_pod"].origins))


def merge_roles(roles: Sequence[Role], source: str) -> tuple[Role, ...]:
    """Merge roles whose pods form one instance.

    The first role that runs an engine counts the GPUs of all of them.
    """
    if len(roles) < 2:
        return tuple(roles)
    counts = [role.fields["gpus_per_replica"] for role in roles]
    total = _add_counts(counts)
    serving = next((role for role in roles if role.text("engine")), roles[0])
    return tuple(
        role.having(gpus_per_replica=total)
        if role is serving
        else role.having(part_of=Field(serving.name, source=source))
        for role in roles
    )


def _add_counts(counts: Sequence[Field]) -> Field:
    origins = tuple(dict.fromkeys(origin for count in counts for origin in count.origins))
    unknown = next((count.value for count in counts if isinstance(count.value, Unknown)), None)
    return Field(unknown or sum(count.value for count in counts if isinstance(count.value, int | float)), origins)
