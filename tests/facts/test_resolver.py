"""Facts: where a value comes from, in which scenarios, what is missing, and that every formula can be trusted to be wired."""

from __future__ import annotations

import ast
import inspect
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpulint import engines, sizing
from gpulint.catalog import architecture, hardware, package_data, tables
from gpulint.catalog.architecture import Resolution
from gpulint.facts import resolver, table_rows
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing, ResolvedFact
from gpulint.facts.providers import AT_CAPACITY, DRAFT_FACTS
from gpulint.policy.rules import memory_verdict
from gpulint.report.model import Scenarios
from gpulint.sizing.engines import SHARED
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Unknown, Value

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
MIXTRAL = "mistralai/Mixtral-8x7B-Instruct-v0.1"


def role(open_ended: str = "", **stated: Value | Unknown) -> Role:
    """A role that states these values and nothing else."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    return Role("server", nowhere, {name: Field(value) for name, value in stated.items()}, open_ended=open_ended)


def known(
    checkpoint: str | None = LLAMA_8B, resolved: Resolution | None = None, open_ended: str = "", **stated: Any
) -> Facts:
    """The facts of a vLLM role on one H100, unless said otherwise."""
    whole: dict[str, Value | Unknown] = {
        "engine": "vllm",
        "engine_version": "0.19.0",
        "accelerator": "h100-sxm-80gb",
        "gpus_per_pod": 1,
        "gpus_per_replica": 1,
        "pods_per_replica": 1,
        "checkpoint": checkpoint,
        "max_model_len_stated": "max_model_len" in stated,
        **stated,
    }
    given = {name: value for name, value in whole.items() if value is not None}
    if checkpoint is not None and resolved is None:
        resolved = architecture.resolve(checkpoint)
    return resolver.resolve(role(open_ended, **given), resolved)


def scenarios(found: Facts, name: str) -> Scenarios[Any]:
    """The values of a fact that is known."""
    values = found.scenarios(name)
    assert not isinstance(values, Missing), values
    return values


def needs(found: Facts, name: str) -> set[str]:
    """What is missing for a fact."""
    missing = found.scenarios(name)
    assert isinstance(missing, Missing), missing
    return set(missing.names)


def how(found: Facts, name: str) -> str:
    """Where a fact comes from, in words."""
    one = found.find(name)
    assert isinstance(one, ResolvedFact), one
    return one.how


# ---- the glossary


def test_every_row_of_the_glossary_is_whole() -> None:
    for name, row in package_data.load_glossary().items():
        assert {"of", "type", "unit", "meaning"} <= set(row), name
        assert row["type"] in {"number", "text", "flag", "list", "map", "object"}, name
        assert not str(row["meaning"]).endswith("."), name


def test_a_quantity_that_somebody_could_state_says_how_or_what_its_absence_means() -> None:
    silent = [
        one.name
        for one in glossary().values()
        if one.of in {"pod", "engine"} and not one.ask and not one.absent and one.name not in {"task", "device"}
    ]
    assert silent == []


def test_every_derived_quantity_has_a_formula_or_a_look_up() -> None:
    every = {name for engine in (None, *engines.modules()) for name in find_formulas(engine)}
    derived = {one.name for one in glossary().values() if one.of == "derived"}
    looked_up = {"bytes_per_weight"}  # the number format's row of the catalog
    assert derived - every == looked_up | set(AT_CAPACITY)
    assert set(AT_CAPACITY.values()) <= every
    assert set(DRAFT_FACTS) <= every


def test_engines_that_share_formulas_have_no_module_of_their_own() -> None:
    own = Path(sizing.__path__[0]) / "engines"
    modules = {engines.module_name(name): name for name in engines.modules()}
    for engine, shared in SHARED.items():
        assert not (own / f"{engine}.py").exists()
        formula = find_formulas(modules[engine])["trainable_parameters"]
        assert formula.__module__ == f"gpulint.sizing.engines.{shared}"


def test_every_fitted_quantity_has_rows_in_order_with_source_and_date() -> None:
    rows = tables.rows("fitted")
    assert {row["name"] for row in rows} == {one.name for one in glossary().values() if one.of == "fitted"}
    for row in rows:
        assert float(row["best"]) <= float(row["expected"]) <= float(row["worst"]), row["name"]
        assert row["source"], row["name"]
        assert row["date"], row["name"]


def test_every_documented_default_is_of_an_engine_quantity_with_source_and_date() -> None:
    for row in tables.rows("engine_defaults"):
        assert glossary()[row["field"]].of == "engine", row["field"]
        assert row["source"], row["field"]
        assert row["date"], row["field"]
        assert row["kinder"] in {"higher", "lower", "none"}, row["field"]


def test_every_column_that_a_fact_reads_is_there() -> None:
    product, node = hardware.list_accelerators()[0], hardware.list_nodes()[0]
    shape = architecture.load_architectures()[0]
    holders = {"accelerator": (product, {"slice_memory_bytes", "accelerator_name"}), "node": (node, set())}
    holders |= {"architecture": (shape, set()), "checkpoint": (shape, {"architecture", "checkpoint"})}
    for one in glossary().values():
        holder, computed = holders.get(one.of, (None, set()))
        assert holder is None or one.name in computed or hasattr(holder, one.name), one.name


# ---- the formulas


def formulas() -> list[tuple[str, Callable[..., Value]]]:
    """Every public formula, by module and name."""
    found = [(f"sizing.{name}", formula) for name, formula in find_formulas(None).items()]
    for engine in engines.modules():
        found += [(f"{engine}.{name}", formula) for name, formula in find_formulas(engine).items()]
    return found


every_formula = pytest.mark.parametrize("formula", [one for _, one in formulas()], ids=[name for name, _ in formulas()])


@every_formula
def test_a_formula_and_its_parameters_are_rows_of_the_glossary(formula: Callable[..., Value]) -> None:
    assert {formula.__name__, *list_parameters(formula)} <= set(glossary())


@every_formula
def test_a_formula_takes_its_facts_by_name_and_by_nothing_else(formula: Callable[..., Value]) -> None:
    signature = inspect.signature(formula)
    assert tuple(signature.parameters) == list_parameters(formula)
    assert all(one.kind is one.POSITIONAL_OR_KEYWORD for one in signature.parameters.values())
    assert all(one.default in (one.empty, None) for one in signature.parameters.values())


@every_formula
def test_a_formula_does_not_need_itself(formula: Callable[..., Value]) -> None:
    assert formula.__name__ not in list_parameters(formula)


@every_formula
def test_a_formulas_docstring_has_its_sections_in_order(formula: Callable[..., Value]) -> None:
    text = inspect.getdoc(formula) or ""
    first = text.splitlines()[0]
    assert first.endswith((".", ":")), first
    places = [text.index(section) for section in ("Args:", "Returns:", ">>>", "Source:")]
    assert places == sorted(places)
    assert text.partition("Source:")[2].strip()


@every_formula
def test_a_formulas_docstring_says_its_equation_or_tells_it_in_prose(formula: Callable[..., Value]) -> None:
    text = (inspect.getdoc(formula) or "").partition("Args:")[0]
    body = text.partition("\n")[2].strip()
    one_line_says_it = len(inspect.getsource(formula).rpartition('"""')[2].strip().splitlines()) == 1
    assert body or one_line_says_it


