"""The pod template: what each container that computes asks for, runs, and is placed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from gpulint import engines, hardware, shell, units
from gpulint.documents import Document, Path
from gpulint.engines import Argument, Invocation
from gpulint.workload import Field, Origin, Role, Unknown, Value

GPU = re.compile(
    r"nvidia\.com/(?:gpu(?:\.shared)?|pgpu|mig-[\w.]+)|amd\.com/gpu|habana\.ai/gaudi|gpu\.intel\.com/(?:i915|xe)"
)
NOT_A_GPU = re.compile(r"google\.com/tpu|aws\.amazon\.com/neuron|huawei\.com/|cambricon\.com/|qualcomm\.com/")
RAY = re.compile(r"(?:^|[/_-])ray(?:$|[_.-])|multi-node-serving")
MIG = re.compile(r"nvidia\.com/mig-(?P<profile>\w+\.\w+)(?P<more>[\w.]*)")
RDMA = re.compile(r"rdma/|vpc\.amazonaws\.com/efa|nvidia\.com/hostdev|/rdma|networking\.gke\.io\.networks/rdma")
REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
"""Read as Kubernetes does, from the left: two dollars are one, so that `$$(NAME)` refers to nothing."""
WHOLE_VARIABLE = re.compile(r"\"?\$(?:\((?P<paren>\w+)\)|\{(?P<brace>\w+)\}|(?P<bare>\w+))\"?")
PLACEHOLDER = re.compile(r"\$\{\w+\}|\$[A-Za-z_]\w*|<[^<>]+>|\{\{")
SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
WRAPPERS = frozenset(
    {"exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "numactl", "stdbuf"}
)
PLACING = frozenset({"serving.kserve.io/gke-accelerator", "serving.kubeflow.org/gke-accelerator"})
INSTANCE_KEYS = frozenset({"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"})
FAMILY_KEYS = frozenset({"karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family"})
PRODUCT_SUFFIX = re.compile(r"-SHARED$|-MIG-\d+g\.\d+gb(?:\.me)?$")


def roles(document: Document, spec: Path, annotations: Mapping[str, Origin]) -> Iterator[Role]:
    """One role for each container of a pod template that asks for GPUs or starts a known engine."""
    placement = _placement(document, spec)
    given = _annotated(annotations)
    for path in _containers(document, spec):
        yield from _container(document, spec, path, placement, given)


def _containers(document: Document, spec: Path) -> Iterator[Path]:
    """Where the containers stand: in the list, or, in a KServe predictor, under the key of a model format."""
    listed = document.get((*spec, "containers"))
    for at, container in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(container, dict):
            yield (*spec, "containers", at)
    predictor = document.get(spec) if spec[-1:] == ("predictor",) else None
    for key, value in predictor.items() if isinstance(predictor, dict) else ():
        if isinstance(value, dict) and {"resources", "storageUri", "modelFormat", "image"} & value.keys():
            yield (*spec, key)


def _container(
    document: Document, spec: Path, path: Path, placement: Mapping[str, Field], given: Mapping[str, Field]
) -> Iterator[Role]:
    resources = _resources(document, path)
    environment = _environment(document, path)
    invocations = tuple(_invocations(document, path, environment))
    read = [(reading, invocation) for invocation in invocations if (reading := engines.read(invocation))]
    readings = [reading for reading, _ in read]
    if not (resources or readings or document.get((*path, "resources", "claims"))):
        return
    name = document.get((*path, "name"))
    anchor = Origin(document, (*path, "name")) if isinstance(name, str) else Origin(document, path)
    pod = {**_hardware(document, spec, path, resources), **_settings(document, spec, path), **placement}
    if str(stored := document.get((*path, "storageUri"))).startswith("hf://"):
        pod["checkpoint"] = Field(str(stored), (Origin(document, (*path, "storageUri")),))
    if variable := _self_reference(environment):
        pod["unexpanded_variable"] = variable
    for reading in readings or (engines.Reading({}, None),):
        own = {**pod, **reading.fields, **given}
        if len(readings) > 1:
            own["gpus_per_pod"] = Field(Unknown("several engines share the container"))
        elif any(invocation.conditional for _, invocation in read):
            own["gpus_per_pod"] = Field(Unknown("the engine is started in a branch or a loop of the script"))
        if readings and _joins_a_cluster(invocations, environment):
            own["multi_node"] = Field(True, source="Ray in the script")
        yield Role(str(name or path[-1]), anchor, own, reading.arguments, reading.open_ended)


def _joins_a_cluster(invocations: Sequence[Invocation], environment: Mapping[str, Argument]) -> bool:
    """Whether the script starts or joins a Ray cluster, whose other pods may lend GPUs."""
    words = (argument.text or "" for invocation in invocations for argument in invocation.arguments)
    return "RAY_ADDRESS" in environment or any(RAY.search(word) for word in words)


def _hardware(
    document: Document, spec: Path, path: Path, resources: Mapping[str, tuple[Origin, ...]]
) -> dict[str, Field]:
    """GPU count, resource name and MIG profile; a container without an image is a patch, whose other half is elsewhere."""
    if not resources:
        other = _other_device(document, path)
        return {"gpus_per_pod": Field(Unknown(_ungranted(document, spec, path))), **other}
    (name, origins), *others = resources.items()
    fields = {"accelerator_resource": Field(name)}
    count = Unknown("several accelerator resources are asked for") if others else gpu_count(document, origins[0])
    fields["gpus_per_pod"] = Field(count, origins)
    if isinstance(count, float):
        fields["gpu_count_whole"] = Field(False, origins)
    if count == 0:
        fields["device"] = Field("cpu", origins)
    whole = isinstance(document.get((*path, "image")), str)
    for origin in origins if whole else ():
        side = "gpu_limit" if "limits" in origin.path else "gpu_request"
        fields[side] = Field(gpu_count(document, origin), (origin,))
    if mig := MIG.fullmatch(name):
        fields["mig_profile"] = Field(mig.group("profile"), tuple(origin._replace(key=True) for origin in origins))
    if name.endswith(".shared"):
        fields["sharing"] = Field("time-slicing", tuple(origin._replace(key=True) for origin in origins))
    return fields


def _other_device(document: Document, path: Path) -> dict[str, Field]:
    """An accelerator that is no GPU, or the CPU of an image or a command that says so."""
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if NOT_A_GPU.match(str(name)):
                return {"device": Field(str(name), (Origin(document, (*path, "resources", side, name), key=True),))}
    return {}


def gpu_count(document: Document, origin: Origin) -> Value | Unknown:
    """A GPU count as written; what is no number is unknown, never zero."""
    value = document.get(origin.path)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return Unknown("the GPU count is empty")
    try:
        amount = Fraction(units.quantity(value))
    except ValueError:
        return Unknown(f"the GPU count is {value}")
    return int(amount) if amount.denominator == 1 else float(amount)


def _ungranted(document: Document, spec: Path, path: Path) -> str:
    """Why a container without a GPU resource may still have GPUs."""
    if document.get((*spec, "resourceClaims")) or document.get((*path, "resources", "claims")):
        return "GPUs come from a resource claim"
    return "no GPU resource is asked for"


def _resources(document: Document, path: Path) -> dict[str, tuple[Origin, ...]]:
    """Accelerator resources of a container: limits first, then requests."""
    found: dict[str, list[Origin]] = {}
    for side in ("limits", "requests"):
        amounts = document.get((*path, "resources", side))
        for name in amounts if isinstance(amounts, dict) else ():
            if GPU.fullmatch(str(name)):
                found.setdefault(str(name), []).append(Origin(document, (*path, "resources", side, name)))
    return {name: tuple(origins) for name, origins in found.items()}


def _settings(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Memory, CPU, shared memory and RDMA of a container."""
    fields: dict[str, Field] = {}
    limits = document.get((*path, "resources", "limits"))
    for name in limits if isinstance(limits, dict) else ():
        origin = Origin(document, (*path, "resources", "limits", name))
        if name == "memory":
            fields["host_memory_bytes"] = Field(_parsed(document, origin, units.bytes_of), (origin,))
        elif name == "cpu":
            fields["cpu_cores"] = Field(_parsed(document, origin, lambda text: float(units.quantity(text))), (origin,))
        elif RDMA.search(str(name)):
            fields["rdma_devices"] = Field(gpu_count(document, origin), (origin,))
    fields["shared_memory_default"] = Field(not _mounts_shared_memory(document, spec, path))
    return fields


