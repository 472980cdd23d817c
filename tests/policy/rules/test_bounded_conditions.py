"""A condition of a team's rule that takes too many steps fails the run, and the rule is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint

RULE = """\
summary: Two ports add up to less than nothing
severity: error
for: {scope: document}
why: Ports are positive.
when: "has(object.spec.ports) && object.spec.ports.exists(a, CONDITION)"
at: [object.spec.ports]
message: "the ports are wrong"
examples:
  bad:
    - |
      apiVersion: v1
      kind: Service
      metadata: {name: bad}
      spec:
        ports: [-1]  # <- here
  good:
    - |
      apiVersion: v1
      kind: Service
      metadata: {name: good}
      spec:
        ports: [1]
"""


def check(folder: Path, condition: str, ports: int) -> gpulint.Report:
    (folder / "rules").mkdir()
    (folder / "rules" / "wrong-ports.yaml").write_text(RULE.replace("CONDITION", condition))
    service = f"apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec:\n  ports: {list(range(ports))}\n"
    (folder / "service.yaml").write_text(service)
    (folder / "another.yaml").write_text(service.replace(str(list(range(ports))), "[-1]"))
    return gpulint.check(
        [folder / "another.yaml", folder / "service.yaml"], gpulint.Options(rules=(str(folder / "rules"),))
    )


def test_a_condition_with_too_many_steps_names_its_rule_and_other_files_are_checked(tmp_path: Path) -> None:
    nested = "object.spec.ports.exists(b, object.spec.ports.exists(c, a + b + c < -2))"
    report = check(tmp_path, nested, ports=400)
    (failure,) = report.failures
    assert failure.path.endswith("service.yaml")
    assert "rule wrong-ports: its condition takes more steps than CEL allows" in failure.error
    assert [finding.rule for finding in report.open] == ["wrong-ports"]


@pytest.mark.parametrize("ports", [0, 1, 5_000])
def test_a_condition_of_one_loop_is_evaluated(tmp_path: Path, ports: int) -> None:
    report = check(tmp_path, "a < 0", ports)
    assert (report.failures, [Path(finding.location.path).name for finding in report.open]) == ((), ["another.yaml"])
