"""Device claims: the GPUs that dynamic resource allocation assigns to a container.

They come from the claims that its pod names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.programs import replica
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown

GROUP = "resource.k8s.io"
GPU_CLASSES = frozenset(
    {
        *("gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"),
        *("gpu.amd.com", "gpu.intel.com", "gaudi.intel.com", "gpu.example.com"),
    }
)
"""Device classes that drivers install.

Sources: NVIDIA/k8s-dra-driver-gpu v25.12.0 deployments/helm/…/templates/deviceclass-*.yaml,
ROCm/k8s-gpu-dra-driver, intel/intel-resource-drivers-for-kubernetes,
kubernetes-sigs/dra-example-driver.
"""
OTHER_CLASSES = re.compile(r"(?:compute-domain-.*|imex)\.nvidia\.com|.*(?:rdma|netdev|nic|dranet).*|(?:tpu|neuron)\..*")
"""Classes of devices that are not GPUs."""
DRIVER = re.compile(r"device\.driver\s*==\s*['\"]([\w.-]+)['\"]")
PROFILE = re.compile(r"(?:device\.attributes\[['\"][\w.-]+['\"]\])?\.profile\s*==\s*['\"]([\w.+]+)['\"]")
PRODUCT = re.compile(r"\.productName\s*==\s*['\"]([^'\"]+)['\"]")
PRODUCT_KEY = "nvidia.com/gpu.product"


class Device(NamedTuple):
    """One request of a claim: how many devices of which class, and its locations."""

    device_class: str
    amount: Field
    selectors: str
    origin: Origin
    selected: Origin


class Claim(NamedTuple):
    """A claim of a pod.

    It has its entry, the name of the object that it refers to, and that object if it is known.
    """

    entry: Path
    reference: Origin
    made_of: str
    object: Document | None
    own: bool


def complete(document: Document, repository: Repository) -> None:
    """Add the claims of other files that a document's pods name to its neighbours."""
    here = {(str(neighbour.get(("kind",))), str(neighbour.get(("metadata", "name")))) for neighbour in document.beside}
    wanted = {
        (kind, name)
        for spec in pod_templates.pod_specs(document.data, (), pod_templates.DEPTH)
        for at in pod_templates.items(document, (*spec, "resourceClaims"))
        for _, kind, name in _find_references(document, at)
    }
    claims = [
        neighbour for kind, name in sorted(wanted - here) for neighbour in repository.objects(kind, name, document.path)
    ]
    document.beside = (*document.beside, *(neighbour for neighbour in claims if neighbour.path != document.path))


