"""Shell: words as bash would see them, each at its place, and silence where bash would have to run something."""

from __future__ import annotations

import pytest

from gpulint.source import shell

Words = list[list[str | None]]


def words(script: str, **variables: str | None) -> Words:
    found = shell.read_commands(script, variables)
    return [[word.text for word in command.words] for command in found if command.words]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("vllm serve m --x=1 --y 2", [["vllm", "serve", "m", "--x=1", "--y", "2"]]),
        ("vllm serve \\\n  m \\\n  --x 1\n", [["vllm", "serve", "m", "--x", "1"]]),
        ("a 'b c' \"d e\" f\\ g 'h'\"i\"j", [["a", "b c", "d e", "f g", "hij"]]),
        ("a \"\" '' b", [["a", "", "", "b"]]),
        ('a "q\\"q \\$x \\\\ \\n"', [["a", 'q"q $x \\ \\n']]),
        ("a $'x\\ny\\'z' $'\\x41\\101'", [["a", "x\ny'z", "AA"]]),
        ('a --config \'{"x": 1,\n "y": 2}\'', [["a", "--config", '{"x": 1,\n "y": 2}']]),
        ("exec nohup env A=b time cmd", [["exec", "nohup", "env", "A=b", "time", "cmd"]]),
        ("a | b && c || d; e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("{ a; b; }; (c; d)\n! e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a > out 2>&1 < in b --c; d 2>&1 e", [["a", "b", "--c"], ["d", "e"]]),
        ("set -ex\nulimit -n 65535", [["set", "-ex"], ["ulimit", "-n", "65535"]]),
        ("#!/bin/bash\na # comment\n# b\nc", [["a"], ["c"]]),
        ('a --d={"x":1}', [["a", "--d={x:1}"]]),
        ("vllm --größe é 'ü'", [["vllm", "--größe", "é", "ü"]]),
    ],
)
def test_words_lose_their_quotes_and_keep_their_order(script: str, expected: Words) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("v a \\\n  # why \\\n  --b 2\n", [["v", "a"], ["--b", "2"]]),
        ("v a \\ \n  --b 2\n", [["v", "a", " "], ["--b", "2"]]),
        ("v a \\\n\n  --b 2\n", [["v", "a"], ["--b", "2"]]),
        ("v a\\\n--b 2\n", [["v", "a--b", "2"]]),
        ("v a\\\n --b 2\n", [["v", "a", "--b", "2"]]),
    ],
)
def test_a_command_ends_where_bash_ends_it(script: str, expected: Words) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (r"v \ ", [["v", " "]]),
        (r"v \  b", [["v", " ", "b"]]),
        ("v \\\t b", [["v", "\t", "b"]]),
        (r"v \ b \ 'c d'", [["v", " b", " c d"]]),
        (r"v 'b'\ ; w", [["v", "b "], ["w"]]),
        (r"v \\\ b", [["v", r"\ b"]]),
        (r"v \ #no comment", [["v", " #no", "comment"]]),
        (r"v b > \  c; w", [["v", "b", "c"], ["w"]]),
        (r'A=\ b; v "$A"', [["v", " b"]]),
        (r"A=1; v $A\ b ${B:-\ c}", [["v", "1 b", " c"]]),
        (r'A=(\  b); v "${A[@]}"', [["v", " ", "b"]]),
    ],
)
def test_an_escaped_blank_is_text(script: str, expected: Words) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (r"v \\ b", [["v", "\\", "b"]]),
        (r"v '\' b", [["v", "\\", "b"]]),
        (r"v 'a\ b' " + '"c\\ d" $' + r"'e\ f'", [["v", r"a\ b", r"c\ d", r"e\ f"]]),
        ("v a # b\\ \nw", [["v", "a"], ["w"]]),
    ],
)
def test_a_backslash_that_is_quoted_or_in_a_comment_escapes_no_blank(script: str, expected: Words) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('A=m; v --m=$A ${A} "x${A}y"', [["v", "--m=m", "m", "xmy"]]),
        ('export A=1; export B="$A 2"; v "$B"', [["export"], ["export"], ["v", "1 2"]]),
        ("A=1 B=$A; v $B", [["v", "1"]]),
        ("v ${X:-'q r'} ${X:-q\\ r}", [["v", "q r", "q r"]]),
        ("A='x y'; v ${A:-'q r'}", [["v", "x", "y"]]),
        ("A=1; A+=2; v $A", [["v", "12"]]),
        ('v ${X:-d} ${X-e f} "${X:-a b}"', [["v", "d", "e", "f", "a b"]]),
        ('A=; v ${A:-d} ${A-d} "$A" $A', [["v", "d", ""]]),
        ("A='--a b  --c'; v $A \"$A\" x${A}y", [["v", "--a", "b", "--c", "--a b  --c", "x--a", "b", "--cy"]]),
        ("N=4; v $((N * 2)) $(( (1 + 2) / 2 )) $((-7 % 3)) $((${N}-1))", [["v", "8", "1", "-1", "3"]]),
        ("A=(--a 'b c'); A+=(--d); v \"${A[@]}\" e", [["v", "--a", "b c", "--d", "e"]]),
        ('v $KNOWN ${KNOWN} $(KNOWN) "$(KNOWN)"', [["v", "k", "k", "k", "k"]]),
        ("A=1; source /opt/venv/bin/activate; v $A", [["source", "/opt/venv/bin/activate"], ["v", "1"]]),
        ("cd x && A=1 && v $A", [["cd", "x"], ["v", "1"]]),
    ],
)
def test_known_variables_are_expanded_as_bash_does(script: str, expected: Words) -> None:
    assert words(script, KNOWN="k") == expected


