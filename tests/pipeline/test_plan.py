"""`gpulint suggest`: every option is better by the same rules, can be written, and says its cost and its trade-off."""

from __future__ import annotations

import json

import contracts
import pytest
import samples
from click.testing import CliRunner
from plans_of_servers import planned, server

from gpulint import cli
from gpulint.report.formats import plan as formats_plan
from gpulint.report.model import Plan, Suggestion

TOO_LARGE = server("meta-llama/Llama-3.1-70B-Instruct", "nvidia-l4", 2)
IDLE = server("Qwen/Qwen2.5-32B-Instruct", "nvidia-h100-80gb", 4, 8)
WASTEFUL = server("google/gemma-2b-it", "nvidia-h100-80gb", 8)
TOO_LONG = server("meta-llama/Llama-3.1-8B-Instruct", "nvidia-l4", length=131072)
TOO_SLOW = server("Qwen/Qwen3-8B", "nvidia-l4", tpot="40ms")
LOADED = server(
    "Qwen/Qwen2.5-7B-Instruct",
    "node.kubernetes.io/instance-type: g6.xlarge",
    prompt_tokens="512",
    output_tokens="256",
    output_tokens_per_s="4000",
)
WRONG = {
    "weights-exceed-memory": TOO_LARGE,
    "gpus-left-idle": IDLE,
    "parallelism-larger-than-needed": WASTEFUL,
    "serving-does-not-fit": TOO_LONG,
    "tpot-below-physics": TOO_SLOW,
    "throughput-likely-missed": LOADED,
}


def answering(plan: Plan, answer: str) -> Suggestion:
    (found,) = [one for one in plan.options if answer in one.answers]
    return found


# ---- the promise


@pytest.mark.parametrize("name", WRONG)
def test_an_option_carried_out_answers_its_rule_and_says_nothing_new(name: str) -> None:
    text = WRONG[name]
    before, found = samples.report(text), planned(text)
    assert name in found.cures
    assert found.options
    for option in found.options:
        after = samples.report(samples.changed(text, option))
        assert after.failures == ()
        for rule in found.cures:
            assert samples.of_rule(after, rule) == [], option.title
        assert samples.newly_said(before, after) == set(), option.title
        assert samples.not_evaluated(after) <= samples.not_evaluated(before), option.title


@pytest.mark.parametrize("name", WRONG)
def test_two_runs_say_the_same_and_no_two_options_are_alike(name: str) -> None:
    first = planned(WRONG[name])
    assert first == planned(WRONG[name])
    assert len({frozenset(one.edits) for one in first.options}) == len(first.options)


# ---- which come first


def test_where_something_fails_the_least_change_at_no_more_cost_comes_first() -> None:
    found = planned(IDLE)
    assert found.options[0].values == {"gpus_per_pod": 4}
    assert "smallest change" in found.options[0].answers


def test_where_money_is_wasted_the_cheapest_comes_first() -> None:
    """A 2.5B network: 4.7 GiB of weights on one L4 of 22 GiB, listed at $0.71 an hour beside $88.49."""
    first = planned(WASTEFUL).options[0]
    assert (first.values["accelerator"], first.values["gpus_per_pod"]) == ("l4", 1)
    assert "cheapest" in first.answers
    assert first.trade_off.startswith("lower memory bandwidth")


def test_an_answer_on_the_same_hardware_changes_no_card_and_no_count() -> None:
    """131,072 tokens of 128 KiB are 16 GiB beside 15 GiB of weights on a card of 22."""
    found = answering(planned(TOO_LONG), "same hardware")
    assert not {"accelerator", "gpus_per_pod", "replicas"} & found.values.keys()


def test_a_network_of_141_gb_is_offered_two_cards_of_96_gb_as_they_are() -> None:
    """70.6e9 weights of 2 bytes are 131 GiB: two cards of 94 GiB hold them, two of 79 GiB leave no room for 8,192 tokens."""
    shapes = [(one.values.get("accelerator"), one.values.get("gpus_per_pod", 2)) for one in planned(TOO_LARGE).options]
    assert ("rtx-pro-6000-se", 2) in shapes


def test_a_time_per_token_is_kept_by_every_option() -> None:
    """8.2e9 weights of 2 bytes in 40 ms need 410 GB/s: an L4 reads 300, so another card, half the bytes or a second one."""
    for option in planned(TOO_SLOW).options:
        assert {"accelerator", "quantization", "tensor_parallel"} & option.values.keys(), option.title


