"""What weights and training states need of an architecture of which only the parameter count is known."""

from __future__ import annotations

from gpulint.catalog import tables
from gpulint.facts.glossary import Quantity
from gpulint.facts.model import Facts, Missing, ResolvedFact, constant
from gpulint.report.model import Scenarios

ASSUMED_ZERO = frozenset(
    {"embedding_parameters", "expert_parameters", "encoder_parameters", "table_bytes", "tied_embeddings"}
)
"""Parts of an architecture that are assumed to be absent if only its name is known."""
ASSUMED = ASSUMED_ZERO | {
    *("quantised_parameters", "quantised_excess", "stage_share"),
    *("stage_parameters", "trainable_parameters", "shard_share"),
}
"""Facts that weights and training states need of such an architecture."""


def provide_assumed_shape(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide what weights and training states need of an architecture of which only the name is known."""
    shape = facts.resolved.architecture if facts.resolved else None
    if shape is None or (shape.named_parameters is None and not shape.is_whole):
        return None
    name = quantity.name
    if name in ASSUMED_ZERO:
        return constant(0, "a dense architecture in one number format is assumed")
    if name == "quantised_parameters":
        return facts.find("parameters")
    if name == "quantised_excess":
        if shape.is_whole:
            return constant(0, "all weights are counted in one number format")
        return None if _format_counts_all_tensors(facts) else facts.find("named_quantised_excess")
    if name == "stage_share":
        return _divide(facts, 1.0, ("pipeline_parallel",), "even stages")
    if name == "trainable_parameters":
        return _count_trained(facts)
    return _provide_share(name, facts)


def _provide_share(name: str, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the share of a rank, unless routed experts are shared out in another way."""
    if name not in ("shard_share", "stage_parameters") or facts.expected("expert_parallel_size") not in (None, 1):
        return None
    if name == "shard_share":
        return _divide(facts, 1.0, ("shard_ranks",), "even shares")
    return _divide(facts, facts.find("parameters"), ("pipeline_parallel", "tensor_parallel"), "even shares")


def _format_counts_all_tensors(facts: Facts) -> bool:
    """Whether the size of the number format was measured over whole files, embeddings included."""
    row = tables.index_rows("quantization", "quantization").get(str(facts.expected("weight_format")))
    return row is not None and row["best"] != ""


def _count_trained(facts: Facts) -> ResolvedFact | Missing:
    """Return all parameters, or none beside adapters, whose matrices are not known."""
    rank = facts.find("lora_rank")
    if isinstance(rank, Missing):
        return rank
    whole = rank.scenarios.expected is None
    return facts.find("parameters") if whole else constant(0, "adapters are not counted: their matrices are not known")


def _divide(
    facts: Facts, amount: float | ResolvedFact | Missing, ranks: tuple[str, ...], how: str
) -> ResolvedFact | Missing:
    """Return an amount divided by groups of ranks; without stages there is one."""
    if isinstance(amount, Missing):
        return amount
    if missing := facts.missing(ranks):
        return Missing(missing)
    shares = 1.0
    for name in ranks:
        shares *= max(1, facts.expected(name) or 1)  # type: ignore[type-var, operator]
    if not isinstance(amount, ResolvedFact):
        return constant(amount / shares, how)
    values = (float(value) / shares for value in amount.scenarios)  # type: ignore[arg-type]
    return ResolvedFact(Scenarios(*values), how, amount.terms)
