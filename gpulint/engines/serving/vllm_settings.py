"""vLLM's settings: what its arguments, variables and release imply together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.engines import Argument, command_line
from gpulint.engines.command_line import Release
from gpulint.workload import Field, Unknown

Fields = Mapping[str, Field]
WITHOUT_DRAFT = frozenset({"ngram", "ngram_gpu", "suffix"})
FALSE = frozenset({"0", "false", "no", "off", ""})
OTHER_CORE = ("max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "enable_prefix_caching")
"""Defaults in which the V0 and the V1 engine differ."""
V1_OPTIONAL, V1_DEFAULT, V0_GONE = (0, 6, 4), (0, 8, 0), (0, 11, 0)
WINDOWS_WITH_CONNECTORS = (0, 22, 0)
"""config/vllm.py of v0.20.0 turns the hybrid KV cache manager off for any KV connector; v0.22.0 asks the connector."""
WINDOWS_WITH_EVENTS = (0, 20, 0)
WITHOUT_WINDOWS = "LMCacheConnectorV1"
"""v0.33.0 distributed/kv_transfer/kv_connector/v1/lmcache_connector.py does not support the hybrid manager."""


def derive_fields(found: Fields, environment: Mapping[str, Argument], release: Release) -> dict[str, Field]:
    """Return fields that follow from declared fields, from the environment and from the release."""
    return {
        **_read_speculation(found),
        **_read_experts(found),
        **_read_media(found),
        **_read_host_tier(found, environment),
        **_read_windows(found, release),
        **_read_stages(environment),
        **_read_graphs(environment),
        **_check_core(found, environment, release),
        **_read_swap(found, release),
        **_read_variables(found, environment),
    }


def read_text(found: Fields, name: str) -> str | None:
    """Return the text of a declared value; None if it is missing or cannot be read."""
    value = found[name].value if name in found else None
    return value if isinstance(value, str) else None


def is_on(variable: Argument | None) -> bool:
    """Return whether a variable is set to something other than false. Unknown counts as off."""
    return variable is not None and variable.text is not None and variable.text.strip().lower() not in FALSE


# ---- speculative decoding, experts, media


def _read_speculation(found: Fields) -> dict[str, Field]:
    """Return method, draft and draft ranks from the JSON of --speculative-config, or from single
    arguments.
    """
    config = found.get("speculative_config")
    if config is None:
        return _read_single_arguments(found)
    read = command_line.parse_json_object(read_text(found, "speculative_config"))
    if read is None:
        reason = config.value if isinstance(config.value, Unknown) else Unknown("its value is not a JSON object")
        return {"speculative": Field(reason, config.origins)}
    method = _find_method(read.get("method"), read.get("model"))
    values = {
        "speculative": method,
        "draft_checkpoint": None if method in WITHOUT_DRAFT else _read_name(read.get("model")),
        "draft_tokens": _count(read.get("num_speculative_tokens")),
        "draft_tensor_parallel": _count(read.get("draft_tensor_parallel_size")),
    }
    return {name: Field(value, config.origins) for name, value in values.items() if value is not None}


def _read_name(model: object) -> str | None:
    return model if isinstance(model, str) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _read_single_arguments(found: Fields) -> dict[str, Field]:
    """Return the method from --spec-method or from the draft's name."""
    draft, stated = found.get("draft_checkpoint"), found.get("speculative")
    if draft is None or not isinstance(draft.value, str):
        return {}
    method = _find_method(stated.value if stated else None, draft.value)
    fields = {"speculative": Field(method, (stated or draft).origins)}
    return {**fields, "draft_checkpoint": Field(None, draft.origins)} if method in WITHOUT_DRAFT else fields


def _find_method(method: object, model: object) -> str:
    """Return the declared method, else the method that vLLM infers from the draft's name."""
    if isinstance(method, str):
        return method.strip("[]")
    name = model.lower().strip("[]") if isinstance(model, str) else ""
    if name in WITHOUT_DRAFT:
        return name
    return next((family for family in ("eagle3", "eagle") if family in name), "draft_model")


def _read_experts(found: Fields) -> dict[str, Field]:
    """Return the redundant experts of --eplb-config."""
    copies = _count(
        (command_line.parse_json_object(read_text(found, "eplb_config")) or {}).get("num_redundant_experts")
    )
    return {"redundant_experts": Field(copies, found["eplb_config"].origins)} if copies else {}


def _read_media(found: Fields) -> dict[str, Field]:
    """Return whether neither images nor videos are accepted."""
    if "language_model_only" in found and found["language_model_only"].value is True:
        return {"encoder_skipped": found["language_model_only"]}
    if (stated := read_text(found, "limit_mm_per_prompt")) is None:
        return {}
    pairs = (part.partition("=") for part in stated.split(","))
    limits = command_line.parse_json_object(stated) or {name.strip(): limit for name, _, limit in pairs}
    none = {"image", "video"} <= limits.keys() and all(str(limit).strip() == "0" for limit in limits.values())
    return {"encoder_skipped": Field(True, found["limit_mm_per_prompt"].origins)} if none else {}


# ---- KV tiers and windows


