"""No text that a user reads has a phrase that readers had to read twice."""

from __future__ import annotations

import ast

import pytest
import wording
from wording import Allowed, Phrase, Text

PHRASES = (
    Phrase(r"\bcannot tell\b(?! \S+( \S+){0,6} (from|apart)\b)", "not evaluated", "chat: cannot tell"),
    Phrase(
        r"\brules?( that)? speaks?\b|\bspeaks? (anew|again|only|for|where|of)\b", "fires", "no other rule speaks anew"
    ),
    Phrase(
        r"\b(in|all|any|every|each|of|two|three|one) worlds?\b(?! size)", "scenario", "the rule holds in two worlds"
    ),
    Phrase(
        r"\b(likely|adverse|favourable|kinder) (world|case|end)\b",
        "expected, worst, best",
        "-4 GiB in the adverse case",
    ),
    Phrase(
        r"\b(is|are|was|were|be) (now )?told\b|\btold (of|in|by)\b", "reported, declared", "Ray is told of more GPUs"
    ),
    Phrase(r"\bfor sure\b", "definitely, even in the best case", "exceeded for sure"),
    Phrase(r"\bgiv(e|es|en|ing) up\b", "trade-off", "it says what it gives up"),
    Phrase(r"\bfor ever\b", "forever, hangs", "it waits for ever for a lost peer"),
    Phrase(
        r"\bstands? (at|beside|in|under|where|there)\b|\bwhat stands\b", "is declared at", "the value stands at line 4"
    ),
    Phrase(r"\bheld against\b", "compared with", "values are held against ours"),
    Phrase(r"\banew\b", "again", "written into the text and judged anew"),
    Phrase(r"\bvouch(es)?\b", "trusted", "a text that nobody vouches for"),
    Phrase(r"\bfrom time to time\b", "not pinned", "is another release from time to time"),
    Phrase(r"(-\d[\d.,]*|\}) ([kmgt]i?b )?(\(.{1,60}\) )?(is|are) left\b", "exceeds by, is free", "-22.2 GiB are left"),
    Phrase(r"\bthe debt\b|\btheir debt\b|\bdebt is\b", "existing findings", "the debt is paid"),
    Phrase(r"\bsilenc(es?|ed|ing)\b", "suppress, hide", "waivers silence nothing"),
    Phrase(r"\bjudged?\b|\bjudges\b|\bjudging\b", "checked, evaluated", "files that are judged"),
    Phrase(r"\b(is|are) to be\b(?! in\b)", "must be", "how its bars are to be read"),
    Phrase(
        r"\bholds? as many\b(?! as)",
        "the same number of",
        "Every rank must hold as many experts",
    ),
    Phrase(
        r"\b(are|is) said (to|so)\b|\bsays? of (itself|them)\b", "reported", "GPUs that are paid for are said to be so"
    ),
    Phrase(r"\bin hand\b", "headroom", "racks that have something in hand"),
    Phrase(r"\bin turns\b", "time-sliced", "programs that run on it in turns"),
    Phrase(r"\bunknown of nvidia", "unknown for", "unknown of nvidia.com/gpu"),
    Phrase(r"\bin vain\b", "without effect", "the launcher waits for them in vain"),
    Phrase(r"\bunseen\b", "hidden", "silenced unseen"),
    Phrase(r"\bworth a try\b|\bhave to be worth\b", "proposed", "a change that is worth a try"),
    Phrase(r"\b(is|are) there to\b", "target", "what a run is there to reach"),
    Phrase(r"\bdo without (one|it)\b", "cannot lose", "a plant that is to do without one"),
    Phrase(
        r"\b(which|faster|larger|cheaper|fewer|the|a|no|each|every|one|per|gpu) cards?\b(?! (slot|in a slot))",
        "accelerator, GPU",
        "which cards would do",
    ),
    Phrase(r"\b(hybrid|dense|checkpoint's|of \d+) networks?\b", "architecture", "checkpoints of 400 networks"),
    Phrase(r"\bwho asks\b", "clients that request", "Who asks for the one gets the other"),
    Phrase(r"\bno kernel of this\b", "needs compute capability", "no kernel of this quantisation runs on V100"),
    Phrase(r"\bis one's\b|\bis one rule's\b", "must be unique", "A name is one rule's."),
    Phrase(r"\bnothing is red\b|\bis red\b", "fails", "nothing is red, everything new is"),
    Phrase(r"\bare spent\b.{0,30}\bbudgeted\b", "costs, over its budget", "$199/h are spent, $50/h are budgeted"),
    Phrase(
        r"(?<!:\s)\b1 (gpus|nodes|pods|workloads|ranks|replicas|checks|files)\b(?!:| (to|or|and))",
        "the singular",
        "1 nodes exchange over TCP",
    ),
    Phrase(r"\b(missing|unstated) yes\b|: (none|true|false) here\b", "no --time", "time limit missing yes here"),
    Phrase(r"\bfollow cpu\b", "scale with", "workers follow cpu"),
    Phrase(r"\btry leave it out\b", "remove it", "try leave it out / 0,1,2,3"),
    Phrase(r"\bno more than\b.{0,40}\bno more than\b", "at most", "no more than two of no more than three"),
    Phrase(
        r"\b(decides?|determines?) (the accelerator|the gpu model|which gpus? it is)\b",
        "the accelerator depends on",
        "the queue determines the GPU model",
    ),
    Phrase(r"\bkept? apart\b|\bstay apart\b|\bso far apart\b", "isolated, too infrequent", "whose devices stay apart"),
    Phrase(
        r"\b(premises|surroundings|look-alikes|own words|hazards)\b",
        "the terms of the glossary",
        "files that are look-alikes",
    ),
)
"""Wording of the first design: what it was, the plain words for it, and a text that had it."""
ALLOWED = (
    Allowed(
        "gpulint/engines/trainers/__init__.py",
        "} is left",
        "a value such as `auto` is left to the trainer: nothing is free",
    ),
)
"""Phrases in places where they are right."""


