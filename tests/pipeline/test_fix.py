"""Fixes: what is written stands at its place and nowhere else, and what has no exact place is left alone with a reason."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint import cli
from gpulint.pipeline import check, fix
from gpulint.pipeline.plan import plan_file
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Edit, Failure, Finding, Location, Report, Suggestion
from gpulint.source import documents
from gpulint.source.repository import Source, WorkTree
from gpulint.suggestions import fixes, verification
from gpulint.suggestions.edits import apply, splices
from gpulint.suggestions.edits.apply import Files
from gpulint.suggestions.edits.splices import Inexact, TextEdit
from gpulint.suggestions.fixes import AppliedFix, Outcome
from gpulint.suggestions.verification import Evaluate

Run = Callable[..., Result]

CHAT = """\
# the chat service
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 1   # one is enough
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args:
            - '--model=meta-llama/Llama-3.1-8B-Instruct'
            - '--max-num-batched-token=8192'   # as measured
            - '--max-model-len=8192'   # größte Anfrage
          resources:
            limits:
              nvidia.com/gpu: '2'   # keep in step
            requests: {nvidia.com/gpu: "2"}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
CHAT_FIXED = (
    CHAT.replace("gpu: '2'", "gpu: '1'").replace('gpu: "2"', 'gpu: "1"').replace("batched-token=", "batched-tokens=")
)
SMALL = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: {card}}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
{arguments}
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""


def small(arguments: str, gpus: object = 2, card: str = "nvidia-l4") -> str:
    lines = "\n".join(f"      {line}".rstrip() for line in arguments.strip("\n").splitlines())
    return SMALL.format(arguments=lines, gpus=gpus, card=card)


def evaluator(others: Files | None = None) -> Evaluate:
    rules = tuple(load_shipped().values())
    return check.build_evaluator(
        samples.ExampleRepository({}), ResolvedPolicy(rules, tuple(load_shipped())), contents=others
    )


def outcome(text: str, unsafe: bool = False, path: str = "spec.yaml") -> Outcome:
    return fixes.fix_file(path, {path: text.encode()}, evaluator(), unsafe)


def fixed(text: str, unsafe: bool = False, path: str = "spec.yaml") -> str:
    found = outcome(text, unsafe, path)
    assert not found.skipped, found.skipped
    return found.contents[path].decode()


def reasons(text: str, unsafe: bool = False, path: str = "spec.yaml") -> str:
    """Why nothing was written."""
    found = outcome(text, unsafe, path)
    assert not found.contents
    return "\n".join(one.reason for one in found.skipped)


def test_a_fault_while_fixes_are_computed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Failure("spec.yaml", "checking the file", "OSError: disk")
    monkeypatch.setattr(fixes, "fix_file", lambda *_: Outcome({}, failures=(fault,)))
    rules = ResolvedPolicy(tuple(load_shipped().values()), tuple(load_shipped()))
    run = fix.compute([Source("spec.yaml", CHAT.encode())], WorkTree(tmp_path), rules, unsafe=False)
    assert run.report.failures == (fault,)
    assert fix.check_again(run, WorkTree(tmp_path), rules).failures == (fault,)


# ---- must be fixed


def test_a_count_is_changed_in_limits_and_requests_and_a_word_where_it_stands() -> None:
    assert fixed(CHAT) == CHAT_FIXED


@pytest.mark.parametrize(
    "encoded",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.encode(), id="byte order mark"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), id="both"),
        pytest.param(lambda text: text.rstrip("\n").encode(), id="no newline at the end"),
        pytest.param(lambda text: b"\xff\xfe" + text.encode("utf-16-le"), id="UTF-16, little endian"),
        pytest.param(lambda text: b"\xfe\xff" + text.encode("utf-16-be"), id="UTF-16, big endian"),
        pytest.param(lambda text: text.replace("\n", "\n\n").encode(), id="blank lines"),
        pytest.param(lambda text: text.replace("   #", "\t#").encode(), id="tabs before comments"),
        pytest.param(lambda text: (text + "---\n" + text.replace("chat", "talk")).encode(), id="two documents"),
    ],
)
def test_bytes_outside_the_changes_stay_as_they_are(encoded: Callable[[str], bytes]) -> None:
    found = fixes.fix_file("spec.yaml", {"spec.yaml": encoded(CHAT)}, evaluator(), unsafe=False)
    assert found.contents == {"spec.yaml": encoded(CHAT_FIXED)}


