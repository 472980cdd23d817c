"""Device claims: the GPUs that dynamic resource allocation hands to a container, from the claims that its pod names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint import hardware
from gpulint.adapters import instance, kinds
from gpulint.documents import Document, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Unknown

GROUP = "resource.k8s.io"
GPU_CLASSES = frozenset(
    {
        *("gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com"),
        *("gpu.amd.com", "gpu.intel.com", "gaudi.intel.com", "gpu.example.com"),
    }
)
"""Device classes that drivers install: NVIDIA/k8s-dra-driver-gpu v25.12.0 deployments/helm/…/templates/deviceclass-*.yaml,
ROCm/k8s-gpu-dra-driver, intel/intel-resource-drivers-for-kubernetes, kubernetes-sigs/dra-example-driver.
"""
OTHER_CLASSES = re.compile(r"(?:compute-domain-.*|imex)\.nvidia\.com|.*(?:rdma|netdev|nic|dranet).*|(?:tpu|neuron)\..*")
"""Classes of devices that are no GPUs."""
DRIVER = re.compile(r"device\.driver\s*==\s*['\"]([\w.-]+)['\"]")
PROFILE = re.compile(r"(?:device\.attributes\[['\"][\w.-]+['\"]\])?\.profile\s*==\s*['\"]([\w.+]+)['\"]")
PRODUCT = re.compile(r"\.productName\s*==\s*['\"]([^'\"]+)['\"]")
PRODUCT_KEY = "nvidia.com/gpu.product"


class Device(NamedTuple):
    """What one request of a claim asks for: how many devices of which class, and where it says so."""

    device_class: str
    amount: Field
    selectors: str
    origin: Origin
    selected: Origin


class Claim(NamedTuple):
    """A claim of a pod: its entry, the name of the object that it refers to, and that object where it is known."""

    entry: Path
    reference: Origin
    made_of: str
    held: Document | None
    own: bool


def complete(document: Document, repository: Repository) -> None:
    """Put the claims that a document's pods name, and that its own file does not hold, beside it."""
    here = {(str(one.get(("kind",))), str(one.get(("metadata", "name")))) for one in document.beside}
    wanted = {
        (kind, name)
        for spec in kinds.pod_specs(document.data, (), kinds.DEPTH)
        for at in kinds.items(document, (*spec, "resourceClaims"))
        for _, kind, name in _references(document, at)
    }
    found = [one for kind, name in sorted(wanted - here) for one in repository.objects(kind, name, document.path)]
    document.beside = (*document.beside, *(one for one in found if one.path != document.path))


