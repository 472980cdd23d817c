"""The charts of AI-Hypercomputer's gpu-recipes.

`workload.gpus` or `job.gpus` counts the GPUs of all nodes of a run. Read from their templates
(AI-Hypercomputer/gpu-recipes 2e1fd5e, 2026-08-12: src/helm-charts/*/templates, where nodes have 8
GPUs, or 4 on A4X).
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.catalog import resource_names
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

OWN = frozenset({"configFile", "configPath", "defaultArguments[]", "arguments[]"})
JOB_NODE_GPUS, LEAST_NODE_GPUS = 8, 4
"""GPUs per node in charts with `job.gpus` (A3 Mega), and of the smallest nodes (A4X)."""
SERVERS = {
    "vllm": ("vllm", "serve", "--model"),
    "sglang": ("python3", "-m", "sglang.launch_server", "--model-path"),
    "trtllm": ("trtllm-serve",),
}
SIZES = {"vllm": (("--tensor-parallel-size", "tp_size"), ("--pipeline-parallel-size", "pp_size"))}
NODES = "the templates of the chart choose the nodes"


def fits(values: Values) -> bool:
    workload, job = values.entries("workload"), values.entries("job")
    serves = any(isinstance(values.get(server, "serverArgs"), dict) for server in SERVERS)
    return ("gpus" in workload and bool(OWN & workload.keys())) or ("gpus" in job and serves)


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    key = "workload" if "gpus" in values.entries("workload") else "job"
    section = values.descend(key)
    made = _build_group(values) if key == "job" else _build_run(section)
    name = values.text("model", "name") or section.text("model", "name") or charts_values.folder(values.document)
    for workload in charts_values.workloads(section, made, repository, name):
        if key == "job":
            yield replace(
                workload, kind="inference", roles=tuple(_open_accelerator(role, section) for role in workload.roles)
            )
        else:
            yield _complete_run(workload, section, repository)


def _build_group(values: Values) -> Document:
    """Build the servers of A3 Mega: a group of the nodes that the parallelism needs."""
    server = next(name for name in SERVERS if isinstance(values.get(name, "serverArgs"), dict))
    sizes = [values.get("model", key) for key in ("tp_size", "pp_size")]
    gpus = values.get("job", "gpus")
    per_node = min(gpus, JOB_NODE_GPUS) if isinstance(gpus, int) else JOB_NODE_GPUS
    ranks = [size for size in sizes if isinstance(size, int)]
    nodes = max((ranks[0] * ranks[1]) // per_node, 1) if len(ranks) == len(sizes) and per_node else 1
    words: list[Part] = [values.word(word, "model", "name") for word in SERVERS[server]]
    words.append(values.node("model", "name"))
    for flag, key in SIZES.get(server, (("--tp", "tp_size"),)):
        words.extend(charts_values.flag(values, flag, "model", key))
    for key in values.entries(server, "serverArgs"):
        words.extend(_build_pair(values, server, str(key)))
    container: Part = {
        "name": values.word(server, "job", "gpus"),
        "image": charts_values.image(values, "job", "image"),
        "command": words,
        "resources": {"limits": {resource_names.find_name("nvidia"): values.word(str(per_node), "job", "gpus")}},
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],
    }
    size = values.word(str(nodes), "job", "gpus")
    return charts_values.group(values, size, {"containers": [container]}, replicas=values.node(server, "replicaCount"))


def _build_pair(values: Values, server: str, key: str) -> list[Part]:
    value = values.get(server, "serverArgs", key)
    word = values.key(f"--{key}", server, "serverArgs", key)
    return [word] if value in (True, None, "") else [word, values.node(server, "serverArgs", key)]


def _build_run(section: Values) -> Document:
    """Build one pod for all nodes of a run, whose size the templates decide."""
    container: Part = {
        "name": section.word("workload", "gpus"),
        "image": charts_values.image(section, "image"),
        "env": [*charts_values.variables(section, "envs")],
        "resources": {"limits": {resource_names.find_name("nvidia"): section.node("gpus")}},
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],
    }
    return section.object(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "workload"}, "spec": {"containers": [container]}}
    )


def _complete_run(workload: Workload, section: Values, repository: Repository) -> Workload:
    """Return the run over its nodes, with its server and its total GPUs."""
    served = _read_server(section, repository)
    kind = "inference" if served else "training" if section.text("model", "name") == "" else "unknown"
    roles = tuple(_open_accelerator(role.having(**served, **_count_gpus(section)), section) for role in workload.roles)
    return charts_values.open_workload(replace(workload, kind=kind, roles=roles))


def _count_gpus(section: Values) -> dict[str, Field]:
    gpus, place = section.get("gpus"), (section.origin("gpus"),)
    if not isinstance(gpus, int) or isinstance(gpus, bool):
        return {}
    fields = {"gpus_per_replica": Field(gpus, place)}
    if gpus > LEAST_NODE_GPUS:
        reason = Unknown("the templates of the chart distribute the GPUs over nodes", "another object")
        fields |= {name: Field(reason, place) for name in ("gpus_per_pod", "gpu_limit", "pods_per_replica")}
    return fields


def _open_accelerator(role: Role, section: Values) -> Role:
    return role.having(accelerator=Field(Unknown(NODES, "another object"), (section.origin("gpus"),)))


def _read_server(section: Values, repository: Repository) -> dict[str, Field]:
    """Return the framework's server with the arguments in the file that the values name.

    The file must be in the folder of the values.
    """
    program = SERVERS.get(section.text("framework"))
    model = section.get("model", "name")
    if program is None:
        return {}
    start = section.origin("framework")
    words = [Argument(word, start) for word in program]
    if isinstance(model, str):
        words.append(Argument(model, section.origin("model", "name")))
    words += _read_config_arguments(section, repository)
    image = section.get("image")
    named = Argument(
        image if isinstance(image, str) else None,
        section.origin("image"),
        "the image is set when the chart is installed",
    )
    reading = engines.read(Invocation(named, tuple(words), {}, entrypoint=False))
    return dict(reading.fields) if reading else {}


def _read_config_arguments(section: Values, repository: Repository) -> Iterator[Argument]:
    """Yield the arguments in a file of flags, located at the value that names the file."""
    name = section.text("configFile")
    path = posixpath.join(posixpath.dirname(section.document.path), posixpath.basename(name))
    loaded = repository.read_documents(path) if name.endswith((".yaml", ".yml")) else ()
    stated = loaded[0].data if len(loaded) == 1 else None
    for key, value in stated.items() if isinstance(stated, dict) else ():
        behind = Origin(loaded[0], (key,))
        text = json.dumps(value) if isinstance(value, dict | list) else str(value)
        word = f"--{key}" if value in (True, None, "") else f"--{key}={text}"
        if value is not False:
            yield Argument(word, section.origin("configFile"), behind=behind)
