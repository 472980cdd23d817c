"""The comment on a pull request: what it says, how long it gets, and that no word of a file acts in it."""

from __future__ import annotations

from collections.abc import Iterator

import nasty
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from nasty import PAGE, REPORT, SHOWN

from gpulint.report.formats import markdown
from gpulint.report.model import Report, Waiver

LINE = SHOWN.replace("two\ufffdlines", "two lines").replace("\\|", "\\ |")
"""The message on one line; a space keeps a backslash from taking the escape of a table's bar."""


def tokens(text: str) -> Iterator[Token]:
    """All tokens of a Markdown text, tables included."""
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        yield token
        yield from token.children or ()


def rows(text: str) -> list[list[tuple[str, ...]]]:
    """The cells of a table's body: the kind and the words of what is in each."""
    found: list[list[tuple[str, ...]]] = []
    in_body = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_body = in_body or token.type == "tbody_open"
        if token.type == "tr_open" and in_body:
            found.append([])
        if token.type == "inline" and found:
            found[-1].append(tuple(one.content for one in token.children or () if one.type in {"text", "code_inline"}))
        if token.type == "tbody_close":
            return found
    return found


def test_the_worst_stands_first_one_row_a_finding() -> None:
    assert rows(markdown.render(REPORT)) == [
        [("error",), ("parallel-size-exceeds-gpus",), ("apps/chat.yaml:3",), (LINE,)],
        [("warning (likely)",), ("team-rule",), ("apps/chat.yaml:5",), ("over several lines",)],
        [("note (possible)",), ("team-rule",), ("b.json:1",), ("far to the right",)],
    ]
    turned = REPORT._replace(findings=REPORT.findings[::-1])
    assert [row[0] for row in rows(markdown.render(turned))] == [
        ("error",),
        ("warning (likely)",),
        ("note (possible)",),
    ]


def test_the_comment_is_shown_whole() -> None:
    shown = markdown.render(REPORT).split("```text\n")
    assert shown[0] == (
        "<!-- gpulint report -->\n\n"
        "### gpulint: 1 internal error, 1 error, 1 warning, 1 note\n\n"
        "**internal error** in `c.yaml` while checking the file: `RuntimeError: ]]> \ufffd`\n\n"
        "| | rule | where | what |\n|---|---|---|---|\n"
        f"| error | [`parallel-size-exceeds-gpus`](<{PAGE}>) | `apps/chat.yaml:3` | "
        "``two lines ]]> 100% \\| `t` @octocat #7 <b> [a](http://evil.example) \\ \\| ::error::, \ufffd[31m\ufffd𝔘`` |\n"
        "| warning (likely) | `team-rule` | `apps/chat.yaml:5` | `over several lines` |\n"
        "| note (possible) | `team-rule` | `b.json:1` | `far to the right` |\n\n"
        "<details><summary>Locations, arithmetic and suggestions</summary>\n\n"
    )
    assert shown[1].split("\n```\n")[1] == (
        "\n</details>\n\n"
        "<details><summary>1 suppressed</summary>\n\n"
        "- `parallel-size-exceeds-gpus` at `apps/chat.yaml:3`: comment, `latency \\| test`, by `@octocat`, until `2027-01-31`\n\n"
        "</details>\n\n"
        "<details><summary>1 not checked</summary>\n\n- `charts/a.yaml`: `a template`\n\n</details>\n\n"
        "`5 files, 2 workloads, 1 error, 1 warning, 1 note, 2 suppressed`  \nnot evaluated: 2 checks  \n"
        "To read about a rule: `gpulint explain RULE`\n"
    )


def test_nothing_found_is_said_in_two_lines_and_quietly() -> None:
    assert markdown.render(Report(files=2)) == (
        "<!-- gpulint report -->\n<!-- gpulint: quiet -->\n\n### gpulint: no findings\n\n`2 files, 0 workloads, no findings`\n"
    )


def test_old_debt_is_counted_and_not_listed() -> None:
    old = [nasty.ERROR._replace(suppressed=Waiver(kind, "x", nasty.COUNT)) for kind in ("base", "baseline")]
    shown = markdown.render(Report(findings=tuple(old)))
    assert shown.split("\n\n")[1:] == [
        "### gpulint: no findings",
        "``0 files, 0 workloads, no findings, 1 accepted by apps/ä %,\\|`.yaml, 1 existed before``\n",
    ]


# ---- words of strangers

