"""Ray Serve: configuration files of Serve and of Anyscale services.

An application runs Ray Serve LLM, or a program of one's own whose deployments request GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import pod_templates
from gpulint.adapters.operators import ray
from gpulint.adapters.platforms import anyscale_machines
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("model_loading_config", "import_path")
TRIGGERS = ("model_loading_config", "ray_actor_options", "import_path:")
READS = ("plain",)
CLAIMS = ("shape",)

OPTIONS = "ray_actor_options"
BUNDLES = "placement_group_bundles"


def claims(document: Document) -> Claim:
    """Claim a list of applications that Serve imports."""
    applications = pod_templates.items(document, ("applications",)) if isinstance(document.data, dict) else ()
    return Claim.SHAPE.where(any(isinstance(document.get((*at, "import_path")), str) for at in applications))


def kind(document: Document) -> str:
    return "Ray Serve configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield each application with the models that it serves, or with its deployments on GPUs."""
    machine = anyscale_machines.find(document)
    accelerator = {"accelerator": machine.accelerator} if machine is not None else {}
    for application in pod_templates.items(document, ("applications",)):
        found = list(ray.list_configurations_of(document, application))
        roles = tuple(_build_role(document, path, len(found) > 1, accelerator) for path in found)
        roles = roles or tuple(_list_deployments(document, application, accelerator))
        if roles:
            name = str(document.get((*application, "name")) or document.get(("name",)) or "Ray Serve")
            yield Workload(name, "inference", "ray_serve", document, application, roles)


def _build_role(document: Document, path: Path, is_one_of_several: bool, machine: dict[str, Field]) -> Role:
    """Return a configuration on the machines of its service; one of several is named by its key, unless they are a list."""
    role = ray.build_role(document, path, None)
    if is_one_of_several and isinstance(path[-1], str):
        role = replace(role, name=path[-1].removesuffix("_config"))
    stated = role.value("accelerator")
    return role if isinstance(stated, str) else role.having(**machine)


# ---- programs of one's own


def _list_deployments(document: Document, path: Path, machine: dict[str, Field]) -> Iterator[Role]:
    """Yield the deployments of an application that request GPUs; if none states any, the application on its GPU machines."""
    import_path = (*path, "import_path")
    if not isinstance(document.get(import_path), str):
        return
    application = ray.Application(document, import_path, document, (*path, "runtime_env", "env_vars"))
    listed = [(at, _count_gpus(document, at)) for at in pod_templates.items(document, (*path, "deployments"))]
    on_gpus = [(at, gpus) for at, gpus in listed if gpus is not None and gpus.value != 0]
    if not on_gpus and machine and not any(gpus is not None for _, gpus in listed):
        decided = Field(
            Unknown("the application decides how many GPUs it requests", "own program"), machine["accelerator"].origins
        )
        yield _build_own(application, "", (path, decided), machine)
        return
    for at, gpus in on_gpus:
        role = _build_own(application, str(document.get((*at, "name")) or ""), (at, gpus), machine)
        yield role if len(on_gpus) == 1 else replace(role, command=None)


def _build_own(application: ray.Application, name: str, placed: tuple[Path, Field], machine: dict[str, Field]) -> Role:
    """Return a deployment of a program of one's own, with what its file states of its replicas."""
    document, (path, gpus) = application.config, placed
    stated = ray.find_accelerator(document, (*path, OPTIONS), {})
    left = Unknown("the Ray cluster decides which machines run it", "any host")
    decided = Field(
        Unknown(f"the application {document.get(application.import_path)} decides", "own program"),
        (Origin(document, application.import_path),),
    )
    fields = {
        "gpus_per_pod": gpus,
        "gpus_per_replica": gpus,
        "pods_per_replica": Field(1, source="Ray places the GPUs of an actor on one node"),
        "replicas": ray.count_replicas(document, path),
        "engine": decided,
        "checkpoint": decided,
        "accelerator": Field(left, gpus.origins),
        **machine,
        **stated,
        **ray.find_model(application),
    }
    return Role(
        name or "application", Origin(document, application.import_path), fields, command=ray.start(application)
    )


def _count_gpus(document: Document, path: Path) -> Field | None:
    """Return the GPUs of one replica: of its bundles, else of its actor; None if the file states none."""
    bundles = document.get((*path, BUNDLES))
    if isinstance(bundles, list) and bundles:
        counts = [bundle.get("GPU", 0) if isinstance(bundle, dict) else None for bundle in bundles]
        origin = Origin(document, (*path, BUNDLES))
        whole = [count for count in counts if isinstance(count, int)]
        known = len(whole) == len(counts)
        return Field(sum(whole) if known else Unknown("a bundle states no whole number of GPUs"), (origin,))
    origin = Origin(document, (*path, OPTIONS, "num_gpus"))
    stated = document.get(origin.path)
    if not isinstance(stated, int | float) or isinstance(stated, bool):
        return None
    whole_number = float(stated).is_integer()
    return Field(
        int(stated) if whole_number else Unknown(f"{stated} of a GPU is a share that replicas divide"), (origin,)
    )
