"""A question names an argument only if the program that lacks the value has it."""

from __future__ import annotations

import pytest
import samples

COMPOSE = """\
services:
  asr:
    image: {image}
    environment: {{WHISPER__MODEL: large-v3, ASR_MODEL: large-v3}}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
"""


def ask(image: str) -> str | None:
    report = samples.report(COMPOSE.format(image=image), path="compose.yaml")
    return report.asks.get("weight_dtype")


def test_a_speech_server_is_not_asked_for_an_argument_that_it_does_not_have() -> None:
    # the models of speaches are converted with a number format of their own: no --dtype
    assert (
        ask("fedirz/faster-whisper-server:latest-cuda")
        == "state this: number format requested for weights and activations"
    )


@pytest.mark.parametrize("stated", ["", "float16", "float32"])
def test_the_web_service_of_whisper_has_a_number_format_of_its_own(stated: str) -> None:
    # app/config.py: ASR_QUANTIZATION is float32 on a GPU unless set
    text = COMPOSE.format(image="onerahmet/openai-whisper-asr-webservice:latest-gpu")
    text = text.replace("ASR_MODEL:", f"ASR_QUANTIZATION: {stated}, ASR_MODEL:") if stated else text
    report = samples.report(text, path="compose.yaml")
    assert "weight_dtype" not in report.asks
