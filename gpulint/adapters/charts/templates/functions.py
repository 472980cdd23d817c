"""Functions of templates: those of text/template, Sprig and Helm that charts use.

Semantics: https://pkg.go.dev/text/template#hdr-Functions, https://masterminds.github.io/sprig/ and
https://helm.sh/docs/chart_template_guide/function_list/ (2026-11-23). A function takes values and returns one; an exception
of Python's own (type, value, look-up) leaves the result open, as Helm would stop there.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulint.adapters.charts.templates import arithmetic, logic, mappings, texts
from gpulint.adapters.charts.templates.value import UNKNOWN, Value

LAZY = frozenset({"and", "or"})
"""Functions that evaluate only as many arguments as they need."""
LINES = frozenset({"toYaml", "indent", "nindent", "include", "tpl"})
"""Functions whose result may be several lines."""


def _guard(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function whose result is open where an argument is."""

    def guarded(*arguments: Value) -> Value:
        if any(argument.is_open for argument in arguments) or logic.has_open_text(arguments):
            return UNKNOWN
        return function(*arguments)

    return guarded


_STRICT = {**arithmetic.STRICT, **logic.STRICT, **mappings.STRICT, **texts.STRICT}
FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{
        name: _guard(function)
        for name, function in {**arithmetic.STRICT, **logic.STRICT, **mappings.STRICT, **texts.STRICT}.items()
    },
    **mappings.LENIENT,
    **logic.LENIENT,
    **texts.LENIENT,
}
