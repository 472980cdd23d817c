"""Ray: clusters, their jobs, and the engine configurations of Ray Serve LLM inside a RayService."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters import kubernetes
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import embedded, objective_annotations, pod_templates
from gpulint.adapters.pods.download_volume import HUB_ID
from gpulint.adapters.programs import container_command, program_name, python_program
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Role, Unknown, Workload

MENTIONS = ("ray.io",)

KINDS = frozenset({("ray.io", "RayCluster"), ("ray.io", "RayJob"), ("ray.io", "RayService")})
CONFIG: Path = ("spec", "serveConfigV2")
OLD_IMPORT_PATH: Path = ("spec", "serveConfig", "importPath")
OLD_ENVIRONMENT: Path = ("spec", "serveConfig", "runtimeEnv")
ENTRYPOINT: Path = ("spec", "entrypoint")
MODEL_VARIABLES = ("MODEL_ID", "MODEL_NAME", "MODEL")
"""Variables that name the model of custom applications (kuberay v1.7.0
ray-operator/config/samples/vllm).
"""
BUILDER = "ray.serve.llm:build_openai_app"
"""The import path of Ray Serve LLM.

Any other is a custom program, whose engine only its source shows.
"""
PARTS = ("llm_config", "prefill_config", "decode_config")
"""Arguments that are one configuration (ray python/ray/llm/_internal/serve/serving_patterns: build_pd_openai_app)."""
PLACED = "Ray Serve LLM asks for one GPU a rank (ray python/ray/llm/_internal/serve/engines/vllm/vllm_models.py)"
PLACES_ITSELF = "the application places its workers itself"
OF_COMMAND_LINES = "_argument"
"""The endings of facts about command-line syntax. Configurations have none."""


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the pods of the cluster with what runs on them: configurations of a service, or a job's
    entrypoint.
    """
    kind = document.get(("kind",))
    pods = next(kubernetes.workloads(document, repository), None)
    if pods is None:
        yield from _read_without_pods(document) if kind == "RayService" else ()
    elif kind == "RayJob":
        yield _read_job(document, pods)
    elif kind == "RayService":
        yield replace(pods, adapter="ray", kind="inference", roles=tuple(_read_service(document, pods.roles)))
    else:
        spread = _spread_engine(pods.roles)
        yield replace(pods, adapter="ray", roles=tuple(_defer_to_jobs(document, role) for role in spread))


def _spread_engine(roles: tuple[Role, ...]) -> tuple[Role, ...]:
    """Return the pods of a cluster whose only engine has the GPUs of all of them: its ranks run on every Ray node.

    Groups that differ, or whose size an autoscaler decides, leave the number open.
    """
    servers = [role for role in roles if role.text("engine")]
    sizes = [(role.value("gpus_per_pod"), role.value("replicas"), role.value("pods_per_replica")) for role in roles]
    if len(servers) != 1 or len(roles) == 1:
        return roles
    on_gpus = [size for size in sizes if size[0] != 0]
    known = all(isinstance(number, int) for size in on_gpus for number in size if number is not None)
    counted = (role.fields["gpus_per_pod"] for role in roles if "gpus_per_pod" in role.fields)
    places = tuple(origin for field in counted for origin in field.origins)
    pods = sum(int(str(count or 1)) * int(str(each or 1)) for _, count, each in on_gpus) if known else 0
    if len({size[0] for size in on_gpus}) == 1 and known:
        gpus = pods * int(str(on_gpus[0][0]))
        counts = {"pods_per_replica": Field(pods, places), "gpus_per_replica": Field(gpus, places)}
    else:
        unknown = Field(Unknown("the worker groups decide how many GPUs the cluster has", "another object"), places)
        counts = {"pods_per_replica": unknown, "gpus_per_replica": unknown}
    return tuple(role.having(**counts) if role is servers[0] else role for role in roles)


def _defer_to_jobs(document: Document, role: Role) -> Role:
    """Return pods that run whatever is submitted to their cluster."""
    if role.text("engine"):
        return role
    submitted = Unknown("what is submitted to the cluster decides what runs", "another object")
    return role.having(engine=Field(submitted, (Origin(document, ("kind",)),)))


def _read_without_pods(document: Document) -> Iterator[Workload]:
    """Yield a service whose configurations run on pods that request no GPU in the file."""
    config = _load_config(document)
    roles = tuple(build_role(config, path, None) for path in list_configurations(config)) if config else ()
    if roles:
        name = str(document.get(("metadata", "name")) or "RayService")
        yield Workload(name, "inference", "ray", document, (), roles)


