"""A picture of a terminal: text with styles as SVG, in the reader's light or dark scheme."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

COLUMN, LINE, MARGIN = 7.8, 18, 12
CLASSES = {"1": "b", "2": "d", "31;1": "e", "33;1": "w", "36;1": "n", "32": "g", "33": "w", "35": "m", "36": "n"}
STYLE = """\
  <style>
    text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
    rect { fill: #f6f8fa }
    .b { font-weight: bold } .d { fill: #656d76 } .e { fill: #cf222e; font-weight: bold } .w { fill: #9a6700 }
    .n { fill: #0969da } .g { fill: #1a7f37 } .m { fill: #8250df }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } rect { fill: #0d1117 }
      .d { fill: #8b949e } .e { fill: #ff7b72 } .w { fill: #d29922 } .n { fill: #79c0ff } .g { fill: #3fb950 }
      .m { fill: #d2a8ff }
    }
  </style>"""
STYLED = re.compile(r"\x1b\[([\d;]+)m(.*?)\x1b\[0m")


def draw(text: str, width: int, title: str) -> str:
    """Return a drawing of text on a terminal of this width."""
    lines = text.splitlines()
    size = f"{width * COLUMN + 2 * MARGIN:g} {len(lines) * LINE + 2 * MARGIN}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">\n  <title>{escape(title)}</title>'
    rows = (_draw_line(line, at) for at, line in enumerate(lines, 1) if line)
    return "\n".join((head, STYLE, '  <rect width="100%" height="100%" rx="6"/>', *rows, "</svg>\n"))


def _draw_line(line: str, at: int) -> str:
    length = len(STYLED.sub(r"\2", line)) * COLUMN
    return f'  <text x="{MARGIN}" y="{at * LINE + MARGIN - 4}" textLength="{length:g}">{"".join(_spans(line))}</text>'


def _spans(line: str) -> Iterator[str]:
    end = 0
    for match in STYLED.finditer(line):
        yield escape(line[end : match.start()])
        yield f'<tspan class="{CLASSES[match[1]]}">{escape(match[2])}</tspan>'
        end = match.end()
    yield escape(line[end:])
