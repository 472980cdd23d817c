"""Names for shell completion: rules, facts, accelerators, checkpoints. Each list is read on use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def rules(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return matching rules and families; after a comma, complete the next name."""
    from gpulint.policy.rules import rule

    before, comma, _last = typed.rpartition(",")
    shipped = rule.load_shipped()
    names = {*shipped, *(rule_.family for rule_ in shipped.values())}
    return _match_prefix((before + comma + name for name in names), typed)


def packs(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the packs that a policy can extend."""
    from gpulint.policy.config import packs as config_packs

    return _match_prefix(config_packs.list_names(), typed)


def families(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the families of the built-in rules."""
    from gpulint.policy.rules import rule

    return _match_prefix((shipped.family for shipped in rule.load_shipped().values()), typed)


def facts(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the facts of the glossary."""
    from gpulint.facts.glossary import glossary

    return _match_prefix(glossary(), typed)


def explainable_names(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the names that `gpulint explain` accepts: rules, families, facts, adapters, engines."""
    from gpulint.cli import explain
    from gpulint.policy.rules import rule

    return _match_prefix(explain.list_names(tuple(rule.load_shipped().values())), typed)


def accelerators(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return accelerators by their catalog names."""
    from gpulint.catalog import hardware

    return _match_prefix((accelerator.id for accelerator in hardware.list_accelerators()), typed)


def engines(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the engines that a checkpoint can be sized for."""
    from gpulint import engines as gpulint_engines

    return _match_prefix(gpulint_engines.modules(), typed)


def checkpoints(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return matching checkpoints of the catalog, or files if none matches.

    A shell that gets file completions ignores all others, so files are offered only when no checkpoint matches.
    """
    from click.shell_completion import CompletionItem

    from gpulint.catalog import architecture

    names = _match_prefix(architecture.list_ids(), typed) if typed else []
    return [CompletionItem(name) for name in names] or click.Path().shell_complete(context, parameter, typed)


def catalog_names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the first column of the table named earlier on the command line."""
    from gpulint.cli import catalog_tables, price_table

    match context.params.get("table"):
        case "accelerators":
            return accelerators(context, parameter, typed)
        case "architectures" | "servers" | "optics" | "switches" as table:
            return _match_prefix(catalog_tables.list_names(table), typed)
        case "prices":
            return _match_prefix(price_table.list_names(), typed)
    return []


class Formats(click.ParamType):  # type: ignore[type-arg]
    """A format of the report. The formats are listed on use."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the formats in the style of a click.Choice."""
        from gpulint.cli import output_files

        return f"[{'|'.join(output_files.list_formats())}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the matching formats."""
        from click.shell_completion import CompletionItem

        from gpulint.cli import output_files

        return [CompletionItem(name) for name in _match_prefix(output_files.list_formats(), incomplete)]


def _match_prefix(names: Iterable[str], typed: str) -> list[str]:
    return sorted({name for name in names if name.startswith(typed)})
