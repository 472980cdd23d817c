"""Holds what gpulint writes against the schemas that its readers publish, each given as FORMAT=PATH.

    python bench/schemas.py sarif=sarif-schema-2.1.0.json junit=junit-10.xsd rdjson=DiagnosticResult.json gitlab=codeclimate.json

Reports on a wrong and a right sample of every rule are rendered and checked; ends with 1 where one does not follow. The
schemas are not kept here: docs/outputs.md says who publishes them. XML needs `pip install xmlschema`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema

from gpulint.cli import output_files
from gpulint.pipeline import check as pipeline_check
from gpulint.pipeline import session
from gpulint.policy.rules import rule
from gpulint.report.model import Report
from gpulint.source.repository import Source, WorkTree

Check = Callable[[str], list[str]]
TODAY = "2026-11-22"


def reports() -> Iterator[tuple[str, Report]]:
    """The report on the first samples of each rule, by name, and one on nothing."""
    yield "nothing", Report()
    governed = session.prepare((), session.Options(today=TODAY))
    tree = WorkTree(Path("/nowhere"))
    for one in rule.load_shipped().values():
        for side, samples in rule.load_examples(one).items():
            source = Source("spec.yaml", str(samples[0]).encode())
            yield f"{one.name} ({side})", pipeline_check.check_files([source], tree, governed.given)


def check_of(name: str, path: Path) -> Check:
    """What a text in a format breaks of its schema."""
    if path.suffix == ".xsd":
        import xmlschema

        schema = xmlschema.XMLSchema(str(path))
        return lambda text: [str(error.reason) for error in schema.iter_errors(text)]
    data = json.loads(path.read_bytes())
    validator = jsonschema.validators.validator_for(data)(data)

    def troubles(text: str) -> list[str]:
        parsed = json.loads(text)
        parts = parsed if name == "gitlab" else [parsed]
        return [f"{list(error.path)}: {error.message}" for part in parts for error in validator.iter_errors(part)]

    return troubles


def main(words: list[str]) -> int:
    """Check every report in every format that a schema is given for."""
    checks = {name: check_of(name, Path(path)) for name, _, path in (word.partition("=") for word in words)}
    checked, broken = 0, 0
    for title, report in reports():
        for name, check in checks.items():
            checked += 1
            for trouble in check(output_files.render(report, name)):
                broken += 1
                print(f"{name} of {title}: {trouble}")
    print(f"{checked} texts in {len(checks)} formats, {broken} troubles")
    return 1 if broken or not checks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
