"""Smallest: the card, count and layout that fits where a spec names no accelerator; sums by hand from published sizes.

Weights: parameters of the model cards × 2 bytes. Cards: T4 14.6 GiB, L4 22.0, L40S 44.4, A100 39.4 and 79.1, H200 139.8 as CUDA
reports them, of which vLLM 0.10 takes 90 %.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import samples

from gpulint.catalog import architecture
from gpulint.catalog.offers import EVERYTHING, Available, Offer, Pool, Price
from gpulint.facts import resolver
from gpulint.pipeline import memory_breakdown
from gpulint.report.formats.text import render
from gpulint.report.model import Fit, RoleSummary
from gpulint.source import documents
from gpulint.source.repository import WorkTree
from gpulint.suggestions import smallest_fit
from gpulint.suggestions.smallest_fit import Fitting
from gpulint.workload import Field, Origin, Role, Unknown

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
PRICED = (
    Offer("t4", 4, "t4-x4", "gcp", "us-central1", "", 1.40, None, "2026-08-03", "a list"),
    Offer("l4", 8, "l4-x8", "gcp", "us-central1", "", 5.68, None, "2026-08-03", "a list"),
    Offer("l40s", 8, "l40s-x8", "gcp", "us-central1", "", 14.88, None, "2026-08-03", "a list"),
    Offer("a100-sxm4-40gb", 8, "a100-x8", "gcp", "us-central1", "", 29.36, None, "2026-08-03", "a list"),
    Offer("a100-sxm4-80gb", 8, "a100-80-x8", "gcp", "us-central1", "", 40.56, None, "2026-08-03", "a list"),
    Offer("h200-sxm-141gb", 8, "h200-x8", "gcp", "us-central1", "", 84.80, None, "2026-08-03", "a list"),
)
SERVER: dict[str, Any] = {
    "engine": "vllm",
    "engine_version": "0.10.1",
    "max_model_len": 4096,
    "pipeline_parallel": 1,
    "data_parallel": 1,
    "pods_per_replica": 1,
    "gpu_memory_utilization": 0.9,
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 256,
    "enforce_eager": True,
}
TRAINER: dict[str, Any] = {
    "engine": "deepspeed",
    "task": "training",
    "sharding": "deepspeed",
    "zero_stage": 3,
    "master_weights": True,
    "optimizer": "adamw",
    "micro_batch_size": 1,
    "sequence_length": 1024,
    "packed": True,
    "training_dtype": "bfloat16",
    "parameter_dtype": "bfloat16",
    "activation_checkpointing": "full",
    "loss_kernel": "plain",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "pods_per_replica": 1,
}
QWEN_8B = "Qwen/Qwen3-8B"  # 8.19 billion: 15.3 GiB
QWEN_14B = "Qwen/Qwen2.5-14B-Instruct"  # 14.77 billion: 27.5 GiB
LLAMA_70B = "meta-llama/Llama-3.1-70B-Instruct"  # 70.55 billion: 131.4 GiB
LLAMA_8B = "meta-llama/Llama-3.1-8B"  # 8.03 billion: 15.0 GiB
LLAMA_2_AWQ = "TheBloke/Llama-2-7B-Chat-AWQ"  # 6.74 billion in 4 bits, float16: 3.6 GiB


def found(checkpoint: str, offered: Sequence[Offer] = PRICED, **stated: Any) -> tuple[Fit, ...]:
    fields = {name: Field(value) for name, value in {**SERVER, "checkpoint": checkpoint, **stated}.items()}
    known = resolver.resolve(Role("server", NOWHERE, fields), architecture.resolve(checkpoint))
    return smallest_fit.find_smallest(known, offered)


def trained(**stated: Any) -> tuple[Fit, ...]:
    fields = {name: Field(value) for name, value in {**TRAINER, "checkpoint": LLAMA_8B, **stated}.items()}
    return smallest_fit.find_smallest(
        resolver.resolve(Role("trainer", NOWHERE, fields), architecture.resolve(LLAMA_8B)), PRICED
    )


def shapes(fits: Sequence[Fit]) -> list[tuple[str, int, int]]:
    return [(one.accelerator, one.gpus, one.tensor_parallel) for one in fits]


# ---- the card, where the count is stated


def test_8_billion_parameters_need_an_l4_and_no_more() -> None:
    """15.3 GiB of weights and 0.6 of cache: over the 13.1 that vLLM takes of a T4, under the 19.8 of an L4."""
    fits = found(QWEN_8B, gpus_per_pod=1, gpus_per_replica=1, tensor_parallel=1)
    assert shapes(fits) == [("l4", 1, 1)]
    assert fits[0].cost_usd_per_hour == pytest.approx(5.68 / 8)
    assert fits[0].prices == "gcp us-central1 2026-08-03"
    assert fits[0].headroom is not None and fits[0].headroom.worst >= 0


def test_4_bits_of_7_billion_parameters_fit_on_a_t4() -> None:
    """3.6 GiB and 2 of cache of 13.1, in float16, which a T4 computes in."""
    assert shapes(found(LLAMA_2_AWQ, gpus_per_pod=1, gpus_per_replica=1, tensor_parallel=1)) == [("t4", 1, 1)]


def test_a_card_without_bfloat16_is_not_named_for_a_bfloat16_checkpoint() -> None:
    """The same 4 bits of a checkpoint in bfloat16: some networks refuse float16, and early releases any cast."""
    stated = {"gpus_per_pod": 1, "gpus_per_replica": 1, "tensor_parallel": 1}
    assert shapes(found("TheBloke/OpenHermes-2.5-Mistral-7B-AWQ", **stated)) == [("l4", 1, 1)]


def test_70_billion_parameters_over_four_stated_ranks_need_48_gb_each() -> None:
    """32.9 GiB a rank: over the 19.8 of an L4; an A100 40 GB (35.5) leaves too little to be sure, an L40S 7 GiB of 40."""
    fits = found(LLAMA_70B, gpus_per_pod=4, gpus_per_replica=4, tensor_parallel=4)
    assert shapes(fits) == [("l40s", 4, 4)]


def test_a_count_on_which_no_card_fits_is_answered_with_larger_ones() -> None:
    """131.4 GiB on one card is more than the 125.8 that vLLM takes of an H200; half is 65.7 (E2E Networks: two A100 80 GB)."""
    fits = found(LLAMA_70B, gpus_per_pod=1, gpus_per_replica=1, tensor_parallel=1)
    assert all(one.gpus > 1 for one in fits)
    assert ("l40s", 4, 4) in shapes(fits)
    assert [one.accelerator for one in fits if one.gpus == 2] in (["a100-sxm4-80gb"], ["h200-sxm-141gb"])


# ---- card and count, where neither is stated


def test_the_cheapest_comes_first_and_other_counts_follow_where_they_take_smaller_cards() -> None:
    """27.5 GiB: 13.8 on each of two L4 (19.8) for $1.42; one L40S (40.0) for $1.86."""
    fits = found(QWEN_14B)
    assert shapes(fits)[:2] == [("l4", 2, 2), ("l40s", 1, 1)]
    assert fits[0].cost_usd_per_hour == pytest.approx(1.42)
    assert fits[1].cost_usd_per_hour == pytest.approx(1.86)


def test_the_prices_are_those_of_the_one_cloud_that_has_most_of_it() -> None:
    """Two L4 cost $1.42 in one cloud, an L40S $1.86 in another, which has the L4 too, for $1.60: both cost what it asks."""
    elsewhere = Offer("l40s", 8, "l40s-x8", "aws", "us-east-1", "", 14.88, None, "2026-08-03", "a list")
    dearer = Offer("l4", 8, "other-l4-x8", "aws", "us-east-1", "", 6.40, None, "2026-08-03", "a list")
    offered = (*(offer for offer in PRICED if offer.accelerator != "l40s"), elsewhere, dearer)
    fits = found(QWEN_14B, offered)
    assert shapes(fits) == [("l4", 2, 2), ("l40s", 1, 1)]
    assert [fit.prices for fit in fits] == ["aws us-east-1 2026-08-03"] * 2
    assert fits[0].cost_usd_per_hour == pytest.approx(1.60)


@pytest.mark.parametrize(("count", "given"), [(1, 1), (None, None)])
def test_a_count_that_the_file_gives_is_named_beside_the_larger_one(count: int | None, given: int | None) -> None:
    stated = {} if count is None else {"gpus_per_pod": count, "gpus_per_replica": count, "tensor_parallel": 1}
    fits = found(LLAMA_70B, **stated)
    assert {fit.given_gpus for fit in fits} == {given}
    assert fits[0].hardware == f"{fits[0].gpus} × {fits[0].name}{' instead of 1 GPU' if given else ''}"


def test_an_unknown_count_is_no_stated_one() -> None:
    unknown = Unknown("the image decides")
    assert shapes(found(QWEN_14B, gpus_per_pod=unknown, gpus_per_replica=unknown))[0] == ("l4", 2, 2)


def test_ranks_are_at_most_what_one_machine_holds() -> None:
    small = (Offer("l4", 1, "l4-x1", cost_usd_per_hour=0.71), Offer("l40s", 1, "l40s-x1", cost_usd_per_hour=1.86))
    assert shapes(found(QWEN_14B, small)) == [("l40s", 1, 1)]


def test_ranks_divide_the_heads() -> None:
    """Qwen2.5-14B has 40 heads of attention: 1, 2, 4 and 8 divide them; Phi-3-medium's 40 over 16 do not exist here."""
    assert {one.gpus for one in found(QWEN_14B)} <= {1, 2, 4, 8}