@every_formula
def test_a_formulas_docstring_names_every_argument(formula: Callable[..., Value]) -> None:
    section = (inspect.getdoc(formula) or "").partition("Args:")[2].partition("Returns:")[0]
    unnamed = [name for name in list_parameters(formula) if name not in section]
    assert unnamed == [] or "as of " in section


def test_an_engine_defines_no_quantity_that_its_own_arguments_state() -> None:
    for engine in engines.modules():
        stated = {one.name for one in glossary().values() if one.of == "engine"}
        assert set(find_formulas(engine)) & stated <= {"max_model_len", "static_memory_fraction"}


def test_sizing_holds_no_unit_arithmetic_of_its_own() -> None:
    modules = sorted(Path(sizing.__path__[0]).rglob("*.py"))
    assert modules
    for path in modules:
        numbers = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        }
        assert not numbers & {1024, 1e9, 1e12, 2**20, 2**30}, path.name


# ---- the order in which a value is looked for


def test_a_stated_value_goes_before_everything() -> None:
    found = known(weight_bytes=7.0, kv_heads=3, gpu_memory_utilization=0.5, device_memory_bytes=1000.0)
    assert [found.expected(name) for name in ("weight_bytes", "kv_heads")] == [7.0, 3]
    assert found.expected("memory_budget_bytes") == 500
    assert how(found, "weight_bytes") == "stated"


def test_the_engines_own_formula_goes_before_the_general_one_and_before_its_defaults() -> None:
    assert how(known(), "kv_cache_bytes") == "vllm_kv_cache.kv_cache_bytes"
    assert how(known(), "max_model_len") == "vllm.max_model_len"


def test_the_checkpoint_and_the_accelerator_supply_theirs() -> None:
    found = known()
    assert (found.expected("layers"), how(found, "layers")) == (32, "catalog")
    assert found.expected("compute_capability") == 9.0


def test_a_documented_default_is_taken_where_nothing_is_stated() -> None:
    found = known()
    assert found.scenarios("tensor_parallel") == Scenarios(1, 1, 1)
    assert how(found, "tensor_parallel") == "default of vllm 0.19.0"


def test_a_known_absence_is_a_value() -> None:
    found = known()
    assert found.scenarios("speculative") == Scenarios(None, None, None)
    assert found.scenarios("kv_cache_memory_bytes") == Scenarios(None, None, None)
    assert found.scenarios("cpu_offload_bytes") == Scenarios(0, 0, 0)


def test_without_an_engine_its_absences_are_not_known() -> None:
    found = known(engine=None, engine_version=None)
    assert needs(found, "speculative") == {"speculative"}
    assert needs(found, "tensor_parallel") == {"tensor_parallel"}
    assert found.expected("mig_profile") is None


def test_a_name_is_resolved_once() -> None:
    found = known()
    assert found.find("weight_bytes") is found.find("weight_bytes")


def test_a_quantity_that_leads_back_to_itself_is_missing_and_does_not_hang() -> None:
    found = known(engine_version="0.5.0", trained_context=Unknown("not read"))
    assert needs(found, "max_model_len") == {"trained_context"}


# ---- scenarios


def test_a_chain_without_fitted_terms_is_the_same_in_every_scenario() -> None:
    found = known()
    weights = scenarios(found, "weight_bytes")
    assert weights.best == weights.expected == weights.worst == 16_060_522_496  # 8,030,261,248 × 2


def test_a_chain_with_fitted_terms_is_worse_from_scenario_to_scenario() -> None:
    left = scenarios(known(), "headroom_bytes")
    reserve = scenarios(known(), "reserve_bytes")
    assert left.best > left.expected > left.worst
    assert reserve.best < reserve.expected < reserve.worst


def test_a_slice_of_an_unnamed_card_spans_the_cards_that_offer_it() -> None:
    one = scenarios(known(accelerator=None, mig_profile="1g.10gb", device="gpu"), "device_memory_bytes")
    assert one.best >= one.expected >= one.worst > 0


