#!/usr/bin/env bash
# The job of the template: checks, brings the note of a merge request up to date, and leaves the reports as artifacts.
set -euo pipefail

# The reports are written to a new folder outside the checkout, which a merge request cannot prepare: a file or link of the same
# name in the checkout is neither read nor followed. What it committed under the names of the artifacts goes first, so that no
# such file passes for a report of this run.
artifacts=(gpulint.codequality.json gpulint.md)
rm -rf -- "${artifacts[@]}"
reports="$(mktemp -d)"
trap 'rm -rf -- "$reports"' EXIT

# A pipeline on the merged result is held against the target's tip, any other against where the branch left the target.
base="${CI_MERGE_REQUEST_TARGET_BRANCH_SHA:-${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}}"

set -- check
if [ -n "$base" ]; then set -- "$@" --base "$base" --policy-from "$base"; fi
if [ -n "${GPULINT_FAIL_ON:-}" ]; then set -- "$@" --fail-on "$GPULINT_FAIL_ON"; fi
set -- "$@" --output text --output "gitlab:$reports/gpulint.codequality.json" --output "markdown:$reports/gpulint.md" --
# Several paths are words: a folder whose name holds a space cannot be among them.
for path in ${GPULINT_PATHS:-.}; do set -- "$@" "$path"; done

code=0
gpulint "$@" || code=$?
if [ -n "${CI_MERGE_REQUEST_IID:-}" ] && [ -n "${GITLAB_TOKEN:-}" ] && [ -f "$reports/gpulint.md" ]; then
  python -I "$(dirname "$0")/note.py" "$reports/gpulint.md" || echo "gpulint: the note could not be written; it stands in the artifact gpulint.md" >&2
fi
# GitLab takes artifacts from the checkout alone.
for name in "${artifacts[@]}"; do
  if [ -f "$reports/$name" ]; then cp -- "$reports/$name" "$name"; fi
done
exit "$code"
