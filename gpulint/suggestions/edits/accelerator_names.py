"""Labels: how the place that names an accelerator would name another, and the cloud it belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.adapters.platforms import gpu_spec_strings as rented
from gpulint.adapters.programs import slurm
from gpulint.catalog import hardware, offers
from gpulint.catalog import tables as catalog
from gpulint.source.documents import Path
from gpulint.workload import Origin, Role, Value

TODAY = "NVIDIA-"
"""Drivers since 470 put the maker in front of a product's name; labels of older ones are still listed."""
OWN_KEYS = frozenset({"gpulint/accelerator", "accelerator"})
"""Whose whole value is an id of the catalog; part of a value is another format's name for the product (Truss: `H100:2`)."""
GKE = "cloud.google.com/gke-accelerator"
COPIES = {"serving.kserve.io/gke-accelerator": GKE, "serving.kubeflow.org/gke-accelerator": GKE}
"""Annotations that KServe turns into a node selector."""
PRODUCT = "nvidia.com/gpu.product"
FAMILY = re.compile(r"(?:karpenter\.k8s\.aws|eks\.amazonaws\.com)/instance-family")
SUFFIX = re.compile(r"(?P<mig>-MIG-(?P<profile>\d+g\.\d+gb)(?:[.-](?:me|gfx)(?:\.all)?)?)?(?P<shared>-SHARED)?$")
"""What the device plugin's labels say behind a product's name: NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery."""
BESIDE = re.compile(
    r"nvidia\.com/(?:gpu\.(?:family|memory|machine|compute\..*)|cuda\.compute\..*|gfd\..*)|amd\.com/gpu\.(?:device-id|family|vram|cu-count)"
    r"|cloud\.google\.com/machine-family"
    r"|karpenter\.k8s\.aws/instance-(?:gpu-memory|gpu-count|size|category|generation|cpu|memory)"
    r"|eks\.amazonaws\.com/instance-(?:gpu-memory|gpu-count|size|category|generation)|karpenter\.azure\.com/sku-(?!gpu-name).*"
)
"""Labels that describe a card or its machine without naming a product: under another product they would contradict it."""
COMPUTE_CLASS = "cloud.google.com/compute-class"
ANY_CARD = frozenset({"Accelerator"})
"""Classes that say no more of a node than that it has cards: cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus."""
SIZED = re.compile(r"(?i)\d+(?:\.\d+)?\s*[gt]b")
CASES = (str.lower, str.upper)


def relabelled(role: Role, product: str, values: Mapping[str, Value] | None = None) -> tuple[str, ...] | None:
    """The text each place would hold for another product, in the order of the origins; None when one of them cannot.

    `values` are what else is to change: the count of a request that names none, and the machine type.
    """
    field = role.fields.get("accelerator")
    origins = field.origins if field else ()
    if any(_described(origin) for origin in origins):
        return None
    texts = tuple(_renamed(role, origin, product, values or {}) for origin in origins)
    return None if None in texts else tuple(text for text in texts if text is not None)


def cloud(role: Role) -> str | None:
    """The cloud that the place that names the accelerator belongs to; None when any may."""
    field = role.fields.get("accelerator")
    if field is None or not field.origins:
        return None
    return hardware.cloud_of(_key(field.origins[0]), field.origins[0].text())


def machine(role: Role, now: str, product: str, gpus: Value, whole: bool = False) -> str | None:
    """Another machine type of the same cloud with enough of a product, the cheapest; of `whole` ones, with just so many."""
    old = hardware.node(now)
    if old is None or not isinstance(gpus, int):
        return None
    had = [one for one in offers.of(role.available, old.cloud) if (one.accelerator, one.cloud) == (product, old.cloud)]
    enough = [one for one in had if one.instance_type and (one.node_gpus == gpus if whole else one.node_gpus >= gpus)]
    fitting = [one for one in enough if _holds_the_rest(role, one.instance_type)]
    priced = [one for one in fitting if one.cost_usd_per_hour is not None]
    if not priced and not whole:
        return None
    cheapest = min(
        priced or fitting, key=lambda one: (one.cost_usd_per_hour or 0, one.node_gpus, one.instance_type), default=None
    )
    return cheapest.instance_type if cheapest else None


def hosted(role: Role, product: str, gpus: Value) -> bool:
    """Whether some machine to be had with so many of a product holds the cores and the memory that the pod asks for.

    Of a cluster of its own, whose nodes a batch system's file names, only what the settings say that it has.
    """
    if not isinstance(gpus, int):
        return True
    if _of_own_cluster(role) and not _said_to_be_had(role.available, product):
        return False
    had = [one for one in offers.of(role.available, cloud(role), product) if one.node_gpus >= gpus]
    return any(not one.instance_type or _holds_the_rest(role, one.instance_type) for one in had) or not had


