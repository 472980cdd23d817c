"""Launch scripts: what bash computes before it starts a command is computed, and nothing is guessed."""

from __future__ import annotations

import pytest

from gpulint.source import shell

Words = list[list[str | None]]
SET_ELSEWHERE = {"SECRET": None}


def words(script: str, **variables: str | None) -> Words:
    return [
        [word.text for word in command.words] for command in shell.read_commands(script, variables) if command.words
    ]


def last(script: str, **variables: str | None) -> list[str | None]:
    return words(script, **variables)[-1]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("X=org/Llama-7B; v ${X##*/} ${X#*/} ${X%/*} ${X%%-*}", ["Llama-7B", "Llama-7B", "org", "org/Llama"]),
        ("X=a.b.c; v ${X%.*} ${X%%.*} ${X#*.} ${X##*.} ${X%z}", ["a.b", "a", "b.c", "c", "a.b.c"]),
        ("X=a/b/c; v ${X/b/x} ${X//[ab]/-} ${X/\\/b/} ${#X}", ["a/x/c", "-/-/c", None, "5"]),
        ("X=Qwen; v ${X,,} ${X^^} ${X,} ${X:1:2} ${X: -2} ${X:1}", ["qwen", "QWEN", "qwen", "we", "en", "wen"]),
        ("X=1; v ${X:+on} a${Y:+on}b ${X:-2} ${Y:-2} ${Y:=3} $Y", ["on", "ab", "1", "2", "3", "3"]),
        ("N=X; X=7; v ${!N} ${N}", ["7", "X"]),
        ('A=(a \'b c\'); v ${A[0]} "${A[1]}" ${#A[@]} "${A[-1]}" "${A[*]}"', ["a", "b c", "2", "b c", "a b c"]),
        ('A=(a b c d); v "${A[@]:1:2}" ${A[@]:3} x${A[1+1]}', ["b", "c", "d", "xc"]),
        ("A[0]=x; A[1]=y; v ${A[@]}", ["x", "y"]),
        ('set -- a b c; shift; v $1 $# "$@"', ["b", "2", "b", "c"]),
        ("A=$B/$C/x; v $B/$C/$D.json $B-$C-z", ["b/c/d.json", "b-c-z"]),
        ("é=1; v $B/$C/ü 'ö'", ["b/c/ü", "ö"]),
        ("v ${Y:-a(b|c)d} ${B:+(x)}", ["a(b|c)d", "(x)"]),
    ],
)
def test_parameters_are_expanded_as_bash_does(script: str, expected: list[str | None]) -> None:
    assert last(script, B="b", C="c", D="d")[1:] == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("N * 2 + 1", "9"),
        ("2 ** 3 ** 2", "512"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("N > 3 ? 10 : 20", "10"),
        ("N == 4 && 5 < 6 || 0", "1"),
        ("!N + ~0", "-1"),
        ("0x10 + 010 + 2#101", "29"),
        ("1 << 4 | 3", "19"),
        ("$N * ${M:-3}", "12"),
        ("K", "8"),
        ("${#A[@]} * 2", "4"),
        ("1, 2", "2"),
    ],
)
def test_arithmetic_is_that_of_c(expression: str, value: str) -> None:
    assert last(f"N=4; K=N*2; A=(x y); v $(({expression}))") == ["v", value]


@pytest.mark.parametrize(
    "script",
    [
        "((X = 3, Y = X ** 2)); v $X $Y",
        "let X=3 'Y = X * 3'; v $X $Y",
        "X=2; ((X++)); ((Y = 9)); v $X $Y",
        "X=$(expr 1 + 2); Y=$(echo 9); v $X $Y",
        "X=3; Y=$((X * X)); v $X $Y",
    ],
)
def test_what_arithmetic_sets_is_known(script: str) -> None:
    assert last(script) == ["v", "3", "9"]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("v $(basename /a/b.yaml) $(basename /a/b.yaml .yaml) $(dirname /a/b)", ["b.yaml", "b", "/a"]),
        ('D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd); v $D/x $D/../y', ["./x", "./../y"]),
        ('D="$(dirname "$0")"; v "$D/x" $(realpath $D)', ["./x", "."]),
        ("v ${BASH_SOURCE[0]%/*}/x", ["./x"]),
        ("X=$(cat <<EOF\na $Y\nEOF\n); v $X", ["a", "y"]),
        ('X=`echo a b`; v $X "$X"', ["a", "b", "a b"]),
        ("v $(printf '%s' a) $(echo -n b)", ["a", "b"]),
    ],
)
def test_commands_that_only_print_what_is_known_are_read(script: str, expected: list[str | None]) -> None:
    assert last(script, Y="y")[1:] == expected


