"""A pod for tests whose container starts a program of the same repository on one GPU."""

from __future__ import annotations


def pod(command: str, accelerator: str = "nvidia-h100-80gb") -> str:
    """The manifest of a pod; `command` is the words of the list, as YAML reads them."""
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: llm}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: {accelerator}}}
  containers:
    - name: server
      image: registry.example/llm:1
      command: [{command}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
