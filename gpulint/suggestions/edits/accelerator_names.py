"""Labels: how the location that names an accelerator would name another one, and its cloud."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.adapters.platforms import gpu_spec_strings
from gpulint.adapters.programs import slurm
from gpulint.catalog import hardware, offers, tables
from gpulint.source.documents import Path
from gpulint.workload import Origin, Role, Value

TODAY = "NVIDIA-"
"""Drivers since 470 put the vendor in front of a product name; labels of older drivers are still
listed.
"""
OWN_KEYS = frozenset({"gpulint/accelerator", "accelerator"})
"""Keys whose whole value is an id of the catalog.

A part of a value is another format's name (Truss: `H100:2`).
"""
GKE = "cloud.google.com/gke-accelerator"
KSERVE_KEYS = {"serving.kserve.io/gke-accelerator": GKE, "serving.kubeflow.org/gke-accelerator": GKE}
"""Annotations that KServe turns into a node selector."""
PRODUCT = "nvidia.com/gpu.product"
FAMILY = re.compile(r"(?:karpenter\.k8s\.aws|eks\.amazonaws\.com)/instance-family")
SUFFIX = re.compile(r"(?P<mig>-MIG-(?P<profile>\d+g\.\d+gb)(?:[.-](?:me|gfx)(?:\.all)?)?)?(?P<shared>-SHARED)?$")
"""What the device plugin's labels append to a product name: NVIDIA/k8s-device-plugin,
docs/gpu-feature-discovery.
"""
BESIDE = re.compile(
    r"nvidia\.com/(?:gpu\.(?:family|memory|machine|compute\..*)|cuda\.compute\..*|gfd\..*)|amd\.com/gpu\.(?:device-id|family|vram|cu-count)"
    r"|cloud\.google\.com/machine-family"
    r"|karpenter\.k8s\.aws/instance-(?:gpu-memory|gpu-count|size|category|generation|cpu|memory)"
    r"|eks\.amazonaws\.com/instance-(?:gpu-memory|gpu-count|size|category|generation)|karpenter\.azure\.com/sku-(?!gpu-name).*"
)
"""Labels that describe a GPU or its machine without a product name.