def _load_config(document: Document) -> Document | None:
    return embedded.document(document, CONFIG)


def _read_service(document: Document, roles: tuple[Role, ...]) -> Iterator[Role]:
    """Yield the configurations on the only group with GPUs, or else the pods with the application's
    name.
    """
    config = _load_config(document)
    at = list(list_configurations(config)) if config else []
    groups = [role for role in roles if role.value("gpus_per_pod") != 0 and not role.text("engine")]
    host = groups[0] if len(groups) == 1 else None
    if config is not None and at:
        yield from (build_role(config, path, host) for path in at)
        yield from (role for role in roles if role is not host)
        return
    applications = list(_list_applications(document, config))
    decided = Unknown("the applications of the service decide what runs", "own program")
    for role in roles:
        if len(applications) == 1:
            yield _apply_application(role, applications[0], role is host)
        else:
            yield role if role.text("engine") else role.having(engine=Field(decided, (Origin(document, CONFIG),)))


class Application(NamedTuple):
    """A Serve application: its import path, and the variables of its runtime environment."""

    config: Document
    import_path: Path
    environment: Document | None
    variables: Path


def _list_applications(document: Document, config: Document | None) -> Iterator[Application]:
    """Yield the applications of a service; in ray.io/v1alpha1 the one of `serveConfig`."""
    for at in pod_templates.items(config, ("applications",)) if config else ():
        if config is not None:
            yield Application(config, (*at, "import_path"), config, (*at, "runtime_env", "env_vars"))
    if isinstance(document.get(OLD_IMPORT_PATH), str):
        environment = embedded.document(document, OLD_ENVIRONMENT)
        yield Application(document, OLD_IMPORT_PATH, environment, ("env_vars",))


def _apply_application(role: Role, application: Application, alone: bool) -> Role:
    """Return pods of a custom program, with the model that its variables name."""
    if role.text("engine"):
        return role
    name, place = application.config.get(application.import_path), Origin(application.config, application.import_path)
    category = "another object" if name == BUILDER else "own program"
    decided = Field(Unknown(f"the application {name} decides", category), (place,))
    placed = Field(Unknown(PLACES_ITSELF, category), (place,))
    fields = {"engine": decided, "gpus_per_replica": placed, "checkpoint": decided}
    found = role.having(**{**fields, **(find_model(application) if alone else {})})
    return replace(found, command=start(application)) if alone and name != BUILDER else found


def start(application: Application) -> Command:
    """Return the start of an application's own program, which Serve imports by its path."""
    place = Origin(application.config, application.import_path)
    at = Argument(str(application.config.get(application.import_path)), place)
    words = (at._replace(text="serve"), at._replace(text="run"), at)
    config = application.environment
    stated = config.get(application.variables) if config is not None else None
    names = [str(name) for name in stated] if isinstance(stated, dict) else []
    variables = (
        {name: _build_value(config, (*application.variables, name)) for name in names} if config is not None else {}
    )
    return Command(at._replace(text=None), words, variables, open_environment=True)


def find_model(application: Application) -> dict[str, Field]:
    """Return the model that variables of an application name."""
    environment = application.environment
    for name in MODEL_VARIABLES if environment else ():
        path = (*application.variables, name)
        model = environment.get(path) if environment else None
        if isinstance(model, str) and HUB_ID.fullmatch(model):
            assumed = f"the application serves {model}, which {name} names"
            return {"checkpoint": Field(model, (Origin(environment, path),), assumption=assumed)} if environment else {}
    return {}


def _read_job(document: Document, pods: Workload) -> Workload:
    """Return the run of a job.

    Its entrypoint runs on the head, and the workers' pods compute for it.
    """
    roles = tuple(apply_entrypoint(document, ENTRYPOINT, pods.roles))
    return replace(pods, adapter="ray", kind=kubernetes.purpose(roles, pods.kind), roles=roles)


def apply_entrypoint(document: Document, path: Path, roles: Iterable[Role]) -> Iterator[Role]:
    """Yield the groups of a cluster with the command that the job runs on them."""
    place = Origin(document, path)
    text = document.get(path)
    script = container_command.Script(
        text if isinstance(text, str) else "", lambda start, end: place._replace(span=(start, end))
    )
    started = tuple(container_command.expand_script(Argument(None, place), script, container_command.Environment()))
    read = [(reading, invocation) for invocation in started if (reading := engines.read(invocation))]
    named = program_name.find_program(started)
    own = {"program": Field(named.text, (named.origin,))} if named and not read else {}
    command = python_program.choose(started) if not read else None
    for role in roles:
        yield _apply_run(role, read[0][0] if len(read) == 1 else None, own, command)