@pytest.mark.parametrize(
    "script",
    [
        "v $(nproc)",
        "v $(pwd)",
        "v $PWD",
        "v $0",
        "v $(basename $0)",
        "v $(nvidia-smi -L | wc -l)",
        "v $(cd build && pwd)",
        "v $(dirname $SECRET)",
        "v $(echo $SECRET)",
        "v $(echo *)$SECRET",
        "v $(f)",
        "v ${X%$SECRET}",
        "v ${SECRET##*/}",
        "v ${SECRET:+x}",
        "v ${A[0]}",
        "declare -A A=([k]=1); v ${A[k]}",
        "A[5]=x; v ${A[5]}",
        "v $((SECRET * 2))",
        "v $((UNSET * 2))",
        "N=x; ((N = SECRET)); v $N",
        "N=1; ((SECRET > 1 ? (N = 2) : 0)); v $N",
        "let N=SECRET; v $N",
        "set -- $SECRET; v $1",
        'v "x $@"',
        "N=1; [ -f x ] && N=2; v $N",
        "N=1; if [[ $SECRET == a ]]; then N=2; fi; v $N",
        "N=1; if [[ -n $SLURM_JOB_ID ]]; then N=2; fi; v $N",
        "N=1; case $SECRET in a) N=2;; esac; v $N",
        "N=1; for i in a b; do N=$i; done; v $N",
        "N=1; f() { N=2; }; for i in a b; do v $N; f; done",
        "read N; v $N",
        'N=1; eval "$SECRET"; v $N',
        'N=1; source "$SECRET"; v $N',
        'N=1; f() { N=2; }; "$@"; v $N',
        "f() { v $1; }; f $SECRET",
        'E=\'\'; while [ $# -gt 0 ]; do E="$E $1"; shift; done; v "$E"',
    ],
)
def test_what_only_running_would_tell_is_unknown(script: str) -> None:
    found = [command for command in shell.read_commands(script, SET_ELSEWHERE) if command.words[:1]]
    asked = [command for command in found if command.words[0].text == "v"]
    assert [word.text for word in asked[-1].words[1:]] == [None]
    assert asked[-1].words[1].why


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("M=97; if [[ $M == 7 ]]; then N=1; elif [ $M -eq 97 ]; then N=2; else N=3; fi; v $N", [["v", "2"]]),
        ("M=a; if [ $M = b ]; then x; else y; fi", [["y"]]),
        ("M=a1; [[ $M == a* ]] && v; [[ $M != a* ]] && w", [["v"]]),
        ('M=; if test -z "$M"; then x; fi', [["test", "-z", ""], ["x"]]),
        ("N=2; if [ $N -gt 1 -a $N -lt 4 ]; then x; fi; if [[ $N -gt 1 && ! $N -lt 2 ]]; then y; fi", [["x"], ["y"]]),
        ("if (( 2 > 1 )); then x; else y; fi", [["x"]]),
        ("M=b; case $M in a) x;; b|c) y;; *) z;; esac", [["y"]]),
        ("M=abc; case $M in a*) x;; *) z;; esac", [["x"]]),
        ("if false; then x; fi; while false; do y; done", [["false"], ["false"], ["y"]]),
        ("for i in one; do v $i; done; E=; for i in $E; do w; done", [["v", "one"]]),
        ("v; exit 1; w", [["v"], ["exit", "1"]]),
        ("x || exit 1; w", [["x"], ["exit", "1"], ["w"]]),
    ],
)
def test_what_a_known_test_rules_out_is_not_read(script: str, expected: Words) -> None:
    assert words(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        'if [ -z "$N" ]; then N=8; fi; v $N',
        '[ -z "$N" ] && N=8; v $N',
        '[ -n "$N" ] || N=8; v $N',
        'if [ -n "$1" ]; then N=$1; else N=8; fi; v $N',
        "N=8; if [ $# -ge 1 ]; then N=$1; fi; v $N",
        "N=${1:-8}; v $N",
        'main() { N=${1:-8}; v $N; }; main "$@"',
        'N=8; parse() { while [ $# -gt 0 ]; do case $1 in --n) N=$2;; esac; shift; done; }; parse "$@"; v $N',
        "N=8; while [[ $# -gt 0 ]]; do case $1 in --n) N=$2; shift 2;; esac; done; v $N",
        "N=8; while getopts n: o; do case $o in n) N=$OPTARG;; esac; done; v $N",
        'N=8; for a in "$@"; do case $a in --n=*) N=${a#*=};; esac; done; v $N',
    ],
)
def test_a_default_holds_as_long_as_the_caller_gives_nothing(script: str) -> None:
    word = shell.read_commands(script)[-1].words[1]
    assert word.text == "8"