They would contradict another product.
"""
COMPUTE_CLASS = "cloud.google.com/compute-class"
ANY_CARD = frozenset({"Accelerator"})
"""Classes that only say that a node has GPUs:
cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus.
"""
PROGRAMS = frozenset({"python", "notebook"})
PLATFORMS = {"modal": "modal", "beam": "beam", "beta9": "beam", "sky": "skypilot", "ray": "ray"}
IMPORTED = re.compile(r"\b(?:import|from)[ \t]+(modal|beam|beta9|sky|ray)\b")
"""Packages of platforms whose names of GPUs are listed."""
SIZED = re.compile(r"(?i)(?<!\d)\d++(?:\.\d++)?\s*+[gt]b")
CASES = (str.lower, str.upper)


def relabel(role: Role, product: str, values: Mapping[str, Value] | None = None) -> tuple[str, ...] | None:
    """Return the text of each location for another product, in the order of the origins;

    None if one has none.

    `values` are the other changes: the count of a request that has none, and the machine type.
    """
    field = role.fields.get("accelerator")
    origins = field.origins if field else ()
    if any(_is_described(origin) for origin in origins):
        return None
    texts = tuple(_rename(role, origin, product, values or {}) for origin in origins)
    return None if None in texts else tuple(text for text in texts if text is not None)


def find_cloud(role: Role) -> str | None:
    """Return the cloud of the location that names the accelerator; None if any is possible."""
    field = role.fields.get("accelerator")
    if field is None or not field.origins:
        return None
    return hardware.cloud_of(_find_key(field.origins[0]), field.origins[0].text())


def find_machine(role: Role, now: str, product: str, gpus: Value, whole: bool = False) -> str | None:
    """Return the cheapest machine type of the same cloud with enough of a product; of `whole` ones,
    with exactly that count.
    """
    old = hardware.node(now)
    if old is None or not isinstance(gpus, int):
        return None
    had = [
        offer
        for offer in offers.list_offers(role.available, old.cloud)
        if (offer.accelerator, offer.cloud) == (product, old.cloud)
    ]
    enough = [
        offer
        for offer in had
        if offer.instance_type and (offer.node_gpus == gpus if whole else offer.node_gpus >= gpus)
    ]
    fitting = [offer for offer in enough if _has_cpu_and_memory(role, offer.instance_type)]
    priced = [offer for offer in fitting if offer.cost_usd_per_hour is not None]
    if not priced and not whole:
        return None
    cheapest = min(
        priced or fitting,
        key=lambda offer: (offer.cost_usd_per_hour or 0, offer.node_gpus, offer.instance_type),
        default=None,
    )
    return cheapest.instance_type if cheapest else None


def is_hosted(role: Role, product: str, gpus: Value) -> bool:
    """Return whether an available machine with so many of a product has the cores and memory that
    the pod requests.

    For a cluster of one's own, named in a batch system's file, only what the settings declare
    counts.
    """
    if not isinstance(gpus, int):
        return True
    if _is_own_cluster(role) and not _is_declared(role.available, product):
        return False
    offered = offers.list_offers(role.available, find_cloud(role), product)
    had = [offer for offer in offered if offer.node_gpus >= gpus]
    fits = any(not offer.instance_type or _has_cpu_and_memory(role, offer.instance_type) for offer in had)
    return fits or not offered


def _is_own_cluster(role: Role) -> bool:
    """Return whether an option of a batch system names the accelerator, so that nothing is
    rented.
    """
    field = role.fields.get("accelerator")
    return field is not None and any(
        origin.document.format == "shell" and slurm.find_accelerator(_split_option(origin.text())[1]) is not None
        for origin in field.origins
    )


def _is_declared(available: offers.Available, product: str) -> bool:
    return product in available.accelerators or any(pool.accelerator == product for pool in available.pools)


def _has_cpu_and_memory(role: Role, instance_type: str) -> bool:
    node, cores, memory = hardware.node(instance_type), role.value("cpu_cores"), role.value("host_memory_bytes")
    few = isinstance(cores, int | float) and node and node.cpu_cores is not None and cores > node.cpu_cores
    small = isinstance(memory, int | float) and node and node.host_memory_bytes is not None
    return not few and not (small and memory > node.host_memory_bytes)  # type: ignore[operator,union-attr]


def render_request(origin: Origin, product: str | None, gpus: Value) -> str | None:
    """Return a request without a count for another product, another count, or both."""
    old = origin.text().strip()
    if not (platforms := _find_platforms(origin)) or SIZED.search(_find_whole_text(origin).replace(old, "", 1)):
        return None
    if product is not None and not _is_listed(platforms, old):
        return None  # a cluster's own name; other names there are unknown
    name = old if product is None else _find_platform_name(platforms, product)
    if name is None:
        return None
    counted = platforms in (("kubeai",), ("ray",)) or ":" in _find_whole_text(origin).replace(old, "", 1) or origin.key
    return name if counted or gpus in (1, None) else f"{name}:{gpus}"


def _rename(role: Role, origin: Origin, product: str, values: Mapping[str, Value]) -> str | None:
    key, old = _find_key(origin), origin.text()
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    if _find_platforms(origin):
        return render_request(origin, product, gpus) if _has_same_vendor(role, product) else None  # type: ignore[arg-type]
    if origin.document.format in PROGRAMS:
        return _render_in_program(role, origin, product)
    if origin.document.format == "shell" or origin.span is not None:
        return _render_option(old, product)
    if key in OWN_KEYS:
        return product
    if key.endswith("/instance-type") or hardware.node(old):
        return _find_other_machine(role, origin, product, values)
    if FAMILY.fullmatch(key):
        return _find_other_family(role, old, product, gpus)  # type: ignore[arg-type]
    return _render_pool_label(role, key, old, product) or _render_label(KSERVE_KEYS.get(key, key), old, product)


def find_pool(role: Role, product: str) -> str | None:
    """Return the team's pool that the label of another product selects;

    None if no label selects a pool.
    """
    field = role.fields.get("accelerator")
    places = ((_find_key(origin), origin.text()) for origin in (field.origins if field else ()))
    return next((found.name for key, old in places if (found := _find_pool_by_label(role, key, old, product))), None)


def _render_pool_label(role: Role, key: str, old: str, product: str) -> str | None:
    """Return the same label of that pool."""
    found = _find_pool_by_label(role, key, old, product)
    return dict(found.labels)[key] if found else None


def _find_pool_by_label(role: Role, key: str, old: str, product: str) -> offers.Pool | None:
    """Return the team's first pool with a product, if the file selects one of its pools by a label
    of that pool.
    """
    pools = role.available.pools
    if all(dict(pool.labels).get(key) != old for pool in pools):
        return None
    return next((pool for pool in pools if pool.accelerator == product and key in dict(pool.labels)), None)


def _render_label(key: str, old: str, product: str) -> str | None:
    """Return the label value of a product; for a slice or a shared GPU, the same part of the other
    product.
    """
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


def _find_other_machine(role: Role, origin: Origin, product: str, values: Mapping[str, Value]) -> str | None:
    """Return the requested machine type, else the cheapest that holds the pod's GPUs."""
    if isinstance(wanted := values.get("instance_type"), str):
        node = hardware.node(wanted)
        return wanted if node and node.accelerator == product else None
    counted = role.fields.get("gpus_per_pod")
    whole = counted is not None and origin in counted.origins
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    prefix = "ml." if origin.text().startswith("ml.") else ""
    other = find_machine(role, origin.text(), product, gpus, whole)  # type: ignore[arg-type]
    return prefix + other if other else None