def test_a_slice_has_its_share_of_bandwidth_and_arithmetic() -> None:
    """NVIDIA's guide: 3g.20gb of an A100 40GB has four of eight memory slices and three of seven of compute."""
    found = known(accelerator="a100-sxm4-40gb", mig_profile="3g.20gb", device="gpu")
    assert found.expected("memory_bytes_per_s") == pytest.approx(1555e9 / 2, rel=0.03)
    assert found.expected("dense_bf16_flop_per_s") == pytest.approx(312e12 * 3 / 7)
    assert found.expected("compute_capability") == 8.0


# ---- the machine


def test_a_machine_is_known_by_its_name_alone() -> None:
    found = known(instance_type="p5.48xlarge")
    assert (found.expected("node_gpus"), needs(known(), "node_gpus")) == (8, {"instance_type"})


def test_a_price_is_missing_where_no_cloud_rents_the_card_out() -> None:
    assert needs(known(accelerator="rtx-4090"), "machine_usd_per_hour") == {"instance_type"}


# ---- what is missing


def test_every_missing_root_is_named_at_once() -> None:
    found = known(checkpoint=None, accelerator=None)
    assert needs(found, "headroom_bytes") == {"checkpoint", "accelerator"}


def test_a_stated_value_that_cannot_be_read_is_the_root() -> None:
    found = known(tensor_parallel=Unknown("comes from $TP"))
    assert needs(found, "weight_bytes_per_gpu") == {"tensor_parallel"}
    assert needs(found, "headroom_bytes") == {"tensor_parallel"}
    assert found.reasons["tensor_parallel"] == "comes from $TP"


def test_a_checkpoint_that_no_catalog_lists_asks_for_the_architecture() -> None:
    found = known("acme/house-model")
    assert needs(found, "weight_bytes") == {"architecture"}


def test_missing_names_are_joined_over_several_facts() -> None:
    found = known(checkpoint=None, accelerator=None)
    assert found.missing(["layers", "cuda_memory_bytes", "tensor_parallel"]) == {"checkpoint", "accelerator"}


def test_a_missing_fact_is_not_shown_and_a_known_one_is_with_its_unit() -> None:
    found = known(checkpoint=None)
    assert found.report("weight_bytes") is None
    shown = known().report("weight_bytes")
    assert shown is not None
    assert (shown.name, shown.unit, shown.values.expected) == ("weight_bytes", "bytes", 16_060_522_496)


def test_every_missing_name_can_be_asked_for() -> None:
    nothing = resolver.resolve(role(), None)
    for name in glossary():
        found = nothing.find(name)
        if isinstance(found, Missing):
            assert found.names <= set(glossary())
            assert found.names


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("tensor_parallel", 0), ("tensor_parallel", -1), ("pipeline_parallel", 0), ("data_parallel", 0)),
        *(("block_size", 0), ("max_model_len", 0), ("gpu_memory_utilization", 0.0), ("layers", 0), ("kv_heads", 0)),
        *(("gpu_memory_utilization", float("nan")), ("gpu_memory_utilization", float("inf")), ("gpus_per_pod", -1)),
        *(("gpus_per_pod", float("nan")), ("tensor_parallel", 10**30), ("cpu_offload_bytes", -1)),
    ],
)
def test_a_number_that_nothing_can_be_is_unknown_and_breaks_nothing(name: str, value: Any) -> None:
    stated: dict[str, Any] = {name: value}
    found = known(**stated)
    assert needs(found, name) == {name}
    assert "not possible" in found.reasons[name]
    for other in glossary():
        found.find(other)


@pytest.mark.parametrize(("name", "value"), [("gpus_per_pod", 0), ("cpu_offload_bytes", 0), ("gpus_per_pod", 0.5)])
def test_a_number_that_may_be_small_is_kept(name: str, value: Any) -> None:
    stated: dict[str, Any] = {name: value}
    assert known(**stated).expected(name) == value


# ---- arguments that may hold more than could be read


def test_open_ended_arguments_make_the_engines_facts_unknown_with_the_reason() -> None:
    found = known(open_ended="--config names a file", max_model_len=8192)
    assert needs(found, "tensor_parallel") == {"arguments"}
    assert needs(found, "headroom_bytes") == {"arguments"}
    assert found.reasons["arguments"] == "--config names a file"


def test_open_ended_arguments_leave_what_is_stated_and_what_the_card_says() -> None:
    found = known(open_ended="--config names a file", max_model_len=8192)
    assert found.expected("max_model_len") == 8192
    assert found.expected("compute_capability") == 9.0


def test_open_ended_arguments_leave_no_absence_known() -> None:
    assert needs(known(open_ended="a script"), "speculative") == {"arguments"}


# ---- defaults by release


@pytest.mark.parametrize(("release", "share"), [("0.8.5", 0.90), ("0.19.1", 0.90), ("0.20.0", 0.92), ("0.33.0", 0.92)])
def test_the_memory_share_follows_the_release(release: str, share: float) -> None:
    assert known(engine_version=release).scenarios("gpu_memory_utilization") == Scenarios(share, share, share)


@pytest.mark.parametrize(
    ("release", "accelerator", "sequences", "batch"),
    [
        ("0.10.1", "h100-sxm-80gb", 1024, 8192),
        ("0.10.1", "a100-sxm4-80gb", 256, 2048),
        ("0.10.1", "l4", 256, 2048),
        ("0.33.0", "b200-sxm-180gb", 1024, 16384),
        ("0.33.0", "h100-sxm-80gb", 1024, 8192),
    ],
)
def test_the_batch_defaults_follow_release_and_card(release: str, accelerator: str, sequences: int, batch: int) -> None:
    found = known(engine_version=release, accelerator=accelerator)
    assert found.expected("max_num_seqs") == sequences
    assert found.expected("max_num_batched_tokens") == batch