def fields(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """The GPUs of a container's claims, and how they are cut and shared; empty where it claims none."""
    named = [(at, _claim(document, spec, at)) for at in kinds.items(document, (*path, "resources", "claims"))]
    used = [(at, claim) for at, claim in named if claim is None or not _is_channel(document, claim.made_of)]
    if not used:
        return {}
    unresolved = next((claim for _, claim in used if claim is None or claim.held is None), None)
    if any(claim is None for _, claim in used):
        return {"gpus_per_pod": _unknown("the pod has no claim of that name", used[0][0], document)}
    if unresolved is not None:
        reason = Unknown(f"the claim {unresolved.made_of} is not in the repository", "another object")
        return {"gpus_per_pod": Field(reason, (unresolved.reference,))}
    devices = [(at, one) for at, claim in used if claim for one in _devices(document, at, claim)]
    unclear = next((one for _, one in devices if _is_gpu(document, one.device_class) is None), None)
    if unclear is not None:
        decided = Unknown(f"the devices of class {unclear.device_class} are not known", "another object")
        return {"gpus_per_pod": Field(decided, (Origin(document, used[0][0]), unclear.origin))}
    gpus = [(at, one) for at, one in devices if _is_gpu(document, one.device_class)]
    if not gpus:
        return {}
    entries = {at for at, _ in gpus}
    of_gpus = [(at, claim) for at, claim in used if at in entries]
    return {**_counted(document, gpus), **_kind_of(document, gpus), **_shared(document, spec, of_gpus)}


def _counted(document: Document, gpus: list[tuple[Path, Device]]) -> dict[str, Field]:
    """How many devices there are together, and of which class."""
    origins = tuple(dict.fromkeys(Origin(document, at, None) for at, _ in gpus))
    stated = tuple(origin for _, one in gpus for origin in (one.amount.origins or (one.origin,)))
    unknown = next((one.amount.value for _, one in gpus if not isinstance(one.amount.value, int)), None)
    total = (
        unknown
        if unknown is not None
        else sum(one.amount.value for _, one in gpus if isinstance(one.amount.value, int))
    )
    found = {"gpus_per_pod": Field(total, (*origins, *stated))}
    classes = {one.device_class for _, one in gpus}
    if len(classes) == 1:
        found["accelerator_resource"] = Field(classes.pop(), stated)
    return found


def _kind_of(document: Document, gpus: list[tuple[Path, Device]]) -> dict[str, Field]:
    """The MIG profile and the product that the selectors of every device agree on."""
    found: dict[str, Field] = {}
    entry = Origin(document, gpus[0][0])
    profiles = {(match[1] if (match := PROFILE.search(one.selectors)) else "") for _, one in gpus}
    places = (entry, *(one.selected for _, one in gpus))
    if len(profiles) == 1 and (profile := profiles.pop()):
        found["mig_profile"] = Field(profile, places)
    elif any(profiles) or any(one.device_class.startswith("mig.") for _, one in gpus):
        found["mig_profile"] = Field(
            Unknown("the claim requests MIG slices of several profiles, or of an unnamed one"), places
        )
    products = {(match[1] if (match := PRODUCT.search(one.selectors)) else "") for _, one in gpus}
    if len(products) == 1 and (product := products.pop()):
        found["accelerator"] = Field(_product(product), places)
    elif any("device" in PROFILE.sub("", one.selectors) for _, one in gpus):
        found["accelerator"] = Field(
            Unknown("the selectors of the claim determine the GPU model", "queue or partition"), places
        )
    return found


def _product(name: str) -> str | Unknown:
    """The product of a driver's name for it, which a node's label writes with dashes."""
    listed = hardware.labels().get((PRODUCT_KEY, name.replace(" ", "-")))
    return listed or Unknown(f"the product name {name} is not known")


def _shared(document: Document, spec: Path, used: list[tuple[Path, Claim | None]]) -> dict[str, Field]:
    """That others compute on the same devices: by the claim's own words, or because several use it."""
    for at, claim in used:
        if claim is None or claim.held is None:
            continue
        for config in kinds.items(claim.held, (*_devices_of(claim), "config")):
            place = (*config, "opaque", "parameters", "sharing", "strategy")
            about, wanted = claim.held.get((*config, "requests")), document.get((*at, "request"))
            if isinstance(about, list) and about and wanted is not None and wanted not in about:
                continue
            if isinstance(strategy := claim.held.get(place), str):
                return {"sharing": Field(strategy, (Origin(document, at), Origin(claim.held, place)))}
        if _users(document, spec, at, claim) > 1:
            return {"sharing": Field("one claim for several containers", (Origin(document, at), claim.reference))}
    return {}


def _users(document: Document, spec: Path, at: Path, claim: Claim) -> int:
    """How many containers use the devices of a claim: of this pod, and of others where the claim is no template."""
    wanted = document.get((*at, "name")), document.get((*at, "request"))
    places = (
        used
        for container in kinds.items(document, (*spec, "containers"))
        for used in kinds.items(document, (*container, "resources", "claims"))
    )
    count = sum((document.get((*used, "name")), document.get((*used, "request"))) == wanted for used in places)
    return max(count, 0 if claim.own else _pods_naming(document, claim.made_of))


def _pods_naming(document: Document, claim: str) -> int:
    """How many pod templates of the file name a claim; one with replicas is several."""
    found = 0
    for one in document.beside or (document,):
        for spec in kinds.pod_specs(one.data, (), kinds.DEPTH):
            named = (name for at in kinds.items(one, (*spec, "resourceClaims")) for _, _, name in _references(one, at))
            if claim in named:
                found += 1 if one.get(("spec", "replicas")) in (None, 1) else 2
    return found


# ---- the objects


def _references(document: Document, entry: Path) -> Iterator[tuple[Path, str, str]]:
    """The object that an entry of a pod's claims names: by the key of today, or that of Kubernetes 1.30 and before."""
    for base in (entry, (*entry, "source")):
        for key, kind in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
            ("resourceClaimName", "ResourceClaim"),
        ):
            if isinstance(name := document.get((*base, key)), str):
                yield (*base, key), kind, name


def _claim(document: Document, spec: Path, used: Path) -> Claim | None:
    """The claim of the pod that a container uses."""
    name = document.get((*used, "name"))
    for entry in kinds.items(document, (*spec, "resourceClaims")):
        if document.get((*entry, "name")) == name:
            for path, kind, made_of in _references(document, entry):
                held = _held(document, kind, made_of)
                return Claim(entry, Origin(document, path), made_of, held, kind == "ResourceClaimTemplate")
    return None


def _held(document: Document, kind: str, name: str) -> Document | None:
    """The one object of that kind and name beside the document."""
    found = [
        one
        for one in document.beside
        if one.get(("kind",)) == kind
        and str(one.get(("apiVersion",))).startswith(f"{GROUP}/")
        and one.get(("metadata", "name")) == name
        and _same_namespace(one, document)
    ]
    return found[0] if len(found) == 1 else None