def test_stated_ranks_fix_the_count() -> None:
    fits = found(QWEN_14B, tensor_parallel=4)
    assert {one.tensor_parallel for one in fits} == {4}


# ---- what a team has


def test_the_pools_of_a_team_are_all_there_is() -> None:
    """27.5 GiB: one A100 40 GB holds it in 39.4 GiB; without prices the least memory comes first."""
    pools = (Offer("a100-sxm4-40gb", 8, pool="large"), Offer("l4", 4, pool="small"))
    fits = found(QWEN_14B, pools)
    assert shapes(fits) == [("a100-sxm4-40gb", 1, 1), ("l4", 2, 2)]
    assert [one.pool for one in fits] == ["large", "small"]
    assert [one.cost_usd_per_hour for one in fits] == [None, None]


def test_what_is_priced_comes_before_what_is_not() -> None:
    mixed = (Offer("l4", 1, pool="ours"), Offer("l40s", 1, "l40s-x1", cost_usd_per_hour=1.86))
    assert shapes(found(QWEN_8B, mixed, gpus_per_pod=1, gpus_per_replica=1, tensor_parallel=1)) == [("l40s", 1, 1)]


def test_nothing_fits_on_what_a_team_has() -> None:
    assert found(LLAMA_70B, (Offer("t4", 4, pool="old"),)) == ()