def _parsed(document: Document, origin: Origin, parse: object) -> Value | Unknown:
    value = document.get(origin.path)
    try:
        parsed: Value = parse(value)  # type: ignore[operator]
    except (ValueError, TypeError):
        return Unknown(f"{value} is not a quantity")
    return parsed


def _mounts_shared_memory(document: Document, spec: Path, path: Path) -> bool:
    """Whether anything but the runtime's 64 MiB stands at /dev/shm."""
    if document.get((*spec, "hostIPC")) is True:
        return True
    mounts = document.get((*path, "volumeMounts"))
    return any(
        isinstance(mount, dict) and str(mount.get("mountPath", "")).rstrip("/") in ("/dev/shm", "/dev")
        for mount in (mounts if isinstance(mounts, list) else ())
    )


# ---- environment and command


def _environment(document: Document, path: Path) -> dict[str, Argument]:
    """Environment values by name; `$(NAME)` of an earlier entry is expanded as Kubernetes does."""
    listed = document.get((*path, "env"))
    known: dict[str, Argument] = {}
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        origin = Origin(document, (*path, "env", at, "value"))
        if "value" not in entry:
            known[entry["name"]] = Argument(None, origin, f"{entry['name']} comes from another object")
        else:
            known[entry["name"]] = _expanded("" if entry["value"] is None else str(entry["value"]), origin, known)
    return known


