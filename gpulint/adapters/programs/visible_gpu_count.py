"""Device counts that a script reads at run time (nvidia-smi, torch.cuda.device_count)."""

from __future__ import annotations

import re

from gpulint.engines import Argument
from gpulint.workload import Field, Origin

NVIDIA = (
    r"nvidia-smi\s+(?:-L|--list-gpus|--query-gpu=\w+\s+--format=csv,noheader(?:,nounits)?)\s*(?:2>\s*/dev/null\s*)?"
)
COUNTING = re.compile(
    rf"\$\(\s*(?:{NVIDIA}\|\s*(?:wc\s+-l(?:\s*\|\s*xargs)?|grep\s+-c\s+[\w'\"]+)"
    r"|nvidia-smi\s+--query-gpu=count\s+--format=csv,noheader(?:,nounits)?\s*\|\s*head\s+-n?\s*1"
    r"|python3?\s+-c\s+(?P<quote>['\"])import torch; ?print\(torch\.cuda\.device_count\(\)\)(?P=quote))\s*\)"
)
NAME = "GPUS_SEEN"


def replace_counts(text: str, gpus: Field, place: Origin) -> tuple[str, dict[str, Argument]]:
    """Return a script with each GPU count replaced by a variable, and the variables.

    A variable has the length of the text that it replaces.
    """
    if not isinstance(gpus.value, int) or not COUNTING.search(text):
        return text, {}
    number = Argument(str(gpus.value), gpus.origins[0] if gpus.origins else place)
    names: dict[str, Argument] = {}

    def name_count(match: re.Match[str]) -> str:
        name = NAME.ljust(len(match[0]) - len("${}"), "_")
        names[name] = number
        return f"${{{name}}}"

    return COUNTING.sub(name_count, text), names
