"""Claims: of several adapters that could read a document, the strongest claim wins, and no two are equally strong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpulint import adapters
from gpulint.adapters.claim import Claim
from gpulint.catalog import package_data
from gpulint.cli.explain import seen
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.rules import rule
from gpulint.source import documents
from gpulint.source.documents import Document

FORMATS = package_data.list_mentions(adapters.HERE)


def load(path: str, text: str) -> tuple[Document, ...]:
    return documents.load(path, text.encode()).documents


def claim_all(document: Document) -> dict[str, Claim]:
    """The claims of all adapters, also of those that need not be asked."""
    found = {adapters.name(module): module.claims(document) for module in adapters.find_candidates(document)}
    return {name: claim for name, claim in found.items() if claim}


def rule_samples() -> Iterator[Document]:
    for shipped_rule in rule.load_shipped().values():
        for texts in rule.load_examples(shipped_rule).values():
            for text in texts:
                for file in samples.split_files(str(text)):
                    yield from load(file.path, file.text)


def strongest(claims: dict[str, Claim]) -> list[str]:
    return [name for name, claim in claims.items() if claim == max(claims.values())]


@pytest.mark.parametrize("name", FORMATS)
def test_one_adapter_has_the_strongest_claim_to_the_sample_of_a_format(name: str) -> None:
    text = seen.find_sample(name)
    for document in load(seen.render_path(name, text), text):
        claims = claim_all(document)
        assert strongest(claims) == [name], f"{name} does not claim its sample: see its READS, MENTIONS and claims()"


def test_an_adapter_of_files_without_a_kind_names_what_they_are() -> None:
    plain = [name for name, words in package_data.list_declared(adapters.HERE, "READS").items() if "plain" in words]
    assert "skypilot" in plain
    assert [name for name in plain if not hasattr(adapters.import_adapter(name), "kind")] == []


def test_no_two_adapters_claim_a_sample_of_a_rule_equally() -> None:
    for document in rule_samples():
        claims = claim_all(document)
        assert len(strongest(claims)) <= 1, (document.path, document.text)


def test_no_adapter_claims_more_than_it_states() -> None:
    stated = {
        name: Claim[words[0].upper()] for name, words in package_data.list_declared(adapters.HERE, "CLAIMS").items()
    }
    assert (stated["helm_values"], stated["compose"]) == (Claim.GUESS, Claim.SHAPE)
    claimed: dict[str, set[Claim]] = {}
    for document in rule_samples():
        for name, claim in claim_all(document).items():
            claimed.setdefault(name, set()).add(claim)
    assert {name for name, found in claimed.items() if max(found) > stated.get(name, Claim.EXACT)} == set()


@pytest.mark.parametrize(
    ("path", "text", "claims"),
    [
        pytest.param(
            "values.yaml",
            "zero_optimization: {stage: 3}\ntrain_batch_size: 8\npipe_parallel_size: 1\nmodel_parallel_size: 1\n"
            "num_layers: 12\nhidden_size: 768\n",
            {"deepspeed": Claim.GUESS, "helm_values": Claim.GUESS, "gpt_neox": Claim.SHAPE},
            id="a trainer that wraps DeepSpeed",
        ),
        pytest.param(
            "values.yaml",
            "services:\n  web: {image: nginx, ports: ['80:80']}\n",
            {"compose": Claim.SHAPE, "helm_values": Claim.GUESS},
            id="compose under the name of values",
        ),
        pytest.param(
            "a.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\n",
            {"kubernetes": Claim.SHAPE, "ray": Claim.EXACT},
            id="an object with an adapter of its own",
        ),
        pytest.param(
            "a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ray.io}\n",
            {"kubernetes": Claim.SHAPE},
            id="an object of Kubernetes itself",
        ),
        pytest.param("values.yaml", "replicas: 2\n", {"helm_values": Claim.GUESS}, id="values by name"),
        pytest.param("a.yaml", "replicas: 2\n", {}, id="anything"),
        pytest.param("a.yaml", "apiVersion: gpulint/v9\nkind: Workload\n", {}, id="another version of our own"),
    ],
)
def test_the_claims_to_a_document(path: str, text: str, claims: dict[str, Claim]) -> None:
    (document,) = load(path, text)
    assert claim_all(document) == claims
    found = adapters.find_adapter(document)
    assert (adapters.name(found) if found else None) == (max(claims, key=lambda name: claims[name]) if claims else None)