def test_instances_are_added_until_they_carry_the_load() -> None:
    assert all(
        option.values.get("replicas", 1) != 1 or "accelerator" in option.values for option in planned(LOADED).options
    )


def test_a_format_that_loses_accuracy_is_not_offered_beside_the_same_shape_without_it() -> None:
    for text in WRONG.values():
        shapes = [dict(one.values) for one in planned(text).options]
        for shape in shapes:
            plain = {name: value for name, value in shape.items() if name != "quantization"}
            assert plain == shape or plain not in shapes


def test_one_request_at_a_time_is_answered_with_the_batch_that_the_load_needs() -> None:
    text = server(
        "meta-llama/Llama-3.1-8B-Instruct",
        "nvidia-h100-80gb",
        concurrency="16",
        prompt_tokens="1000",
        output_tokens="250",
    )
    found = planned(
        text.replace("            - --max-model-len", "            - --max-num-seqs=1\n            - --max-model-len")
    )
    assert "concurrency-beyond-batch" in found.cures
    assert found.options[0].values == {"max_num_seqs": 16}


def test_a_large_card_bought_for_a_length_that_no_request_has_is_answered_with_a_smaller_one_and_a_shorter_length() -> (
    None
):
    """16 GiB of KV cache for 131,072 tokens; 6 requests of 1,400 tokens take 1 GiB, beside 15 GiB of weights on 22."""
    text = server(
        "meta-llama/Llama-3.1-8B-Instruct",
        "nvidia-a100-80gb",
        length=131072,
        concurrency="6",
        prompt_tokens="1200",
        output_tokens="200",
    )
    first = planned(text).options[0]
    assert first.values["accelerator"] == "l4"
    assert 2 * 1400 <= first.values["max_model_len"] < 32768  # type: ignore[operator]
    assert "longer requests are rejected" in first.trade_off


def test_a_slower_card_is_not_offered_where_its_time_per_token_cannot_be_told() -> None:
    """Without the length of requests only the reading of weights is known: 4.8 ms on an H100, 50 on an L4."""
    for option in planned(server("Qwen/Qwen3-8B", "nvidia-h100-80gb", tpot="80ms")).options:
        assert option.values.get("gpus_per_pod", 1) != 1 or "accelerator" not in option.values, option.title


def test_a_card_that_weights_nearly_fill_is_not_offered_where_nothing_tells_the_rest() -> None:
    """46.7e9 weights of 2 bytes are 87 GiB; TGI takes what it needs beside them from the 8 that a card of 95 has left."""
    text = server("mistralai/Mixtral-8x7B-Instruct-v0.1", "nvidia-a100-80gb", length=4096)
    served = text.replace("vllm/vllm-openai:v0.11.0", "ghcr.io/huggingface/text-generation-inference:3.3.5")
    spoken = served.replace("--model=", "--model-id=").replace("--max-model-len", "--max-total-tokens")
    for option in planned(spoken.replace("--tensor-parallel-size", "--num-shard")).options:
        whole = option.values.get("gpus_per_pod", 1) == 1 and "quantization" not in option.values
        assert not (whole and option.values.get("accelerator") == "rtx-pro-6000-se"), option.title


# ---- when nothing is wrong, or nothing can be told


def test_a_spec_of_the_right_size_gets_nothing_dearer() -> None:
    found = planned(server("meta-llama/Llama-3.1-8B-Instruct", "nvidia-l4"))
    assert found.cures == ()
    for option in found.options:
        assert option.cost_after_usd_per_hour < option.cost_before_usd_per_hour  # type: ignore[operator]
        assert "smallest change" not in option.answers


def test_a_card_that_a_team_forbids_is_never_offered() -> None:
    from gpulint.catalog.offers import Available

    found = planned(TOO_LARGE, available=Available(forbidden=("rtx-pro-6000-se",)))
    assert found.options
    assert all(one.values.get("accelerator") != "rtx-pro-6000-se" for one in found.options)


def test_without_a_known_network_what_is_missing_is_said() -> None:
    found = planned(server("acme/unheard-of", "nvidia-l4"))
    assert found.options == ()
    assert "architecture" in found.needs


