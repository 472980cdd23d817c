"""Lines and tables that fit a width."""

from __future__ import annotations

from gpulint.report.formats.terminal_layout import lay_out, wrap

TITLES = ("workload", "architecture", "verdict", "cost")
ROW = ("chat", "meta-llama/Llama-3.1-8B-Instruct", "needs 1 × L40S 48GB", "$1.86/h")


def test_a_table_that_fits_has_all_of_its_columns_on_one_line_each() -> None:
    table = lay_out(TITLES, [ROW], 80, ("cost",))
    assert table.head == ["workload  architecture                      verdict              cost"]
    assert table.rows == [["chat      meta-llama/Llama-3.1-8B-Instruct  needs 1 × L40S 48GB  $1.86/h"]]
    assert table.left_out == ()


def test_cells_are_wrapped_between_words() -> None:
    table = lay_out(TITLES, [ROW], 70)
    assert table.rows == [
        [
            "chat      meta-llama/Llama-3.1-8B-Instruct  needs 1 × L40S  $1.86/h",
            "                                            48GB",
        ]
    ]


def test_optional_columns_are_left_out_before_a_word_is_broken() -> None:
    table = lay_out(TITLES, [ROW], 59, ("cost", "architecture"))
    assert table.head == ["workload  architecture                      verdict"]
    assert table.left_out == ("cost",)


def test_a_name_that_is_too_long_for_its_terminal_goes_on_after_a_joint() -> None:
    table = lay_out(("workload",), [("a-long-name/of-a-workload",)], 15)
    assert table.rows == [["a-long-name/of-", "a-workload"]]


def test_a_column_without_values_is_not_shown() -> None:
    assert lay_out(TITLES, [("chat", "", "fits", "")], 80).head == ["workload  verdict"]


def test_a_word_that_is_wider_than_the_terminal_stays_whole() -> None:
    assert wrap("  --> a/very/long/path.yaml:1:1", 20) == ["  -->", "    a/very/long/path.yaml:1:1"]


def test_code_is_never_broken() -> None:
    assert wrap("Which GPU? `accelerator: l4` decides 2 workloads", 24) == [
        "Which GPU?",
        "    `accelerator: l4`",
        "    decides 2 workloads",
    ]


def test_a_cell_without_end_is_cut() -> None:
    (lines,) = lay_out(("workload",), [("a " * 1_000_000,)], 80).rows
    assert len(lines) == 2
    assert lines[-1].endswith("…")