def test_an_argument_goes_behind_the_last_one_of_a_list_in_its_quotes_and_before_no_comment() -> None:
    text = small(
        """
args:
  - "--model=Qwen/Qwen2.5-7B-Instruct"  # the small one
  - "--max-model-len=8192"  # enough
env: [{name: HOME, value: /root}]
""",
        gpus=2,
    )
    (only,) = samples.of_rule(samples.report(text), "gpus-left-idle")
    copies = next(one for one in only.suggestions if one.edits[0].how == "argument")
    after = apply.apply_edits(copies, {"spec.yaml": text.encode()})["spec.yaml"].decode()
    (edit,) = copies.edits
    assert after == text.replace('8192"  # enough\n', f'8192"  # enough\n        - "{edit.new}"\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("args: [--a=1, --last=2]", "args: [--a=1, --last=2, --new=3]", id="flow list"),
        pytest.param("args: ['--a=1','--last=2']", "args: ['--a=1','--last=2', '--new=3']", id="flow list, quoted"),
        pytest.param(
            "args: [\n  --a=1,\n  --last=2\n]", "args: [\n  --a=1,\n  --last=2,\n  --new=3\n]", id="flow lines"
        ),
        pytest.param("args:\n- --last=2 # c\n- x", "args:\n- --last=2 # c\n- --new=3\n- x", id="block list"),
        pytest.param("args:\r\n- --last=2\r\nb: 1", "args:\r\n- --last=2\r\n- --new=3\r\nb: 1", id="CRLF"),
        pytest.param("args:\n- --last=2", "args:\n- --last=2\n- --new=3", id="last line without an end"),
        pytest.param(
            "run: |\n  serve \\\n    --last=2\n",
            "run: |\n  serve \\\n    --last=2 \\\n    --new=3\n",
            id="lines of a script",
        ),
        pytest.param(
            "run: |\n  serve \\\n    --last=2 \\\n    | tee x\n",
            "run: |\n  serve \\\n    --last=2 \\\n    --new=3 \\\n    | tee x\n",
            id="lines of a script that goes on",
        ),
        pytest.param("run: serve --last=2 # c", "run: serve --last=2 --new=3 # c", id="plain command"),
        pytest.param('run: "serve --last=2"', 'run: "serve --last=2 --new=3"', id="quoted command"),
        pytest.param(
            "run: |\n  serve --last=2; ls\n", "run: |\n  serve --last=2 --new=3; ls\n", id="before a semicolon"
        ),
        pytest.param("run: >\n  serve\n  --last=2\n", "run: >\n  serve\n  --last=2 --new=3\n", id="folded"),
    ],
)
def test_an_argument_is_written_as_the_one_before_it(before: str, after: str) -> None:
    assert edited(before, "--last=2", "--new=3", "argument") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("args:\n- --last=2\n", 'args:\n- --last=2\n- --new\n- "3"\n', id="block list"),
        pytest.param("args:\n- '--last=2'\n", "args:\n- '--last=2'\n- '--new'\n- '3'\n", id="quoted block list"),
        pytest.param("args: [--last=2]\n", 'args: [--last=2, --new, "3"]\n', id="flow list"),
        pytest.param("run: serve --last=2\n", "run: serve --last=2 --new 3\n", id="command"),
    ],
)
def test_a_flag_and_its_value_in_two_words_are_two_items_and_both_texts(before: str, after: str) -> None:
    word = "'--last=2'" if "'" in before else "--last=2"
    assert edited(before, word, "--new 3", "argument") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a:\n  near: 1  # c\nb: 2\n", "a:\n  near: 1  # c\n  new: 3\nb: 2\n", id="below"),
        pytest.param("near: 1", "near: 1\nnew: 3", id="no newline at the end"),
        pytest.param("a: {near: 1, x: 2}", "a: {near: 1, new: 3, x: 2}", id="flow"),
        pytest.param("- near: 1\n- x\n", "- near: 1\n  new: 3\n- x\n", id="first key of an item"),
        pytest.param("near:\n  deep: 1\nb: 2\n", "near:\n  deep: 1\nnew: 3\nb: 2\n", id="after what stands below it"),
        pytest.param("a:\r\n  near: 1\r\n", "a:\r\n  near: 1\r\n  new: 3\r\n", id="CRLF"),
    ],
)
def test_a_key_goes_beside_the_other_in_the_same_mapping(before: str, after: str) -> None:
    assert edited(before, "near", "new: 3", "key") == after


