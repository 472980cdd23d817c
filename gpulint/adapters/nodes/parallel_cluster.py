"""AWS ParallelCluster: each queue of Slurm is a partition with the machines of its compute
resources.

aws/aws-parallelcluster 3.x: docs.aws.amazon.com/parallelcluster/latest/ug/Scheduling-v3.html. `MinCount`
nodes are static (default 0), up to `MaxCount` (default 10) run at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.adapters.claim import Claim
from gpulint.adapters.nodes import amounts, kubernetes_pools
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Workload

MENTIONS = ("SlurmQueues",)
FILE_WORDS = (r"SlurmQueues\s*:",)
READS = ("plain",)
CLAIMS = ("shape",)
QUEUES: Path = ("Scheduling", "SlurmQueues")
LEAST, MOST, PROGRAM = 0, 10, "AWS ParallelCluster"


def claims(document: Document) -> Claim:
    return Claim.SHAPE.where(isinstance(document.get(QUEUES), list))


def kind(document: Document) -> str:
    return "AWS ParallelCluster configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: the file describes a cluster."""
    yield from ()


def pools(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the queues of all such files, with one pool per compute resource."""
    for document in documents:
        if document.format not in ("hcl", "slurm", "shell") and claims(document):
            for path in replica.items(document, QUEUES):
                yield from _read_queue(document, path)


def _read_queue(document: Document, path: Path) -> Iterator[Pool]:
    name = kubernetes_pools.text(document, (*path, "Name"))
    if name is None or not isinstance(name.value, str):
        return
    for resource, types in compute_resources(document, path):
        card, count, machine = kubernetes_pools.resolve_machine_types(types, "aws")
        origin = Origin(document, (*resource, "Name"))
        pool = Pool(name.value, origin, {"partition": frozenset({name.value})}, card, count, machine, (), True)
        yield pool._replace(amount=_read_amount(document, resource))


def _read_amount(document: Document, resource: Path) -> Amount:
    least, most = (kubernetes_pools.text(document, (*resource, key)) for key in ("MinCount", "MaxCount"))
    least = least or amounts.make_default(LEAST, PROGRAM)
    return amounts.make_range(least, most or amounts.make_default(MOST, PROGRAM), least)


def compute_resources(document: Document, queue: Path) -> Iterator[tuple[Path, list[Field]]]:
    """Yield the compute resources of a queue, each with its machine types."""
    for path in replica.items(document, (*queue, "ComputeResources")):
        single = kubernetes_pools.text(document, (*path, "InstanceType"))
        listed = replica.items(document, (*path, "Instances"))
        types = [kubernetes_pools.text(document, (*at, "InstanceType")) for at in listed]
        yield path, [field for field in (single, *types) if field is not None]
