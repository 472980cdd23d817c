"""The names that a shell completes: rules, quantities, accelerators, checkpoints; each list is read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def rules(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Rules and families; behind a comma the next one."""
    from gpulint.policy.rules import rule

    before, comma, _last = typed.rpartition(",")
    known = rule.shipped_rules()
    names = {*known, *(one.family for one in known.values())}
    return _beginning((before + comma + name for name in names), typed)


def packs(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """The packs that a policy can extend."""
    from gpulint.policy.config import packs as known

    return _beginning(known.names(), typed)


def families(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """The families of our rules."""
    from gpulint.policy.rules import rule

    return _beginning((one.family for one in rule.shipped_rules().values()), typed)


def facts(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Quantities of the glossary."""
    from gpulint.facts.glossary import glossary

    return _beginning(glossary(), typed)


def explained(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """What `gpulint explain` knows: rules, families, quantities, adapters and engines."""
    from gpulint.cli import explain as explanations
    from gpulint.policy.rules import rule

    return _beginning(explanations.names(tuple(rule.shipped_rules().values())), typed)


def accelerators(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Accelerators by their names in the catalog."""
    from gpulint.catalog import hardware

    return _beginning((one.id for one in hardware.list_accelerators()), typed)


def engines(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Engines that a checkpoint can be sized for."""
    from gpulint import engines as known

    return _beginning(known.modules(), typed)


def checkpoints(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Checkpoints of the catalog that begin so; a shell that is told of files forgets the rest, so they come where none does."""
    from click.shell_completion import CompletionItem

    from gpulint.catalog import architecture

    names = _beginning(architecture.ids(), typed) if typed else []
    return [CompletionItem(name) for name in names] or click.Path().shell_complete(context, parameter, typed)


def catalogued(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The first column of the table that was named before."""
    from gpulint.cli import catalog_tables as listings
    from gpulint.cli import price_table as price_list

    match context.params.get("table"):
        case "accelerators":
            return accelerators(context, parameter, typed)
        case "architectures" | "servers" | "optics" | "switches" as table:
            return _beginning(listings.known(table), typed)
        case "prices":
            return _beginning(price_list.names(), typed)
    return []


class Formats(click.ParamType):  # type: ignore[type-arg]
    """A format of the report; they are listed when somebody asks."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The formats, as a choice is shown."""
        from gpulint.cli import output_files as outputs

        return f"[{'|'.join(outputs.formats())}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The formats that begin so."""
        from click.shell_completion import CompletionItem

        from gpulint.cli import output_files as outputs

        return [CompletionItem(name) for name in _beginning(outputs.formats(), incomplete)]


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return sorted({name for name in names if name.startswith(typed)})