def test_a_limit_is_written_like_the_request_beside_it() -> None:
    text = small("args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]", gpus=1, card="nvidia-l4").replace(
        "resources: {limits: {nvidia.com/gpu: 1}}", "resources:\n        requests:\n          nvidia.com/gpu: '1'"
    )
    text = text.replace("cloud.google.com/gke-accelerator: nvidia-l4", "nvidia.com/gpu.product: NVIDIA-L4")
    assert fixed(text) == text.replace(
        "          nvidia.com/gpu: '1'", "          nvidia.com/gpu: '1'\n        limits:\n          nvidia.com/gpu: '1'"
    )


def test_a_selector_is_changed_only_when_it_may_give_something_up() -> None:
    text = small("args: [--model=google/gemma-2b-it, --tensor-parallel-size=8]", gpus=8, card="nvidia-h100-80gb")
    assert not outcome(text).contents
    assert outcome(text).unsafe
    assert outcome(text, unsafe=True).contents


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("--max-num-seq=8", "--max-num-seqs=8", id="abbreviated"),
        pytest.param('"--max-num-seqs 8"', '"--max-num-seqs=8"', id="not split"),
        pytest.param("--tensor-paralel-size=1", "--tensor-parallel-size=1", id="misspelt"),
    ],
)
def test_the_right_word_takes_the_place_of_a_wrong_one(before: str, after: str) -> None:
    text = small(f"args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, {before}]", gpus=1)
    assert fixed(text, unsafe=True) == text.replace(before, after)


def test_a_variable_that_says_nothing_is_left_out_with_its_name() -> None:
    text = small(
        """
args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]
env:
  # where weights are kept
  - name: HF_HOME
    value: /models
  - name: CUDA_VISIBLE_DEVICES
    value: "0"
  - name: HF_HUB_OFFLINE  # always
    value: "1"
""",
        gpus=1,
    )
    assert fixed(text) == text.replace('        - name: CUDA_VISIBLE_DEVICES\n          value: "0"\n', "")


SBATCH = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:8   # a whole node
export NCCL_ASYNC_ERROR_HANDLING=1
srun python -m torch.distributed.launch --nproc_per_node 8 \\
    train.py
"""


def test_words_of_a_script_are_changed_where_they_stand() -> None:
    after = fixed(SBATCH, unsafe=True, path="train.sbatch")
    assert "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n" in after
    assert "srun python -m torch.distributed.run --nproc_per_node 8 \\\n    train.py\n" in after
    assert after.startswith("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:8   # a whole node\n")


HIDDEN = """\
#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --gres=gpu:4     # a whole node
export CUDA_VISIBLE_DEVICES=0
python run_clm.py --model_name_or_path gpt2 --do_train --per_device_train_batch_size 4 --output_dir out
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("--gres=gpu:4", "--gres=gpu:1", id="gres"),
        pytest.param("--gres=gpu:a100:4", "--gres=gpu:a100:1", id="gres with a product"),
        pytest.param("--gpus-per-node=4", "--gpus-per-node=1", id="a count alone"),
        pytest.param("--gpus-per-node=h100:4", "--gpus-per-node=h100:1", id="a count behind a product"),
    ],
)
def test_a_count_of_a_batch_job_keeps_what_stands_before_it(before: str, after: str) -> None:
    text = HIDDEN.replace("--gres=gpu:4", before)
    assert fixed(text, path="train.sbatch") == text.replace(before, after)


JSON = """\
{
  "train_batch_size": 8,
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {
    "stage": 3,
    "stage3_gather_fp16_weights_on_model_save": true
  }
}
"""


def test_a_setting_of_a_json_file_gets_its_new_name() -> None:
    after = fixed(JSON, unsafe=True, path="ds_config.json")
    assert after == JSON.replace("gather_fp16_weights", "gather_16bit_weights")


def test_the_report_tells_the_characters_of_each_change() -> None:
    """A program that reads the report needs no parser of ours to carry a change out."""
    text = CHAT.replace("gke-accelerator: nvidia-h100-80gb", "gke-accelerator: nvidia-l4")
    for finding in samples.report(text).open:
        for one in finding.suggestions:
            exact = [edit.exact for edit in one.edits]
            assert None not in exact
            spans = [TextEdit(*splices.find_span(text, found.location), found.text) for found in exact if found]
            assert (
                splices.apply(text, spans).encode() == apply.apply_edits(one, {"spec.yaml": text.encode()})["spec.yaml"]
            )


