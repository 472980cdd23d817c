import time
from pathlib import Path
from typing import NamedTuple


class Job(NamedTuple):
    prompt: str
    path: Path


def pending():
    while True:
        for file in Path("/queue").glob("*.txt"):
            yield Job(file.read_text(), file.with_suffix(".png"))
        time.sleep(2)
