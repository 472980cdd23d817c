#!/usr/bin/env bash
# Puts gpulint, as this checkout has it, into an environment of its own. Nothing of the repository under check is on the path:
# -I keeps Python from importing what lies in the current folder.
set -euo pipefail

"$PYTHON" -I -m venv "$RUNNER_TEMP/gpulint"
bin="$RUNNER_TEMP/gpulint/bin"
test -d "$bin" || bin="$RUNNER_TEMP/gpulint/Scripts"
"$bin/python" -I -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
"$bin/gpulint" --version
