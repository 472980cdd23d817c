#!/usr/bin/env bash
# The job of the template: checks, writes the reports beside the files, and brings the note of a merge request up to date.
set -euo pipefail

# A pipeline on the merged result is held against the target's tip, any other against where the branch left the target.
base="${CI_MERGE_REQUEST_TARGET_BRANCH_SHA:-${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}}"

set -- check
if [ -n "$base" ]; then set -- "$@" --base "$base" --policy-from "$base"; fi
if [ -n "${GPULINT_FAIL_ON:-}" ]; then set -- "$@" --fail-on "$GPULINT_FAIL_ON"; fi
set -- "$@" --output text --output gitlab:gpulint.codequality.json --output markdown:gpulint.md --
# Several paths are words: a folder whose name holds a space cannot be among them.
for path in ${GPULINT_PATHS:-.}; do set -- "$@" "$path"; done

code=0
gpulint "$@" || code=$?
if [ -n "${CI_MERGE_REQUEST_IID:-}" ] && [ -n "${GITLAB_TOKEN:-}" ] && [ -f gpulint.md ]; then
  python -I "$(dirname "$0")/note.py" gpulint.md || echo "gpulint: the note could not be written; it stands in the artifact gpulint.md" >&2
fi
exit "$code"
