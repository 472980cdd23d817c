"""Objects in the here-documents that kubectl is given: read at their place in the script."""

from __future__ import annotations

import pytest
import samples

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=meta-llama/Llama-3.3-70B-Instruct, --max-model-len=8192]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    "head",
    ["kubectl apply -f - <<EOF", "kubectl -n ml apply -f - <<'EOF'", "cat <<EOF | kubectl create -n ml -f -"],
)
def test_an_object_that_is_applied_is_judged_at_its_line(head: str) -> None:
    found = samples.report(f"#!/bin/bash\nset -e\n{head}\n{POD}EOF\necho done\n", "deploy.sh")
    places = [(one.rule, one.location.path, one.location.line, one.location.column) for one in found.findings]
    assert places == [("weights-exceed-memory", "deploy.sh", 12, 14)]


def test_several_objects_of_one_here_document_are_beside_each_other() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: chat}\nspec: {selector: {app: chat}}\n---\n"
    found = samples.report(f"#!/bin/bash\nkubectl apply -f - <<EOF\n{service}{POD}EOF\n", "deploy.sh")
    assert [one.name for one in found.workloads] == ["chat"]


@pytest.mark.parametrize(
    "text",
    [
        f"cat > pod.yaml <<EOF\n{POD}EOF\n",
        f"# kubectl apply -f - <<EOF\n{POD}EOF\n",
        f"kubectl apply -f - <<EOF\n{POD}",
        f"kubectl delete -f - <<EOF\n{POD}EOF\n",
    ],
    ids=["written to a file", "a comment", "without an end", "deleted"],
)
def test_other_here_documents_are_text(text: str) -> None:
    assert samples.report(f"#!/bin/bash\n{text}", "deploy.sh").workloads == ()


def test_what_the_shell_fills_in_is_not_known() -> None:
    text = POD.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: $GPUS")
    (workload,) = samples.report(f"#!/bin/bash\nkubectl apply -f - <<EOF\n{text}EOF\n", "deploy.sh").workloads
    assert workload.roles[0].accelerator.startswith("? ×")
