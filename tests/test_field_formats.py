"""What unseen repositories showed of the formats of the fourth issue: the smallest spec of each cause."""

from __future__ import annotations