def _expanded(text: str, origin: Origin, known: Mapping[str, Argument]) -> Argument:
    """A word with its `$(NAME)` references filled in; a name that nothing defines stays as it is, as in Kubernetes."""
    names = [name for name in REFERENCE.findall(text) if name in known]
    for name in names:
        if known[name].text is None:
            flag, equals, _ = text.partition("=")
            why = f"{flag}=" if equals and flag.startswith("--") else ""
            return Argument(None, origin, why + known[name].why)
    filled = REFERENCE.sub(lambda match: _filled(match, known), text)
    whole = WHOLE_VARIABLE.fullmatch(text.partition("=")[2] if text.startswith("-") else text)
    behind = known[names[0]].origin if len(names) == 1 and whole else None
    return Argument(filled, origin, "", behind)


def _filled(match: re.Match[str], known: Mapping[str, Argument]) -> str:
    if match[0] == "$$":
        return "$"
    return str(known[match[1]].text) if match[1] in known else match[0]


def _self_reference(environment: Mapping[str, Argument]) -> Field | None:
    """An entry such as LD_LIBRARY_PATH: ${LD_LIBRARY_PATH}:/more; `${NAME}` alone is for a tool that fills it in."""
    for name, argument in environment.items():
        itself = f"${{{name}}}"
        if argument.text and itself in argument.text and argument.text.strip() != itself:
            at = argument.text.index(f"${{{name}}}")
            return Field(name, (argument.origin._replace(span=(at, at + len(name) + 3)),))
    return None


def _invocations(document: Document, path: Path, environment: Mapping[str, Argument]) -> Iterator[Invocation]:
    """The programs a container starts: of its command and args, or of the script that a shell is given."""
    image = document.get((*path, "image"))
    origin = Origin(document, (*path, "image"))
    named = Argument(image if isinstance(image, str) else None, origin, "" if image else "no image")
    command, args = (tuple(_words(document, (*path, key), environment)) for key in ("command", "args"))
    words = (*command, *args)
    script = _script(words)
    if script is None:
        yield Invocation(named, _unwrapped(words), environment, entrypoint=not command)
        return
    for arguments, conditional in _commands(document, words[script], environment):
        yield Invocation(named, _unwrapped(arguments), environment, entrypoint=False, conditional=conditional)


def _words(document: Document, path: Path, environment: Mapping[str, Argument]) -> Iterator[Argument]:
    listed = document.get(path)
    if isinstance(listed, str):
        yield Argument(listed, Origin(document, path))
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        origin = Origin(document, (*path, at))
        if isinstance(word, dict | list):
            yield Argument(None, origin, "an argument is not a string")
        else:
            yield _placeheld(_expanded("" if word is None else _as_text(document, origin, word), origin, environment))


def _as_text(document: Document, origin: Origin, word: object) -> str:
    """An argument as the author wrote it: an unquoted 0.90 or yes keeps its spelling."""
    node = document.node(origin.path)
    return node.value if node is not None and isinstance(node.value, str) else str(word)


def _placeheld(argument: Argument) -> Argument:
    """A word that holds `${NAME}`, `<placeholder>` or a template expression outside a shell cannot be known."""
    text = argument.text or ""
    if "\n" in text or not PLACEHOLDER.search(text) or (" " in text and "{{" not in text):
        return argument
    flag, equals, value = text.partition("=")
    why = f"{value or text} is filled in elsewhere"
    return argument._replace(text=None, why=f"{flag}={why}" if equals and flag.startswith("-") else why)


def _script(words: tuple[Argument, ...]) -> int | None:
    """Which word is the script of a shell: the one after `-c`."""
    for at, word in enumerate(words[:-1]):
        text = word.text or ""
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text) and any(
            (before.text or "").rsplit("/", 1)[-1] in SHELLS for before in words[:at]
        ):
            return at + 1
    return None


def _commands(
    document: Document, script: Argument, environment: Mapping[str, Argument]
) -> Iterator[tuple[tuple[Argument, ...], bool]]:
    """The commands of a script, each word at its place inside the scalar that holds it, and whether it is conditional."""
    text = document.get(script.origin.path)
    variables = {name: argument.text for name, argument in environment.items()}
    for command in shell.commands(text if isinstance(text, str) else "", variables):
        words = tuple(_from_shell(script.origin, word, environment) for word in command.words)
        yield words, command.conditional


