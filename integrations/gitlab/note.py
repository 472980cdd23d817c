"""The note of a merge request: written where there is something to say, and brought up to date by later pipelines.

It is found again by its author and its first line.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKER = re.compile(r"<!-- gpulint report(?:: [\w./-]+)? -->")
QUIET = "<!-- gpulint: quiet -->"
PAGE = 100
PAGES_MAX = 100


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token goes to GitLab's API and nowhere else: a redirect is an error."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def main(body: str) -> None:
    """Make the merge request's note say this; where it is quiet, only a note that is there."""
    if not MARKER.fullmatch(body.partition("\n")[0]):
        sys.exit("gpulint: the text does not begin with the marker of a note; it was not posted")
    request = (
        f"projects/{os.environ['CI_MERGE_REQUEST_PROJECT_ID']}/merge_requests/{os.environ['CI_MERGE_REQUEST_IID']}"
    )
    notes = f"{request}/notes"
    marker, second = [*body.splitlines(), "", ""][:2]
    if earlier := next(mine(notes, marker), None):
        asked("PUT", f"{notes}/{earlier}", {"body": body})
    elif second != QUIET:
        asked("POST", notes, {"body": body})


def mine(notes: str, marker: str) -> Iterator[int]:
    """The notes of the token's own user that begin with the marker."""
    user = asked("GET", "user")["id"]
    for page in range(1, PAGES_MAX + 1):
        found = asked("GET", f"{notes}?per_page={PAGE}&page={page}")
        yield from (one["id"] for one in found if one["author"]["id"] == user and one["body"].startswith(marker))
        if len(found) < PAGE:
            return


def asked(method: str, path: str, said: dict[str, str] | None = None) -> Any:
    """What GitLab's API answers."""
    url = f"{os.environ['CI_API_V4_URL']}/{path}"
    headers = {"PRIVATE-TOKEN": os.environ["GITLAB_TOKEN"], "Content-Type": "application/json"}
    content = json.dumps(said).encode() if said else None
    opener = urllib.request.build_opener(NoRedirects)
    with opener.open(urllib.request.Request(url, content, headers, method=method), timeout=30) as answer:
        return json.loads(answer.read() or b"null")


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text(encoding="utf-8").strip())
