"""A card shared in turns: offered to one small server without an objective, where the file can say it."""

from __future__ import annotations

import pytest
import samples
from plans_of_servers import GKE, planned, server

from gpulint.catalog import gpu_sharing
from gpulint.facts.model import Facts
from gpulint.pipeline import evaluate
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Suggestion
from gpulint.sizing.cost import price
from gpulint.source.repository import Source
from gpulint.suggestions.edits import apply

EMBEDDING = server("Qwen/Qwen3-Embedding-0.6B", "nvidia-l4")
IN_TURNS = "cloud.google.com/gke-gpu-sharing-strategy: time-sharing, cloud.google.com/gke-max-shared-clients-per-gpu: "
OWN = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {name: embeddings}
spec:
  roles:
    - name: server
      engine: vllm
      engine_version: "0.11.0"
      checkpoint: Qwen/Qwen3-Embedding-0.6B
      accelerator: l4
      cloud: aws
      gpus_per_pod: 1
      replicas: 1
      max_model_len: 8192
"""
OWN_SHARED = f"{OWN}      sharing: time-sharing by 2 clients\n      gpu_memory_utilization: 0.4\n"


def labelled(more: str, checkpoint: str = "Qwen/Qwen3-Embedding-0.6B") -> str:
    return server(checkpoint, f"{GKE}: nvidia-l4, {more}")


def shared(text: str) -> dict[object, Suggestion]:
    """The options that share a card, by what they write."""
    return {one.values["sharing"]: one for one in planned(text).options if "sharing" in one.values}


def read(text: str) -> Facts:
    source = Source(samples.find_path(text), text.encode())
    (found,) = evaluate.file(source, samples.ExampleRepository(), ResolvedPolicy(tuple(load_shipped().values()))).roles
    return found.facts


def written(text: str, one: Suggestion) -> str:
    path = samples.find_path(text)
    return apply.apply_edits(one, {path: text.encode()})[path].decode()


# ---- what is offered


def test_a_small_encoder_alone_on_a_card_may_share_it_with_one_or_three_others() -> None:
    """0.6e9 weights of 2 bytes are 1.1 GiB, and 8,192 tokens of 112 KiB 0.9; a quarter of 90 % of 22 GiB is 5, an eighth 2.5."""
    offered = shared(EMBEDDING)
    assert {words: one.values["gpu_memory_utilization"] for words, one in offered.items()} == {
        "time-sharing by 4 clients": 0.22,
        "time-sharing by 2 clients": 0.45,
    }


def test_it_names_its_trade_off_and_nothing_of_its_speed() -> None:
    one = shared(EMBEDDING)["time-sharing by 4 clients"]
    assert one.trade_off.startswith("no isolation and a varying speed")
    assert "start at the same time" in one.trade_off
    assert {fact.name for fact in one.facts} <= {"headroom", "kv_cache_tokens"}
    assert not one.is_safe


def test_it_costs_its_part_of_the_card() -> None:
    """An L4 of g2-standard-4 is listed at $0.70683 an hour: a quarter is $0.1767."""
    one = shared(EMBEDDING)["time-sharing by 4 clients"]
    assert one.cost_before_usd_per_hour == pytest.approx(0.70683)
    assert one.cost_after_usd_per_hour == pytest.approx(0.1767075)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EMBEDDING, id="GKE"),
        pytest.param(server("Qwen/Qwen2.5-1.5B-Instruct", "nvidia-l4"), id="a small generator"),
        pytest.param(OWN, id="gpulint's own spec"),
        pytest.param(OWN_SHARED, id="another number in gpulint's own spec"),
    ],
)
def test_each_is_written_read_again_and_says_nothing_new(text: str) -> None:
    offered = shared(text)
    assert offered
    before = samples.report(text)
    for words, one in offered.items():
        changed = written(text, one)
        again, after = read(changed), samples.report(changed)
        assert again.expected("sharing") == words
        assert again.expected("gpu_memory_utilization") == one.values["gpu_memory_utilization"]
        assert again.scenarios("headroom_bytes").worst > 0  # type: ignore[union-attr, operator]
        assert after.failures == ()
        assert samples.newly_said(before, after) == set()


def test_another_number_of_clients_is_written_where_one_stands() -> None:
    text = labelled(f'{IN_TURNS}"2"').replace(
        "--max-model-len", "--gpu-memory-utilization=0.4\n            - --max-model-len"
    )
    one = shared(text)["time-sharing by 4 clients"]
    changed = written(text, one)
    assert 'gke-max-shared-clients-per-gpu: "4"' in changed
    assert "--gpu-memory-utilization=0.22" in changed


def test_a_whole_smaller_card_comes_before_a_share_of_a_large_one() -> None:
    first = planned(server("google/gemma-2b-it", "nvidia-tesla-a100")).options[0]
    assert "sharing" not in first.values


# ---- what is not


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(server("Qwen/Qwen3-Embedding-0.6B", "nvidia-l4", ttft="50ms"), id="a time is wanted"),
        pytest.param(
            server("Qwen/Qwen2.5-1.5B-Instruct", "nvidia-l4", prompt_tokens="512", output_tokens="64", concurrency="4"),
            id="requests at once are wanted",
        ),
        pytest.param(server("Qwen/Qwen2.5-1.5B-Instruct", "nvidia-l4", 2), id="two cards"),
        pytest.param(server("Qwen/Qwen3-8B", "nvidia-h100-80gb"), id="a network that is not small"),
        pytest.param(server("Qwen/Qwen2.5-3B-Instruct", "nvidia-tesla-t4"), id="weights that a part would not hold"),
        pytest.param(EMBEDDING.replace("replicas: 1", "replicas: 3"), id="copies that would start at once"),
        pytest.param(EMBEDDING.replace(":v0.11.0", ":v0.8.5"), id="a release that counts what others hold"),
        pytest.param(EMBEDDING.replace(":v0.11.0", ":latest"), id="a release that is not known"),
        pytest.param(
            server("Qwen/Qwen3-Embedding-0.6B", "node.kubernetes.io/instance-type: g6.xlarge"),
            id="a label that cannot say it",
        ),
        pytest.param(
            server("Qwen/Qwen3-Embedding-0.6B", f"{GKE}: nvidia-h100-80gb, cloud.google.com/gke-gpu-partition-size: 1g.10gb"),
            id="a slice",
        ),
        pytest.param(labelled(f'{IN_TURNS.replace("time-sharing", "mps")}"2"'), id="MPS, which limits memory itself"),
    ],
)  # fmt: skip
def test_it_is_not_offered_where_it_would_not_hold(text: str) -> None:
    assert shared(text) == {}


# ---- how it is read, and what it costs


def test_strategy_and_number_are_read_together_in_either_order() -> None:
    turned = (
        'cloud.google.com/gke-max-shared-clients-per-gpu: "2", cloud.google.com/gke-gpu-sharing-strategy: time-sharing'
    )
    assert read(labelled(f'{IN_TURNS}"2"')).expected("sharing") == "time-sharing by 2 clients"
    assert read(labelled(turned)).expected("sharing") == "time-sharing by 2 clients"
    assert read(labelled('cloud.google.com/gke-max-shared-clients-per-gpu: "2"')).expected("sharing") == "2 clients"
    assert read(labelled("cloud.google.com/gke-gpu-sharing-strategy: mps")).expected("sharing") == "mps"


@pytest.mark.parametrize(
    ("words", "strategy", "clients"),
    [
        ("time-sharing by 4 clients", "time-sharing", 4),
        ("8 clients", "", 8),
        ("mps", "mps", None),
        ("time-slicing in some pool", "time-slicing in some pool", None),
        ("0 clients", "", None),
    ],
)
def test_words_tell_strategy_and_number(words: str, strategy: str, clients: int | None) -> None:
    assert (gpu_sharing.parse_strategy(words), gpu_sharing.parse_clients(words)) == (strategy, clients)


def test_a_share_is_that_of_its_clients_of_a_card_or_of_its_slice() -> None:
    assert price.slice_share("l4", None, "8 clients") == 0.125
    assert price.slice_share("h100-sxm-80gb", "3g.40gb", "time-sharing by 4 clients") == 0.125
    with pytest.raises(LookupError):
        price.slice_share("l4", None, "time-slicing")