def _from_shell(origin: Origin, word: shell.Word, environment: Mapping[str, Argument]) -> Argument:
    place = origin._replace(span=(word.start, word.end))
    flag, equals, value = word.raw.partition("=")
    named = WHOLE_VARIABLE.fullmatch(value if equals and flag.startswith("-") else word.raw)
    name = next(filter(None, named.groups()), "") if named else ""
    behind = environment[name].origin if name in environment and word.text is not None else None
    why = f"{value or word.raw} is not known here"
    return Argument(word.text, place, f"{flag}={why}" if equals and flag.startswith("--") else why, behind)


def _unwrapped(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """A command without `exec`, `nohup`, `env NAME=value` and the like in front of it."""
    at = 0
    while at < len(words) and ((words[at].text or "") in WRAPPERS or re.match(r"\w+=", words[at].text or "")):
        at += 1
    return words[at:] if at < len(words) else words


# ---- placement and hints


def _placement(document: Document, spec: Path) -> dict[str, Field]:
    """Accelerator and machine type from the selector, else from the required node affinity."""
    selector = document.get((*spec, "nodeSelector"))
    stated: list[tuple[str, str, Origin]] = [
        (str(key), str(value), Origin(document, (*spec, "nodeSelector", key)))
        for key, value in (selector.items() if isinstance(selector, dict) else ())
        if isinstance(value, str | int | float)
    ]
    fields = _placed(stated)
    return fields or _placed(list(_required(document, spec)))


def _required(document: Document, spec: Path) -> Iterator[tuple[str, str, Origin]]:
    """Label, value and place of every value a required node affinity allows."""
    terms_path = (
        *spec,
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    terms = document.get(terms_path)
    for at, term in enumerate(terms if isinstance(terms, list) else ()):
        expressions = term.get("matchExpressions") if isinstance(term, dict) else None
        for nth, expression in enumerate(expressions if isinstance(expressions, list) else ()):
            if not isinstance(expression, dict) or expression.get("operator") != "In":
                continue
            values = expression.get("values")
            for index, value in enumerate(values if isinstance(values, list) else ()):
                place = (*terms_path, at, "matchExpressions", nth, "values", index)
                yield str(expression.get("key")), str(value), Origin(document, place)


def _placed(stated: list[tuple[str, str, Origin]]) -> dict[str, Field]:
    products: dict[str, list[Origin]] = {}
    machines: dict[str, list[Origin]] = {}
    unlisted: list[tuple[str, Origin]] = []
    for key, value, origin in stated:
        if key in INSTANCE_KEYS:
            machines.setdefault(value, []).append(origin)
        product = _product(key, value)
        if product:
            products.setdefault(product, []).append(origin)
        elif key in {label for label, _ in hardware.labels()} or key in INSTANCE_KEYS:
            unlisted.append((value, origin))
    fields: dict[str, Field] = {}
    if len(machines) == 1:
        ((machine, origins),) = machines.items()
        fields["instance_type"] = Field(machine, tuple(origins))
    if len(products) == 1 and not (unlisted and not machines):
        ((name, origins),) = products.items()
        fields["accelerator"] = Field(name, tuple(origins))
    elif products or unlisted:
        names = [*products, *(value for value, _ in unlisted)]
        every = tuple(origin for origins in products.values() for origin in origins) + tuple(o for _, o in unlisted)
        reason = f"one of {', '.join(names)}" if len(names) > 1 else f"the catalog does not list {names[0]}"
        fields["accelerator"] = Field(Unknown(reason), every)
    return fields


def _product(key: str, value: str) -> str | None:
    if key in INSTANCE_KEYS:
        machine = hardware.node(value)
        return machine.accelerator if machine else None
    if key in FAMILY_KEYS:
        held = {node.accelerator for node in hardware.nodes() if node.instance_type.startswith(f"{value}.")}
        return held.pop() if len(held) == 1 else None
    return hardware.labels().get((key, PRODUCT_SUFFIX.sub("", value)))


def _annotated(annotations: Mapping[str, Origin]) -> dict[str, Field]:
    """Fields that annotations state: gpulint's own, and KServe's, which becomes a node selector."""
    fields: dict[str, Field] = {}
    for key, origin in annotations.items():
        text = origin.text().strip()
        if key == "gpulint/model":
            fields["checkpoint"] = Field(text, (origin,))
        elif key == "gpulint/accelerator":
            product = hardware.named(text)
            unlisted = Unknown(f"the catalog has no accelerator {text}")
            fields["accelerator"] = Field(product.id if product else unlisted, (origin,))
        elif (listed := hardware.labels().get(("cloud.google.com/gke-accelerator", text))) and key in PLACING:
            fields["accelerator"] = Field(listed, (origin,))
    return fields