def test_what_is_fixed_is_not_found_again() -> None:
    after = fixed(CHAT)
    assert {one.rule for one in samples.report(CHAT).open} == {"gpus-left-idle", "argument-abbreviated"}
    assert not samples.report(after).open


# ---- must be left alone


ARGUMENTS = "args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]"


def test_limits_that_an_alias_repeats_are_not_changed() -> None:
    text = small(ARGUMENTS).replace("limits: {nvidia.com/gpu: 2}", "limits: &gpus {nvidia.com/gpu: 2}, requests: *gpus")
    (finding,) = samples.of_rule(samples.report(text), "gpus-left-idle")
    assert all("gpus_per_pod" not in one.values for one in finding.suggestions)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "&gpus" in line)
    column = text.splitlines()[line - 1].index("gpu: 2}") + len("gpu: ") + 1
    asked = Edit("gpus_per_pod", Location("spec.yaml", line, column, line, column + 1), "2", "1")
    with pytest.raises(Inexact, match="anchor that is used elsewhere"):
        apply.apply_edits(Suggestion("", (asked,)), {"spec.yaml": text.encode()})


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("# Code generated by a tool. DO NOT EDIT.\n", id="generated"),
        pytest.param("# This file is auto-generated\n", id="generated automatically"),
        pytest.param("---\n# Source: chat/templates/deployment.yaml\n", id="rendered by helm"),
    ],
)
def test_what_a_tool_made_is_left_alone(head: str) -> None:
    assert "is a generated file" in reasons(head + CHAT)


@pytest.mark.parametrize("head", ["# generate load with hey\n", "# edit the count below\n", "# Source: our wiki\n"])
def test_a_comment_that_only_sounds_like_it_holds_nothing_up(head: str) -> None:
    assert fixed(head + CHAT) == head + CHAT_FIXED


@pytest.mark.parametrize(
    ("before", "word", "reason"),
    [
        pytest.param("x: &a 2\ny: *a", "2", "anchor", id="an anchor"),
        pytest.param("x: &a {n: 2}\ny: {<<: *a}", "2", "anchor", id="a merged mapping"),
        pytest.param("x: &a 2\ny: *a", "*a", "alias", id="an alias"),
        pytest.param("x: '{{ gpus }} 2'", "2", "template expression", id="a template's line"),
        pytest.param("# gpulint: gpus=2\nx: 3", "2", "", id="a hint in a comment"),
        pytest.param("metadata: {annotations: {gpulint/gpus: '2'}}", "2", "hint", id="a hint in an annotation"),
        pytest.param("run: |\n  N=2\n  serve $N ${N}", "2", "value of N", id="a variable used twice"),
        pytest.param("env: {N: '2'}\nrun: serve $N $N", "2", "value of N", id="an environment used twice"),
        pytest.param("env:\n- name: N\n  value: '2'\nrun: [$(N), $(N)]", "2", "value of N", id="a pod's variable"),
        pytest.param("run: serve ${N:-2}", "2", "caller may set", id="a default"),
        pytest.param("run: serve $GPUS", "$GPUS", "variable", id="a variable"),
    ],
)
def test_a_value_that_others_share_or_that_runs_nothing_is_not_replaced(before: str, word: str, reason: str) -> None:
    with pytest.raises(Inexact, match=reason):
        edited(before, word, "4", "replace", old=word)


@pytest.mark.parametrize(
    ("before", "new", "how"),
    [
        pytest.param("args:\n- - near\n", "--new=3", "argument", id="a list in a list"),
        pytest.param("args:\n- |\n  near\n", "--new=a;b", "argument", id="a word that a shell takes apart"),
        pytest.param("run: serve near\\\n", "--new=3", "argument", id="a word that goes on"),
        pytest.param("near: 1\nnew: 2", "new: 3", "key", id="a key that is there"),
        pytest.param("near: |\n  a\n\n", "new: 3", "key", id="beside a block of text"),
        pytest.param("a: near", "new: 3", "key", id="no key"),
        pytest.param("a:\n- name: near\n  value: 1\n", "", "remove", id="the only entry"),
        pytest.param("a: [{name: near}, {name: x}]\n", "", "remove", id="no line of its own"),
        pytest.param("a:\n- name: near # c\n- name: x\n", "", "remove", id="beside a comment"),
        pytest.param("a:\n- name: x\n- name: near", "", "remove", id="the last line"),
    ],
)
def test_an_addition_or_a_removal_without_an_exact_place_is_refused(before: str, new: str, how: str) -> None:
    with pytest.raises(Inexact):
        edited(before, "near", new, how)


