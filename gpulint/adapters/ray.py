"""Ray Serve LLM: the engine configurations inside a RayService, on the GPUs of its worker group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gpulint import documents, engines, hardware
from gpulint.adapters import command, kubernetes
from gpulint.documents import Document, Path
from gpulint.engines import Argument, Invocation
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("ray.io",)

KINDS = frozenset({("ray.io", "RayService")})
CONFIG: Path = ("spec", "serveConfigV2")
BUILDER = "ray.serve.llm:build_openai_app"
"""Any other import path is a program of one's own, whose engine only its source tells."""
PLACED = "Ray Serve LLM asks for one GPU a rank (ray python/ray/llm/_internal/serve/engines/vllm/vllm_models.py)"
OF_COMMAND_LINES = "_argument"
"""Ends the names of what is noticed about the spelling of command lines, which these are not."""


class Nested:
    """The YAML document inside a scalar, whose places are characters of that scalar."""

    def __init__(self, outer: Document, path: Path, inner: Document) -> None:
        self.outer = outer
        self.path = path
        self.inner = inner

    def get(self, *path: str | int) -> object:
        return self.inner.get(path)

    def origin(self, *path: str | int, key: bool = False) -> Origin:
        node = self.inner.key_node(path) if key else self.inner.node(path)
        return Origin(self.outer, self.path, (node.start, node.end) if node else None)


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The pods of the cluster, those of the one group with GPUs as what each configuration runs on them."""
    pods = next(kubernetes.workloads(document, repository), None)
    roles = pods.roles if pods else ()
    nested = _nested(document)
    at = list(_configurations(nested)) if nested else []
    if nested is None or not at:
        yield from (pods,) if pods else ()
        return
    groups = [role for role in roles if role.value("gpus_per_pod") != 0 and not role.text("engine")]
    host = groups[0] if len(groups) == 1 else None
    served = tuple(_role(nested, path, host) for path in at)
    name = str(document.get(("metadata", "name")) or "RayService")
    yield Workload(name, "inference", "ray", document, (), (*served, *(role for role in roles if role is not host)))


def _nested(document: Document) -> Nested | None:
    text = document.get(CONFIG)
    if not isinstance(text, str):
        return None
    found = documents.load("serveConfigV2.yaml", text.encode()).documents
    return Nested(document, CONFIG, found[0]) if len(found) == 1 else None


def _configurations(nested: Nested) -> Iterator[Path]:
    """Where the configurations stand of applications that Ray's own builder makes."""
    applications = nested.get("applications")
    for at, application in enumerate(applications if isinstance(applications, list) else ()):
        if not isinstance(application, dict) or application.get("import_path") != BUILDER:
            continue
        listed = nested.get("applications", at, "args", "llm_configs")
        for number, config in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(config, dict) and config.get("llm_engine", "vLLM") == "vLLM":
                yield ("applications", at, "args", "llm_configs", number)


def _role(nested: Nested, path: Path, host: Role | None) -> Role:
    """One configuration, with the pods of the group that has the GPUs where just one has them."""
    model = nested.get(*path, "model_loading_config", "model_id")
    reading = engines.read(_invocation(nested, path))
    read = reading.fields if reading else {}
    stated = {name: field for name, field in read.items() if not name.endswith(OF_COMMAND_LINES)}
    fields: dict[str, Field] = dict(host.fields) if host else {"gpus_per_pod": Field(Unknown("which pods run it"))}
    fields.update({**_named_accelerator(nested, path, fields), **stated})
    anchor = nested.origin(*path, "model_loading_config", key=True)
    role = Role(str(model or "llm"), anchor, fields, None, reading.open_ended if reading else "")
    return role.having(gpus_per_replica=_ranks(nested, path, role), replicas=_replicas(nested, path))


def _invocation(nested: Nested, path: Path) -> Invocation:
    """The keyword arguments as the command line that states the same, each word at its key or value."""
    source = "model_source" if nested.get(*path, "model_loading_config", "model_source") else "model_id"
    start = nested.origin(*path)
    words = [
        Argument("vllm", start),
        Argument("serve", start),
        Argument("--model", start),
        _value(nested, (*path, "model_loading_config", source)),
    ]
    keywords = nested.get(*path, "engine_kwargs")
    for name in keywords if isinstance(keywords, dict) else ():
        words.extend(_words(nested, (*path, "engine_kwargs", name)))
    variables = nested.get(*path, "runtime_env", "env_vars")
    known = command.Environment()
    for name in variables if isinstance(variables, dict) else ():
        known[str(name)] = _value(nested, (*path, "runtime_env", "env_vars", name))
    return Invocation(Argument("", start), tuple(words), known, entrypoint=False)


def _words(nested: Nested, path: Path) -> Iterator[Argument]:
    value = nested.get(*path)
    flag = f"--{str(path[-1]).replace('_', '-')}"
    origin = nested.origin(*path)
    if isinstance(value, bool):
        yield Argument(f"{flag}={str(value).lower()}", origin)
    elif isinstance(value, dict | list):
        yield from (Argument(flag, origin), Argument(json.dumps(value), origin))
    elif value is not None:
        yield from (Argument(flag, nested.origin(*path, key=True)), _value(nested, path))


def _value(nested: Nested, path: Path) -> Argument:
    """A scalar as written; a bucket's object is no path that tells a model."""
    node, origin = nested.inner.node(path), nested.origin(*path)
    if node is None or node.kind != "scalar":
        return Argument(None, origin, f"{path[-1]} is not a text")
    return Argument(str(node.value), origin)


def _named_accelerator(nested: Nested, path: Path, pod: Mapping[str, Field]) -> dict[str, Field]:
    """The accelerator that Ray places the model on, where the pods do not say theirs."""
    name = nested.get(*path, "accelerator_type")
    stated = pod.get("accelerator")
    if not isinstance(name, str) or (stated is not None and not isinstance(stated.value, Unknown)):
        return {}
    product = hardware.named(name)
    origins = (nested.origin(*path, "accelerator_type"),)
    return {"accelerator": Field(product.id if product else Unknown(f"which product {name} is"), origins)}


def _ranks(nested: Nested, path: Path, role: Role) -> Field:
    """The GPUs of one replica: as many as its parallelism needs, taken from the cluster."""
    sizes = [role.fields.get(name, Field(1)) for name in ("tensor_parallel", "pipeline_parallel")]
    if nested.get(*path, "placement_group_config") or "data_parallel" in role.fields:
        return Field(Unknown("the configuration places its workers itself"))
    tensor, pipeline = (size.value for size in sizes)
    if not (isinstance(tensor, int) and isinstance(pipeline, int)):
        return Field(Unknown("the parallelism is not known"))
    return Field(tensor * pipeline, tuple(origin for size in sizes for origin in size.origins), source=PLACED)


def _replicas(nested: Nested, path: Path) -> Field:
    deployment = (*path, "deployment_config")
    fixed = nested.get(*deployment, "num_replicas")
    if isinstance(fixed, int) and not isinstance(fixed, bool):
        return Field(fixed, (nested.origin(*deployment, "num_replicas"),))
    least, most = (nested.get(*deployment, "autoscaling_config", key) for key in ("min_replicas", "max_replicas"))
    if isinstance(most, int) and least == most:
        return Field(most, (nested.origin(*deployment, "autoscaling_config", "max_replicas"),))
    return Field(Unknown("Ray Serve scales the replicas"))
