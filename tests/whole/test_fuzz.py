"""`python -m fuzz` notices each kind of harm, repeats its mutations, and has a target for each adapter and engine."""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from folders import ROOT

if not (ROOT / "fuzz").exists():
    pytest.skip("a source archive has no fuzzing", allow_module_level=True)
sys.path.append(str(ROOT))

from fuzz import audit, mutation, seeds, targets, trial

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}\n"


NUMBERS = itertools.count()


def spins(data: bytes) -> str:
    end = time.process_time() + 30
    while time.process_time() < end:
        with contextlib.suppress(Exception):
            sum(range(1000))
    return ""


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (lambda data: str(1 // len(data[:0])), "exception"),
        (spins, "stall"),
        (lambda data: '{\n"a": NaN}', "json"),
        (lambda data: '{\n"a": -Infinity}', "json"),
        (lambda data: '{\n"a": 1, "a": 2}', "json"),
        (lambda data: str(next(NUMBERS)), "difference"),
    ],
)
def test_an_input_that_does_harm_is_a_failure_of_its_kind(run: Callable[[bytes], str], kind: str) -> None:
    failure = trial.attempt(run, b"x", 0, cpu_s=0.2)
    assert failure is not None
    assert failure.kind == kind


@pytest.mark.parametrize("printed", ["", "words", '{\n"a": 1}', '{\n"a": [1, {"a": 2}]}'])
def test_an_input_that_does_no_harm_is_no_failure(printed: str) -> None:
    assert trial.attempt(lambda data: printed, b"x", 0) is None


def test_a_failure_that_a_report_lists_is_named_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpulint.pipeline import evaluate, file_report

    def breaks(*words: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(file_report, "fail", file_report.fail)
    monkeypatch.setattr(evaluate, "file", breaks)
    trial._record_faults()
    failure = trial.attempt(targets.find()["pipeline"].run, b"pod.yaml\n" + POD, 1)
    assert failure is not None
    assert failure.key.startswith("ZeroDivisionError in ")


@pytest.mark.parametrize(
    ("event", "details", "noted"),
    [
        ("open", ("/etc/passwd", "r", 0), True),
        ("open", ("{inside}/a.yaml", "r", 0), False),
        ("open", ("{inside}/a.yaml", "w", 0o101), True),
        ("open", ("{inside}/link", "r", 0), True),
        ("open", (str(ROOT / "gpulint" / "version.py"), "r", 0), False),
        ("socket.connect", (None, ("127.0.0.1", 80)), True),
        ("socket.getaddrinfo", ("e.example", 80), True),
        ("subprocess.Popen", ("sh", ["sh"], None, None), True),
        ("subprocess.Popen", ("/usr/bin/git", ["git"], None, None), False),
        ("os.system", (b"true",), True),
        ("os.remove", ("{inside}/a.yaml", -1), True),
        ("os.listdir", ("{inside}",), False),
        ("import", ("json", None, None, None, None), False),
    ],
)
def test_the_audit_hook_notes_what_leaves_the_folder(
    event: str, details: tuple[object, ...], noted: bool, tmp_path: Path
) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to("/etc/passwd")
    watch = audit.Watch((tmp_path / "inside",), (), ("git",))
    inside = str(tmp_path / "inside")
    watch.note(event, tuple(word.replace("{inside}", inside) if isinstance(word, str) else word for word in details))
    assert bool(watch.violations) == noted


def test_a_mutation_is_repeated_by_its_seed() -> None:
    first = [mutation.mutate(POD, random.Random(number)) for number in range(30)]
    assert first == [mutation.mutate(POD, random.Random(number)) for number in range(30)]
    assert len(set(first)) > 20


def test_a_changed_tree_is_mostly_still_data() -> None:
    from gpulint.source import documents

    changed = (mutation._mutate_tree(POD, random.Random(number)) for number in range(40))
    loaded = [documents.load("x.yaml", text) for text in changed if text is not None]
    assert sum(bool(found.documents) for found in loaded) > 30


def test_every_word_of_the_dictionary_is_short_and_the_engines_options_are_among_them() -> None:
    words = seeds.collect_words()
    assert b"--tensor-parallel-size" in words
    assert b"nvidia" in words
    assert max(map(len, words)) < 60


@pytest.mark.parametrize("name", sorted(targets.find()))
def test_every_target_passes_its_first_seeds(name: str) -> None:
    target = targets.find()[name]
    for data in list(target.seeds())[:3]:
        assert trial.attempt(target.run, data, 1, cpu_s=20) is None


@pytest.mark.sweep
def test_every_adapter_with_a_sample_and_every_engine_has_a_target() -> None:
    names = set(targets.find_all())
    samples = {place.stem for place in (ROOT / "formats").iterdir()}
    assert samples <= {name.removeprefix("adapter-") for name in names}
    engines = {
        place.stem
        for folder in ("serving", "trainers")
        for place in (ROOT / "gpulint" / "engines" / folder).glob("[a-z]*.py")
    }
    shared = {"megatron_network", "preference", "recipes", "vllm_settings", "vocabulary"}
    assert engines - shared <= {name.removeprefix("engine-") for name in names}
