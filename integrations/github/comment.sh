#!/usr/bin/env bash
# Writes the comment of a pull request, or brings the one up to date that an earlier run wrote: it begins with the same line.
# Where the token may not write, as on pull requests from forks, the text stands in the job's summary, and nothing fails.
set -euo pipefail

{ read -r marker; read -r second || true; } <"$COMMENT"
if [[ ! "$marker" =~ ^'<!-- gpulint report'(': '[[:alnum:]._/-]+)?' -->'$ ]]; then
  echo "::error title=gpulint::$COMMENT does not begin with the marker of a comment"
  exit 1
fi

# The variables below are GraphQL's.
# shellcheck disable=SC2016
mine='query($owner: String!, $name: String!, $number: Int!, $endCursor: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    comments(first: 100, after: $endCursor) { nodes { id viewerDidAuthor body } pageInfo { hasNextPage endCursor } } } } }'
# shellcheck disable=SC2016
update='mutation($id: ID!, $body: String!) { updateIssueComment(input: {id: $id, body: $body}) { clientMutationId } }'

earlier() {
  gh api graphql --paginate -f query="$mine" -F number="$PULL_REQUEST" \
    -f owner="${GITHUB_REPOSITORY%%/*}" -f name="${GITHUB_REPOSITORY#*/}" \
    --jq ".data.repository.pullRequest.comments.nodes[] | select(.viewerDidAuthor and (.body | startswith(\"$marker\"))) | .id"
}

write() {
  local found
  found="$(earlier)" || return
  found="${found%%$'\n'*}"
  if [ -n "$found" ]; then
    gh api graphql --silent -f query="$update" -f id="$found" -F body="@$COMMENT"
  elif [ "$second" != '<!-- gpulint: quiet -->' ]; then
    gh pr comment "$PULL_REQUEST" --repo "$GITHUB_REPOSITORY" --body-file "$COMMENT"
  fi
}

write || echo '::notice title=gpulint::the comment could not be written: give the job pull-requests: write; pull requests from forks never have it. The text stands in the summary of this run.'