@pytest.mark.parametrize(
    "script",
    [
        "v $UNSET",
        "v ${SECRET}",
        "v ${SECRET:-default}",
        "v $(SECRET)",
        "v $(date)",
        "v `date`",
        "v $1",
        'v "$@"',
        "v ${#A}",
        "v ${A%x}",
        "A=$(cat f); v $A",
        "A=$(cat f); v ${A:-d}",
        "v $((UNSET + 1))",
        "v $((1 << 70))",
        "v $((1 / 0))",
        "v $((9999999999 * 9999999999))",
        "v a{b,c}",
        "v {1..3}",
        "v <(x)",
        "v <your-model>",
        'v "<hf token>"',
        "v {{ .Values.model }}",
        "v ${accelerator.args}",
        "v x-{{ model }}-y",
        "if x; then A=1; fi; v $A",
        "x || A=1; v $A",
        "x && A=1\nv $A",
        "(A=1); v $A",
        "A=1 | x; v $A",
        "A=1; read A; v $A",
        "A=1; source x.sh; v $A",
        "A=1; eval $X; v $A",
        "A=1; $f; f() { A=2; }; $f; v $A",
        "case $X in a) A=1;; b) v $A;; esac",
        "f() { v $A; }; A=1; A=2",
        "for A in 1 2; do v $A; done",
        "A=1; while x; do v $A; A=2; done",
        "A=1 v $A",
        "export A=1 B=$A; v $B",
        "unset A; v $A",
    ],
)
def test_what_only_running_would_tell_is_unknown(script: str) -> None:
    found = [
        command
        for command in shell.read_commands(script, {"SECRET": None})
        if command.words[:1] and command.words[0].text == "v"
    ]
    assert [word.text for word in found[-1].words[1:]] == [None]
    assert found[-1].words[1].why


def test_an_unknown_word_says_why() -> None:
    found = shell.read_commands("v $A $(date) <model> a{b,c}")[0].words
    assert [word.why for word in found] == [
        "",
        "the value of $A is not known",
        "`$(date)` is known only when it runs",
        "a placeholder",
        "brace expansion",
    ]


def test_a_here_document_is_data() -> None:
    assert words("cat <<EOF > f\nvllm serve $X\nEOF\nnext") == [["cat"], ["next"]]
    assert words("cat <<'EOF' | sh\nvllm serve\nEOF\n") == [["cat"], ["sh"]]