def test_a_suppressed_finding_is_not_fixed() -> None:
    text = CHAT.replace("# as measured", "# gpulint: ignore[argument-abbreviated] our fork has it")
    assert "batched-token=" in fixed(text)


def test_a_place_in_a_file_that_was_not_given_is_left_alone() -> None:
    place = Location("other.yaml", 1, 1, 1, 2, "2")
    one = Suggestion("less", (Edit("gpus_per_pod", place, "2", "1"),))
    with pytest.raises(Inexact, match="not among the files to fix"):
        apply.apply_edits(one, {"spec.yaml": b"2"})


def test_a_fix_that_brings_another_finding_is_dropped() -> None:
    (finding, *_) = samples.of_rule(samples.report(CHAT), "gpus-left-idle")
    (count,) = (edit for edit in finding.suggestions[0].edits if edit.location and edit.location.line == 19)
    half = Suggestion("limits only", (count,), values={"gpus_per_pod": 1})
    with pytest.raises(Inexact, match="would fire"):
        verification.apply_verified(finding, half, "spec.yaml", {"spec.yaml": CHAT.encode()}, evaluator())


def test_a_fix_after_which_the_finding_stays_is_dropped() -> None:
    (finding, *_) = samples.of_rule(samples.report(CHAT), "gpus-left-idle")
    edits = tuple(edit._replace(new="4") for edit in finding.suggestions[0].edits)
    with pytest.raises(Inexact, match="the finding would remain"):
        verification.apply_verified(
            finding,
            Suggestion("more", edits, values={"gpus_per_pod": 4}),
            "spec.yaml",
            {"spec.yaml": CHAT.encode()},
            evaluator(),
        )


@pytest.mark.parametrize(
    ("one", "safe"),
    [
        pytest.param(Suggestion("x", ()), True, id="gives nothing up"),
        pytest.param(Suggestion("x", (), trade_off="speed"), False, id="has a trade-off"),
        pytest.param(Suggestion("x", (), (), "", 1.0, 2.0), False, id="costs more"),
        pytest.param(Suggestion("x", (), (), "", 2.0, 1.0), True, id="costs less"),
        pytest.param(Suggestion("x", (Edit("gpus_per_pod", None, "2", "4"),)), False, id="more GPUs, price unknown"),
        pytest.param(Suggestion("x", (Edit("gpus_per_pod", None, "H100:8", "H100:4"),)), True, id="fewer GPUs"),
        pytest.param(Suggestion("x", (Edit("accelerator", None, "l4", "h100"),)), False, id="another card"),
        pytest.param(Suggestion("x", (Edit("tensor_parallel", None, "2", "4"),)), True, id="another layout"),
    ],
)
def test_safe_is_what_gives_nothing_up_and_costs_no_more(one: Suggestion, safe: bool) -> None:
    assert one.is_safe is safe


# ---- single edits


def edited(text: str, word: str, new: str, how: str, old: str = "") -> str:
    """A text after one edit at the last place of a word."""
    at = text.rindex(word)
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    place = Location("spec.yaml", line, column, line, column + len(word))
    loaded = documents.load("spec.yaml", text.encode()).documents
    return splices.apply(text, [splices.locate(Edit("x", place, old, new, how), loaded, text)])


@pytest.mark.sweep
@given(
    st.text(alphabet=st.sampled_from("ab:#'\"&* \r\n\t-[]{}é\U0001f600"), max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), st.text(max_size=4)), max_size=5),
)
def test_splices_change_their_characters_and_no_others(text: str, drawn: list[tuple[int, int, str]]) -> None:
    found = [TextEdit(min(at, len(text)), min(at + length, len(text)), new) for at, length, new in dict.fromkeys(drawn)]
    try:
        after = splices.apply(text, found)
    except Inexact:
        spans = sorted((one.start, one.end) for one in set(found))
        assert any(b[0] < a[1] or a == b for a, b in itertools.pairwise(spans))
        return
    kept, end = "", 0
    for one in sorted(set(found)):
        kept += text[end : one.start] + one.new
        end = one.end
    assert after == kept + text[end:]