def test_a_resource_of_amd_is_answered_with_amds_cards() -> None:
    offered = (*PRICED, Offer("mi300x", 8, "mi300x-x8", cost_usd_per_hour=48.0))
    fits = found(
        QWEN_8B, offered, gpus_per_pod=1, gpus_per_replica=1, tensor_parallel=1, accelerator_resource="amd.com/gpu"
    )
    assert shapes(fits) == [("mi300x", 1, 1)]


# ---- training


def test_eight_billion_parameters_in_mixed_precision_need_more_than_a_t4_on_each_of_eight() -> None:
    """ZeRO: 16 bytes a parameter are 119.7 GiB, 15.0 on each of eight: over the 14.6 of a T4; an L4 has 22.0."""
    fits = trained(gpus_per_pod=8, gpus_per_replica=8)
    assert len(fits) == 1
    assert fits[0].gpus == 8 and fits[0].tensor_parallel == 1
    assert fits[0].accelerator in ("l4", "l40s", "a100-sxm4-40gb")


def test_where_the_count_is_open_states_are_shared_out_over_the_cards() -> None:
    """119.7 GiB of states fit on one H200 (139.8) and on no smaller card; two A100 80 GB hold 59.9 each."""
    fits = trained()
    assert {one.gpus for one in fits} <= {1, 2, 4, 8}
    assert all(one.accelerator != "t4" for one in fits)
    assert ("a100-sxm4-80gb", 2, 1) in shapes(fits) or any(one.gpus > 2 for one in fits)
    assert all(one.accelerator == "h200-sxm-141gb" for one in fits if one.gpus == 1)


# ---- silence


@pytest.mark.parametrize(
    ("checkpoint", "stated"),
    [
        pytest.param(QWEN_8B, {"accelerator": "l4"}, id="the card is known"),
        pytest.param("acme/unknown-7b-of-ours", {}, id="the network is not"),
        pytest.param(QWEN_8B, {"max_model_len": Unknown("a variable")}, id="the length is a variable"),
        pytest.param(QWEN_8B, {"device": "cpu"}, id="no GPU is used"),
        pytest.param(QWEN_8B, {"mig_profile": "1g.10gb"}, id="a slice is asked for"),
        pytest.param(QWEN_8B, {"sharing": "time-slicing"}, id="the card is shared"),
        pytest.param(QWEN_8B, {"gpus_per_pod": 0, "gpus_per_replica": 0}, id="no GPU is asked for"),
    ],
)
def test_nothing_is_said_where_the_card_is_known_or_more_is_missing(checkpoint: str, stated: dict[str, Any]) -> None:
    assert found(checkpoint, **{"gpus_per_pod": 1, "gpus_per_replica": 1, "tensor_parallel": 1, **stated}) == ()


