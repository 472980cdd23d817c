"""Networks: what a program builds itself, from a configuration of Transformers or from layers of torch.nn.

The field is a text that `facts.checkpoints` understands: a config.json, or a count of parameters.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from collections.abc import Iterable, Sequence

from gpulint.adapters.python.words import OWN, Reader, last_name, root, to_plain
from gpulint.catalog import tables
from gpulint.catalog.architecture import layers
from gpulint.source.python.values import Choice, Class, Constant, Items, Mapping, Member, Object, Open, Value
from gpulint.workload import Field, Unknown

MODULE = "Module"
OPTIMIZED = frozenset({"parameters", "named_parameters"})
TENSORS = frozenset({"zeros", "ones", "empty", "randn", "rand"})
OWN_WEIGHTS = ("weight", "bias")
DEPTH_MAX, MODULES_MAX, TRACED_MAX = 12, 20_000, 12


def read(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the network that a program builds and trains; empty if it builds none whose parameters can be counted."""
    for call in calls:
        config = _find_config(call)
        text = _render_config(config) if config is not None else None
        if text is not None and config is not None:
            return {"network": Field(text, reader.origins(None, config.place))}
    model = _find_model(calls)
    if model is None or model.cls is None:
        return {}
    counted = count(model)
    if not counted:
        reason = f"the program does not state the size of every layer of the network {model.cls.name}"
        return {"checkpoint": Field(Unknown(reason, OWN), reader.origins(None, model.place))}
    return {
        "network": Field(
            json.dumps({"name": model.cls.name, "parameters": counted}), reader.origins(None, model.place)
        ),
    }


# ---- a configuration of Transformers


def _find_config(call: Object) -> Object | None:
    """Return the configuration from which a call builds a model of Transformers."""
    if root(call) != "transformers" or last_name(call).endswith(("Config", "Trainer", "Arguments")):
        return None
    given = (*call.arguments[:1], call.get("config"))
    return next(
        (one for one in given if isinstance(one, Object) and root(one) == "transformers" and _find_type(one)), None
    )


def _find_type(config: Object) -> str:
    """Return the model type of a class of configuration: gpt_neox of GPTNeoXConfig; empty if it is not known."""
    name = last_name(config)
    return _index_types().get(name.removesuffix("Config").lower(), "") if name.endswith("Config") else ""


@functools.cache
def _index_types() -> dict[str, str]:
    names = dict.fromkeys(row["model_type"] for row in tables.rows("config_defaults"))
    return {name.replace("_", "").replace("-", ""): name for name in names}


def _render_config(config: Object) -> str | None:
    """Return the config.json of a configuration; None if a part of it is open."""
    stated = {**config.keywords, **config.attributes}
    plain = {name: to_plain(value) for name, value in stated.items()}
    if config.open_ended or config.arguments or any(value is ... for value in plain.values()):
        return None
    return json.dumps({"model_type": _find_type(config), **plain})


# ---- layers of torch.nn


def is_module(value: Value | None) -> bool:
    """Return whether a value is an object of the program's own class of network."""
    return isinstance(value, Object) and value.cls is not None and value.cls.external().endswith(MODULE)


def _find_model(calls: Sequence[Object]) -> Object | None:
    """Return the network whose parameters an optimizer gets, or that DeepSpeed gets; else the only one."""
    for call in calls:
        given = (
            call.receiver
            if last_name(call) in OPTIMIZED
            else call.get("model")
            if last_name(call) == "initialize"
            else None
        )
        found = _trace(given)
        if found is not None:
            return found
    own = [call for call in calls if is_module(call)]
    held = {id(part) for one in own for part in _list_parts(one)}
    outer = [one for one in own if id(one) not in held]
    return outer[0] if len(outer) == 1 else None


def _trace(value: Value | None) -> Object | None:
    """Return the network behind what was made of it: `.to(device)`, DistributedDataParallel, torch.compile."""
    for _ in range(TRACED_MAX):
        if isinstance(value, Member):
            value = value.receiver
        if not isinstance(value, Object):
            return None
        if is_module(value):
            return value
        inner = (one for one in (*value.arguments, value.get("model")) if isinstance(one, Object))
        value = value.receiver or next(inner, None)
    return None


def _list_parts(module: Object) -> Iterable[Value]:
    return (part for value in module.attributes.values() for part in _flatten(value))