def _apply_run(role: Role, reading: Reading | None, own: Mapping[str, Field], command: Command | None) -> Role:
    """Return a group of the cluster that runs a job.

    The leading group has the entrypoint's engine.
    """
    fields = {
        name: field for name, field in role.fields.items() if not isinstance(field.value, Unknown) or name != "engine"
    }
    if role.text("part_of"):
        return replace(role, fields=fields)
    if reading is None:
        return replace(role, fields={**fields, **own}, command=command)
    return replace(role, fields={**fields, **reading.fields, **_keep_multipliers(role)}, arguments=reading.arguments)


def _keep_multipliers(role: Role) -> dict[str, Field]:
    return {name: role.fields[name] for name in ("pods_per_replica", "replicas", "gpus_per_replica", "gpus_per_pod")}


def list_configurations(config: Document) -> Iterator[Path]:
    """Yield the paths of the configurations of models in the arguments of applications."""
    for application in pod_templates.items(config, ("applications",)):
        yield from list_configurations_of(config, application)


def list_configurations_of(config: Document, application: Path) -> Iterator[Path]:
    """Yield the configurations of one application: a list of models, one model, or a prefill and a decode part.

    Builders of one's own pass such arguments on to those of Ray Serve LLM.
    """
    if not isinstance(config.get((*application, "import_path")), str):
        return
    listed = list(pod_templates.items(config, (*application, "args", "llm_configs")))
    for at in (*listed, *((*application, "args", key) for key in PARTS)):
        is_model = isinstance(config.get((*at, "model_loading_config")), dict)
        if is_model and config.get((*at, "llm_engine"), "vLLM") == "vLLM":
            yield at


def build_role(config: Document, path: Path, host: Role | None) -> Role:
    """Return one configuration, with the pods of the only group that has GPUs."""
    model = config.get((*path, "model_loading_config", "model_id"))
    reading = engines.read(_build_invocation(config, path))
    read = reading.fields if reading else {}
    stated = {name: field for name, field in read.items() if not name.endswith(OF_COMMAND_LINES)}
    fields: dict[str, Field] = (
        dict(host.fields) if host else {"gpus_per_pod": Field(Unknown("the pods that run it are not stated"))}
    )
    aims = objective_annotations.read_deployment(config, (*path, "deployment_config"))
    fields.update({**find_accelerator(config, path, fields), **aims, **stated, **_read_own_builder(config, path, read)})
    anchor = Origin(config, (*path, "model_loading_config"), key=True)
    role = Role(str(model or "llm"), anchor, fields, None, reading.open_ended if reading else "")
    ranks = _count_ranks(config, path, role)
    pods = _count_pods(ranks, role)
    return role.having(
        gpus_per_replica=ranks, replicas=count_replicas(config, (*path, "deployment_config")), pods_per_replica=pods
    )


def _read_own_builder(config: Document, path: Path, read: Mapping[str, Field]) -> dict[str, Field]:
    """Return the engine with what is assumed if an application's own builder takes the configuration."""
    place = Origin(config, (*path[: path.index("args")], "import_path"))
    if "engine" not in read or str(config.get(place.path)).startswith("ray."):
        return {}
    said = f"{config.get(place.path)} is assumed to hand the configuration to Ray Serve LLM"
    return {"engine": replace(read["engine"], assumption=said)}