def test_a_default_says_that_it_is_one() -> None:
    found = shell.read_commands("N=${N:-8}; M=4; v $N $M --x=$N")[-1].words
    assert [word.default for word in found] == [False, True, False, True]


def test_both_sides_of_what_is_only_presumed_are_read() -> None:
    found = shell.read_commands('if [ "$DEBUG" = 1 ]; then x; else y; fi; M=${1:-a}; case $M in a) z;; b) w;; esac')
    read = [(command.words[0].text, command.conditional) for command in found if command.words]
    assert read == [("x", True), ("y", True), ("z", True), ("w", True)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('A=(--a 1); if x; then A+=(--b); fi; v "${A[@]}"', ["--a", "1", None]),
        ('A="--a 1"; x && A="$A --b"; v $A', ["--a", "1", None]),
        ('A="--a 1"; case $S in b) A+=" --b";; c) A+=" --c";; esac; v $A c', ["--a", "1", None, "c"]),
        ('A="--a $S"; v $A c', ["--a", None, "c"]),
        ('A=$S; A+=" --b"; v $A', [None, "--b"]),
    ],
)
def test_what_is_known_of_a_list_of_arguments_stays_known(script: str, expected: list[str | None]) -> None:
    assert last(script, S=None)[1:] == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("f() { v $1 ${2:-d}; }; f a; f b c", [["v", "a", "d"], ["v", "b", "c"]]),
        ("f() { local N=1; v $N; }; N=2; f; w $N", [["local"], ["v", "1"], ["w", "2"]]),
        ("f() { N=1; }; N=2; f; w $N", [["w", "1"]]),
        ('f() { g "$@" x; }; g() { v "$@"; }; f a', [["v", "a", "x"]]),
        ("f() { v; return; w; }; f; x", [["v"], ["return"], ["x"]]),
        ("f() { f; v; }; f", [["v"]]),
        ("A=1 f; f() { v $A; }", [["f"], ["v", None]]),
        ("f() { v $A; }; A=1 f; w $A", [["v", "1"], ["w", None]]),
    ],
)
def test_a_function_is_read_where_it_is_called(script: str, expected: Words) -> None:
    assert words(script) == expected


def test_a_function_that_nothing_calls_is_conditional() -> None:
    found = shell.read_commands("f() { v $1; }; A=1; w")
    assert [(command.words[0].text, command.conditional) for command in found if command.words] == [
        ("v", True),
        ("w", False),
    ]


def test_a_here_document_is_what_the_command_reads() -> None:
    script = "N=2\nsrun bash <<EOF\nv $N \\$M\nEOF\nkubectl apply -f - <<'EOF'\na: $N\nEOF\ncat <<< \"x $N\"\n"
    assert [command.here.text for command in shell.read_commands(script) if command.here] == [
        "v 2 $M\n",
        "a: $N\n",
        "x 2",
    ]


