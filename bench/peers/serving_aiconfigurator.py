"""Time per output token by aiconfigurator's own tables: a question and an answer a line of JSON, in its own environment."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What its current tables say of one aggregated server; why they say nothing, else."""
    from aiconfigurator.cli import api  # type: ignore[import-not-found]

    try:
        found = api.cli_estimate(
            asked["model"],
            asked["system"],
            mode="agg",
            backend_name=asked["backend"],
            backend_version="current",
            isl=asked["isl"],
            osl=asked["osl"],
            batch_size=asked["batch_size"],
            tp_size=asked["tp"],
            attention_dp_size=asked["copies"],
            moe_tp_size=asked["moe_tp"],
            moe_ep_size=asked["moe_ep"],
            gemm_quant_mode=asked["gemm"] or None,
            moe_quant_mode=asked["moe"] or None,
        )
    except Exception as error:  # whatever it raises is its answer
        return {"problem": f"{type(error).__name__}: {str(error)[:120]}"}
    return {"tpot_ms": float(found.tpot), "ttft_ms": float(found.ttft)}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