def _read_host_tier(found: Fields, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the host memory of the KV cache: all of it on CPUs, else a connector's tier (with
    LMCache, one per rank).
    """
    if (space := environment.get("VLLM_CPU_KVCACHE_SPACE")) and read_text(found, "device") == "cpu":
        return {"host_kv_bytes": _gib(space)}
    connectors = tuple(_list_connectors(command_line.parse_json_object(read_text(found, "kv_transfer_config"))))
    size = environment.get("LMCACHE_MAX_LOCAL_CPU_SIZE")
    if size and _is_in_process(environment) and any(name.startswith("LMCacheConnector") for name, _ in connectors):
        return {"host_kv_bytes": _gib(size)}
    totals = [total for _, extra in connectors if (total := _count(extra.get("cpu_bytes_to_use")))]
    return {"host_kv_bytes": Field(sum(totals), found["kv_transfer_config"].origins)} if totals else {}


def _is_in_process(environment: Mapping[str, Argument]) -> bool:
    """Return whether LMCache's variables alone set its host memory: no file does, and that tier is
    on.
    """
    return "LMCACHE_CONFIG_FILE" not in environment and (
        "LMCACHE_LOCAL_CPU" not in environment or is_on(environment["LMCACHE_LOCAL_CPU"])
    )


def _list_connectors(config: Mapping[str, object] | None) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Return the KV connectors of --kv-transfer-config with their settings, including those of a
    MultiConnector.
    """
    if config is None:
        return
    extra = config.get("kv_connector_extra_config")
    extra = extra if isinstance(extra, dict) else {}
    yield str(config.get("kv_connector") or ""), extra
    several = extra.get("connectors")
    for one in several if isinstance(several, list) else ():
        yield str(one.get("kv_connector") or "") if isinstance(one, dict) else "", {}


def _gib(size: Argument) -> Field:
    origins = command_line.find_origins(size)
    try:
        return Field(round(float(size.text or "") * units.GIB), origins)
    except (ValueError, OverflowError):
        return Field(Unknown(size.why or f"{size.text} is not a number"), origins)


def _read_windows(found: Fields, release: Release) -> dict[str, Field]:
    """Return when sliding layers keep the whole sequence, and how many batches a window holds."""
    fields: dict[str, Field] = {}
    if "speculative" in found or "speculative_config" in found or "draft_checkpoint" in found:
        fields["batches_in_flight"] = Field(1, source="one batch: asynchronous scheduling depends on the draft")
    if "async_scheduling" in found and found["async_scheduling"].value is False:
        fields["batches_in_flight"] = Field(1, found["async_scheduling"].origins)
    if "uniform_kv_cache" in found:
        return fields
    names = {
        name for name, _ in _list_connectors(command_line.parse_json_object(read_text(found, "kv_transfer_config")))
    }
    for name, until in (("kv_transfer_config", WINDOWS_WITH_CONNECTORS), ("kv_events_config", WINDOWS_WITH_EVENTS)):
        if name in found and ((release is not None and release < until) or WITHOUT_WINDOWS in names):
            fields["uniform_kv_cache"] = Field(True, found[name].origins)
    return fields


def _read_swap(found: Fields, release: Release) -> dict[str, Field]:
    """Return no swap space for the V1 engine, which accepts --swap-space but never swaps."""
    if "swap_space_bytes" not in found or (release is not None and release < V1_DEFAULT):
        return {}
    return {"swap_space_bytes": Field(0, found["swap_space_bytes"].origins, source="unused by the V1 engine")}


# ---- environment


def _read_stages(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the share of the layers on the fullest stage under VLLM_PP_LAYER_PARTITION."""
    stated = environment.get("VLLM_PP_LAYER_PARTITION")
    if stated is None or stated.text == "":
        return {}
    try:
        layers = [int(part) for part in (stated.text or "").split(",")]
        if min(layers) < 0:
            raise ValueError(stated.text)
        return {"stage_share": Field(max(layers) / sum(layers), command_line.find_origins(stated))}
    except (ValueError, ArithmeticError):
        return {"stage_share": Field(Unknown(stated.why or f"{stated.text} is no list of layers"))}


def _read_graphs(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return whether CUDA graphs are counted, per the switch of 0.18 and later."""
    switch = environment.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    if switch is None or switch.text is None:
        return {}
    return {"graphs_in_budget": Field(is_on(switch), command_line.find_origins(switch))}


def _check_core(found: Fields, environment: Mapping[str, Argument], release: Release) -> dict[str, Field]:
    """Return defaults as unknown if VLLM_USE_V1 selects the engine core that is not the release's
    default.
    """
    switch = environment.get("VLLM_USE_V1")
    if switch is None or switch.text is None:
        return {}
    if is_on(switch):
        against = release is not None and V1_OPTIONAL <= release < V1_DEFAULT
    else:
        against = release is None or V1_DEFAULT <= release < V0_GONE
    reason = Unknown("VLLM_USE_V1 selects the other engine core, whose defaults are not modelled")
    return {name: Field(reason) for name in OTHER_CORE if against and name not in found}


def _read_variables(found: Fields, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return other settings from variables. An argument takes precedence over its variable."""
    fields: dict[str, Field] = {}
    backend = environment.get("VLLM_ATTENTION_BACKEND")
    if backend and backend.text and "attention_backend" not in found:
        fields["attention_backend"] = Field(backend.text, (backend.origin,))
    experts = environment.get("VLLM_ALL2ALL_BACKEND")
    if experts and experts.text and "all2all_backend" not in found:
        fields["all2all_backend"] = Field(experts.text, (experts.origin,))
    if long := environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN"):
        fields |= {"context_extended": Field(True, (long.origin,))} if is_on(long) else {}
    if "VLLM_DP_RANK" in environment or "VLLM_DP_MASTER_IP" in environment:
        fields["multi_node"] = Field(True, source="VLLM_DP_RANK")
    return fields