def test_a_card_known_by_its_memory_alone_spans_the_cards_that_have_it() -> None:
    """79.2 GiB is an A100 or an H100: 256 or 1,024 sequences in vLLM 0.10.2 (engine/arg_utils.py)."""
    found = known(engine_version="0.10.2", accelerator=None, device_memory_bytes=79.19 * 2**30)
    assert found.scenarios("max_num_seqs") == Scenarios(256, 256, 1024)
    assert isinstance(found.expected("headroom_bytes"), float)


def test_a_small_card_known_by_its_memory_alone_has_the_small_defaults() -> None:
    found = known(engine_version="0.10.2", accelerator=None, device_memory_bytes=23.5 * 2**30)
    assert found.scenarios("max_num_seqs") == Scenarios(256, 256, 256)
    assert found.scenarios("max_num_batched_tokens") == Scenarios(2048, 2048, 2048)


def test_weights_that_exceed_the_budget_fail_whatever_else_is_unknown() -> None:
    """Llama-3.1-70B takes 131 GiB in 16 bits; nothing says what an unknown precision of the cache would need."""
    found = known("meta-llama/Llama-3.1-70B-Instruct", kv_cache_dtype="int3")
    assert isinstance(found.expected("headroom_bytes"), Missing)
    assert memory_verdict.find_verdict(found) == "does not fit"


def test_weights_that_leave_room_tell_nothing_where_the_rest_is_unknown() -> None:
    assert memory_verdict.find_verdict(known(kv_cache_dtype="int3")) == "not evaluated"


@pytest.mark.parametrize(("length", "pictures"), [(8192, 1), (32768, 1), (65536, 3), (128000, 6), (10**6, 8)])
def test_the_longest_profiled_video_fills_the_context_up_to_sixteen_frames(length: int, pictures: int) -> None:
    found = known("Qwen/Qwen2.5-VL-7B-Instruct", max_model_len=length)
    assert found.expected("profiled_pictures") == pictures


def test_slots_of_adapters_are_counted_since_0_8() -> None:
    """vLLM 0.7.1 printed 8.49 GiB of phi-4 in 4 bits with slots of rank 16, which are its weights alone."""
    slots = {"enable_lora": True, "max_lora_rank": 16}
    old, new = (known(engine_version=release, **slots) for release in ("0.7.1", "0.8.1"))
    assert scenarios(new, "loaded_bytes_per_gpu").expected - scenarios(
        old, "loaded_bytes_per_gpu"
    ).expected == pytest.approx(scenarios(new, "lora_bytes").expected)


def test_without_a_card_and_its_memory_the_card_is_asked_for() -> None:
    assert needs(known(engine_version="0.10.2", accelerator=None), "max_num_seqs") == {"accelerator"}


def test_an_unknown_release_gives_the_envelope_of_all_it_may_be() -> None:
    found = known(engine_version=None)
    assert found.scenarios("gpu_memory_utilization") == Scenarios(0.92, 0.92, 0.90)
    assert found.scenarios("graphs_in_budget") == Scenarios(False, True, True)
    assert "release is not stated" in how(found, "gpu_memory_utilization")


def test_an_unknown_release_takes_fitted_rows_from_the_kindest_to_the_worst() -> None:
    logit = known(engine_version=None).scenarios("sampler_bytes_per_logit")
    assert logit == Scenarios(6.0, 14.0, 40.0)  # 6 since 0.22, 14 to 16 since 0.17, up to 40 before


def test_loras_stay_on_the_first_core_until_0_8_3() -> None:
    """A start-up log of 0.8.1 says so; the first core takes 256 sequences, the second 1,024 (vllm v0.8.2 arg_utils.py)."""
    slots = {"accelerator": "a100-sxm4-40gb", "enable_lora": True, "max_num_seqs": None}
    seen = [known(engine_version=one, **slots).expected("max_num_seqs") for one in ("0.8.1", "0.8.4")]
    assert seen == [256, 1024]
    assert known(engine_version="0.8.1", accelerator="a100-sxm4-40gb").expected("max_num_seqs") == 1024


def test_a_table_of_ten_million_positions_is_loaded_on_every_rank() -> None:
    """vLLM 0.19 printed 53.12 GiB for each of four ranks of Llama-4-Scout, whose weights are 50.59."""
    scout = known("meta-llama/Llama-4-Scout-17B-16E-Instruct", engine_version="0.19.0", tensor_parallel=4)
    assert scout.expected("loaded_bytes_per_gpu") == pytest.approx(53.12 * 2**30, rel=1e-3)


def test_a_scaled_table_of_positions_is_as_long_as_the_scale() -> None:
    """vLLM 0.19 printed 8.58 GiB for Gemma-3-4B and 23.31 for 12B, whose tables are eight times the declared length."""
    seen = [known(one, engine_version="0.19.0").expected("loaded_bytes_per_gpu") for one in GEMMAS]
    assert seen == pytest.approx([8.58 * 2**30, 23.31 * 2**30], rel=1e-3)


@pytest.mark.parametrize(
    ("checkpoint", "printed"),
    [("Qwen/Qwen2.5-7B-Instruct", 14.25), ("microsoft/phi-4", 27.39), (LLAMA_8B, 14.99), ("Qwen/Qwen3-8B", 15.27)],
)
def test_what_is_loaded_is_what_vllm_prints(checkpoint: str, printed: float) -> None:
    loaded = known(checkpoint, engine_version="0.19.0").expected("loaded_bytes_per_gpu")
    assert loaded == pytest.approx(printed * 2**30, abs=0.011 * 2**30)