ADDED = re.compile(
    rb"\r?\n *- '?--data-parallel-size=2'?(?=\r?\n)"
    rb"|\r?\n *volumeMounts: \[\{name: [^,{}]+, mountPath: /dev/shm\}\](?=\r?\n)|, \{name: [^,{}]+, mountPath: /dev/shm\}"
)
"""The edits that add: the second of two requested GPUs gets a replica, and a volume that nothing mounts is mounted."""


@pytest.mark.sweep
@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(CHAT)), st.sampled_from(list("ab:#'\"&*{}[]-|> \n\t")), st.booleans())
def test_a_file_with_a_slip_in_it_is_fixed_in_its_places_or_left(at: int, slip: str, crlf: bool) -> None:
    text = CHAT[:at] + slip + CHAT[at:]
    content = text.replace("\n", "\r\n").encode() if crlf else text.encode()
    found = fixes.fix_file("spec.yaml", {"spec.yaml": content}, evaluator(), unsafe=False)
    for after in found.contents.values():
        assert len(documents.load("spec.yaml", after).problems) <= len(documents.load("spec.yaml", content).problems)
        edited, kept = ADDED.sub(b"", after), ADDED.sub(b"", content)
        assert edited.count(b"\n") == kept.count(b"\n")
        assert edited.count(b"\r") == kept.count(b"\r")
        assert edited.count(b"#") == kept.count(b"#")
        assert abs(len(edited) - len(kept)) <= 4


# ---- the command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs gpulint in a repository that holds chat.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "chat.yaml").write_bytes(CHAT.encode())

    def invoke(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli.main, ["check", *words], input=stdin)

    return invoke


def test_fix_writes_the_file_and_reports_what_is_left(run: Run) -> None:
    result = run("--fix", "--fail-on", "note")
    assert Path("chat.yaml").read_bytes() == CHAT_FIXED.encode()
    assert result.exit_code == 0
    assert "no findings" in result.stdout
    assert "fixed chat.yaml:14 gpus-left-idle: request the 1 GPU that is used" in result.stderr


def test_what_remains_decides_the_exit_code(run: Run) -> None:
    Path("chat.yaml").write_text("# Code generated by a tool. DO NOT EDIT.\n" + CHAT, encoding="utf-8")
    assert run("--fix", "--fail-on", "note").exit_code == 1
    assert "not fixed chat.yaml:15 gpus-left-idle" in run("--fix").stderr


def test_a_diff_writes_nothing_and_ends_with_1_if_it_would(run: Run) -> None:
    result = run("--diff")
    assert Path("chat.yaml").read_bytes() == CHAT.encode()
    assert result.exit_code == 1
    assert result.stdout.startswith("--- chat.yaml\n+++ chat.yaml\n@@ ")
    assert "\n-              nvidia.com/gpu: '2'   # keep in step\n" in result.stdout
    assert "\n+              nvidia.com/gpu: '1'   # keep in step\n" in result.stdout
    assert "would fix chat.yaml:14 gpus-left-idle" in result.stderr


def test_a_diff_without_changes_is_empty_and_ends_with_0(run: Run) -> None:
    Path("chat.yaml").write_bytes(CHAT_FIXED.encode())
    result = run("--diff")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "gpulint: --fix would change nothing; --unsafe also applies suggestions with a trade-off or a higher cost\n"
    )
    assert run("--diff", "--unsafe").stderr == "gpulint: --fix would change nothing\n"


def test_a_diff_marks_a_last_line_without_an_end(run: Run) -> None:
    Path("chat.yaml").write_bytes(CHAT.rstrip("\n").encode())
    assert "\n\\ No newline at end of file\n" in run("--diff").stdout


def test_stdin_goes_fixed_to_stdout_and_its_report_to_stderr(run: Run) -> None:
    result = run("--fix", "-", stdin=CHAT)
    assert result.stdout == CHAT_FIXED
    assert "no findings" in result.stderr


def test_a_file_keeps_its_mode_and_no_other_file_is_left_behind(run: Run) -> None:
    os.chmod("chat.yaml", 0o640)
    run("--fix")
    assert stat.S_IMODE(os.stat("chat.yaml").st_mode) == 0o640
    assert sorted(os.listdir()) == [".git", "chat.yaml"]


def test_a_link_is_not_followed(run: Run, tmp_path: Path) -> None:
    os.rename("chat.yaml", ".git/chat.yaml")
    os.symlink(tmp_path / ".git" / "chat.yaml", "chat.yaml")
    result = run("--fix", "chat.yaml")
    assert (result.exit_code, "[file-not-checked]" in result.stdout) == (1, True)
    assert Path(".git/chat.yaml").read_bytes() == CHAT.encode()


