"""Build hook: writes the index of glossary and rules that spares an installed gpulint the YAML."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IndexHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds gpulint/index.json to a wheel; an editable install reads the YAML of the source tree."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from gpulint.catalog import package_data

        index = Path(self.directory) / "index.json"
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(json.dumps(package_data.list_built(root / "rules"), sort_keys=True), encoding="utf-8")
        build_data["force_include"][str(index)] = "gpulint/index.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        (Path(self.directory) / "index.json").unlink(missing_ok=True)