def test_the_tokens_of_several_kinds_of_layers_are_printed_as_the_release_counts_them() -> None:
    """0.10.2 printed 973,760 tokens of 44.59 GiB for Qwen3-Next-80B on two H200: four groups of twelve layers."""
    two = {"tensor_parallel": 2, "accelerator": "h200-sxm-141gb", "max_model_len": 262144, "max_num_seqs": None}
    pool = {**two, "kv_cache_bytes": 44.59 * 2**30}
    old, new = (known("Qwen/Qwen3-Next-80B-A3B-Instruct", engine_version=one, **pool) for one in ("0.10.2", "0.22.0"))
    assert old.expected("kv_cache_tokens") == pytest.approx(973_760, rel=1e-3)
    assert new.expected("kv_cache_tokens") > 3 * old.expected("kv_cache_tokens")  # type: ignore[operator]


def test_an_unknown_release_leaves_less_in_the_worst_scenario_than_any_stated_one() -> None:
    envelope = scenarios(known(engine_version=None), "kv_cache_bytes")
    for release in ("0.8.5", "0.10.1", "0.16.0", "0.19.0", "0.21.0", "0.33.0"):
        one = scenarios(known(engine_version=release), "kv_cache_bytes")
        assert envelope.worst <= one.worst, release
        assert envelope.best >= one.best, release


def test_a_default_that_hangs_on_the_card_names_the_card_when_it_is_unknown() -> None:
    assert needs(known(accelerator=None), "max_num_seqs") == {"accelerator"}


@pytest.mark.parametrize(
    ("release", "accelerator", "length", "expected"),
    [
        # vllm v0.8.5 vllm/engine/arg_utils.py, _is_v1_supported_oracle and _set_default_args_v0: below 8.0 the V0 engine
        ("0.8.5", "t4", 8192, (256, 8192, False, False)),
        ("0.8.5", "t4", 40960, (256, 2048, True, False)),
        ("0.10.1", "v100-sxm2-32gb", 8192, (256, 8192, False, False)),
        ("0.10.2", "t4", 8192, (256, 2048, True, True)),
        # vllm v0.8.4 and v0.10.2 vllm/engine/arg_utils.py, _set_default_args_v1
        ("0.8.4", "l4", 8192, (1024, 2048, True, True)),
        ("0.10.2", "b200-sxm-180gb", 8192, (1024, 8192, True, True)),
        # vllm v0.6.6 vllm/engine/arg_utils.py and vllm/config.py
        ("0.6.6", "h100-sxm-80gb", 8192, (256, 8192, False, False)),
        ("0.6.6", "h100-sxm-80gb", 65536, (256, 2048, True, False)),
        ("0.5.4", "h100-sxm-80gb", 65536, (256, 512, True, False)),
    ],
)
def test_the_engine_core_that_a_release_runs_on_a_card_sets_its_defaults(
    release: str, accelerator: str, length: int, expected: tuple[int, int, bool, bool]
) -> None:
    found = known(engine_version=release, accelerator=accelerator, max_model_len=length)
    names = ("max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill", "enable_prefix_caching")
    assert tuple(found.expected(name) for name in names) == expected


def test_a_stated_choice_moves_the_default_that_hangs_on_it() -> None:
    """vllm v0.6.6: with --enable-chunked-prefill a pass has 2,048 tokens, whatever the length."""
    found = known(engine_version="0.6.6", max_model_len=8192, enable_chunked_prefill=True)
    assert found.expected("max_num_batched_tokens") == 2048


@pytest.mark.parametrize(
    ("checkpoint", "release", "uniform"),
    [
        ("google/gemma-3-27b-it", "0.9.0", True),
        ("google/gemma-3-27b-it", "0.9.1", False),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "0.13.0", True),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "0.14.0", False),
        ("google/gemma-3-27b-it", "0.13.0", False),
    ],
)
def test_windows_free_their_blocks_since_the_hybrid_manager(checkpoint: str, release: str, uniform: bool) -> None:
    assert known(checkpoint, engine_version=release).expected("uniform_kv_cache") is uniform


# ---- the speculative draft


def test_a_draft_of_the_catalog_is_a_network_of_its_own() -> None:
    """Llama-3.2-1B has 1,235,814,400 parameters and 2 · 16 · 8 · 64 cached values (its config.json), shared by two ranks."""
    drafting = {"speculative": "draft_model", "draft_checkpoint": "meta-llama/Llama-3.2-1B-Instruct"}
    found = known("meta-llama/Llama-3.1-70B-Instruct", tensor_parallel=4, draft_tensor_parallel=2, **drafting)
    assert found.expected("draft_weight_bytes_per_gpu") == 1_235_814_400 * 2 / 2
    assert found.expected("draft_kv_bytes_per_token") == 16_384 * 2 / 2
    plain = known("meta-llama/Llama-3.1-70B-Instruct", tensor_parallel=4)
    more = scenarios(found, "loaded_bytes_per_gpu").expected - scenarios(plain, "loaded_bytes_per_gpu").expected
    assert more == 1_235_814_400


@pytest.mark.parametrize("draft", ["yuhuili/EAGLE3-LLaMA3.3-Instruct-70B", "acme/house-draft", "acme/draft-1b"])
def test_a_draft_that_no_catalog_lists_leaves_memory_unknown_but_not_the_weights(draft: str) -> None:
    found = known(speculative="eagle3", draft_checkpoint=draft)
    assert needs(found, "headroom_bytes") == {"draft_checkpoint"}
    assert found.expected("weight_bytes_per_gpu") == 16_060_522_496


def test_an_eagle_head_without_a_name_leaves_memory_unknown() -> None:
    assert needs(known(speculative="eagle"), "headroom_bytes") == {
        "draft_weight_bytes_per_gpu",
        "draft_kv_bytes_per_token",
    }