HOSTILE = [
    "@octocat and @org/team",
    "#1 GH-1 org/repo#1 0123456789abcdef0123456789abcdef01234567",
    "http://evil.example www.evil.example me@evil.example",
    "[a](http://evil.example) ![b](http://evil.example/p.png)",
    "<img src=x onerror=alert(1)> <!-- gpulint report --> </details> &lt;b&gt;",
    "a | b \\| c \\\\| d ||",
    "` `` ``` ```` ```````````",
    "`",
    "``` `",
    "one\r\n\r\n# title\n\n- item\n\n```\nfence",
    "**bold** _it_ ~~gone~~ $x$ :rocket: ~~~",
    " leading and trailing ",
    "\\",
    "\\`",
    "| --- |",
    "\u202e\u2066\x1b[0m",
    "x" * 5_000,
    "",
]


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_no_word_of_a_file_acts_anywhere(words: str) -> None:
    place = nasty.ARGUMENT._replace(path=words or "x", text=words)
    waiver = nasty.WAIVED.suppressed._replace(reason=words, owner=words, until=words)
    one = nasty.ERROR._replace(
        message=words, location=place, label=words, arithmetic=(words,), workload=words, rule=words or "x"
    )
    report = REPORT._replace(
        findings=(one, one._replace(suppressed=waiver)),
        skipped=(nasty.REPORT.skipped[0]._replace(path=words, reason=words),),
        failures=(nasty.REPORT.failures[0]._replace(path=words, error=words),),
    )
    shown = list(tokens(markdown.render(report)))
    assert [
        one.type
        for one in shown
        if one.type in {"link_open", "image", "html_inline", "heading_open", "s_open", "em_open"}
    ] == ["heading_open"]
    html = [one.content.strip() for one in shown if one.type == "html_block"]
    assert html == [
        "<!-- gpulint report -->",
        "<details><summary>Locations, arithmetic and suggestions</summary>",
        "</details>",
        "<details><summary>1 suppressed</summary>",
        "</details>",
        "<details><summary>1 not checked</summary>",
        "</details>",
    ]
    plain = " ".join(one.content for one in shown if one.type == "text")
    assert not set("@#`<[") & set(plain)
    assert "evil" not in plain
    assert len([one for one in shown if one.type == "fence"]) == 1


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_a_row_has_four_cells_whatever_its_words_are(words: str) -> None:
    one = nasty.ERROR._replace(message=words, location=nasty.ARGUMENT._replace(path=words))
    (row,) = rows(markdown.render(Report(findings=(one,))))
    assert len(row) == 4


def test_prose_of_a_rule_is_shown_as_it_is_written() -> None:
    said = "max_num_seqs * 2 < `x` | [a](b) <b> ~~no~~ \\ &amp;"
    (inline,) = [one for one in tokens(markdown.escape(said)) if one.type == "inline"]
    assert "".join(one.content for one in inline.children or () if one.type in {"text", "text_special"}) == said
    assert {one.type for one in inline.children or ()} <= {"text", "text_special"}


# ---- how long

GITHUB_MAX = 65_536


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("words", ["x" * 390, "𝔘" * 390, "`" * 390, "|" * 390])
def test_a_comment_is_never_longer_than_github_takes(words: str) -> None:
    many = tuple(nasty.ERROR._replace(message=words, confidence=3 - at % 3) for at in range(2_000))
    shown = markdown.render(Report(findings=many, skipped=REPORT.skipped * 500, failures=REPORT.failures))
    assert 50_000 < units(shown) <= GITHUB_MAX
    told = len(rows(shown))
    assert f"… and {2_000 - told} more, in the log" in shown
    assert shown.endswith("`0 files, 0 workloads, 2,000 errors`  \nTo read about a rule: `gpulint explain RULE`\n")


def test_many_faults_of_ours_do_not_make_it_longer_either() -> None:
    shown = markdown.render(Report(failures=tuple(REPORT.failures[0]._replace(error="y" * 390) for _ in range(2_000))))
    assert units(shown) <= GITHUB_MAX
    assert "### gpulint: 2000 internal errors" in shown.replace(",", "")


def test_details_that_do_not_fit_are_fewer_and_what_is_cut_is_said() -> None:
    long = nasty.ERROR._replace(arithmetic=tuple(f"{at} " + "z" * 1_000 for at in range(20)))
    shown = markdown.render(Report(findings=(long,) * 10))
    assert units(shown) <= GITHUB_MAX
    assert len(rows(shown)) == 10
    assert "… and the details of 8 more, in the log" in shown


def test_a_list_that_does_not_fit_is_named() -> None:
    waiver = nasty.WAIVED.suppressed
    assert waiver is not None
    silenced = nasty.WAIVED._replace(
        suppressed=waiver._replace(reason="r" * 390, owner="o" * 390, until="u" * 390), rule="r" * 390, message="m"
    )
    shown = markdown.render(Report(findings=(silenced,) * 60))
    assert units(shown) <= GITHUB_MAX
    assert "\n\n60 suppressed, in the log\n\n" in shown
