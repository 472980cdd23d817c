"""The allowance of one file: how much work its suggestions may take."""

from __future__ import annotations

CANDIDATES_MAX = 200
"""Candidates that the rules evaluate on the facts of a role; each takes 2 to 4 ms."""
ROLES_MAX = 150
"""Roles that are evaluated again to verify suggestions on the changed text; each takes about 10 ms."""
UNSEARCHED = "the search for suggestions ended after {} candidates; its remaining findings have none"
UNVERIFIED = "the verification of suggestions ended after {} roles; its remaining findings have none"


class Budget:
    """A number of evaluations, and whether it was enough."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.is_exhausted = False

    def spend(self, evaluations: int = 1) -> bool:
        """Whether so many more evaluations are allowed, which then count as used. After the first refusal none are."""
        self.is_exhausted = self.is_exhausted or self.used + evaluations > self.limit
        self.used += 0 if self.is_exhausted else evaluations
        return not self.is_exhausted


class Allowance:
    """The budgets for the search of suggestions and for their verification."""

    def __init__(self) -> None:
        self.candidates = Budget(CANDIDATES_MAX)
        self.roles = Budget(ROLES_MAX)

    @property
    def reason(self) -> str:
        """Why findings may lack suggestions; empty if all were searched and verified."""
        if self.candidates.is_exhausted:
            return UNSEARCHED.format(self.candidates.limit)
        return UNVERIFIED.format(self.roles.limit) if self.roles.is_exhausted else ""