def _of_own_cluster(role: Role) -> bool:
    """Whether a batch system's option names the card, which rents nothing."""
    field = role.fields.get("accelerator")
    return field is not None and any(
        one.document.format == "shell" and slurm.product_of(_option(one.text())[1]) is not None for one in field.origins
    )


def _said_to_be_had(available: offers.Available, product: str) -> bool:
    return product in available.accelerators or any(one.accelerator == product for one in available.pools)


def _holds_the_rest(role: Role, instance_type: str) -> bool:
    node, cores, memory = hardware.node(instance_type), role.value("cpu_cores"), role.value("host_memory_bytes")
    few = isinstance(cores, int | float) and node and node.cpu_cores is not None and cores > node.cpu_cores
    small = isinstance(memory, int | float) and node and node.host_memory_bytes is not None
    return not few and not (small and memory > node.host_memory_bytes)  # type: ignore[operator,union-attr]


def requested(origin: Origin, product: str | None, gpus: Value) -> str | None:
    """What a request that names a product without a count would say of another product, of a count, or of both."""
    old = origin.text().strip()
    if not (platforms := _platforms(origin)) or SIZED.search(_whole(origin).replace(old, "", 1)):
        return None
    if product is not None and not _is_listed(platforms, old):
        return None  # a cluster's own name, beside which it may have no other card
    name = old if product is None else _named(platforms, product)
    if name is None:
        return None
    counted = platforms in (("kubeai",), ("ray",)) or ":" in _whole(origin).replace(old, "", 1) or origin.key
    return name if counted or gpus in (1, None) else f"{name}:{gpus}"


def _renamed(role: Role, origin: Origin, product: str, values: Mapping[str, Value]) -> str | None:
    key, old = _key(origin), origin.text()
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    if _platforms(origin):
        return requested(origin, product, gpus) if _same_maker(role, product) else None  # type: ignore[arg-type]
    if origin.document.format == "shell" or origin.span is not None:
        return _of_cluster(old, product)
    if key in OWN_KEYS:
        return product
    if key.endswith("/instance-type") or hardware.node(old):
        return _other_machine(role, origin, product, values)
    if FAMILY.fullmatch(key):
        return _other_family(role, old, product, gpus)  # type: ignore[arg-type]
    return _of_pool(role, key, old, product) or _labelled(COPIES.get(key, key), old, product)


def pool_of(role: Role, product: str) -> str | None:
    """The team's pool that a file comes to by the label of another product; None where it chooses no pool by one."""
    field = role.fields.get("accelerator")
    places = ((_key(origin), origin.text()) for origin in (field.origins if field else ()))
    return next((found.name for key, old in places if (found := _pool(role, key, old, product))), None)


def _of_pool(role: Role, key: str, old: str, product: str) -> str | None:
    """The same label of that pool."""
    found = _pool(role, key, old, product)
    return dict(found.labels)[key] if found else None


def _pool(role: Role, key: str, old: str, product: str) -> offers.Pool | None:
    """The team's first pool with a product, where a file chooses one of its pools by a label that this one has too."""
    pools = role.available.pools
    if all(dict(one.labels).get(key) != old for one in pools):
        return None
    return next((one for one in pools if one.accelerator == product and key in dict(one.labels)), None)


def _labelled(key: str, old: str, product: str) -> str | None:
    """The label's value for a product; of a slice or a shared card, the same part of the other."""
    listed = hardware.labels()
    if (key, SUFFIX.sub("", old) if key == PRODUCT else old) not in listed:
        return None  # a cluster's own name, whose other names nobody lists
    values = [value for (label, value), named in listed.items() if label == key and named == product]
    name = min(values, key=lambda value: (not value.startswith(TODAY), len(value), value), default=None)
    suffix = SUFFIX.search(old) if key == PRODUCT else None
    if name is None or suffix is None:
        return name
    offered = [profile for profile, _ in hardware.slices(product)]
    return name + suffix[0] if suffix["profile"] is None or suffix["profile"] in offered else None


def _other_machine(role: Role, origin: Origin, product: str, values: Mapping[str, Value]) -> str | None:
    """The machine type that is asked for, else the cheapest that holds the pod's GPUs."""
    if isinstance(wanted := values.get("instance_type"), str):
        node = hardware.node(wanted)
        return wanted if node and node.accelerator == product else None
    counted = role.fields.get("gpus_per_pod")
    whole = counted is not None and origin in counted.origins
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    prefix = "ml." if origin.text().startswith("ml.") else ""
    other = machine(role, origin.text(), product, gpus, whole)  # type: ignore[arg-type]
    return prefix + other if other else None


