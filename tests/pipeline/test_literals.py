"""Findings that point to the literal of a program, beside those of the program itself."""

from __future__ import annotations

import samples

from gpulint.pipeline import literals
from gpulint.report.model import Finding, Related, Waiver

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:latest
      args: [--model=Qwen/Qwen2.5-7B-Instruct]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def make() -> tuple[Finding, Finding]:
    """A finding, and the same one of another workload that moved there."""
    found: Finding = next(one for one in samples.report(POD).open if one.rule == "engine-image-unpinned")
    elsewhere = found._replace(
        workload="other", related=(Related("the value is used here", found.location._replace(line=3)),)
    )
    return found, elsewhere


def test_what_moved_to_a_place_where_the_same_is_said_is_said_once() -> None:
    found, moved = make()
    (left,) = literals._merge_same([moved, found], {id(moved)})
    assert (left.workload, left.related) == (found.workload, (*found.related, *moved.related))


def test_another_message_at_the_same_place_stays() -> None:
    found, moved = make()
    other = moved._replace(message="something else")
    assert len(list(literals._merge_same([found, other], {id(other)}))) == 2


def test_what_is_waived_at_one_of_two_places_stays() -> None:
    found, moved = make()
    other = moved._replace(suppressed=Waiver("comment", "tested"))
    assert len(list(literals._merge_same([found, other], {id(other)}))) == 2


def test_two_workloads_of_one_place_that_did_not_move_both_stay() -> None:
    found, other = make()
    assert len(list(literals._merge_same([found, other], set()))) == 2