def find_all(texts: tuple[Text, ...]) -> list[str]:
    """Return each occurrence of a phrase in these texts that is not allowed, with the plain words."""
    return [
        f"{found} ({phrase.plain})"
        for phrase in PHRASES
        for text in texts
        for found in wording.find(phrase, text)
        if not any(allowed.covers(found) for allowed in ALLOWED)
    ]


def test_no_text_has_a_phrase_of_the_list() -> None:
    assert find_all(wording.collect()) == []


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.plain)
def test_each_phrase_is_found_in_a_text_that_has_it(phrase: Phrase) -> None:
    original = next(text for text in wording.collect() if text.place == "README.md")
    changed = original._replace(words=original.words + "\n" + phrase.example.replace(" ", "\n", 1) + "\n")
    line = original.words.count("\n") + 2
    assert any(found.startswith((f"README.md:{line}: ", f"README.md:{line + 1}: ")) for found in find_all((changed,)))


@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda allowed: f"{allowed.place}: {allowed.words}")
def test_each_exception_is_still_needed_and_has_a_reason(allowed: Allowed) -> None:
    assert allowed.reason
    assert any(
        allowed.covers(found)
        for phrase in PHRASES
        for text in wording.collect()
        for found in wording.find(phrase, text)
    )


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("rules/memory/fp32-inference.yaml", "32-bit"),
        ("fact weight_bytes_per_gpu", "weights"),
        ("gpulint check --today", "Date used for price age"),
        ("README.md", "gpulint"),
        ("docs/report.md", "headroom"),
        ("packs/facility.yaml", "rack"),
        ("schemas/report.json", "description"),
        ("gpulint/adapters/programs/slurm.py", "the accelerator depends on the cluster: {} does not name it"),
        ("gpulint/sizing/memory/kv_cache.py", "KV"),
        ("gpulint/catalog/tables/variable_values.csv", "a lost peer hangs the job"),
    ],
)
def test_each_kind_of_text_is_collected(place: str, words: str) -> None:
    assert any(text.place == place and words in text.words for text in wording.collect())


def test_strings_of_code_are_collected_without_docstrings() -> None:
    module = '"""No text."""\nWHY = "a card"\ndef name(x):\n    """Nor this."""\n    return f"{x} worlds" + ("a" "b")\n'
    assert list(wording.find_strings(ast.parse(module))) == [(2, "a card"), (5, "{} worlds"), (5, "ab")]
