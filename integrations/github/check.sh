#!/usr/bin/env bash
# Runs the check of the action: finds and fetches the base, writes the reports, and keeps the exit code for the last step.
set -euo pipefail

bin="$RUNNER_TEMP/gpulint/bin"
test -d "$bin" || bin="$RUNNER_TEMP/gpulint/Scripts"
# A new folder outside the checkout: whatever lies in it was written by this run.
reports="$(mktemp -d "$RUNNER_TEMP/gpulint-reports.XXXXXXXX")"

lines() { printf '%s\n' "$1" | tr -d '\r' | sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d'; }

output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

unusable() {
  printf '::error title=gpulint::%s\n' "$1"
  output exit-code 2
  exit 0
}

# A checkout of refs/pull/N/merge merges the branch into its base: the first parent is what the change goes into. Any other
# checkout is held against where its branch left the base, as far as the clone knows it.
base_of_event() {
  if [[ "$GITHUB_REF" == refs/pull/*/merge && "$(git rev-parse HEAD)" == "$GITHUB_SHA" ]]; then
    git cat-file -p HEAD | sed -n -e '/^$/q' -e 's/^parent //p' | head -n 1
  else
    git merge-base "$EVENT_BASE" HEAD 2>/dev/null || printf '%s\n' "$EVENT_BASE"
  fi
}

# What is missing is fetched; a clone that is shallow stays so.
fetch() {
  local depth=""
  if [ "$(git rev-parse --is-shallow-repository)" = true ]; then depth="--depth=2"; fi
  git fetch --quiet --no-tags ${depth:+"$depth"} origin "$@" || true
}

joined() { git merge-base "$1" HEAD >/dev/null 2>&1; }

have() { git cat-file -e "$1^{commit}" 2>/dev/null; }

base="${BASE:-}"
test -n "$base" || test -z "$EVENT_BASE" || base="$(base_of_event)"
test "$base" != none || base=""
policy_from="${POLICY_FROM:-$base}"
test "$policy_from" != none || policy_from=""

set -- check
if [ -n "$base" ]; then
  joined "$base" || fetch "$(git rev-parse HEAD)" "$base"
  joined "$base" || unusable "this clone does not join $base and HEAD; set fetch-depth: 2 (or 0) for actions/checkout"
  set -- "$@" --base "$base"
fi
if [ -n "$policy_from" ]; then
  have "$policy_from" || fetch "$policy_from"
  have "$policy_from" || unusable "the commit $policy_from is not in this clone and cannot be fetched"
  set -- "$@" --policy-from "$policy_from"
fi
if [ -n "$FAIL_ON" ]; then set -- "$@" --fail-on "$FAIL_ON"; fi
if [ -n "$COMMENT_OVER" ]; then set -- "$@" --comment-over "$COMMENT_OVER"; fi
if [ -n "$COMMENT_KEY" ]; then set -- "$@" --comment-key "$COMMENT_KEY"; fi
while IFS= read -r line; do set -- "$@" --output "$line"; done < <(lines "$FURTHER_OUTPUTS")
for format in text github sarif json markdown; do set -- "$@" --output "$format:$reports/gpulint.$format"; done
set -- "$@" --
while IFS= read -r line; do set -- "$@" "$line"; done < <(lines "$CHECKED")

code=0
"$bin/gpulint" "$@" || code=$?
output exit-code "$code"
test -s "$reports/gpulint.json" || exit 0

# The text may quote any line of the files: between the two tokens no line of it is a command.
token="$("$bin/python" -I -c 'import secrets; print(secrets.token_hex(16))')"
printf '::stop-commands::%s\n' "$token"
cat "$reports/gpulint.text"
printf '::%s::\n' "$token"
if [ "$ANNOTATIONS" = true ]; then cat "$reports/gpulint.github"; fi
cat "$reports/gpulint.markdown" >>"$GITHUB_STEP_SUMMARY"

count='import json, sys; print(sum(json.load(open(sys.argv[1], encoding="utf-8"))["summary"]["findings"].values()))'
output findings "$("$bin/python" -I -c "$count" "$reports/gpulint.json")"

# Code scanning knows no suppressions: what is accepted or waived would become an open alert.
counting='import json, sys
log = json.load(open(sys.argv[1], encoding="utf-8"))
for run in log["runs"]:
    run["results"] = [one for one in run["results"] if not one["suppressions"]]
json.dump(log, open(sys.argv[1], "w", encoding="utf-8"))'
"$bin/python" -I -c "$counting" "$reports/gpulint.sarif"
output sarif "$reports/gpulint.sarif"
output report "$reports/gpulint.json"
output comment "$reports/gpulint.markdown"
