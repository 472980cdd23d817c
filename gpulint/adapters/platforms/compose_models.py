"""Models of a compose file: those that Docker Model Runner serves, by the top-level `models` or a service's `provider`.

docs.docker.com/reference/compose-file/models and docs.docker.com/ai/model-runner/configuration: llama.cpp serves GGUF files,
by default with 4,096 tokens; it puts all layers on the GPU of the host if it has one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import engines
from gpulint.adapters.platforms import compose_devices
from gpulint.adapters.programs.container_command import Environment
from gpulint.catalog import architecture
from gpulint.catalog.architecture import gguf_names
from gpulint.engines import Argument, Invocation
from gpulint.engines.serving import ollama
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown, Workload

PROVIDER = "model"
PUBLISHER = "ai/"
"""Docker's own models on Docker Hub: ai/qwen3:8B-Q4_K_M."""
FLAGS = "runtime_flags"
LENGTH = 4096
USUAL = "gguf-q4_k_m"
ON_HOST = "the accelerator depends on the host that runs Docker Model Runner"
ONE = "Docker Model Runner puts the model on one GPU of the host"


def list_workloads(document: Document) -> Iterator[Workload]:
    """Yield one workload for each model that a file declares."""
    models = document.get(("models",))
    for name in models if isinstance(models, dict) else ():
        if isinstance(document.get(("models", name, "model")), str):
            yield _read_model(document, str(name), ("models", name))
    services = document.get(("services",))
    for name in services if isinstance(services, dict) else ():
        place = ("services", name, "provider")
        if document.get((*place, "type")) == PROVIDER and isinstance(document.get((*place, "options", "model")), str):
            yield _read_model(document, str(name), (*place, "options"))


def _read_model(document: Document, name: str, place: Path) -> Workload:
    anchor = Origin(document, (*place, "model"))
    fields = {**_read_server(document, place), **_read_name(str(document.get(anchor.path)), anchor)}
    one = Field(1, (anchor,), assumption=ONE)
    fields |= {"gpus_per_pod": one, "gpus_per_replica": one, "replicas": Field(1, source="one model runner")}
    fields["pods_per_replica"] = Field(1, source="one model runner")
    fields["accelerator"] = Field(Unknown(ON_HOST, compose_devices.HOST), (anchor,))
    fields["shared_memory_default"] = Field(None)
    role = Role(name, anchor, fields, None)
    return Workload(name, "inference", "compose", document, place, (role,))


def _read_server(document: Document, place: Path) -> dict[str, Field]:
    """Return what llama-server makes of the settings of a model."""
    anchor = Origin(document, (*place, "model"))
    length = document.get((*place, "context_size"))
    at = Origin(document, (*place, "context_size")) if length is not None else anchor
    flags = document.get((*place, FLAGS))
    words = [Argument(word, anchor) for word in ("llama-server", "-ngl", "999", "-c")]
    words.append(Argument(str(length if length is not None else LENGTH), at))
    for number, flag in enumerate(flags if isinstance(flags, list) else ()):
        words += [Argument(part, Origin(document, (*place, FLAGS, number))) for part in str(flag).split()]
    invocation = Invocation(Argument("", anchor), tuple(words), Environment(), entrypoint=False)
    reading = engines.read(invocation)
    found = reading.fields if reading is not None else {}
    return {quantity: field for quantity, field in found.items() if not quantity.endswith("_argument")}


def _read_name(name: str, anchor: Origin) -> dict[str, Field]:
    """Return checkpoint and number format of a model by its name: of a repository of GGUF files, or of Docker Hub.

    A tag of Docker Hub is read as one of Ollama; without one its default is not known.
    """
    if name.startswith(("hf.co/", "huggingface.co/")):
        return ollama.read_model_name(name, (anchor,))
    bare, _, tag = name.removeprefix(PUBLISHER).partition(":")
    if not tag or "$" in name:
        return {"checkpoint": Field(Unknown(f"the default of {bare} on Docker Hub decides the model"), (anchor,))}
    found = ollama.read_model_name(f"{bare}:{tag.lower()}", (anchor,))
    if isinstance(found["checkpoint"].value, str):
        return found
    size, _, type_name = tag.partition("-")
    if architecture.find_size(f"{bare}-{size}") is None:
        return {"checkpoint": Field(Unknown(f"the catalog does not list the model {name}"), (anchor,))}
    format_ = gguf_names.find_format(type_name) if type_name else USUAL
    return {"checkpoint": Field(name, (anchor,)), "quantization": Field(format_, (anchor,))}