def _is_channel(document: Document, name: str) -> bool:
    """Whether a ComputeDomain of the file makes the claims of that name, which are for its channels, not for GPUs."""
    made = ("spec", "channel", "resourceClaimTemplate", "name")
    return any(one.get(("kind",)) == "ComputeDomain" and one.get(made) == name for one in document.beside)


def _same_namespace(one: Document, other: Document) -> bool:
    """Whether two objects may share a namespace: one that states none gets its from whoever applies it."""
    named = {str(namespace) for each in (one, other) if (namespace := each.get(("metadata", "namespace")))}
    return len(named) < 2


def _devices_of(claim: Claim) -> Path:
    return ("spec", "spec", "devices") if claim.own else ("spec", "devices")


def _devices(document: Document, used: Path, claim: Claim) -> Iterator[Device]:
    """What the requests of a claim ask for; of a container that names one, only that."""
    held, base = claim.held, _devices_of(claim)
    if held is None:
        return
    if isinstance(old := held.get((*base[:-1], "resourceClassName")), str):
        yield _of_parameters(held, base[:-1], old)
        return
    wanted = str(document.get((*used, "request")) or "").partition("/")[0]
    for at in kinds.items(held, (*base, "requests")):
        if not wanted or held.get((*at, "name")) == wanted:
            yield from _request(held, at)


def _request(held: Document, at: Path) -> Iterator[Device]:
    """One request: flat before `resource.k8s.io/v1`, under `exactly` since, or the first of several that is free."""
    alternatives = list(kinds.items(held, (*at, "firstAvailable")))
    if not alternatives:
        yield _device(held, (*at, "exactly") if held.get((*at, "exactly")) is not None else at)
        return
    found = [_device(held, one) for one in alternatives]
    same = len({(one.device_class, one.amount.value) for one in found}) == 1
    either = Unknown("the first available of several requests decides", "another object")
    first = found[0]
    yield first._replace(
        amount=first.amount if same else Field(either, (Origin(held, at),)),
        selectors=first.selectors
        if len({one.selectors for one in found}) == 1
        else " ".join(one.selectors for one in found),
    )


def _device(held: Document, at: Path) -> Device:
    count = instance.count(held, (*at, "count"), 1)
    if held.get((*at, "allocationMode")) == "All" or held.get((*at, "adminAccess")) is True:
        count = Field(Unknown("the claim requests all devices that match", "another object"), (Origin(held, at),))
    places = [(*one, "cel", "expression") for one in kinds.items(held, (*at, "selectors"))]
    selected = Origin(held, places[0]) if places else Origin(held, at)
    text = " && ".join(str(held.get(place) or "") for place in places)
    return Device(
        str(held.get((*at, "deviceClassName"))), count, text, Origin(held, (*at, "deviceClassName")), selected
    )


def _of_parameters(held: Document, base: Path, name: str) -> Device:
    """A claim of Kubernetes 1.30 and before: one device, unless its parameters say more."""
    origin = Origin(held, (*base, "resourceClassName"))
    reference = held.get((*base, "parametersRef", "name"))
    if reference is None:
        return Device(name, Field(1, (origin,)), "", origin, origin)
    kind = held.get((*base, "parametersRef", "kind"))
    found = [one for one in held.beside if (one.get(("kind",)), one.get(("metadata", "name"))) == (kind, reference)]
    if len(found) != 1:
        unknown = Unknown(f"the parameters {reference} are in another file", "another object")
        return Device(name, Field(unknown, (origin,)), "", origin, origin)
    profile = found[0].get(("spec", "profile"))
    selectors = f".profile == '{profile}'" if isinstance(profile, str) else ""
    count = instance.count(found[0], ("spec", "count"), 1)
    return Device(name, count, selectors, origin, Origin(found[0], ("spec",)))


def _is_gpu(document: Document, name: str) -> bool | None:
    """Whether a class has GPUs: one that a driver installs, or a class of the file that names the driver."""
    if name in GPU_CLASSES:
        return True
    if OTHER_CLASSES.fullmatch(name):
        return False
    own = _classes(document.beside, name)
    drivers = {driver for one in own for driver in DRIVER.findall(one)}
    return True if drivers and drivers <= GPU_CLASSES else None


def _classes(beside: Iterable[Document], name: str) -> Iterator[str]:
    """The selectors of device classes of that name."""
    for one in beside:
        if one.get(("kind",)) == "DeviceClass" and one.get(("metadata", "name")) == name:
            for at in kinds.items(one, ("spec", "selectors")):
                yield str(one.get((*at, "cel", "expression")) or "")


def _unknown(reason: str, at: Path, document: Document) -> Field:
    return Field(Unknown(reason), (Origin(document, at),))