def test_a_file_outside_the_repository_is_not_written(run: Run, tmp_path: Path) -> None:
    Path(".git").rename("git")
    Path("inside/.git").mkdir(parents=True)
    Path("inside/chat.yaml").write_bytes(CHAT.encode())
    os.rename("chat.yaml", "outside.yaml")
    result = run("--fix", "outside.yaml", "inside/chat.yaml")
    assert Path("outside.yaml").read_bytes() == CHAT.encode()
    assert Path("inside/chat.yaml").read_bytes() == CHAT_FIXED.encode()
    assert "not written" in result.stderr


# ---- what is on the disk


def test_hard_links_show_the_fix_under_every_name(run: Run) -> None:
    os.link("chat.yaml", ".git/other.yaml")
    assert run("--fix", "--fail-on", "note").exit_code == 0
    assert Path(".git/other.yaml").read_bytes() == CHAT_FIXED.encode()


def unwritten(result: Result, reason: str) -> None:
    """The run says that chat.yaml was not written, still reports its findings, and fails."""
    assert Path("chat.yaml").read_bytes() == CHAT.encode()
    assert result.exit_code == 2
    assert f"gpulint: not written chat.yaml: {reason}\n" in result.stderr
    assert f"not fixed chat.yaml:14 gpus-left-idle: chat.yaml was not written: {reason}\n" in result.stderr
    assert "fixed chat.yaml" not in result.stderr.replace("not fixed", "left")
    assert f"\nnot written chat.yaml: {reason}\n" in result.stdout
    assert "[gpus-left-idle]" in result.stdout
    assert [name for name in os.listdir() if name.startswith(".chat")] == []


def test_on_a_full_disk_nothing_is_fixed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    unwritten(run("--fix"), "no space left on device")


def test_in_a_folder_that_takes_no_file_nothing_is_fixed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    unwritten(run("--fix"), "permission denied")


def test_a_read_only_file_is_not_fixed(run: Run) -> None:
    os.chmod("chat.yaml", 0o444)
    unwritten(run("--fix"), "it is read-only")


def test_a_file_that_changes_meanwhile_is_left_and_reported_as_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fix.fix_findings

    def slow(*words: object, **named: object) -> Outcome:
        outcome = real(*words, **named)  # type: ignore[arg-type]
        Path("chat.yaml").write_text(CHAT.replace("'2'", "'3'").replace('"2"', '"3"'), encoding="utf-8")
        return outcome

    monkeypatch.setattr(fix, "fix_findings", slow)
    result = run("--fix")
    assert result.exit_code == 2
    assert "gpulint: not written chat.yaml: it changed during the check\n" in result.stderr
    assert "gpu: '3'" in Path("chat.yaml").read_text(encoding="utf-8")
    assert "[gpus-left-idle]" in result.stdout
    assert "3 GPUs" in result.stdout


def test_below_a_linked_folder_nothing_is_fixed(run: Run) -> None:
    Path("real").mkdir()
    os.rename("chat.yaml", "real/chat.yaml")
    os.symlink("real", "linked")
    result = run("--fix", "linked/chat.yaml")
    assert Path("real/chat.yaml").read_bytes() == CHAT.encode()
    assert result.exit_code == 2
    assert (
        "gpulint: not written linked/chat.yaml: it is not a file of the repository, or a symbolic link" in result.stderr
    )
    assert "[gpus-left-idle]" in result.stdout


def test_of_two_files_the_one_that_can_be_written_is_fixed(run: Run) -> None:
    Path("talk.yaml").write_text(CHAT.replace("chat", "talk"), encoding="utf-8")
    os.chmod("chat.yaml", 0o444)
    result = run("--fix")
    assert Path("talk.yaml").read_text(encoding="utf-8") == CHAT_FIXED.replace("chat", "talk")
    assert "fixed talk.yaml:14 gpus-left-idle" in result.stderr
    unwritten(result, "it is read-only")


