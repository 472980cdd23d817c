"""AIBrix and RoleBasedGroup: the roles of one service.

Each role has its template, its replicas and the pods of one instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as adapters_pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Workload

MENTIONS = ("orchestration.aibrix.ai", "workloads.x-k8s.io")

AIBRIX = "orchestration.aibrix.ai"
GROUPS = "workloads.x-k8s.io"
STORM, ROLE_SET = (AIBRIX, "StormService"), (AIBRIX, "RoleSet")
FLEETS = frozenset({(AIBRIX, "RayClusterFleet"), (AIBRIX, "RayClusterReplicaSet")})
ROLE_BASED, ROLE_BASED_SET = (GROUPS, "RoleBasedGroup"), (GROUPS, "RoleBasedGroupSet")
KINDS = frozenset({STORM, ROLE_SET, *FLEETS, ROLE_BASED, ROLE_BASED_SET})
ONE = Field(1, source="one per service")
MOUNTED = "KubeRay mounts /dev/shm (kuberay v1.7.0 ray-operator/controllers/ray/common/pod.go)"


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload of the roles that have GPUs or run an engine."""
    roles = tuple(_read_roles(document))
    if roles:
        name = str(document.get(("metadata", "name")) or document.get(("kind",)))
        yield Workload(name, "inference", "aibrix", document, (), roles)


def _read_roles(document: Document) -> Iterator[Role]:
    data = document.data
    kind = kubernetes.group_and_kind(data) if isinstance(data, dict) else ("", "")
    services = replica.count(document, ("spec", "replicas"), 1)
    if kind == STORM:
        yield from _read_storm(document, ("spec", "template", "spec"), services)
    elif kind == ROLE_SET:
        yield from _read_storm(document, ("spec",), ONE)
    elif kind in FLEETS:
        yield from _read_fleet(document, ("spec", "template", "spec"), services)
    elif kind == ROLE_BASED_SET:
        template = (
            ("spec", "template", "spec") if document.get(("spec", "template")) else ("spec", "groupTemplate", "spec")
        )
        yield from _read_groups(document, template, services)
    else:
        yield from _read_groups(document, ("spec",), ONE)


# ---- AIBrix


def _read_storm(document: Document, spec: Path, services: Field) -> Iterator[Role]:
    """Yield the roles of a service: `replicas` instances of `podGroupSize` pods each."""
    for at in replica.items(document, (*spec, "roles")):
        pods = replica.count(document, (*at, "podGroupSize"), 1, "default of AIBrix")
        replicas = replica.product(services, replica.count(document, (*at, "replicas"), 1))
        for role in _read_template(document, _read_name(document, at), document.node((*at, "template", "spec")), at):
            yield replica.count_role(role, pods, replicas)


def _read_fleet(document: Document, spec: Path, fleets: Field) -> Iterator[Role]:
    """Yield the roles of Ray clusters: the head and its worker groups form one instance."""
    head = document.node((*spec, "headGroupSpec", "template", "spec"))
    roles = _count_roles(_read_template(document, "head", head, (*spec, "headGroupSpec")), replica.ONE_POD, fleets)
    for at in replica.items(document, (*spec, "workerGroupSpecs")):
        pods = replica.product(
            replica.count(document, (*at, "replicas"), 1), replica.count(document, (*at, "numOfHosts"), 1)
        )
        name = str(document.get((*at, "groupName")) or "worker")
        roles += _count_roles(
            _read_template(document, name, document.node((*at, "template", "spec")), at), pods, fleets
        )
    mounted = {"shared_memory_default": Field(False, source=MOUNTED)}
    yield from replica.merge_roles([role.having(**mounted) for role in roles], "one Ray cluster")


# ---- RoleBasedGroup


