"""Render an explanation as a Markdown section, with names linked to their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpulint.cli.explain.parts import REFERENCE, Code, Explanation, Listing, Part, Text

Link = Callable[[str, str], str]
"""Returns the link from a page to the page of a noun and name; empty if there is none."""


def render(explanation: Explanation, link: Link, level: int = 1) -> str:
    """Return the explanation as a section whose heading has the given level."""
    marks = " · ".join(f"{name} {value}" if name else value for name, value in explanation.marks)
    head = "\n\n".join((f"{'#' * level} {explanation.name}", explanation.summary, marks))
    return link_facts(f"{head}\n\n", link) + render_parts(explanation, link, level + 1)


def render_parts(explanation: Explanation, link: Link, level: int) -> str:
    """Return only the parts of the explanation, whose headings have the given level."""
    return "\n\n".join(link_facts("\n".join(_lines(part, level)), link) for part in explanation.parts) + "\n"


def render_table(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield _row(head)
    yield "|" + "---|" * len(head)
    yield from (_row(row) for row in rows)


def link_facts(text: str, link: Link) -> str:
    """Return text in which references are links."""

    def render_link(noun: str, name: str) -> str:
        target = link(noun, name)
        label = name if noun == "page" else f"`{name}`"
        return f"[{label}]({target})" if target else label

    return REFERENCE.sub(lambda match: render_link(match["noun"], match["name"]), text)


def _lines(part: Part, level: int) -> Iterator[str]:
    if isinstance(part, Text):
        yield part.words
        return
    if part.title:
        yield from (f"**{part.title}**" if level > 2 else f"{'#' * level} {part.title}", "")
    if isinstance(part, Code):
        yield from (f"```{part.language or 'text'}", part.text.rstrip("\n"), "```")
    elif isinstance(part, Listing):
        yield from (f"- {_link_address(item)}" for item in part.items)
    else:
        yield from render_table(part.head, part.rows)


def _link_address(item: str) -> str:
    return f"<{item}>" if item.startswith("https://") else item


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
