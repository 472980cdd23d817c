"""Odd values in a native spec: empty is not stated, and what is no number is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint

SPEC = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {name: chat}
spec:
  roles:
    - name: server
      engine: vllm
      checkpoint: Qwen/Qwen3-8B
      accelerator: l4
      gpus_per_pod: 1
      tensor_parallel: VALUE
"""


def check(folder: Path, value: str) -> gpulint.Report:
    (folder / "spec.yaml").write_text(SPEC.replace("VALUE", value))
    return gpulint.check(folder)


@pytest.mark.parametrize("value", ["", "null", "1e5", "true", ".nan", ".inf", "[1]", "{a: 1}", "9" * 4_301, "1e308"])
def test_an_odd_value_is_no_fault_of_gpulint(tmp_path: Path, value: str) -> None:
    assert check(tmp_path, value).failures == ()


def test_an_empty_value_means_not_stated(tmp_path: Path) -> None:
    left_out = SPEC.replace("      tensor_parallel: VALUE\n", "")
    (tmp_path / "spec.yaml").write_text(left_out)
    alone = [(finding.rule, finding.message) for finding in gpulint.check(tmp_path).open]
    assert [(finding.rule, finding.message) for finding in check(tmp_path, "").open] == alone
