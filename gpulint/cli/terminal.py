"""The terminal that a command writes to: its width, and whether it shows colours and links."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpulint.report.formats.terminal_view import View

WIDTH_LEAST, WIDTH_MOST = 80, 200
WITHOUT_COLOURS = frozenset({"", "dumb", "unknown"})
WITHOUT_LINKS = ("linux", "screen", "vt")
"""The first words of $TERM of terminals that print the escape sequence of a link."""


def has_colours(requested: bool | None = None) -> bool:
    """Return whether stdout shows colours: as requested, else on a terminal that has them, unless NO_COLOR is set."""
    if requested is not None:
        return requested
    is_able = os.environ.get("TERM", "") not in WITHOUT_COLOURS or sys.platform == "win32"
    return sys.stdout.isatty() and is_able and not os.environ.get("NO_COLOR")


def find_view(colour: bool) -> View:
    """Return the view of stdout. A file or a pipe is 120 columns wide and has no links."""
    from gpulint.report.formats.terminal_view import View

    if not sys.stdout.isatty():
        return View(colour=colour)
    columns = shutil.get_terminal_size().columns
    has_links = colour and not os.environ.get("TERM", "").startswith(WITHOUT_LINKS)
    return View(width=max(WIDTH_LEAST, min(columns, WIDTH_MOST)), colour=colour, link=_link_file if has_links else None)


def _link_file(path: str) -> str:
    """Return the address of a file; its characters are escaped, so that none of them ends the link."""
    return Path(os.path.abspath(path.encode("utf-8", "replace").decode())).as_uri()