def test_what_one_change_spans_is_written_together_or_not_at_all(tmp_path: Path) -> None:
    finding, suggestion = samples_finding()
    files = dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), b"old\n")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "b.yaml").chmod(0o444)
    spanning = AppliedFix(finding, suggestion, frozenset({"a.yaml", "b.yaml"}))
    alone = AppliedFix(finding, suggestion, frozenset({"c.yaml"}))
    planned = fix.FixRun(files, (), Report(), Outcome(dict.fromkeys(files, b"new\n"), (spanning, alone)))
    done = fix.write(planned, WorkTree(tmp_path, base=tmp_path))
    assert [(tmp_path / name).read_bytes() for name in files] == [b"old\n", b"old\n", b"new\n"]
    assert sorted(done.refused) == ["a.yaml", "b.yaml"]
    assert done.outcome.applied == (alone,)
    assert [entry.reason for entry in done.outcome.skipped] == ["a.yaml was not written: it is read-only"]


def samples_finding() -> tuple[Finding, Suggestion]:
    """A finding with a suggestion, as of any rule."""
    finding = next(finding for finding in samples.report(CHAT).open if finding.suggestions)
    return finding, finding.suggestions[0]


# ---- what is accepted


def test_what_a_baseline_accepts_is_left_alone(run: Run) -> None:
    assert CliRunner().invoke(cli.main, ["baseline"]).exit_code == 0
    result = run("--fix")
    assert Path("chat.yaml").read_bytes() == CHAT.encode()
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("--diff").stdout == ""


def test_what_a_baseline_accepts_is_fixed_on_request(run: Run) -> None:
    CliRunner().invoke(cli.main, ["baseline"])
    assert run("--fix", "--no-ignores").exit_code == 0
    assert Path("chat.yaml").read_bytes() == CHAT_FIXED.encode()


def test_what_is_new_beside_a_baseline_is_fixed(run: Run) -> None:
    Path("chat.yaml").write_text(CHAT.replace("batched-token=", "batched-tokens="), encoding="utf-8")
    CliRunner().invoke(cli.main, ["baseline"])
    Path("chat.yaml").write_text(CHAT, encoding="utf-8")
    result = run("--fix")
    assert Path("chat.yaml").read_text(encoding="utf-8") == CHAT.replace("batched-token=", "batched-tokens=")
    assert "gpus-left-idle" not in result.stderr


@pytest.mark.parametrize(
    "words", [["--unsafe"], ["--fix", "--render", "helm"], ["--diff", "--render", "kustomize"], ["--fix", "-", "x"]]
)
def test_options_that_do_not_go_together_are_a_usage_error(run: Run, words: list[str]) -> None:
    assert run(*words).exit_code == 2


# ---- what is printed was proven


COUNTED_BY_ITS_PLATFORM = """\
type: service
name: gpt-oss
model: openai/gpt-oss-120b
image: vllm/vllm-openai:v0.10.2
commands:
  - |
    vllm serve openai/gpt-oss-120b \\
      --tensor-parallel-size $DSTACK_GPUS_NUM \\
      --max-model-len 8192
port: 8000
resources:
  gpu: MI300X:8
  shm_size: 32GB
"""


def test_an_alternative_that_another_rule_speaks_of_in_the_text_is_not_printed() -> None:
    """With a tensor parallel size that follows the count, eight copies would take 64 GPUs."""
    (finding,) = samples.of_rule(
        samples.report(COUNTED_BY_ITS_PLATFORM, path="gpt-oss.dstack.yml"), "parallelism-larger-than-needed"
    )
    assert finding.suggestions
    assert not any("data_parallel" in one.values and one.values["data_parallel"] != 1 for one in finding.suggestions)


def test_every_alternative_with_an_exact_place_holds_in_the_text() -> None:
    for text in (CHAT, HIDDEN, small(ARGUMENTS), small(ARGUMENTS, gpus=8, card="nvidia-h100-80gb")):
        path = "train.sbatch" if text.startswith("#!") else "spec.yaml"
        for finding in samples.report(text, path=path).open:
            for one in finding.suggestions:
                if all(edit.exact for edit in one.edits):
                    changed = verification.apply_verified(finding, one, path, {path: text.encode()}, evaluator())
                    assert changed[path] != text.encode()


def test_the_options_of_a_plan_tell_the_characters_too() -> None:
    rules = tuple(load_shipped().values())
    (plan,) = plan_file(
        Source("spec.yaml", CHAT.encode()),
        None,
        samples.ExampleRepository(),
        ResolvedPolicy(rules, tuple(load_shipped())),
    )
    edits = [edit for one in plan.options for edit in one.edits if edit.location]
    assert edits
    assert all(edit.exact for edit in edits)
