"""Produced checkpoints: the release behind a local folder of weights that another file of the repository writes."""

from __future__ import annotations

import pytest
import samples

SERVE = "#!/bin/bash\nvllm serve {path} --max-model-len 4096\n"
GENERATES = """\
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("{path}", device_map="cuda")
model.generate(max_new_tokens=8)
"""
LOADS = """\
import sys
from transformers import AutoModelForCausalLM
from peft import LoraConfig, PeftModel, get_peft_model
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype="bfloat16")
"""


def checkpoint(script: str, files: dict[str, str], path: str = "serve.sh") -> str:
    """The checkpoint of the only role of a file in a repository with these other files."""
    encoded = {name: text.encode() for name, text in files.items()}
    (role,) = samples.roles(samples.report(script, path=path, files=encoded))
    return role.architecture


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("get.sh", "hf download Qwen/Qwen3-8B --local-dir ./weights/own\n"),
        ("get.sh", "NAME=own\nhuggingface-cli download --quiet Qwen/Qwen3-8B --local-dir=weights/$NAME\n"),
        ("get.sh", "git lfs clone https://huggingface.co/Qwen/Qwen3-8B weights/own\n"),
        ("get.sh", "modelscope download --model Qwen/Qwen3-8B --local_dir weights/own\n"),
        ("Makefile", "get:\n\thf download Qwen/Qwen3-8B --local-dir weights/own\n"),
        (
            "Dockerfile",
            "FROM a:1\nENV ID=Qwen/Qwen3-8B\nRUN pip install hf && \\\n    hf download $ID --local-dir /srv/weights/own\n",
        ),
        (
            "get.py",
            "from huggingface_hub import snapshot_download\nsnapshot_download('Qwen/Qwen3-8B', local_dir='weights/own')\n",
        ),
        (
            "merge.py",
            LOADS + "PeftModel.from_pretrained(model, 'a').merge_and_unload().save_pretrained('weights/own')\n",
        ),
        ("merge.yaml", "model_name_or_path: Qwen/Qwen3-8B\nadapter_name_or_path: a\nexport_dir: weights/own\n"),
        (
            "conf/merge.yaml",
            "model: {base_model_id: Qwen/Qwen3-8B, load_in_4bit: true}\ntraining: {output_dir: weights/own}\nlora: {r: 8}\n",
        ),
        ("weights/own/adapter_config.json", '{"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen3-8B"}'),
        ("merge.sh", f"python3 <<EOF\n{LOADS}model.save_pretrained('weights/own')\nEOF\n"),
        ("merge.sh", "llamafactory-cli export --model_name_or_path Qwen/Qwen3-8B --export_dir weights/own\n"),
        (
            "compose.yaml",
            "services:\n  get:\n    image: a:1\n    command: [hf, download, Qwen/Qwen3-8B, --local-dir, /weights/own]\n",
        ),
        ("README.md", "# Own\n\n```bash\n$ hf download Qwen/Qwen3-8B --local-dir weights/own\n```\n"),
    ],
)
def test_the_file_that_writes_a_folder_names_its_model(file: str, text: str) -> None:
    assert checkpoint(SERVE.format(path="weights/own"), {file: text}) == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    "files",
    [
        {"get.sh": "hf download Qwen/Qwen3-8B --local-dir weights/other\n"},
        {"get.sh": "hf download Qwen/Qwen3-8B --local-dir $WHERE/own\n"},  # where is known to nobody
        {"get.sh": "hf download acme/data --repo-type dataset --local-dir weights/own\n"},
        {
            "a.sh": "hf download Qwen/Qwen3-8B --local-dir weights/own\n",
            "b.sh": "hf download Qwen/Qwen3-14B --local-dir weights/own\n",
        },
        {
            "tokens.py": "from transformers import AutoTokenizer as A\nA.from_pretrained('a/b').save_pretrained('weights/own')\n"
        },
        {
            "x/get.sh": "hf download Qwen/Qwen3-8B --local-dir /data/weights/own\n",
            "y/get.sh": "hf download Qwen/Qwen3-14B --local-dir weights/own\n",
        },
        {"loop.sh": "hf download weights/own --local-dir weights/own\n"},
    ],
)
def test_a_folder_that_no_file_or_several_files_write_stays_unknown(files: dict[str, str]) -> None:
    assert checkpoint(SERVE.format(path="weights/own"), files) == "? (the model in weights/own)"


def test_general_folders_of_different_projects_are_different_folders() -> None:
    files = {"a/get.sh": "hf download Qwen/Qwen3-8B --local-dir ./model\n"}
    assert checkpoint(SERVE.format(path="./model"), files, "b/serve.sh") == "? (the model in ./model)"
    assert checkpoint(SERVE.format(path="./model"), files, "a/serve.sh") == "Qwen/Qwen3-8B"