def _other_family(role: Role, old: str, product: str, gpus: Value) -> str | None:
    """The family of AWS's machines with a product, where one family alone has it."""
    families = {one.instance_type.partition(".")[0] for one in hardware.holding(product, 1, "aws")}
    known = any(one.instance_type.startswith(f"{old}.") for one in hardware.list_nodes())
    holds = isinstance(gpus, int) and offers.cheapest(role.available, product, gpus, "aws") is not None
    return families.pop() if len(families) == 1 and known and holds else None


def _of_cluster(old: str, product: str) -> str | None:
    """The name of another product where a batch system's option names one, spelled as the present one is."""
    head, name, tail = _option(old)
    if not name or slurm.product_of(name) is None:
        return None
    known = [value for (label, value), named in hardware.labels().items() if (label, named) == ("alias", product)]
    spelled = [case(value) for value in known if " " not in value for case in CASES if case(name) == name]
    fitting = [value for value in spelled if slurm.product_of(value) == product]
    return f"{head}{min(fitting, key=lambda value: (len(value), value))}{tail}" if fitting else None


def _option(old: str) -> tuple[str, str, str]:
    """An option of a batch system around the one name it holds: `--gres=gpu:`, `a100`, `:8`."""
    found = re.fullmatch(
        r"(?P<head>(?:--?[\w-]+=)?[\"']?(?:gres[/:])?(?:gpu:)?)(?P<name>[A-Za-z][\w.-]*)(?P<tail>(?::\d+)?[\"']?)", old
    )
    return (found["head"], found["name"], found["tail"]) if found else ("", "", "")


def _same_maker(role: Role, product: str) -> bool:
    """Whether a product takes the same drivers and images as today's."""
    now, other = hardware.accelerator(role.text("accelerator")), hardware.accelerator(product)
    return now is None or other is None or now.vendor == other.vendor


# ---- requests in a platform's own words


def _platforms(origin: Origin) -> tuple[str, ...]:
    """The tables of names that a request is written in, the nearest first; empty where it is none."""
    path = tuple(part for part in origin.path if isinstance(part, str))
    if origin.document.format == "shell":
        return ()
    if path[:1] == ("resources",) and "accelerators" in path:
        return _clouds(origin) if origin.document.get(("resources", "instance_type")) is None else ()
    if path[-2:] == ("resources", "gpu") or path[-3:] == ("resources", "gpu", "name"):
        return ("dstack",)
    if path == ("resources", "accelerator"):
        return ("baseten",)
    return (
        ("kubeai",) if path == ("spec", "resourceProfile") else ("ray",) if path[-1:] == ("accelerator_type",) else ()
    )


def _clouds(origin: Origin) -> tuple[str, ...]:
    named = origin.document.get(("resources", "infra")) or origin.document.get(("resources", "cloud")) or ""
    where = str(named).partition("/")[0].strip().lower()
    return (f"skypilot {where}", "skypilot") if where else ("skypilot",)


def _named(platforms: tuple[str, ...], product: str) -> str | None:
    """A platform's name for a product, which it reads as that product again."""
    rows = [row for row in catalog.rows("resource_profiles") if row["platform"] in platforms]
    names = [row["profile"] for row in rows if row["accelerator"] == product and not row["mig_profile"]]
    fitting = [name for name in names if rented.product(platforms, name) == product]
    return min(fitting, key=lambda name: (len(name), name), default=None)


def _is_listed(platforms: tuple[str, ...], name: str) -> bool:
    """Whether a platform lists a name, be it with the memory behind it."""
    rows = [row for row in catalog.rows("resource_profiles") if row["platform"] in platforms]
    return name.casefold() in {row["profile"].casefold().partition(":")[0] for row in rows}


def _whole(origin: Origin) -> str:
    """All of the text of which a request's name is a part."""
    return origin._replace(span=None).text()


def _described(origin: Origin) -> bool:
    """Whether a label beside the place describes the card in further words."""
    beside = origin.document.get(origin.path[:-1]) if "nodeSelector" in origin.path else None
    if not isinstance(beside, dict):
        return False
    return beside.get(COMPUTE_CLASS) not in (None, *ANY_CARD) or any(BESIDE.fullmatch(str(key)) for key in beside)


def _key(origin: Origin) -> str:
    """The label that a selector or affinity value belongs to."""
    path: Path = origin.path
    if not path:
        return ""
    if isinstance(path[-1], str):
        return path[-1]
    return str(origin.document.get((*path[:-2], "key")))