@pytest.mark.parametrize("method", ["ngram", "suffix", None])
def test_drafting_from_the_text_costs_no_weights(method: str | None) -> None:
    found = known(speculative=method, draft_tokens=3)
    assert [found.expected(name) for name in DRAFT_FACTS] == [0, 0]


# ---- fitted terms only ever cost memory


GEMMAS = ("google/gemma-3-4b-it", "google/gemma-3-12b-it")
MONOTONE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sampler_bytes_per_logit": (LLAMA_8B, {}),
    "prefill_hidden_multiple": (LLAMA_8B, {"max_num_seqs": 1}),
    "prefill_intermediate_multiple": (LLAMA_8B, {"max_num_seqs": 1}),
    "activation_slack_bytes": (LLAMA_8B, {}),
    "non_torch_bytes": (LLAMA_8B, {}),
    "loader_slack_bytes": (LLAMA_8B, {}),
    "rotary_tables": (LLAMA_8B, {}),
    "graph_bytes": (LLAMA_8B, {"engine_version": "0.20.0"}),
    "moe_workspace_factor": (MIXTRAL, {"tensor_parallel": 2, "gpus_per_pod": 2, "gpus_per_replica": 2}),
    "encoder_bytes": ("Qwen/Qwen2.5-VL-7B-Instruct", {}),
    "sequence_encoder_bytes": (
        "meta-llama/Llama-3.2-11B-Vision-Instruct",
        {"engine_version": "0.6.6", "max_model_len": 8192, "max_num_seqs": 128},
    ),
    "quantised_excess": (LLAMA_8B, {"quantization": "fp8"}),
    "driver_reserved_bytes": (LLAMA_8B, {"cuda_memory_bytes": None}),
    "host_share_bytes": (LLAMA_8B, {"accelerator": "gb10"}),
    "lora_vocabulary_tables": (LLAMA_8B, {"enable_lora": True, "max_lora_rank": 64}),
    "lora_expert_share": (
        MIXTRAL,
        {"enable_lora": True, "tensor_parallel": 2, "gpus_per_pod": 2, "gpus_per_replica": 2},
    ),
    "draft_layers": (
        "deepseek-ai/DeepSeek-V3",
        {"speculative": "deepseek_mtp", "tensor_parallel": 8, "gpus_per_pod": 8},
    ),
    "sampler_draft_share": (LLAMA_8B, {"speculative": "ngram", "draft_tokens": 3}),
    "state_element_bytes": ("Qwen/Qwen3-Next-80B-A3B-Instruct", {"max_model_len": 16, "tensor_parallel": 4}),
}
"""Each fitted term, and a role in which it matters."""


def tried(name: str, value: float) -> Facts:
    checkpoint, stated = MONOTONE[name]
    extra = {"cuda_memory_bytes": Field(None)} if "cuda_memory_bytes" in stated else {}
    found = known(checkpoint, **{key: part for key, part in stated.items() if key not in extra})
    return resolver.resolve(found.role.having(**extra, **{name: Field(value)}), found.resolved)


def test_memory_that_the_host_shares_is_not_promised_whole() -> None:
    """A DGX Spark offers 101.3 to 102.2 GiB at boot, headless (MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks issue 47)."""
    memory = scenarios(known(accelerator="gb10"), "device_memory_bytes")
    assert memory.worst < 101.3 * 2**30 < 102.2 * 2**30 < memory.best < 119.61 * 2**30
    assert memory.worst < memory.expected < memory.best


def test_a_card_with_memory_of_its_own_gives_the_host_nothing() -> None:
    assert list(scenarios(known(), "device_memory_bytes")) == pytest.approx([79.19 * 2**30] * 3)
    assert scenarios(known(accelerator="gb200"), "device_memory_bytes").worst == pytest.approx(184.31 * 2**30)


def test_a_file_type_that_mixes_formats_has_a_weight_of_uncertain_size() -> None:
    """llama.cpp prints 4.8944 bits for Llama-3.1-8B in Q4_K_M, 4.80 to 4.84 for Llama 2, 5.11 for Qwen2.5-1.5B."""
    bits = [8 * size for size in scenarios(known(weight_format="gguf-q4_k_m"), "bytes_per_weight")]
    assert bits == pytest.approx([4.80, 4.8944, 5.12])
    assert scenarios(known(weight_format="ggml-q4_k"), "bytes_per_weight") == Scenarios(*[4.5 / 8] * 3)


WITHIN_THE_CACHE = "state_element_bytes"
"""A state takes of the cache and leaves its size alone."""
LEFT = [(name, "headroom_bytes") for name in MONOTONE] + [
    (name, "kv_cache_bytes") for name in MONOTONE if name != WITHIN_THE_CACHE
]


@pytest.mark.parametrize(("name", "fact"), LEFT)
def test_more_of_a_fitted_term_never_leaves_more_memory(name: str, fact: str) -> None:
    rows = [row for row in tables.rows("fitted") if row["name"] == name]
    low = max(0.0, min(float(row["best"]) for row in rows))
    high = max(float(row["worst"]) for row in rows)
    steps = [low + (high - low) * step / 8 for step in range(9)]
    left = [tried(name, value).expected(fact) for value in steps]
    assert all(isinstance(one, int | float) for one in left), left
    assert left == sorted(left, reverse=True)  # type: ignore[type-var]
    assert left[0] > left[-1], "the term does not matter here"  # type: ignore[operator]


