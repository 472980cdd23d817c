"""Pools are found by label and folder as if every one were compared."""

from __future__ import annotations

import pytest

from gpulint.adapters.nodes.pool import Pool
from gpulint.adapters.pods.placement import Label
from gpulint.pipeline.enrichment.pool_index import PoolIndex
from gpulint.source.documents import Document, Node
from gpulint.workload import Field, Origin

ZONE = "topology.kubernetes.io/zone"


def origin(path: str) -> Origin:
    return Origin(Document(path, 0, "", Node("scalar", 0, 0, ""), "yaml", {}), ())


def pool(name: str, path: str, is_open: bool = False, **labels: str) -> Pool:
    given = {key.replace("__", "/").replace("_", "."): frozenset({value}) for key, value in labels.items()}
    place = origin(path) if path else None
    return Pool(
        name, place, given, Field("h100-sxm-80gb"), is_open=is_open, naming=("pool",) if "pool" in given else ()
    )


def label(key: str, *values: str) -> Label:
    return Label(key, tuple((value, origin("apps/a.yaml")) for value in values))


NEAR = pool("near", "teams/a/main.tf", pool="x", team="a")
FAR = pool("far", "teams/b/main.tf", pool="x", team="b")
BARE = pool("bare", "infra/main.tf", topology_kubernetes_io__zone="west")
OPEN = pool("open", "teams/a/more.tf", is_open=True, gpu="yes")
SETTLED = pool("settled", "", pool="x")


@pytest.mark.parametrize(
    ("pools", "asked", "path", "names"),
    [
        ((NEAR, FAR), [label("pool", "x")], "teams/a/app.yaml", ["near"]),
        ((NEAR, FAR), [label("pool", "x")], "teams/b/deep/app.yaml", ["far"]),
        ((NEAR, FAR), [label("pool", "x")], "elsewhere/app.yaml", ["near", "far"]),
        ((NEAR, FAR), [label("pool", "x"), label("team", "b")], "elsewhere/app.yaml", ["far"]),
        ((NEAR, FAR), [label("pool", "x"), label("team", "b")], "teams/a/app.yaml", []),
        ((NEAR, FAR), [label("pool", "y")], "teams/a/app.yaml", []),
        ((NEAR, FAR), [label("pool", "x", "y")], "teams/a/app.yaml", []),
        ((NEAR, FAR), [label("unheard", "x")], "teams/a/app.yaml", []),
        ((NEAR, FAR), [label("pool", "x"), label("gpu", "yes")], "teams/a/app.yaml", []),
        ((OPEN,), [label("gpu", "yes"), label("team", "a")], "teams/a/app.yaml", ["open"]),
        ((OPEN,), [label("team", "a")], "teams/a/app.yaml", []),
        ((NEAR, SETTLED), [label("pool", "x")], "teams/a/app.yaml", ["settled"]),
        ((NEAR, BARE), [label("pool", "x"), label(ZONE, "east")], "teams/a/app.yaml", ["near"]),
        ((NEAR, BARE), [label("pool", "x"), label(ZONE, "east", "west")], "teams/a/app.yaml", []),
        ((NEAR, BARE), [label(ZONE, "west")], "teams/a/app.yaml", []),
        ((NEAR,), [label("pool", "x")], "/abroad/app.yaml", ["near"]),
        ((), [label("pool", "x")], "teams/a/app.yaml", []),
    ],
)
def test_the_nearest_pools_with_all_the_labels_are_selected(
    pools: tuple[Pool, ...], asked: list[Label], path: str, names: list[str]
) -> None:
    found = PoolIndex(pools).find_near(asked, path).select(asked)
    assert [one.name for one in found] == names


def test_a_name_that_no_near_pool_has_is_unknown() -> None:
    asked = [label("pool", "y")]
    found = PoolIndex((NEAR, FAR)).find_near(asked, "teams/a/app.yaml").find_unknown_name(asked)
    assert (found["unmatched_pool"].value, found["pool_names"].value) == ("y", "x")
    assert PoolIndex((NEAR, FAR)).find_near(asked, "elsewhere/app.yaml").find_unknown_name(asked) == {}
