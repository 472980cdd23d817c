"""What a terminal shows of a report: its width and colours, and how much of the report is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gpulint.report.location import Location
from gpulint.report.terminal_style import apply_style, link_text

WIDTH = 120
"""The width of output that goes to a file or a pipe."""
BRIEF_FROM = 6
"""A report with this many different findings shows each in brief, unless asked otherwise."""
NUMBER = re.compile(r"(?<![\w.,:/@+#-])\$?\d[\d,]*(?:\.\d+)?(?: (?:[KMGT]i?B(?:/s)?|kW|GPUs?)\b| ?%)?(?![\w:-])")
NUMBER_STYLE, PLACE_STYLE = "35", "36"


class View(NamedTuple):
    """How a report is shown; the default is that of a file or a pipe."""

    width: int = WIDTH
    colour: bool = False
    link: Callable[[str], str] | None = None
    """The address of a path; None: no hyperlinks."""
    show: str = ""
    """`brief` or `full` for every finding; empty: by their number."""
    everything: bool = False
    """Also the workloads that need no decision, and every assumption."""
    limit: int = 0
    """The largest number of different findings; 0: all."""
    quiet: bool = False
    """Findings only."""
    statistics: bool = False
    """The number of findings of each rule instead of the findings."""
    missing: bool = False
    """Every value that is missing instead of the questions that decide most."""

    def paint(self, text: str, style: str) -> str:
        """Return text in a style."""
        return apply_style(text, style) if self.colour else text

    def paint_numbers(self, text: str) -> str:
        """Return text with its numbers in colour."""
        return NUMBER.sub(lambda match: apply_style(match[0], NUMBER_STYLE), text) if self.colour else text

    def paint_place(self, text: str, place: Location) -> str:
        """Return the words of a location in colour, as a link to its file."""
        painted = self.paint(text, PLACE_STYLE)
        return painted if self.link is None else link_text(painted, self.link(place.path))

    def is_brief(self, findings: int) -> bool:
        """Return whether this many different findings are shown in brief."""
        return self.show == "brief" or (not self.show and findings >= BRIEF_FROM)


PIPE = View()
"""The view of a file or a pipe."""
UNWRAPPED = View(width=1_000_000)
"""The view of a program that wraps lines itself."""