def test_tabs_before_the_lines_of_a_here_document_may_be_none_of_it() -> None:
    assert [command.here.text for command in shell.read_commands("sh <<-E\n\ta\n\t\tb c\n\tE\n") if command.here] == [
        "a\nb c\n"
    ]


@pytest.mark.parametrize("script", ["cat <<E | sbatch\nv\nE\n", "echo v | sh", "cat - <<E | sh -s\nv\nE\n"])
def test_what_is_printed_into_a_command_is_what_it_reads(script: str) -> None:
    here = shell.read_commands(script)[-1].here
    assert here is not None
    assert (here.text or "").strip() == "v"


def test_a_script_within_is_read_at_the_places_it_is_written() -> None:
    script = 'N=8\nL="torchrun --n $N \\\n  --a $A"\nC="train.py --b \'x y\'"\nsrun bash -c "$L --r \\$R $C"\n'
    command = shell.read_commands(script)[-1]
    (found,) = shell.read_inner(command.words[-1], command)
    assert [(word.text, script[word.start : word.end]) for word in found.words] == [
        ("torchrun", "torchrun"),
        ("--n", "--n"),
        ("8", "8"),
        ("--a", "--a"),
        (None, "$A"),
        ("--r", "--r"),
        (None, "\\$R"),
        ("train.py", "train.py"),
        ("--b", "--b"),
        ("x y", "'x y'"),
    ]
    assert found.words[4].why == "the value of $A is not known"


def test_a_script_within_knows_what_is_exported() -> None:
    script = "export N=8; M=4; export L=\"torchrun $N\"; K=1 bash -c '$L $N $M $K'"
    command = shell.read_commands(script)[-1]
    (found,) = shell.read_inner(command.words[-1], command)
    assert [word.text for word in found.words] == ["torchrun", "8", "8", None, "1"]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("export A=1; v", {"A": "1"}),
        ("A=1; export A; A=2; v", {"A": "2"}),
        ("A=1; v", {}),
        ("set -a; A=1; set +a; B=2; v", {"A": "1"}),
        ("declare -x A=1; v", {"A": "1"}),
        ("(export A=1); v", {}),
        ("GIVEN=1; v", {"GIVEN": "1"}),
        ("export A=$(date); v", {"A": None}),
    ],
)
def test_a_command_knows_what_the_script_has_exported(script: str, expected: dict[str, str | None]) -> None:
    environment = shell.read_commands(script, {"GIVEN": "0"})[-1].environment
    assert {name: word.text for name, word in environment.items()} == expected


def test_a_part_of_a_word_has_its_place() -> None:
    script = 'A=model; v "--x=$A,b"'
    word = shell.read_commands(script)[-1].words[1]
    assert word.text == "--x=model,b"
    places = [word.locate_part(start, end) for start, end in ((0, 3), (4, 9), (4, 11), (10, 11))]
    assert [script[start:end] for start, end in places] == ["--x", "model", "$A,b", "b"]


def sourced(path: str) -> tuple[str, str] | None:
    files = {
        "./env.sh": ("jobs/env.sh", "export N=8\nM=$N$N\nw $N"),
        "./loop.sh": ("jobs/loop.sh", "source loop.sh"),
        "loop.sh": ("jobs/loop.sh", "source loop.sh"),
        "./lib.sh": ("jobs/lib.sh", "launch() { v $1 $N; }"),
        "./args.sh": ("jobs/args.sh", "A=$1"),
        "./lib/deep.sh": ("jobs/lib/deep.sh", 'source "$(dirname "${BASH_SOURCE[0]}")/other.sh"'),
        "./lib/other.sh": ("jobs/lib/other.sh", "N=3"),
    }
    return files.get(path)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('source "$(dirname "$0")/env.sh"; v $N $M', ["8", "88"]),
        ("if [ -f ./env.sh ]; then . ./env.sh; fi; v $N $M", ["8", "88"]),
        ("N=1; . ./args.sh x; v $N $A", ["1", "x"]),
        ("N=4; . ./lib.sh; launch a", ["a", "4"]),
        (". ./lib/deep.sh; v $N", ["3"]),
        ("N=1; . ./gone.sh; v $N", [None]),
        ("N=1; . ./loop.sh; v $N", [None]),
    ],
)
def test_a_file_that_is_sourced_is_read_in_place(script: str, expected: list[str | None]) -> None:
    found = shell.read_commands(script, {}, sourced)[-1].words
    assert [word.text for word in found[1:]] == expected


