"""`source.documents` and `source.shell` can be used without the rest: they load no table, formula, engine or report."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpulint import source

SOURCE = Path(source.__path__[0])
SHARED = {"gpulint", "gpulint.version", "gpulint.source", "gpulint.report"}
"""The packages above, of which only the first two hold code that runs on import."""
LOAD_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    importlib.import_module(module.name)
print(*(name for name in sys.modules if name.partition(".")[0] == "gpulint"))
"""


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("shell", {"gpulint.source.excess"}),
        (
            "documents",
            {
                *("gpulint.report.location", "gpulint.report.json_keys", "gpulint.source.excess"),
                *("gpulint.source.recipes", "gpulint.source.recipes.translated"),
            },
        ),
    ],
)
def test_a_package_loads_nothing_but_itself_and_the_record_of_a_location(name: str, records: set[str]) -> None:
    package = f"gpulint.source.{name}"
    command = [sys.executable, "-c", LOAD_ALL, package]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    own = {module for module in loaded if module == package or module.startswith(f"{package}.")}
    assert len(own) == len(list((SOURCE / name).glob("*.py")))
    assert loaded - own <= SHARED | records


@pytest.mark.parametrize("name", ["shell", "documents"])
def test_a_package_names_no_gpu(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (SOURCE / name).glob("*.py")]
    assert texts
    word = re.compile(r"gpus?\b|nvidia|vllm", re.IGNORECASE)
    assert [match[0] for text in texts for match in word.finditer(text.replace("gpulint", ""))] == []
