"""States of a repository before or after a change."""

from __future__ import annotations

from hostile_cases.model import files, one
from hostile_cases.specs import POD, RIGHT

NOTHING = files(README__md=b"# A repository\n")
RIGHT_POD, WRONG_POD = one("pod.yaml", RIGHT.encode()), one("pod.yaml", POD.encode())
