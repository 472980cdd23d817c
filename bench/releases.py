"""The release that a measured case ran: as stated, or by the date of its source."""

from __future__ import annotations

import re
from collections.abc import Mapping

RELEASE = re.compile(r"[~v]?(\d+\.\d+(?:\.\d+)?)")
MONTH = re.compile(r"20\d\d-\d\d")
DATED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (
        *(("2024-03-30", "0.4.0"), ("2024-09-04", "0.6.0"), ("2024-12-17", "0.6.5"), ("2025-02-01", "0.7.1")),
        *(("2025-02-20", "0.7.3"), ("2025-03-25", "0.8.2"), ("2025-04-14", "0.8.4"), ("2025-05-01", "0.8.5")),
        *(("2025-05-28", "0.9.0"), ("2025-08-21", "0.10.1"), ("2025-09-23", "0.10.2"), ("2025-10-06", "0.11.0")),
        *(("2025-11-20", "0.11.1"), ("2026-03-20", "0.18.0"), ("2026-04-03", "0.19.0"), ("2026-04-27", "0.20.0")),
        ("2026-08-26", "0.28.0"),
    ),
    "transformers": (
        *(("2023-06-08", "4.30.0"), ("2023-07-18", "4.31.0"), ("2023-12-11", "4.36.0"), ("2024-01-22", "4.37.0")),
        *(
            ("2024-02-21", "4.38.0"),
            ("2024-06-27", "4.42.0"),
            ("2024-09-25", "4.45.0"),
            ("2025-01-10", "4.48.0"),
            ("2025-04-05", "4.51.0"),
        ),
    ),
}
"""By when releases that changed what is sized were out.

Transformers: dates inside its wheels. vLLM: engine_defaults.csv; 0.8.5 and 0.10.2 by logs that state the day (unslothai/notebooks
with Unsloth 2025.4.8; vllm_logs.csv), 0.11.0 by one of vllm_logs.csv, 0.10.1 and 0.11.1 by requirements that were raised to them
(oracle-devrel/technology-engineering pull 1966, replicate/cog pull 2566).
"""


def stated(name: str, said: str) -> str | None:
    """The release as stated; of a source that only has a date, the newest that was out by the middle of that month."""
    if found := RELEASE.match(said):
        return found[1]
    month = MONTH.search(said)
    dated = [release for day, release in DATED.get(name, ()) if month and day <= f"{month[0]}-15"]
    return dated[-1] if dated else None
