"""Instance: how many pods and GPUs form one instance of a program, and how many instances there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpulint.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown

ONE_POD = Field(1, source="one pod per replica")


def count(document: Document, path: Path, absent: int, source: str = "default of Kubernetes") -> Field:
    """A count as written; what its absence means."""
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
    """Where the mappings of a list stand."""
    listed = document.get(path)
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield (*path, at)


def product(*factors: Field) -> Field:
    """Counts multiplied; unknown as the first of them that is."""
    origins = tuple(dict.fromkeys(origin for factor in factors for origin in factor.origins))
    total = 1
    for factor in factors:
        if isinstance(factor.value, Unknown):
            return Field(factor.value, factor.origins or origins)
        if not isinstance(factor.value, int) or isinstance(factor.value, bool):
            return Field(Unknown("a count is not a whole number"), factor.origins or origins)
        total *= factor.value
    return Field(total, origins, source="" if origins else factors[0].source)


def counted(role: Role, pods: Field, replicas: Field) -> Role:
    """A role with its multipliers and the GPUs of one instance."""
    gpus = product(role.fields["gpus_per_pod"], pods)
    return _settled(role.having(pods_per_replica=pods, replicas=replicas, gpus_per_replica=gpus), pods)


def _settled(role: Role, pods: Field) -> Role:
    """A role whose arguments let GPUs of other pods join: of an instance of several pods they are counted, else unknown."""
    if not role.value("multi_node"):
        return role
    if pods.value != 1:
        return replace(role, fields={name: field for name, field in role.fields.items() if name != "multi_node"})
    reason = Unknown(f"which other GPUs take part is decided elsewhere ({role.fields['multi_node'].source})")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_pod"].origins))


def joined(roles: Sequence[Role], source: str) -> tuple[Role, ...]:
    """Roles whose pods form one instance: the first that runs an engine counts the GPUs of them all."""
    if len(roles) < 2:
        return tuple(roles)
    counts = [role.fields["gpus_per_replica"] for role in roles]
    total = _sum(counts)
    serving = next((role for role in roles if role.text("engine")), roles[0])
    return tuple(
        role.having(gpus_per_replica=total)
        if role is serving
        else role.having(part_of=Field(serving.name, source=source))
        for role in roles
    )


def _sum(counts: Sequence[Field]) -> Field:
    origins = tuple(dict.fromkeys(origin for one in counts for origin in one.origins))
    unknown = next((one.value for one in counts if isinstance(one.value, Unknown)), None)
    return Field(unknown or sum(one.value for one in counts if isinstance(one.value, int | float)), origins)