def test_weights_are_followed_through_a_merge_and_a_quantiser() -> None:
    quantise = """\
    from auto_gptq import AutoGPTQForCausalLM, BaseQuantizeConfig
    model = AutoGPTQForCausalLM.from_pretrained("merged/own", BaseQuantizeConfig(bits=4, group_size=128))
    model.quantize([])
    model.save_quantized("gptq/own")
    """.replace("    ", "")
    files = {
        "quantise.py": quantise.encode(),
        "merge.yaml": b"model_name_or_path: Qwen/Qwen3-8B\nexport_dir: merged/own\n",
    }
    (role,) = samples.roles(samples.report(SERVE.format(path="gptq/own"), path="serve.sh", files=files))
    assert role.architecture == "Qwen/Qwen3-8B"
    facts = {fact.name: fact.values.expected for fact in role.facts}
    # two tables of 151936 x 4096 in 16 bits, 6.95 billion weights in 4.16 bits: 2.49 + 3.61 = 6.1 GB, not 16.4
    assert 6.0e9 < float(facts["weight_bytes_per_gpu"]) < 6.3e9
    assert any("save_quantized in line 4 of quantise.py writes it from merged/own" in text for text in role.assumptions)


def test_what_a_readme_says_is_assumed() -> None:
    readme = "```bash\nhf download Qwen/Qwen3-14B --local-dir weights/own\n```\n"
    command = "python -m vllm.entrypoints.openai.api_server --model weights/own --max-model-len 4096"
    job = f"#!/bin/bash\n#SBATCH --gres=gpu:l4:1\n{command}\n"
    for text, severity in ((readme, "warning"), ("", "")):
        found = samples.report(job, path="serve.sh", files={"README.md": text.encode()})
        severities = {finding.severity.name.lower() for finding in found.findings if "weights" in finding.rule}
        assert severities == ({severity} if severity else set())


def test_a_state_below_the_folder_of_a_run_has_the_model_of_the_run() -> None:
    train = LOADS + (
        "from transformers import Trainer, TrainingArguments\n"
        "trainer = Trainer(model, TrainingArguments(output_dir='runs/own'))\ntrainer.train()\n"
    )
    program = GENERATES.format(path="runs/own/checkpoint-500")
    assert checkpoint(program, {"train.py": train}, "ask.py") == "Qwen/Qwen3-8B"
    assert checkpoint(GENERATES.format(path="runs/own/tokens"), {"train.py": train}, "ask.py") != "Qwen/Qwen3-8B"


def test_a_program_is_evaluated_with_the_words_of_the_script_that_starts_it() -> None:
    merge = LOADS + "model.save_pretrained(sys.argv[1])\n"
    files = {"merge.py": merge, "merge.sh": "python merge.py weights/own\n"}
    assert checkpoint(SERVE.format(path="weights/own"), files) == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("path", "reference"),
    [
        ("models/qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B"),
        ("hf_models/llama-3-8b", "meta-llama/Meta-Llama-3-8B"),
        ("results/distill/merged-qwen2.5-7b", "results/distill/merged-qwen2.5-7b (Qwen/Qwen2.5-7B by its name)"),
        ("models/acme/Qwen3-8B-Int8-W8A16", "models/acme/Qwen3-8B-Int8-W8A16 (Qwen/Qwen3-8B-int8 by its name)"),
        ("acme/merged-qwen2.5-7b", "acme/merged-qwen2.5-7b"),  # an id of a hub
        ("models/internlm2-1_8b-reward", "models/internlm2-1_8b-reward"),  # another head
        ("out/own", "out/own (not in the catalog)"),
        ("/srv/own", "? (the model in /srv/own)"),
        ("models/qwen2.5-7b-lora", "models/qwen2.5-7b-lora"),  # adapters alone
    ],
)
def test_a_program_runs_the_model_after_which_its_folder_is_named(path: str, reference: str) -> None:
    assert checkpoint(GENERATES.format(path=path), {}, "ask.py") == reference


@pytest.mark.parametrize(
    "loads",
    [
        "base = AutoModelForCausalLM.from_pretrained(PeftConfig.from_pretrained(P).base_model_name_or_path)",
        "config = PeftConfig.from_pretrained(P)\nbase = AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path)",
        "base = AutoPeftModelForCausalLM.from_pretrained(P)",
        "base = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B'), P)",
    ],
)
def test_adapters_lie_on_the_model_that_they_were_trained_on(loads: str) -> None:
    train = LOADS + (
        "from transformers import Trainer, TrainingArguments\nmodel = get_peft_model(model, LoraConfig(r=8))\n"
        "Trainer(model, TrainingArguments(output_dir='runs/own')).train()\nmodel.save_pretrained('runs/own/final')\n"
    )
    imports = "from transformers import AutoModelForCausalLM\nfrom peft import AutoPeftModelForCausalLM, PeftConfig, PeftModel\n"
    program = f"{imports}P = 'runs/own/final'\n{loads}\nbase.to('cuda')\nbase.generate(max_new_tokens=8)\n"
    assert checkpoint(program, {"train.py": train}, "ask.py") == "Qwen/Qwen3-8B"