def test_a_larger_ratio_of_parameters_to_the_name_never_makes_weights_smaller() -> None:
    found = known("/models/secret-13b")
    sizes = [
        resolver.resolve(found.role.having(named_parameter_ratio=Field(ratio)), found.resolved).expected(
            "weight_bytes_per_gpu"
        )
        for ratio in (0.9, 1.0, 1.1, 1.3)
    ]
    assert sizes == sorted(sizes)  # type: ignore[type-var]
    assert sizes[1] == pytest.approx(13e9 * 1.042)  # 13 billion weights in 8 bits, and what stays in 16


def test_a_larger_excess_of_a_name_s_format_never_makes_weights_smaller() -> None:
    found = known("acme/secret-13b-awq")
    sizes = [
        resolver.resolve(found.role.having(named_quantised_excess=Field(ratio)), found.resolved).expected(
            "weight_bytes_per_gpu"
        )
        for ratio in (1.0, 1.1, 1.4, 2.0, 5.0)
    ]
    assert sizes == sorted(sizes)  # type: ignore[type-var]
    assert sizes[0] == pytest.approx(13e9 * 1.011 * 0.51953125)
    assert sizes[-1] == pytest.approx(13e9 * 1.011 * 2)  # never more than all in 16 bits


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        # model cards: 7.61 billion parameters, 6.53 of them outside the tables, which stay in 16 bits
        ("/models/qwen25-coder-7b-awq", 6.53 * 0.51953125 + 1.09 * 2),
        # start-up log of vLLM in a public table: Llama-3.3-70B-FP8, 67.72 GiB of weights
        ("/models/llama33-70b-fp8", 67.72 * 2**30 / 1e9),
        # start-up log of vLLM, issue 33155: gpt-oss-120b, 64.38 GiB; experts 0.98 of its 117 billion parameters
        ("/models/our-120b-mxfp4", 64.38 * 2**30 / 1e9),
    ],
)
def test_what_a_quantised_name_tells_includes_the_size_of_its_release(name: str, gigabytes: float) -> None:
    found = scenarios(known(name), "weight_bytes")
    assert found.best < gigabytes * 1e9 < found.worst
    low, high = known(name).ends("weight_bytes") or (0, 0)
    assert low < gigabytes * 1e9 < high  # type: ignore[operator]


def test_a_format_measured_over_whole_files_keeps_its_size_under_a_name() -> None:
    """Llama-3.1-8B in Q4_K_M: embeddings are among the tensors that its 4.8944 bits are measured over."""
    found = known("/models/secret-8b", weight_format="gguf-q4_k_m", quantised_parameters=8e9)
    assert scenarios(found, "quantised_excess").worst <= 1.06


def test_a_named_release_s_excess_is_that_of_the_listed_quantised_releases() -> None:
    """The rows were computed once; releases that are listed later may move them a little."""
    rows = [row for row in tables.rows("fitted") if row["name"] == "named_quantised_excess"]
    for row, held in zip(rows, excesses(), strict=True):
        assert len(held) == pytest.approx(int(row["cases"]), rel=0.1)
        best, middle, worst = (sorted(each) for each in zip(*held, strict=True))
        ends = (
            statistics.quantiles(best, n=20, method="inclusive")[0],
            statistics.quantiles(worst, n=20, method="inclusive")[-1],
        )
        assert ends == pytest.approx((float(row["best"]), float(row["worst"])), rel=0.03)
        assert statistics.median(middle) == pytest.approx(float(row["expected"]), rel=0.03)


def excesses() -> list[list[tuple[float, ...]]]:
    """Bytes of each quantised release against its parameters in its format: 4 bits small and large, 8 bits small and large."""
    found: dict[tuple[str, str, int | None], tuple[int, tuple[float, ...]]] = {}
    copies = tables.index_rows("checkpoints", "checkpoint")
    for name in architecture.list_ids():
        shape = architecture.resolve(name).architecture
        if shape is None or not shape.checkpoint_quantization or not shape.parameters:
            continue
        one = known(name)
        size = one.expected("bytes_per_weight")
        if isinstance(size, float) and size < 2:
            group = 2 * (size >= 0.9) + (shape.parameters >= 10e9)
            key = (copies[name]["architecture"], shape.checkpoint_quantization, shape.unquantised_parameters)
            ratios = tuple(held / shape.parameters / size for held in scenarios(one, "weight_bytes"))
            found[key] = (group, ratios)
    return [[ratios for at, ratios in found.values() if at == group] for group in range(4)]


def test_a_format_that_is_asked_for_is_not_assumed() -> None:
    assert scenarios(known("/models/secret-13b", quantization="fp8"), "bytes_per_weight") == Scenarios(1.0, 1.0, 1.0)
    small = scenarios(known("/models/secret-13b", quantization="bitsandbytes"), "bytes_per_weight")
    assert small.best == small.expected == small.worst < 0.52


def test_an_unstated_format_is_likely_16_bits_on_a_hub_and_open_in_a_folder() -> None:
    assert scenarios(known("acme/secret-13b"), "bytes_per_weight") == Scenarios(0.51953125, 2.0, 2.0)
    assert scenarios(known("/models/secret-13b"), "bytes_per_weight") == Scenarios(0.51953125, 1.0, 2.0)


