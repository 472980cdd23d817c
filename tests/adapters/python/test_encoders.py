"""Encoders: training with sentence-transformers."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown, Workload


def read(program: str) -> list[Workload]:
    repository = ExampleRepository({"train.py": textwrap.dedent(program).encode()})
    (document,) = repository.read_documents("train.py")
    return list(enrichment.read(document, repository))


def read_role(program: str) -> Role:
    (workload,) = read(program)
    (role,) = workload.roles
    return role


ENCODER = """\
from torch.utils.data import DataLoader
from sentence_transformers import CrossEncoder, SentenceTransformer, losses, models
loader = DataLoader(samples, shuffle=True, batch_size=64)
"""
FIT = "model.fit(train_objectives=[(loader, losses.CosineSimilarityLoss(model))], epochs=1)\n"


@pytest.mark.parametrize(
    ("program", "checkpoint"),
    [
        pytest.param(
            "model = SentenceTransformer('BAAI/bge-base-en-v1.5')\n" + FIT, "BAAI/bge-base-en-v1.5", id="name"
        ),
        pytest.param(
            "words = models.Transformer('distilbert-base-uncased', max_seq_length=128)\n"
            "pooling = models.Pooling(words.get_word_embedding_dimension())\n"
            "model = SentenceTransformer(modules=[words, pooling])\n" + FIT,
            "distilbert-base-uncased",
            id="modules",
        ),
        pytest.param(
            "base = SentenceTransformer('sentence-transformers/all-mpnet-base-v2')\n"
            "model = SentenceTransformer(modules=[base, models.Dense(in_features=768, out_features=64)])\n" + FIT,
            "sentence-transformers/all-mpnet-base-v2",
            id="an encoder as a module",
        ),
        pytest.param(
            "CrossEncoder('distilroberta-base', num_labels=1).fit(train_dataloader=loader)\n",
            "distilroberta-base",
            id="cross-encoder",
        ),
        pytest.param(
            "CrossEncoder('distilroberta-base', num_labels=1).fit(loader)\n", "distilroberta-base", id="by position"
        ),
    ],
)
def test_fit_trains_the_encoder_that_a_program_loads(program: str, checkpoint: str) -> None:
    role = read_role(ENCODER + program)
    found = {name: role.value(name) for name in ("task", "checkpoint", "micro_batch_size", "optimizer", "lora_rank")}
    assert found == {
        "task": "training",
        "checkpoint": checkpoint,
        "micro_batch_size": 64,
        "optimizer": "adamw",
        "lora_rank": None,
    }


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param("", (None, None), id="no mixed precision"),
        pytest.param(", use_amp=True", ("float16", True), id="mixed precision"),
    ],
)
def test_mixed_precision_is_off_unless_it_is_switched_on(stated: str, expected: tuple[object, object]) -> None:
    program = f"model = SentenceTransformer('BAAI/bge-base-en-v1.5')\nmodel.fit([(loader, loss)]{stated})\n"
    role = read_role(ENCODER + program)
    assert (role.value("training_dtype"), role.value("autocast")) == expected


def test_an_optimizer_that_is_not_known_is_left_open() -> None:
    program = "SentenceTransformer('BAAI/bge-base-en-v1.5').fit([(loader, loss)], optimizer_class=mine.Shampoo)\n"
    assert read_role(ENCODER + "import mine\n" + program).value("optimizer") is None


def test_an_optimizer_may_be_given_to_fit() -> None:
    program = "SentenceTransformer('BAAI/bge-base-en-v1.5').fit([(loader, loss)], optimizer_class=torch.optim.SGD)\n"
    assert read_role(ENCODER + "import torch\n" + program).value("optimizer") == "sgd"


@pytest.mark.parametrize(
    "freezes",
    [
        pytest.param("words.auto_model.requires_grad_(False)\n", id="at once"),
        pytest.param("for one in words.auto_model.parameters():\n    one.requires_grad = False\n", id="one by one"),
    ],
)
def test_weights_that_are_frozen_leave_open_how_many_are_trained(freezes: str) -> None:
    program = (
        f"words = models.Transformer('BAAI/bge-base-en-v1.5')\n{freezes}"
        "model = SentenceTransformer(modules=[words, models.Pooling(768)])\n"
    ) + FIT
    assert isinstance(read_role(ENCODER + program).value("trainable_parameters"), Unknown)


def test_an_encoder_that_is_trained_on_the_processor_takes_no_gpu() -> None:
    program = "model = SentenceTransformer('BAAI/bge-base-en-v1.5', device='cpu')\n" + FIT
    assert all(role.value("gpus_per_pod") == 0 for found in read(ENCODER + program) for role in found.roles)


def test_an_encoder_made_of_modules_is_the_checkpoint_of_a_trainer() -> None:
    role = read_role(
        """
        from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, models
        words = models.Transformer("BAAI/bge-base-en-v1.5")
        model = SentenceTransformer(modules=[words, models.Pooling(768)])
        SentenceTransformerTrainer(model=model).train()
        """
    )
    assert role.value("checkpoint") == "BAAI/bge-base-en-v1.5"


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("model = SentenceTransformer('BAAI/bge-base-en-v1.5')\n" + FIT, id="fit"),
        pytest.param(
            "from sentence_transformers import SentenceTransformerTrainer\n"
            "SentenceTransformerTrainer(model=SentenceTransformer('BAAI/bge-base-en-v1.5')).train()\n",
            id="a trainer",
        ),
    ],
)
def test_the_length_of_the_texts_is_open(program: str) -> None:
    length = read_role(ENCODER + program).value("sequence_length")
    assert isinstance(length, Unknown)
    assert "texts" in length.reason