@pytest.mark.parametrize("line", ["\\ ", "\\ a b", "\\a $(b)", "\\a; b", "\\ a | b", "a\\ b", "\\\\"])
def test_a_here_document_may_start_with_a_backslash(line: str) -> None:
    assert words(f"v <<E\n{line}\nE\nw") == [["v"], ["w"]]
    assert words(f"v <<-'E' > f\n{line}\nE\nw") == [["v"], ["w"]]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a; b && c || d", [False, False, False, False]),
        ("if a; then b; else c; fi; d", [True, True, True, False]),
        ("for x in 1 2; do a; done", [True]),
        ("while a; do b; done", [True, True]),
        ("case $x in y) a;; esac", [True]),
        ("f() { a; }; b", [True, False]),
    ],
)
def test_only_ifs_cases_loops_and_functions_are_conditional(script: str, expected: list[bool]) -> None:
    assert [command.conditional for command in shell.read_commands(script)] == expected


def test_every_word_has_its_place() -> None:
    """A word that bash splits from a variable stands where the variable's value is written."""
    script = "é=1\nA='x y'; v --m=\"$A\" \\\n  $A 'q'"
    found = shell.read_commands(script)[-1].words
    assert [script[word.start : word.end] for word in found] == ["v", '--m="$A"', "x", "y", "'q'"]
    assert [word.raw for word in found] == ["v", '--m="$A"', "x", "y", "'q'"]
    assert [word.text for word in found] == ["v", "--m=x y", "x", "y", "q"]


def test_the_words_of_an_array_keep_the_place_they_are_written_at() -> None:
    script = 'A=(--a 1)\nv "${A[@]}"'
    found = shell.read_commands(script)[-1].words
    assert [(word.text, word.start, word.end) for word in found] == [("v", 10, 11), ("--a", 3, 6), ("1", 7, 8)]


def test_assignments_are_reported_with_their_place() -> None:
    script = 'A="b c" x\nexport D=$E F='
    first, second = shell.read_commands(script)
    assert [(name, word.text, script[word.start : word.end]) for name, word in first.assignments] == [
        ("A", "b c", '"b c"')
    ]
    assert [(name, word.text, word.raw) for name, word in second.assignments] == [("D", None, "$E"), ("F", "", "")]


def test_a_command_that_does_not_parse_has_no_known_words() -> None:
    found = shell.read_commands("vllm serve m --x 'open\nnext")
    assert all(word.text is None for command in found for word in command.words)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "unit",
    [
        "a|",
        "((a",
        "a=(",
        "$[",
        "case x in a)x;;esac;",
        "A=$A$A;x y$A;",
        "$(BIG) ",
        "$(",
        "`",
        "${a:-",
        "{{",
        "f(){ ",
        "if ",
        "\\ ",
        "\\  ",
        "\\",
        "<<E\n\\ ",
        "${a:-(",
        "${A%%*",
        "$a/$b/c ",
        "f(){ f; }; f;",
        "f(){ g; g; }; g(){ f; f; }; f;",
        "eval 'eval ",
        "A+=' x'; v $A;",
        "A+=(a); v ${A[@]};",
        "if [ -z $X ]; then X=1; fi;",
        "[[ a && ",
        "set -- a b; ",
    ],
)
def test_a_hostile_script_costs_little(unit: str) -> None:
    shell.read_commands((unit * 256_000)[:256_000], {"BIG": "x " * 1000})


def test_a_script_beyond_the_limit_has_no_commands() -> None:
    assert shell.read_commands("a\n" * 128_001) == ()


def test_an_expansion_outside_quotes_that_is_empty_leaves_no_word() -> None:
    assert words('run ${EXTRA:-} "${EXTRA:-}" $NONE x ${Y:+a}', NONE="") == [["run", "", "x"]]
    assert words("run ${EXTRA:-} ${LENGTH:-8}", EXTRA=None) == [["run", None, "8"]]


def test_an_environment_that_may_hold_any_name_leaves_defaults_open() -> None:
    class AnyName(dict[str, str | None]):
        def __contains__(self, name: object) -> bool:
            return True

    (found,) = shell.read_commands("run ${LENGTH:-8}", AnyName())
    assert [word.text for word in found.words] == ["run", None]