TESTED_ELSEWHERE = {
    "named_parameter_ratio",
    "training_network_floor_bytes_per_s",  # compared with the network as it is, in no formula
    "named_quantised_excess",
    *("context_bytes", "outside_bytes"),  # beside the budget
    *("engine_start_s", "weight_read_s_per_byte"),  # they cost time
    "host_copy_slowdown",  # in sizing/interconnect/test_collectives.py
    *("usual_residual_share", "usual_air_m3_per_j", "usual_coolant_m3_per_j"),  # in sizing/cooling/test_cooling.py
    *("usual_racks_per_m2", "footprint_share"),  # in sizing/cooling/test_cooling.py
    *(
        "storage_read_s_per_byte",
        "storage_write_s_per_byte",
        "hub_s_per_byte",
        "failures_per_gpu_s",
        "volume_read_excess",
    ),  # in sizing/interconnect/test_storage.py
    # of training, in sizing/training/test_peak.py:
    *("length_share", "loss_bytes_per_logit", "expert_imbalance", "layer_gradient_multiple", "live_parameters"),
    *("bucket_parameters", "allocator_excess", "frozen_excess", "training_context_bytes"),
    *("activation_ratio", "allocator_slack_bytes", "gathered_share", "gathered_tables", "foreach_copies"),
    *(
        "quantised_inputs",
        "loaded_parameter_bytes",
        "kept_scores",
        "loaded_excess",
        "realised_ratio",
        "adapted_experts",
    ),
    *("critic_gradient_bytes", "unlisted_reward_size", "rollout_realised", "scoring_bytes_per_logit"),
    # of generation without a server, in sizing/serving/test_static_batch.py:
    *("logit_copy_bytes", "cache_growth_excess", "generation_slack_bytes", "generation_context_bytes"),
    *("prompt_excess", "prompt_share", "weight_ratio", "library_workspace_bytes"),
    # of the time of serving, in sizing/serving/test_decode_time.py:
    *("weight_read_excess", "expert_read_excess", "attention_read_excess", "matrix_excess", "decode_ratio"),
    *("prefill_excess", "prefill_latency_s", "prefill_interference", "queued_share", "layer_latency_s"),
    *("step_latency_s", "sequence_latency_s", "reduction_latency_s", "message_s_per_byte"),
    *(
        "weight_format_excess",
        "expert_format_excess",
        "prefill_release_ratio",
        "layer_kind_ratio",
    ),
    *("layer_group_ratio", "group_wait_exponent", "first_token_latency_s", "decoding_share"),
    *("rejected_share", "loaded_board_share"),
    "training_board_share",  # of power, in sizing/cost/test_cost.py
    # of what is placed in a facility, in pipeline/facility/test_workload_load.py:
    *("queue_share", "packing_share", "idle_server_share", "busy_server_share", "busy_time_share"),
    "serving_power_exponent",
    *("board_overhead", "host_w"),  # of servers, in sizing/power/test_server_power.py
    *("va_per_w", "continuous_load_ratio", "supply_efficiency"),  # of circuits, in sizing/power/test_power.py
    "heat_beyond_power",  # of servers, in sizing/power/server_power.py
    "inlet_share",  # of servers too, in facility/netbox/test_netbox.py
    # of the time of training, in sizing/training/test_step_time.py:
    *("matmul_excess", "kernel_excess", "expert_kernel_excess", "attention_excess", "streamed_passes"),
    *("logit_traffic_bytes", "memory_excess", "power_exponent", "update_bytes_per_parameter"),
    *("host_update_s_per_parameter", "overlap_cost", "tensor_exposed_share", "expert_exposed_share"),
    *("pipeline_exposed_share", "step_excess", "narrow_width", "gather_excess"),
}
"""Fitted terms whose formulas another test varies, or that only a comparison reads."""


def test_every_fitted_term_is_tested_monotone() -> None:
    own = {row["name"] for row in tables.rows("fitted") if row["engine"] in ("", "vllm")}
    assert own <= set(MONOTONE) | TESTED_ELSEWHERE


@pytest.mark.parametrize("release", ["0.8.5", "0.10.1", "0.19.0", "0.22.0", None])
@pytest.mark.parametrize("accelerator", ["l4", "a100-sxm4-80gb", "h100-sxm-80gb", "t4"])
@pytest.mark.parametrize("checkpoint", [LLAMA_8B, MIXTRAL, "Qwen/Qwen2.5-VL-7B-Instruct", "deepseek-ai/DeepSeek-V3"])
def test_the_scenarios_are_in_order_on_every_card_and_release(
    release: str | None, accelerator: str, checkpoint: str
) -> None:
    found = known(checkpoint, engine_version=release, accelerator=accelerator)
    for name in ("kv_cache_bytes", "headroom_bytes", "headroom"):
        left = scenarios(found, name)
        assert left.best >= left.expected >= left.worst, name


@pytest.mark.parametrize("checkpoint", ["BAAI/bge-m3", "Alibaba-NLP/gte-modernbert-base", "google/embeddinggemma-300m"])
def test_an_encoder_needs_no_kv_cache(checkpoint: str) -> None:
    """vLLM v0.19.0, v1/kv_cache_interface.py, EncoderOnlyAttentionSpec: 0 bytes."""
    assert known(checkpoint, engine_version="0.19.0", accelerator="l4").expected("kv_needed_bytes") == 0


def test_a_pooling_network_runs_no_sampler() -> None:
    """vLLM v0.19.0, v1/worker/gpu_model_runner.py, profile_run; Qwen3-Embedding has Qwen3's layers and a pooler."""
    pooling, generating = (
        known(name, engine_version="0.19.0", accelerator="h100-sxm-80gb").scenarios("activation_bytes")
        for name in ("Qwen/Qwen3-Embedding-8B", "Qwen/Qwen3-8B")
    )
    assert pooling.expected < generating.expected  # type: ignore[union-attr,operator]


def test_the_words_of_every_quantity_are_written_as_texts() -> None:
    listed = {word for one in glossary().values() for word in one.words}
    assert listed & {"True", "False", "None"} == set()


@pytest.mark.parametrize(
    ("value", "holds"), [(-0.0, False), (3, False), (2**60, False), (True, True), ("true", True), (None, False)]
)
def test_a_condition_on_a_word_takes_a_value_of_any_kind(value: Value, holds: bool) -> None:
    assert table_rows.is_verified("packed==true", known(packed=value)) is holds