def fields(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Return the GPUs of a container's claims, their slices and sharing; empty without a claim."""
    named = [
        (at, _find_claim(document, spec, at)) for at in pod_templates.items(document, (*path, "resources", "claims"))
    ]
    used = [(at, claim) for at, claim in named if claim is None or not _is_channel(document, claim.made_of)]
    if not used:
        return {}
    unresolved = next((claim for _, claim in used if claim is None or claim.object is None), None)
    if any(claim is None for _, claim in used):
        return {"gpus_per_pod": _build_unknown("the pod has no claim of that name", used[0][0], document)}
    if unresolved is not None:
        reason = Unknown(f"the claim {unresolved.made_of} is not in the repository", "another object")
        return {"gpus_per_pod": Field(reason, (unresolved.reference,))}
    devices = [(at, device) for at, claim in used if claim for device in _read_devices(document, at, claim)]
    unclear = next((device for _, device in devices if _is_gpu(document, device.device_class) is None), None)
    if unclear is not None:
        decided = Unknown(f"the devices of class {unclear.device_class} are not known", "another object")
        return {"gpus_per_pod": Field(decided, (Origin(document, used[0][0]), unclear.origin))}
    gpus = [(at, device) for at, device in devices if _is_gpu(document, device.device_class)]
    if not gpus:
        return {}
    entries = {at for at, _ in gpus}
    of_gpus = [(at, claim) for at, claim in used if at in entries]
    return {
        **_count_devices(document, gpus),
        **_read_selectors(document, gpus),
        **_read_sharing(document, spec, of_gpus),
    }


def _count_devices(document: Document, gpus: list[tuple[Path, Device]]) -> dict[str, Field]:
    """Return how many devices there are together, and of which class."""
    origins = tuple(dict.fromkeys(Origin(document, at, None) for at, _ in gpus))
    stated = tuple(origin for _, device in gpus for origin in (device.amount.origins or (device.origin,)))
    unknown = next((device.amount.value for _, device in gpus if not isinstance(device.amount.value, int)), None)
    total = (
        unknown
        if unknown is not None
        else sum(device.amount.value for _, device in gpus if isinstance(device.amount.value, int))
    )
    counted = {"gpus_per_pod": Field(total, (*origins, *stated))}
    classes = {device.device_class for _, device in gpus}
    if len(classes) == 1:
        counted["accelerator_resource"] = Field(classes.pop(), stated)
    return counted


def _read_selectors(document: Document, gpus: list[tuple[Path, Device]]) -> dict[str, Field]:
    """Return the MIG profile and GPU model that the selectors of all devices agree on."""
    selected: dict[str, Field] = {}
    entry = Origin(document, gpus[0][0])
    profiles = {(match[1] if (match := PROFILE.search(device.selectors)) else "") for _, device in gpus}
    places = (entry, *(device.selected for _, device in gpus))
    if len(profiles) == 1 and (profile := profiles.pop()):
        selected["mig_profile"] = Field(profile, places)
    elif any(profiles) or any(device.device_class.startswith("mig.") for _, device in gpus):
        selected["mig_profile"] = Field(
            Unknown("the claim requests MIG slices of several profiles, or of an unnamed one"), places
        )
    products = {(match[1] if (match := PRODUCT.search(device.selectors)) else "") for _, device in gpus}
    if len(products) == 1 and (product := products.pop()):
        selected["accelerator"] = Field(_find_product(product), places)
    elif any("device" in PROFILE.sub("", device.selectors) for _, device in gpus):
        selected["accelerator"] = Field(
            Unknown("the accelerator depends on the selectors of the claim", "queue or partition"), places
        )
    return selected


def _find_product(name: str) -> str | Unknown:
    """Return the GPU model for a driver's name of it, which node labels write with dashes."""
    listed = hardware.labels().get((PRODUCT_KEY, name.replace(" ", "-")))
    return listed or Unknown(f"the product name {name} is not known")


def _read_sharing(document: Document, spec: Path, used: list[tuple[Path, Claim | None]]) -> dict[str, Field]:
    """Return the sharing of devices: as the claim states it, or by several containers."""
    for at, claim in used:
        if claim is None or claim.object is None:
            continue
        for config in pod_templates.items(claim.object, (*_locate_devices(claim), "config")):
            place = (*config, "opaque", "parameters", "sharing", "strategy")
            about, wanted = claim.object.get((*config, "requests")), document.get((*at, "request"))
            if isinstance(about, list) and about and wanted is not None and wanted not in about:
                continue
            if isinstance(strategy := claim.object.get(place), str):
                return {"sharing": Field(strategy, (Origin(document, at), Origin(claim.object, place)))}
        if _count_users(document, spec, at, claim) > 1:
            return {"sharing": Field("one claim for several containers", (Origin(document, at), claim.reference))}
    return {}


def _count_users(document: Document, spec: Path, at: Path, claim: Claim) -> int:
    """Return how many containers use a claim's devices.

    Containers of other pods count too unless the claim is a template.
    """
    wanted = document.get((*at, "name")), document.get((*at, "request"))
    places = (
        used
        for container in pod_templates.items(document, (*spec, "containers"))
        for used in pod_templates.items(document, (*container, "resources", "claims"))
    )
    count = sum((document.get((*used, "name")), document.get((*used, "request"))) == wanted for used in places)
    return max(count, 0 if claim.own else _count_pods(document, claim.made_of))


def _count_pods(document: Document, claim: str) -> int:
    """Return how many pod templates of the file name a claim; one with replicas counts as two."""
    pods = 0
    for neighbour in document.beside or (document,):
        for spec in pod_templates.pod_specs(neighbour.data, (), pod_templates.DEPTH):
            named = (
                name
                for at in pod_templates.items(neighbour, (*spec, "resourceClaims"))
                for _, _, name in _find_references(neighbour, at)
            )
            if claim in named:
                pods += 1 if neighbour.get(("spec", "replicas")) in (None, 1) else 2
    return pods


# ---- the objects


def _find_references(document: Document, entry: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the object that a claim entry names.

    The key is today's, or that of Kubernetes 1.30 and earlier.
    """
    for base in (entry, (*entry, "source")):
        for key, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            if isinstance(name := document.get((*base, key)), str):
                yield (*base, key), kind, name


def _find_claim(document: Document, spec: Path, used: Path) -> Claim | None:
    """Return the claim of the pod that a container uses."""
    name = document.get((*used, "name"))
    for entry in pod_templates.items(document, (*spec, "resourceClaims")):
        if document.get((*entry, "name")) == name:
            for path, kind, made_of in _find_references(document, entry):
                claim_object = _find_object(document, kind, made_of)
                return Claim(entry, Origin(document, path), made_of, claim_object, kind == "ResourceClaimTemplate")
    return None


def _find_object(document: Document, kind: str, name: str) -> Document | None:
    """Return the one object of that kind and name next to the document."""
    candidates = [
        candidate
        for candidate in document.find_beside(kind, name)
        if str(candidate.get(("apiVersion",))).startswith(f"{GROUP}/") and _is_same_namespace(candidate, document)
    ]
    return candidates[0] if len(candidates) == 1 else None


def _is_channel(document: Document, name: str) -> bool:
    """Return whether a ComputeDomain of the file creates the claims of that name.

    Such claims are for its channels and not for GPUs.
    """
    made = ("spec", "channel", "resourceClaimTemplate", "name")
    return any(
        neighbour.get(("kind",)) == "ComputeDomain" and neighbour.get(made) == name for neighbour in document.beside
    )


def _is_same_namespace(first: Document, second: Document) -> bool:
    """Return whether two objects may share a namespace.

    An object without one gets its namespace when it is applied.
    """
    named = {str(namespace) for document in (first, second) if (namespace := document.get(("metadata", "namespace")))}
    return len(named) < 2


def _locate_devices(claim: Claim) -> Path:
    return ("spec", "spec", "devices") if claim.own else ("spec", "devices")


def _read_devices(document: Document, used: Path, claim: Claim) -> Iterator[Device]:
    """Yield the devices that a claim requests; if a container names one request, only those."""
    owner, base = claim.object, _locate_devices(claim)
    if owner is None:
        return
    if isinstance(old := owner.get((*base[:-1], "resourceClassName")), str):
        yield _read_parameters(owner, base[:-1], old)
        return
    wanted = str(document.get((*used, "request")) or "").partition("/")[0]
    for at in pod_templates.items(owner, (*base, "requests")):
        if not wanted or owner.get((*at, "name")) == wanted:
            yield from _read_request(owner, at)


def _read_request(claim: Document, at: Path) -> Iterator[Device]:
    """Yield the devices of one request.

    Its keys are flat before `resource.k8s.io/v1`, and under `exactly` since. Otherwise it is the
    first available of several.
    """
    alternatives = list(pod_templates.items(claim, (*at, "firstAvailable")))
    if not alternatives:
        yield _read_device(claim, (*at, "exactly") if claim.get((*at, "exactly")) is not None else at)
        return
    devices = [_read_device(claim, device) for device in alternatives]
    same = len({(device.device_class, device.amount.value) for device in devices}) == 1
    either = Unknown("the first available of several requests decides", "another object")
    first = devices[0]
    yield first._replace(
        amount=first.amount if same else Field(either, (Origin(claim, at),)),
        selectors=first.selectors
        if len({device.selectors for device in devices}) == 1
        else " ".join(device.selectors for device in devices),
    )


def _read_device(claim: Document, at: Path) -> Device:
    count = replica.count(claim, (*at, "count"), 1)
    if claim.get((*at, "allocationMode")) == "All" or claim.get((*at, "adminAccess")) is True:
        count = Field(Unknown("the claim requests all devices that match", "another object"), (Origin(claim, at),))
    places = [(*selector, "cel", "expression") for selector in pod_templates.items(claim, (*at, "selectors"))]
    selected = Origin(claim, places[0]) if places else Origin(claim, at)
    text = " && ".join(str(claim.get(place) or "") for place in places)
    return Device(
        str(claim.get((*at, "deviceClassName"))), count, text, Origin(claim, (*at, "deviceClassName")), selected
    )


def _read_parameters(claim: Document, base: Path, name: str) -> Device:
    """Read a claim of Kubernetes 1.30 and earlier: one device unless its parameters state more."""
    origin = Origin(claim, (*base, "resourceClassName"))
    reference = claim.get((*base, "parametersRef", "name"))
    if reference is None:
        return Device(name, Field(1, (origin,)), "", origin, origin)
    kind = claim.get((*base, "parametersRef", "kind"))
    parameters = [
        neighbour
        for neighbour in claim.beside
        if (neighbour.get(("kind",)), neighbour.get(("metadata", "name"))) == (kind, reference)
    ]
    if len(parameters) != 1:
        unknown = Unknown(f"the parameters {reference} are in another file", "another object")
        return Device(name, Field(unknown, (origin,)), "", origin, origin)
    profile = parameters[0].get(("spec", "profile"))
    selectors = f".profile == '{profile}'" if isinstance(profile, str) else ""
    count = replica.count(parameters[0], ("spec", "count"), 1)
    return Device(name, count, selectors, origin, Origin(parameters[0], ("spec",)))


def _is_gpu(document: Document, name: str) -> bool | None:
    """Return whether a class has GPUs.

    It is a driver's class, or a class of the file that names the driver.
    """
    if name in GPU_CLASSES:
        return True
    if OTHER_CLASSES.fullmatch(name):
        return False
    own = _find_selectors(document.beside, name)
    drivers = {driver for selector in own for driver in DRIVER.findall(selector)}
    return True if drivers and drivers <= GPU_CLASSES else None


def _find_selectors(beside: Iterable[Document], name: str) -> Iterator[str]:
    """Yield the selectors of device classes of that name."""
    for neighbour in beside:
        if neighbour.get(("kind",)) == "DeviceClass" and neighbour.get(("metadata", "name")) == name:
            for at in pod_templates.items(neighbour, ("spec", "selectors")):
                yield str(neighbour.get((*at, "cel", "expression")) or "")


def _build_unknown(reason: str, at: Path, document: Document) -> Field:
    return Field(Unknown(reason), (Origin(document, at),))