def test_what_stands_in_another_file_says_so() -> None:
    script = ". ./env.sh; v $N x$M"
    found = shell.read_commands(script, {}, sourced)
    inside = next(command for command in found if command.words and command.words[0].text == "w")
    assert (inside.source, [(word.start, word.end) for word in inside.words]) == ("jobs/env.sh", [(18, 19), (20, 22)])
    assert [script[word.start : word.end] for word in found[-1].words] == ["v", "$N", "x$M"]
    assert script[slice(*found[-1].words[2].locate_part(1, 3))] == "$M"


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/csh\nset x = 1\nv $x",
        "#!/bin/tcsh -f\nv",
        "#!/usr/bin/env python\nimport os",
        "#!/usr/bin/fish\nv",
        "setenv A 1\nv",
        "set n = 4\nv $n",
    ],
)
def test_a_script_of_another_language_has_no_commands(script: str) -> None:
    assert shell.read_commands(script) == ()


@pytest.mark.parametrize("first", ["#!/bin/bash -l", "#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/zsh", "# plain", ""])
def test_a_script_of_a_shell_has_commands(first: str) -> None:
    assert words(f"{first}\nv") == [["v"]]


def test_lines_may_end_as_those_of_windows_do() -> None:
    script = "#!/bin/bash\r\nA=1\r\nif [ $A = 1 ]; then\r\n  v \\\r\n    --a $A\r\nfi\r\nsh <<E\r\nx\r\nE\r\nw\r\n"
    assert words(script) == [["v", "--a", "1"], ["sh"], ["w"]]


def test_a_broken_part_leaves_the_others_readable() -> None:
    assert words("v a\nif [ x; then\nw b")[0] == ["v", "a"]
    assert words("v a \\\n  b \\\n") == [["v", "a", "b"]]
    assert words("v a \\") == [["v", "a"]]


@pytest.mark.parametrize(
    "placeholder",
    [
        "<model>",
        "<Path to vocab.json (e.g. /vocab.json)>",
        "<PATH_OF_MODEL> (e.g., /357m)",
        "<Specify path>/x",
        "{{ x }}",
    ],
)
def test_a_placeholder_is_unknown_and_breaks_nothing(placeholder: str) -> None:
    found = shell.read_commands(f"A={placeholder}\nv $A b < in 2> out")
    assert [[word.text for word in command.words] for command in found if command.words] == [["v", None, "b"]]


@pytest.mark.parametrize("script", ["v '\ud800' b", "v \ufdd0 b", "v $(echo \ufdd1) b"])
def test_odd_characters_do_no_harm(script: str) -> None:
    assert last(script)[0] == "v"
    assert last(script)[-1] == "b"


@pytest.mark.parametrize(
    "script",
    [
        'A="a b"\n' + 'A="$A $A"\n' * 40 + "v $A",
        "A0=x\n" + "".join(f'A{at + 1}="$A{at} $A{at} $U"\n' for at in range(40)) + 'bash -c "$A40"',
        "".join(f"f{at}() {{ f{at + 1}; f{at + 1}; }}\n" for at in range(30)) + "f0",
        "".join(f"export A{at}=1\nv\n" for at in range(5_000)),
        "".join(f"if x; then A{at}=1; fi\n" for at in range(5_000)),
        'C=\'eval "$C"\'; eval "$C"',
        "[[ " + "! " * 5_000 + "a ]]",
        "v " + "${x:-" * 3_000 + "}" * 3_000,
        "v $((" + "(" * 3_000 + "1" + ")" * 3_000 + "))",
    ],
)
def test_what_grows_without_bound_is_given_up(script: str) -> None:
    shell.read_commands(script)