def _flatten(value: Value) -> Iterable[Value]:
    if isinstance(value, Items):
        return value.items
    if isinstance(value, Object) and value.cls is None:
        return (value, *(part for inner in value.arguments for part in _flatten(inner)))
    return (value,)


def count(model: Object) -> int | None:
    """Return the parameters of a network; None if a part of it cannot be counted."""
    left = [MODULES_MAX]
    return _count(model, left, 0)


def _count(value: Value, left: list[int], depth: int) -> int | None:
    """Return the parameters of a part: 0 for what is no module, None for a module that is not known."""
    left[0] -= 1
    if left[0] < 0 or depth > DEPTH_MAX:
        return None
    if isinstance(value, Items):
        return None if value.open_ended else _sum(value.items, left, depth)
    if isinstance(value, Mapping):
        return None if value.open_ended else _sum(value.entries.values(), left, depth)
    if not isinstance(value, Object):
        return 0
    if value.cls is not None:
        return _count_module(value, left, depth) if is_module(value) else 0
    return _count_layer(value, left, depth)


def _count_module(module: Object, left: list[int], depth: int) -> int | None:
    """Return the parameters of a network; None if it calls a part of itself of which nothing is known."""
    called = _list_called(module.cls) if module.cls is not None else frozenset()
    if any(isinstance(module.attributes.get(name), Open | Choice | Member) for name in called):
        return None
    return _sum(module.attributes.values(), left, depth)


def _list_called(made: Class) -> frozenset[str]:
    """Return the attributes that a class calls as functions: `self.encoder(x)`."""
    functions = (node.func for one in made.lineage() for node in ast.walk(one.node) if isinstance(node, ast.Call))
    return frozenset(
        function.attr
        for function in functions
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self"
    )


def _sum(values: Iterable[Value], left: list[int], depth: int) -> int | None:
    total = 0
    for value in values:
        found = _count(value, left, depth + 1)
        if found is None:
            return None
        total += found
    return total


def _count_layer(layer: Object, left: list[int], depth: int) -> int | None:
    """Return the parameters of what another package makes: a layer, a list of layers, a tensor that is trained."""
    name = last_name(layer)
    if not layer.name.startswith("torch."):
        return 0 if root(layer) in sys.stdlib_module_names else None
    if not layer.name.startswith("torch.nn."):
        return 0
    if name in ("ModuleList", "Sequential", "ModuleDict"):
        return _sum(layer.arguments, left, depth)
    if name == "Parameter":
        return _count_tensor(layer.arguments[0] if layer.arguments else None)
    if name in ("TransformerEncoder", "TransformerDecoder"):
        return _count_stack(layer, left, depth)
    shared = [one for one in OWN_WEIGHTS if one in layer.attributes]
    positional = [_plain(value) for value in layer.arguments]
    keywords = {key: _plain(value) for key, value in layer.keywords.items()}
    found = layers.count(name, positional, keywords)
    if found is None or shared not in ([], ["weight"]):
        return found
    return 0 if shared and name in ("Linear", "Embedding") else found


def _plain(value: Value) -> object:
    found = to_plain(value)
    return None if found is ... else found


def _count_tensor(tensor: Value | None) -> int | None:
    if not isinstance(tensor, Object) or last_name(tensor) not in TENSORS:
        return None
    sides = [_plain(value) for value in tensor.arguments]
    shape = sides[0] if len(sides) == 1 and isinstance(sides[0], list) else sides
    return layers.count("LayerNorm", (shape,), {"bias": False}) if shape else None


def _count_stack(stack: Object, left: list[int], depth: int) -> int | None:
    """Return the parameters of layers that a stack copies, and of its last norm."""
    layer = stack.arguments[0] if stack.arguments else stack.get("encoder_layer") or stack.get("decoder_layer")
    copies = stack.arguments[1] if len(stack.arguments) > 1 else stack.get("num_layers")
    norm = stack.arguments[2] if len(stack.arguments) > 2 else stack.get("norm")
    one = _count(layer, left, depth + 1) if layer is not None else None
    last = _count(norm, left, depth + 1) if norm is not None else 0
    number = copies.value if isinstance(copies, Constant) else None
    return number * one + last if isinstance(number, int) and one is not None and last is not None else None
