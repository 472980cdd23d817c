"""Small reports for tests of formats: a spec with two findings, and words that a terminal would obey."""

from __future__ import annotations

import unicodedata

from gpulint.report.model import (
    Finding,
    Location,
    Related,
    Severity,
    Suggestion,
    Waiver,
)

SPEC = """\
apiVersion: v1
kind: Pod
metadata:
  name: chat
  annotations:
    gpulint/accelerator: h800-sxm-80gb
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=/models/ours, --tensor-parallel-size=4]
      env:
        - name: LD_LIBRARY_PATH
          value: /opt/lib:${LD_LIBRARY_PATH}
      resources:
        limits:
          nvidia.com/gpu: 2
      volumeMounts:
        - {name: shm, mountPath: /dev/shm}
"""
PLACE = Location("a.yaml", 1, 1, 1, 5, "kind: Pod")


def finding(
    location: Location = PLACE,
    suggestions: tuple[Suggestion, ...] = (),
    related: tuple[Related, ...] = (),
    confidence: int = 3,
    suppressed: Waiver | None = None,
    message: str = "wrong",
) -> Finding:
    return Finding(
        rule="a-rule",
        family="family",
        severity=Severity.ERROR,
        confidence=confidence,
        message=message,
        location=location,
        label="here",
        related=related,
        suggestions=suggestions,
        suppressed=suppressed,
        help="It fails.",
    )


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\r\x08\x00\x7f"


def safe(shown: str) -> bool:
    return all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for char in shown)