def _find_other_family(role: Role, old: str, product: str, gpus: Value) -> str | None:
    """Return the AWS machine family of a product, if only one family has it."""
    families = {node.instance_type.partition(".")[0] for node in hardware.holding(product, 1, "aws")}
    is_family = any(node.instance_type.startswith(f"{old}.") for node in hardware.list_nodes())
    holds = isinstance(gpus, int) and offers.find_cheapest(role.available, product, gpus, "aws") is not None
    return families.pop() if len(families) == 1 and is_family and holds else None


def _render_option(old: str, product: str) -> str | None:
    """Return another product's name in a batch system's option, in the spelling of the
    present one.
    """
    head, name, tail = _split_option(old)
    if not name or slurm.find_accelerator(name) is None:
        return None
    names = [value for (label, value), named in hardware.labels().items() if (label, named) == ("alias", product)]
    spelled = [case(value) for value in names if " " not in value for case in CASES if case(name) == name]
    fitting = [value for value in spelled if slurm.find_accelerator(value) == product]
    return f"{head}{min(fitting, key=lambda value: (len(value), value))}{tail}" if fitting else None


def _render_in_program(role: Role, origin: Origin, product: str) -> str | None:
    """Return another product's name as the one platform that a program imports writes it."""
    platforms = tuple(dict.fromkeys(PLATFORMS[name] for name in IMPORTED.findall(origin.document.text)))
    head, name, tail = _split_option(origin.text())
    if len(platforms) != 1 or not name or not _has_same_vendor(role, product) or not _is_listed(platforms, name):
        return None
    other = _find_platform_name(platforms, product)
    return f"{head}{other}{tail}".strip("\"'") if other is not None else None


def _split_option(old: str) -> tuple[str, str, str]:
    """Split an option of a batch system around its one name: `--gres=gpu:`, `a100`, `:8`."""
    found = re.fullmatch(
        r"(?P<head>(?:--?[\w-]+=)?[\"']?(?:gres[/:])?(?:gpu:)?)(?P<name>[A-Za-z][\w.-]*)(?P<tail>(?::\d+)?[\"']?)", old
    )
    return (found["head"], found["name"], found["tail"]) if found else ("", "", "")


def _has_same_vendor(role: Role, product: str) -> bool:
    """Return whether a product uses the same drivers and images as the present one."""
    now, other = hardware.accelerator(role.text("accelerator")), hardware.accelerator(product)
    return now is None or other is None or now.vendor == other.vendor


# ---- requests in a platform's own words


def _find_platforms(origin: Origin) -> tuple[str, ...]:
    """Return the name tables of a request, nearest first; empty if it is not a platform request."""
    path = tuple(part for part in origin.path if isinstance(part, str))
    if origin.document.format == "shell":
        return ()
    if path[:1] == ("resources",) and "accelerators" in path:
        return _find_clouds(origin) if origin.document.get(("resources", "instance_type")) is None else ()
    if path[-2:] == ("resources", "gpu") or path[-3:] == ("resources", "gpu", "name"):
        return ("dstack",)
    if path == ("resources", "accelerator"):
        return ("baseten",)
    return (
        ("kubeai",) if path == ("spec", "resourceProfile") else ("ray",) if path[-1:] == ("accelerator_type",) else ()
    )


def _find_clouds(origin: Origin) -> tuple[str, ...]:
    named = origin.document.get(("resources", "infra")) or origin.document.get(("resources", "cloud")) or ""
    where = str(named).partition("/")[0].strip().lower()
    return (f"skypilot {where}", "skypilot") if where else ("skypilot",)


def _find_platform_name(platforms: tuple[str, ...], product: str) -> str | None:
    """Return a platform's name for a product that the platform reads as that product again."""
    rows = [row for row in tables.rows("resource_profiles") if row["platform"] in platforms]
    names = [row["profile"] for row in rows if row["accelerator"] == product and not row["mig_profile"]]
    fitting = [name for name in names if gpu_spec_strings.product(platforms, name) == product]
    return min(fitting, key=lambda name: (len(name), name), default=None)


def _is_listed(platforms: tuple[str, ...], name: str) -> bool:
    """Return whether a platform lists a name, possibly with the memory size appended."""
    rows = [row for row in tables.rows("resource_profiles") if row["platform"] in platforms]
    return name.casefold() in {row["profile"].casefold().partition(":")[0] for row in rows}


def _find_whole_text(origin: Origin) -> str:
    """Return the whole text that a request's name is part of."""
    return origin._replace(span=None).text()


def _is_described(origin: Origin) -> bool:
    """Return whether a neighbouring label describes the GPU in other words."""
    beside = origin.document.get(origin.path[:-1]) if "nodeSelector" in origin.path else None
    if not isinstance(beside, dict):
        return False
    return beside.get(COMPUTE_CLASS) not in (None, *ANY_CARD) or any(BESIDE.fullmatch(str(key)) for key in beside)


def _find_key(origin: Origin) -> str:
    """Return the label of a selector or affinity value."""
    path: Path = origin.path
    if not path:
        return ""
    if isinstance(path[-1], str):
        return path[-1]
    return str(origin.document.get((*path[:-2], "key")))