RUN = """\
apiVersion: gpulint/v1
kind: TrainingJob
metadata: {name: sft}
spec:
  objective: {time-to-train: 400h, tokens: 10B}
  roles:
    - name: trainer
      engine: torchtitan
      checkpoint: meta-llama/Llama-3.1-8B
      accelerator: h100-sxm-80gb
      instance_type: p5.48xlarge
      gpus_per_pod: 8
      pods_per_replica: 1
      tensor_parallel: 1
      pipeline_parallel: 1
      context_parallel: 1
      micro_batch_size: 1
      global_batch_size: 8
      sequence_length: 4096
      training_dtype: bfloat16
      parameter_dtype: float32
      sharding: fsdp
      optimizer: adamw-fused
      activation_checkpointing: full
      packed: true
"""


def test_a_run_that_has_time_may_take_less_power_and_says_what_that_costs_in_speed() -> None:
    """A limit of 80 % of a board slows a run by less than a fifth and takes a fifth of its power away."""
    capped = {one.values["power_cap_w"]: one for one in planned(RUN).options if "power_cap_w" in one.values}
    assert 560 in capped
    assert capped[560].trade_off
    shown = {fact.name: fact.values.expected for fact in capped[560].facts}
    today = {fact.name: fact.values.expected for fact in planned(RUN).facts}
    assert shown["power_w"] == pytest.approx(0.8 * today["power_w"])  # type: ignore[operator]
    assert 1.0 < shown["step_s"] / today["step_s"] < 1.25  # type: ignore[operator]


def test_where_no_file_names_the_card_the_smallest_hardware_is_the_answer() -> None:
    """70.6e9 weights of 2 bytes are 131 GiB over two ranks: two cards of 80 GB are the least that two of a kind can be."""
    text = "".join(line for line in TOO_LARGE.splitlines(keepends=True) if "nodeSelector" not in line)
    found = planned(text)
    assert found.options == ()
    assert found.smallest[0].gpus == 2
    assert "L4 24GB" in found.too_small


# ---- the command


def write(tmp_path: object, text: str) -> str:
    path = f"{tmp_path}/spec.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["suggest", *words])
    return result.exit_code, result.output


def test_the_json_form_is_the_contract(tmp_path: object) -> None:
    code, output = run(write(tmp_path, TOO_LARGE), "--format", "json")
    assert code == 0
    contracts.validator("plan").validate(json.loads(output))


def test_a_line_chooses_the_finding_that_stands_there(tmp_path: object) -> None:
    text = server("meta-llama/Llama-3.1-70B-Instruct", "nvidia-l4", 2, 4)
    line = 1 + text.splitlines().index("            - --tensor-parallel-size=2")
    found = planned(text, line)
    assert "gpus-left-idle" in found.cures + found.leaves


def test_a_line_chooses_its_workload_among_several() -> None:
    text = IDLE + "---\n" + WASTEFUL.replace("name: chat", "name: filter")
    second = 1 + text.splitlines().index("  name: filter")
    assert planned(text, second).workload == "filter"
    assert planned(text, 2).workload == "chat"


def test_each_of_two_workloads_with_the_same_defect_has_its_own_options() -> None:
    """What stays wrong of the one is no objection to what answers the other."""
    text = IDLE + "---\n" + IDLE.replace("name: chat", "name: other")
    for name in ("chat", "other"):
        found = planned(text, 1 + text.splitlines().index(f"  name: {name}"))
        assert (found.workload, found.options[0].values) == (name, {"gpus_per_pod": 4})
    for finding in samples.of_rule(samples.report(text), "gpus-left-idle"):
        assert finding.suggestions[0].values == {"gpus_per_pod": 4}


def test_a_file_without_workloads_is_misuse(tmp_path: object) -> None:
    code, output = run(write(tmp_path, "a: 1\n"))
    assert code == 2
    assert "has no workload" in output


def test_a_missing_file_is_misuse(tmp_path: object) -> None:
    code, output = run(f"{tmp_path}/nowhere.yaml:3")
    assert code == 2
    assert "nowhere.yaml" in output


def test_the_table_says_price_headroom_loss_and_places() -> None:
    text = formats_plan.render_text([planned(WASTEFUL)])
    assert "fixes parallelism-larger-than-needed" in text
    assert "1 × L4 24GB" in text
    assert "nvidia-h100-80gb → nvidia-l4" in text
    assert "prices: list price gcp us-central1" in text


# ---- what real specs showed


def cards_offered(plan: Plan) -> set[object]:
    return {one.values["accelerator"] for one in plan.options if "accelerator" in one.values}


