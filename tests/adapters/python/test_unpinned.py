"""Programs that build their image from whichever release of the engine is newest."""

from __future__ import annotations

import textwrap
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository
from gpulint.workload import Role

PROGRAM = """
    import modal
    image = IMAGE
    app = modal.App("chat")
    @app.function(gpu="L4", image=image)
    def answer(prompt):
        from vllm import LLM
        return LLM(model="Qwen/Qwen2.5-7B-Instruct", max_model_len=4096).generate(prompt)
"""


def read(image: str, **others: str) -> Role:
    files = {"serve.py": textwrap.dedent(PROGRAM).replace("IMAGE", image), **others}
    repository = cast("Repository", ExampleRepository({name: text.encode() for name, text in files.items()}))
    (document,) = repository.read_documents("serve.py")
    (role,) = (role for workload in enrichment.read(document, repository) for role in workload.roles)
    return role


@pytest.mark.parametrize("installed", ['"vllm"', '"flask", "vllm[audio]"', '["vllm>=0.8"]'])
@pytest.mark.parametrize("call", ["pip_install", "uv_pip_install"])
def test_a_package_without_a_release_is_found(installed: str, call: str) -> None:
    role = read(f"modal.Image.debian_slim().{call}({installed})")
    assert role.value("unpinned_package") == "vllm"
    assert role.fields["unpinned_package"].origins[0].location().line == 3


@pytest.mark.parametrize(
    "image",
    [
        'modal.Image.debian_slim().pip_install("vllm==0.11.0")',
        'modal.Image.debian_slim().pip_install("vllm>=0.8,<0.9")',
        'modal.Image.debian_slim().pip_install("vllm", extra_options="-c constraints.txt")',
        'modal.Image.debian_slim().pip_install("vllm").pip_install("vllm==0.11.0")',
        'modal.Image.debian_slim().pip_install("torch")',
        "other.make_image()",
    ],
)
def test_a_package_that_is_chosen_or_not_named_is_none(image: str) -> None:
    assert "unpinned_package" not in read(image).fields


@pytest.mark.parametrize(("tag", "moves"), [(":latest", True), (":v0.11.0", False), (":nightly-2025-08-25", False)])
def test_an_image_of_a_registry(tag: str, moves: bool) -> None:
    image = f"vllm/vllm-openai{tag}"
    role = read(f'modal.Image.from_registry("{image}", add_python="3.12")')
    assert role.value("moving_image") == (image if moves else None)