def _read_groups(document: Document, spec: Path, groups: Field) -> Iterator[Role]:
    """Yield the roles of a group by their pattern.

    A role is a single pod, a leader with workers, or components of several templates.
    """
    for at in replica.items(document, (*spec, "roles")):
        name = _read_name(document, at)
        replicas = replica.product(groups, replica.count(document, (*at, "replicas"), 1))
        components = list(replica.items(document, (*at, "customComponentsPattern", "components")))
        pattern = next((key for key in ("leaderWorkerPattern", "leaderWorkerSet") if document.get((*at, key))), None)
        if components:
            yield from _read_components(document, name, components, replicas)
        elif pattern:
            yield from _read_leader_group(document, spec, name, at, pattern, replicas)
        else:
            base = (*at, "standalonePattern") if document.get((*at, "standalonePattern")) else at
            for role in _read_template(document, name, _resolve_template(document, spec, base), base):
                yield replica.count_role(role, replica.ONE_POD, replicas)


def _read_components(document: Document, name: str, components: list[Path], replicas: Field) -> Iterator[Role]:
    """Yield the roles of one instance that has several kinds of pods, `size` of each."""
    counted: list[Role] = []
    for at in components:
        label = f"{name}/{_read_name(document, at)}"
        roles = _read_template(document, label, document.node((*at, "template", "spec")), at)
        counted += _count_roles(roles, replica.count(document, (*at, "size"), 1), replicas)
    yield from replica.merge_roles(counted, "one instance")


def _read_leader_group(
    document: Document, spec: Path, name: str, at: Path, key: str, replicas: Field
) -> Iterator[Role]:
    """Yield the roles of `size` pods: one with the leader's patch, the others with the workers'."""
    base = (*at, key)
    size = replica.count(document, (*base, "size"), 1)
    template = _resolve_template(document, spec, base) or _resolve_template(document, spec, at)
    patches = [
        next((node for patch in names if (node := document.node((*base, patch, "spec")))), None)
        for names in (("leaderTemplatePatch", "patchLeaderTemplate"), ("workerTemplatePatch", "patchWorkerTemplate"))
    ]
    if not any(patches):
        yield from _count_roles(_read_template(document, name, template, at), size, replicas)
        return
    others = Field(size.value - 1 if isinstance(size.value, int) else size.value, size.origins)
    leader, worker = (merge.merge(template, patch) for patch in patches)
    roles = _count_roles(_read_template(document, f"{name}/leader", leader, at), replica.ONE_POD, replicas)
    if others.value != 0:
        roles += _count_roles(_read_template(document, f"{name}/worker", worker, at), others, replicas)
    yield from replica.merge_roles(roles, "one group")


def _resolve_template(document: Document, spec: Path, at: Path) -> Node | None:
    """Return the pod of a role: its own, or a group template with the role's patch applied."""
    own = document.node((*at, "template", "spec"))
    name = document.get((*at, "templateRef", "name"))
    if own is not None or not isinstance(name, str):
        return own
    named = (
        path for path in replica.items(document, (*spec, "roleTemplates")) if document.get((*path, "name")) == name
    )
    patch = document.node((*at, "templateRef", "patch", "spec")) or document.node((*at, "templatePatch", "spec"))
    return merge.merge(next((document.node((*path, "template", "spec")) for path in named), None), patch)


# ---- pods


def _read_name(document: Document, at: Path) -> str:
    return str(document.get((*at, "name")) or at[-1])


def _read_template(document: Document, name: str, template: Node | None, at: Path) -> Iterator[Role]:
    """Yield the containers of a pod with GPUs or an engine.

    Several containers get their names as a suffix.
    """
    if template is None or template.kind != "mapping":
        return
    made = merge.pod(document, template)
    given = adapters_pods.hints(document, ("metadata",), (*at, "template", "metadata"))
    roles = list(adapters_pods.roles(made, ("spec",), given))
    for role in roles:
        yield replace(role, name=name if len(roles) == 1 else f"{name}/{role.name}")


def _count_roles(roles: Iterator[Role], pods: Field, replicas: Field) -> list[Role]:
    """Return the roles of an instance whose pods are all known.

    Their arguments may mention GPUs of other pods, which are counted here already.
    """
    return [replica.count_role(role.having(multi_node=Field(False)), pods, replicas) for role in roles]
