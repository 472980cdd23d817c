"""The steps of action.yml, run here as a runner would: expressions resolved, `run` by bash, `uses` answered by what is given."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML

NAME = re.compile(r"[\w.-]+")


class Runner:
    """One job: what expressions refer to, the environment, and what the steps have put out so far."""

    def __init__(self, action: Path, workspace: Path, temp: Path, variables: Mapping[str, str]) -> None:
        self.metadata = YAML(typ="safe").load((action / "action.yml").read_text(encoding="utf-8"))
        self.workspace, self.temp = workspace, temp
        self.summary, self.put = temp / "summary.md", temp / "output.txt"
        own = {"GITHUB_ACTION_PATH": action, "RUNNER_TEMP": temp, "GITHUB_WORKSPACE": workspace}
        files = {"GITHUB_STEP_SUMMARY": self.summary, "GITHUB_OUTPUT": self.put}
        self.variables = {**variables, **{name: str(path) for name, path in {**own, **files}.items()}}
        self.known: dict[str, str] = {}
        self.used: list[dict[str, str]] = []
        self.log = ""
        self.skipped: list[str] = []

    def run(self, given: Mapping[str, str], known: Mapping[str, str], without: tuple[str, ...] = ()) -> int:
        """The exit code of the job, with these inputs, and what the event and the steps that are not ours say."""
        inputs = {name: str(one.get("default", "")) for name, one in self.metadata["inputs"].items()}
        self.known = {**known, **{f"inputs.{name}": value for name, value in {**inputs, **given}.items()}}
        self.summary.write_text("", encoding="utf-8")
        for step in self.metadata["runs"]["steps"]:
            if step["id"] in without or not self.holds(step.get("if", "true")):
                self.skipped.append(step["id"])
            elif "uses" in step:
                self.used.append({"uses": step["uses"], **self.filled(step["with"])})
            elif code := self.started(step):
                return code
        return 0

    def started(self, step: Mapping[str, str]) -> int:
        """The exit code of one step's script."""
        self.put.write_text("", encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        variables = {**self.variables, **self.filled(step.get("env", {}))}
        done = subprocess.run(command, cwd=self.workspace, env=variables, capture_output=True, text=True, check=False)
        self.log += done.stdout + done.stderr
        for line in self.put.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.known[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode

    def filled(self, texts: Mapping[str, object]) -> dict[str, str]:
        """Texts with their expressions resolved."""
        return {
            name: re.sub(r"\$\{\{(.*?)\}\}", lambda found: self.value(found[1]), str(text))
            for name, text in texts.items()
        }

    def value(self, expression: str) -> str:
        """The first alternative that says anything."""
        return next(filter(None, (self.known.get(name.strip(), "") for name in expression.split("||"))), "")

    def holds(self, condition: str) -> bool:
        """Whether each part of a condition joined by && holds."""
        return all(self.part(one.strip()) for one in condition.split("&&"))

    def part(self, condition: str) -> bool:
        if condition == "true":
            return True
        left, operator, right = re.fullmatch(r"([\w.-]+)(?:\s*(==|!=)\s*'([^']*)')?", condition).groups()
        value = self.known.get(left, "")
        return bool(value) if operator is None else (value == right) is (operator == "==")