def _count_pods(ranks: Field, role: Role) -> Field:
    """Return the number of pods that a replica's ranks fill.

    It is known if they fill whole pods.
    """
    per_pod = role.value("gpus_per_pod")
    if not isinstance(ranks.value, int) or not isinstance(per_pod, int) or per_pod < 1:
        return Field(Unknown("the number of pods for the ranks is not known"))
    if ranks.value > per_pod and ranks.value % per_pod:
        return Field(Unknown("Ray spreads the ranks over the pods"), ranks.origins)
    return Field(max(1, ranks.value // per_pod), ranks.origins, source=PLACED)


def _build_invocation(config: Document, path: Path) -> Invocation:
    """Return the keyword arguments as the equivalent command line, each word with its location."""
    source = "model_source" if config.get((*path, "model_loading_config", "model_source")) else "model_id"
    start = Origin(config, path)
    words = [
        Argument("vllm", start),
        Argument("serve", start),
        Argument("--model", start),
        _build_value(config, (*path, "model_loading_config", source)),
    ]
    keywords = config.get((*path, "engine_kwargs"))
    for name in keywords if isinstance(keywords, dict) else ():
        words.extend(_build_words(config, (*path, "engine_kwargs", name)))
    variables = config.get((*path, "runtime_env", "env_vars"))
    environment = container_command.Environment()
    for name in variables if isinstance(variables, dict) else ():
        environment[str(name)] = _build_value(config, (*path, "runtime_env", "env_vars", name))
    return Invocation(Argument("", start), tuple(words), environment, entrypoint=False)


def _build_words(config: Document, path: Path) -> Iterator[Argument]:
    value = config.get(path)
    flag = f"--{str(path[-1]).replace('_', '-')}"
    origin = Origin(config, path)
    if isinstance(value, bool):
        yield Argument(f"{flag}={str(value).lower()}", origin)
    elif isinstance(value, dict | list):
        yield from (Argument(flag, origin), Argument(json.dumps(value), origin))
    elif value is not None:
        yield from (Argument(flag, Origin(config, path, key=True)), _build_value(config, path))


def _build_value(config: Document, path: Path) -> Argument:
    """Return a scalar as written. Other values, such as a bucket's object, are unknown."""
    node, origin = config.node(path), Origin(config, path)
    if node is None or node.kind != "scalar":
        return Argument(None, origin, f"{path[-1]} is not text")
    return Argument(str(node.value), origin)


def find_accelerator(config: Document, path: Path, pod: Mapping[str, Field]) -> dict[str, Field]:
    """Return the accelerator that Ray places the model on, if the pods do not state theirs."""
    name = config.get((*path, "accelerator_type"))
    stated = pod.get("accelerator")
    if not isinstance(name, str):
        return {}
    product = hardware.find_accelerator(name)
    origins = (Origin(config, (*path, "accelerator_type")),)
    if stated is not None and not isinstance(stated.value, Unknown):
        same = product is not None and product.id == stated.value
        return {"accelerator": replace(stated, origins=(*stated.origins, *origins))} if same else {}
    return {"accelerator": Field(product.id if product else Unknown(f"the accelerator {name} is not known"), origins)}


def _count_ranks(config: Document, path: Path, role: Role) -> Field:
    """Return the GPUs of one replica: as many as its parallelism needs."""
    sizes = [role.fields.get(name, Field(1)) for name in ("tensor_parallel", "pipeline_parallel")]
    if bundles := _count_bundles(config, path):
        return bundles
    if config.get((*path, "placement_group_config")) or "data_parallel" in role.fields:
        return Field(Unknown("the configuration places its workers itself"))
    tensor, pipeline = (size.value for size in sizes)
    if not (isinstance(tensor, int) and isinstance(pipeline, int)):
        return Field(Unknown("the parallelism is not known"))
    return Field(tensor * pipeline, tuple(origin for size in sizes for origin in size.origins), source=PLACED)


def _count_bundles(config: Document, path: Path) -> Field | None:
    """Return the GPUs of the bundles of a configuration's placement group, if each states a number."""
    at = (*path, "placement_group_config", "bundles")
    bundles = config.get(at)
    if not isinstance(bundles, list) or not bundles:
        return None
    counts = [bundle.get("GPU", 0) if isinstance(bundle, dict) else None for bundle in bundles]
    whole = [int(count) for count in counts if isinstance(count, int | float) and float(count).is_integer()]
    total = sum(number for number in whole)
    return Field(total, (Origin(config, at),)) if len(whole) == len(counts) and total else None


def count_replicas(config: Document, deployment: Path) -> Field:
    fixed = config.get((*deployment, "num_replicas"))
    if isinstance(fixed, int) and not isinstance(fixed, bool):
        return Field(fixed, (Origin(config, (*deployment, "num_replicas")),))
    minimum, maximum = (
        config.get((*deployment, "autoscaling_config", key)) for key in ("min_replicas", "max_replicas")
    )
    if isinstance(maximum, int) and minimum == maximum:
        return Field(maximum, (Origin(config, (*deployment, "autoscaling_config", "max_replicas")),))
    return Field(Unknown("Ray Serve scales the replicas"))