def test_the_order_of_offers_changes_nothing() -> None:
    shuffled = list(PRICED)
    random.Random(7).shuffle(shuffled)
    assert found(QWEN_14B, tuple(shuffled)) == found(QWEN_14B)
    assert found(QWEN_14B) == found(QWEN_14B)


# ---- through the pipeline

POD = """
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


L4 = Available(pools=(Pool("ours", "l4", 8),), pools_only=True, prices=(Price(0.70, "2026-10-01", accelerator="l4"),))


def judged(text: str, available: Available = EVERYTHING) -> RoleSummary:
    report = samples.report(text, available=available)
    assert report.failures == ()
    (role,) = samples.roles(report)
    return role


def test_a_report_names_the_smallest_card_to_be_had() -> None:
    role = judged(POD)
    assert (role.smallest[0].gpus, role.smallest[0].tensor_parallel) == (1, 1)
    assert role.smallest[0].name in role.fits_on


def test_a_team_gets_its_own_pools_and_nothing_else() -> None:
    available = Available(pools=(Pool("old", "t4", 4), Pool("new", "l40s", 8)), pools_only=True)
    role = judged(POD, available)
    assert [(one.name, one.gpus, one.pool) for one in role.smallest] == [("L40S 48GB", 1, "new")]
    assert (role.fits_on, role.too_small) == (("L40S 48GB",), ("Tesla T4 16GB",))


def test_a_forbidden_card_is_not_named() -> None:
    role = judged(POD, Available(forbidden=("l4", "a10g")))
    assert role.smallest[0].accelerator not in ("l4", "a10g")


SPEC = """
apiVersion: gpulint/v1
kind: InferenceService
metadata: {name: chat}
spec:
  roles: [{name: server, engine: vllm, checkpoint: Qwen/Qwen3-8B, max_model_len: 4096, gpus_per_pod: 1, cloud: azure}]
"""


def test_the_cloud_of_the_file_is_the_one_that_rents() -> None:
    (first, *others) = judged(SPEC).smallest
    assert others == []
    assert first.prices.startswith("azure ")


def test_the_text_says_card_count_ranks_and_how_old_the_price_is() -> None:
    text = render(
        samples.report(POD.replace("Qwen3-8B", "Qwen2.5-14B-Instruct").replace("gpu: 1", "gpu: 2"), available=L4)
    )
    assert "smallest that fits" not in text  # two GPUs, of which the arguments use one
    ranked = POD.replace("Qwen3-8B", "Qwen2.5-14B-Instruct, --tensor-parallel-size=2").replace("gpu: 1", "gpu: 2")
    line = "chat smallest that fits: 2 × L4 24GB of ours, tensor parallel 2, $1.40/h (list, 2026-10-01)"
    assert line in render(samples.report(ranked, available=L4)).splitlines()


def test_a_named_card_leaves_nothing_to_find() -> None:
    assert judged(POD.replace("{name: chat}", "{name: chat, annotations: {gpulint/accelerator: l4}}")).smallest == ()


def test_the_table_of_a_checkpoint_says_what_would_carry_it() -> None:
    """141.1 GB of weights: on no card that rents out below 141 GB; the line names count and ranks (count is open)."""
    table = memory_breakdown.build_table(
        *memory_breakdown.build_role(LLAMA_70B, {"engine": "vllm", "max_model_len": 8192}, None, WorkTree(Path()))
    )
    first = table.hardware.smallest[0]
    assert table.verdict.startswith(f"needs {first.gpus} × {first.name}: likely 6")
    assert "H100 SXM5 80GB" in table.hardware.too_small
    assert {one.gpus for one in table.hardware.smallest} <= {1, 2, 4, 8}
    assert all(one.tensor_parallel == one.gpus for one in table.hardware.smallest)
    (line,) = [
        one for one in memory_breakdown.render_text([table]).splitlines() if one.startswith("smallest that fits: ")
    ]
    assert table.hardware.smallest[0].name in line
    (data,) = json.loads(memory_breakdown.render_json([table]))
    assert data["smallest"][0]["accelerator"] == table.hardware.smallest[0].accelerator


def test_the_table_of_a_named_card_proposes_none() -> None:
    table = memory_breakdown.build_table(
        *memory_breakdown.build_role(QWEN_8B, {"engine": "vllm", "max_model_len": 8192}, "l4", WorkTree(Path()))
    )
    assert table.hardware == Fitting()
    assert "smallest" not in json.loads(memory_breakdown.render_json([table]))[0]
