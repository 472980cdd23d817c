"""Halls: times `gpulint check` over Facility files of many racks, each written out or all behind one name.

python bench/halls.py [--gpulint PATH]   with the gpulint beside this Python or another one
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 3
HEAD = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: big}
spec:
  code: NEC
  redundancy: 2N
  rooms:
    - name: hall
      cooling: rear-door
      inlet: 22 C
      racks:
"""
RACK = """\
        - name: %s
          units: 48
          feeds:
            - {name: A, voltage: 415 V, phases: 3, breaker: %d A}
            - {name: B, voltage: 415 V, phases: 3, breaker: %d A}
          servers:
"""
SERVER = "            - {type: dell-xe9680, power: %s, units: 6, count: 1}\n"
ALIKE = "            - {type: dgx-h100, count: 2}\n"


def halls() -> dict[str, str]:
    """The text of each file by what it is."""
    return {
        "50 racks, 400 servers, all well": _written(50, 100, "4 kW"),
        "50 racks, 400 servers, each rack short of power": _written(50, 60, "6 kW"),
        "r[1-2000], all well": HEAD + RACK % ("r[1-2000]", 100, 100) + ALIKE,
        "r[1-2000], each short of power": HEAD + RACK % ("r[1-2000]", 30, 30) + ALIKE,
    }


def _written(racks: int, breaker_a: int, power: str) -> str:
    return HEAD + "".join(RACK % (f"r{at:03}", breaker_a, breaker_a) + 8 * (SERVER % power) for at in range(racks))


def spent_s(program: Path, text: str) -> float:
    """CPU of one check, the least of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "hall.yaml").write_text(text)
        return min(_once(program, folder) for _ in range(RUNS))


def _once(program: Path, folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "check", "hall.yaml"], cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "facility big:" not in done.stdout:
        raise SystemExit(f"not read as it was meant: {done.stdout or done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gpulint", type=Path, default=Path(sys.executable).with_name("gpulint"))
    program = parser.parse_args().gpulint.absolute()
    for name, text in halls().items():
        print(f"{name}: {spent_s(program, text):.2f} s of CPU")


if __name__ == "__main__":
    main()
