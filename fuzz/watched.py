"""gpulint's command line under the audit hook: FOLDER is what it may read, LOG what it did beyond that.

python -P fuzz/watched.py FOLDER LOG WRITABLE check …
"""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

ROOT = str(Path(__file__).parent.parent)


def main() -> None:
    """Run gpulint on the remaining words, and write the violations and the peak of memory at the end."""
    sys.dont_write_bytecode = True
    sys.path[:] = [ROOT, *(entry for entry in sys.path if entry and entry != str(Path(__file__).parent))]
    from fuzz.audit import Watch

    folder, log, writable = sys.argv[1:4]
    watch = Watch((folder,), (writable,), ("git",))

    def finish() -> None:
        watch.is_on = False
        imported = [f"import {name}" for name in watch.imported_from(folder)]
        Path(log).write_text("\n".join([*watch.violations, *imported]), encoding="utf-8", errors="backslashreplace")

    atexit.register(finish)
    sys.argv = ["gpulint", *sys.argv[4:]]
    from gpulint.cli import main as run

    sys.addaudithook(watch.note)
    run()


if __name__ == "__main__":
    main()