SLURM = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gres=gpu:h100:2
vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --tensor-parallel-size 2
"""


def test_a_cluster_of_ones_own_is_offered_no_card_that_nobody_says_it_has() -> None:
    """Kempner's scripts ask Slurm for --constraint=h100: the catalog's RTX PRO 6000 is no node of theirs."""
    from gpulint.catalog.offers import Available

    assert cards_offered(planned(SLURM)) == set()
    assert cards_offered(planned(SLURM, available=Available(accelerators=("h100-sxm-80gb", "l40s")))) == {"l40s"}


def test_a_machine_holds_the_cores_that_the_pod_asks_for() -> None:
    """a2-ultragpu-8g has 96 vCPUs for its 8 A100 80GB, a3-highgpu-8g 208: cloud.google.com/compute/docs/gpus."""
    text = server("meta-llama/Llama-3.1-70B-Instruct", "nvidia-h100-80gb", 8)
    small = text.replace("limits: {", 'requests: {cpu: "146"}, limits: {cpu: "146", ')
    assert "a100-sxm4-80gb" in cards_offered(planned(text))
    assert "a100-sxm4-80gb" not in cards_offered(planned(small))


def test_a_named_machine_is_replaced_by_one_with_the_memory_that_the_pod_asks_for() -> None:
    """g6.xlarge has 16 GiB, g6.4xlarge 64: aws.amazon.com/ec2/instance-types/g6."""
    text = server("Qwen/Qwen2.5-3B-Instruct", "node.kubernetes.io/instance-type: g6e.2xlarge")
    asked = text.replace("limits: {", 'requests: {memory: 48Gi, cpu: "6"}, limits: {memory: 54Gi, ')
    written = {
        edit.new for one in planned(asked).options for edit in one.edits if one.values.get("accelerator") == "l4"
    }
    assert "g6.xlarge" not in written
    assert "g6.4xlarge" in written


def test_a_card_that_only_a_rule_on_waste_refuses_is_not_taken_for_too_slow() -> None:
    """A 2.5B network needs no FP8 on one L4, which reads its 5 GB in 17 ms, when no time per token is asked for."""
    for option in planned(WASTEFUL).options:
        assert option.values.get("accelerator") != "l4" or "quantization" not in option.values, option.title


def sglang(card: str) -> str:
    text = server("zai-org/GLM-4.5-FP8", card, 8)
    moved = text.replace("vllm/vllm-openai:v0.11.0", "lmsysorg/sglang:v0.5.3")
    command = "command: [python3, -m, sglang.launch_server]\n          args:"
    spoken = moved.replace("args:", command, 1).replace("--model=", "--model-path=")
    return spoken.replace("--max-model-len", "--context-length").replace("--tensor-parallel-size", "--tp-size")


def test_fp8_weights_of_an_engine_without_weight_only_kernels_stay_on_cards_that_compute_in_them() -> None:
    assert cards_offered(planned(sglang("nvidia-h100-80gb"))).isdisjoint({"a100-sxm4-80gb", "a100-sxm4-40gb"})


def layers_of_several_kinds(checkpoint: str) -> Plan:
    return planned(server(checkpoint, "nvidia-h100-80gb", 8).replace("v0.11.0", "v0.12.0"))


def test_sequences_are_shared_out_where_every_layer_keeps_the_same_cache() -> None:
    """vLLM before its pull request 40996 asserts a decode context of 1 where layers keep caches of several kinds."""
    for option in layers_of_several_kinds("google/gemma-3-27b-it").options:
        assert "decode_context_parallel" not in option.values, option.title


def test_a_card_that_is_not_named_has_no_price() -> None:
    found = planned(IDLE.replace("cloud.google.com/gke-accelerator: nvidia-h100-80gb", "team: chat"))
    assert found.options
    assert {(one.cost_after_usd_per_hour, one.prices) for one in found.options} == {(None, "")}


def test_a_name_that_the_platform_does_not_list_is_a_clusters_own() -> None:
    """CoreWeave's H100_NVLINK_80GB in a SkyPilot task: nobody lists what else that cluster has."""
    text = (
        "resources:\n  accelerators: {}:1\n  image_id: docker:vllm/vllm-openai:latest\nservice:\n"
        "  readiness_probe: /health\n  replicas: 2\nrun: |\n"
        "  python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-1.5B-Instruct --max-model-len 4096\n"
    )
    assert "l4" in cards_offered(planned(text.format("H100")))
    assert cards_offered(planned(text.format("H100_NVLINK_80GB"))) == set()
