"""Training loops of a program's own: weights and states by PyTorch's defaults, and activations where the text bounds them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import RoleSummary

JOB = """
    #!/bin/bash
    #SBATCH --nodes=1
    #SBATCH --time=01:00:00
    #SBATCH --cpus-per-task=8
    #SBATCH --gres=gpu:CARD:GPUS
    START train.py
"""
HEAD = """
    import torch
    from torch.utils.data import DataLoader
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from accelerate import Accelerator
"""
STEP = """
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = DataLoader(data, batch_size=4, shuffle=True)
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
"""


def check(folder: Path, program: str, card: str = "h100_sxm5_80gb", gpus: int = 1) -> RoleSummary:
    start = "python" if gpus == 1 else f"torchrun --nproc_per_node={gpus}"
    job = JOB.replace("CARD", card).replace("GPUS", str(gpus)).replace("START", start)
    (folder / "job.slurm").write_text(textwrap.dedent(job).lstrip())
    (folder / "train.py").write_text(program)
    (workload,) = gpulint.check(folder).workloads
    (role,) = workload.roles
    return role


def write(*parts: str) -> str:
    return "".join(textwrap.dedent(part) for part in parts)


def fact(role: RoleSummary, name: str) -> object:
    return next((one.values.expected for one in role.facts if one.name == name), None)


def test_a_small_model_in_32_bits_likely_fits_whatever_the_samples(tmp_path: Path) -> None:
    """124 million parameters x 16 bytes are 2 GB; the program may still keep more than its text says."""
    role = check(tmp_path, write(HEAD, 'model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()', STEP))
    assert role.engine == "pytorch"
    assert role.verdict == "likely fits in every case"


def test_autocast_keeps_32_bit_weights_so_that_an_8b_model_does_not_fit(tmp_path: Path) -> None:
    """8.03e9 x (4 + 4 + 8) bytes are 120 GiB, if the release of Transformers loads 32 bits; 60 GiB if it loads 16."""
    loop = """
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B").cuda()
    model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = DataLoader(data, batch_size=1)
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
    """
    role = check(tmp_path, write(HEAD, loop))
    assert role.verdict.startswith("likely does not fit")


def test_16_bit_weights_have_16_bit_moments(tmp_path: Path) -> None:
    """8.03e9 x 8 bytes are 60 GiB of 80: what else it takes depends on the length of the samples."""
    model = (
        'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16).cuda()\n'
        "model.gradient_checkpointing_enable()\n"
    )
    role = check(tmp_path, write(HEAD, model, STEP))
    assert role.verdict.startswith("depends on sequence length: fits up to ")


def test_fsdp_shares_the_states_of_all_ranks(tmp_path: Path) -> None:
    """8.03e9 x 8 bytes over 8 GPUs are 7.5 GiB each."""
    model = """
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    model = FSDP(AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16))
    """
    role = check(tmp_path, write(HEAD, model, STEP), gpus=8)
    assert fact(role, "sharding") == "fsdp"
    assert role.verdict.startswith("depends on sequence length: fits up to ")


def test_qlora_with_accelerate_fits_with_short_samples(tmp_path: Path) -> None:
    """4-bit weights of 8.03e9 parameters take 7.6 GiB with tables in 32 bits; PEFT's preparation switches recomputation on."""
    loop = """
    accelerator = Accelerator(mixed_precision="bf16")
    model = AutoModelForCausalLM.from_pretrained(
        "meta-llama/Llama-3.1-8B", quantization_config=BitsAndBytesConfig(load_in_4bit=True)
    )
    model = prepare_model_for_kbit_training(model)
    model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = DataLoader(data, batch_size=1)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
    """
    role = check(tmp_path, write(HEAD, loop))
    assert fact(role, "activation_checkpointing") == "full"
    assert "fit" in role.verdict
    assert "not fit" not in role.verdict


@pytest.mark.parametrize(
    ("cast", "is_open"), [("model = model.half()", False), ("model.to(dtype=torch.bfloat16)", False), ("", True)]
)
def test_a_cast_decides_the_format_of_the_weights(tmp_path: Path, cast: str, is_open: bool) -> None:
    model = f'model = AutoModelForCausalLM.from_pretrained("gpt2")\n{cast}\n'
    role = check(tmp_path, write(HEAD, model, STEP))
    assert ("number format" in {one.name for one in role.open}) is is_open


@pytest.mark.parametrize(("stage", "verdict"), [(2, "does not fit"), (3, "depends on sequence length")])
def test_deepspeed_shares_what_its_stage_says_of_a_whole_model(stage: int, verdict: str, tmp_path: Path) -> None:
    """8.03 billion parameters on 4 ranks of 40 GB: ZeRO-2 holds 2 + (2 + 12) / 4 = 5.5 bytes each, 44 GB; ZeRO-3 4, 32 GB."""
    config = (
        f'{{"bf16": {{"enabled": True}}, "zero_optimization": {{"stage": {stage}}}, "optimizer": {{"type": "AdamW"}}}}'
    )
    program = write(
        "import deepspeed\n",
        HEAD,
        'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16)\n',
        "model.gradient_checkpointing_enable()\n",
        f"engine, *_ = deepspeed.initialize(model=model, config={config})\n",
        "engine.backward(engine(torch.zeros(1, 128)).loss)\n",
    )
    role = check(tmp_path, program, "a100_sxm4_40gb", 4)
    assert (fact(role, "optimizer"), role.engine) == ("adamw", "deepspeed")
    assert role.verdict.startswith(verdict)


@pytest.mark.parametrize(("devices", "rules"), [(4, ["devices-beyond-gpus"]), (2, [])])
def test_lightning_takes_no_more_devices_than_the_job_has(devices: int, rules: list[str], tmp_path: Path) -> None:
    program = write(
        "import lightning as L\n",
        HEAD,
        "class Net(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n",
        "        self.model = AutoModelForCausalLM.from_pretrained('gpt2')\n",
        f"L.Trainer(accelerator='gpu', devices={devices}, strategy='ddp').fit(Net())\n",
    )
    check(tmp_path, program, gpus=2)
    found = gpulint.check(tmp_path).findings
    assert [one.rule for one in found if one.rule == "devices-beyond-gpus"] == rules


def test_the_batch_and_the_length_of_a_data_module_are_those_of_the_run(tmp_path: Path) -> None:
    program = """
    import lightning as L
    class Net(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = AutoModelForCausalLM.from_pretrained("gpt2")
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)
    class Rows(L.LightningDataModule):
        def __init__(self, size, length):
            super().__init__()
            self.size, self.length = size, length
            self.tokenizer = AutoTokenizer.from_pretrained("gpt2")
        def setup(self, stage=None):
            self.rows = load().map(self.encode)
        def encode(self, row):
            return self.tokenizer(row["text"], truncation=True, padding="max_length", max_length=self.length)
        def train_dataloader(self):
            return DataLoader(self.rows, batch_size=self.size)
    L.Trainer(accelerator="gpu", devices=1).fit(Net(), datamodule=Rows(6, length=384))
    """
    role = check(tmp_path, write(HEAD, program))
    assert (fact(role, "micro_batch_size"), fact(role, "sequence_length"), fact(role, "optimizer")) == (6, 384, "sgd")


WHOLE = '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}'
LOADER = "loader = DataLoader(data, batch_size=4)"


@pytest.mark.parametrize(
    ("loader", "config", "rules"),
    [
        (LOADER, '"ds.json"', []),
        (LOADER, WHOLE, []),
        (LOADER, WHOLE.replace('"train_micro_batch_size_per_gpu": 8, ', ""), []),
        ("", '"broken.json"', ["batch-identity-broken"]),
    ],
)
def test_deepspeed_compares_its_own_three_settings(loader: str, config: str, rules: list[str], tmp_path: Path) -> None:
    """The batches are what the program's loader yields; DeepSpeed never compares them with its file."""
    (tmp_path / "ds.json").write_text(WHOLE)
    (tmp_path / "broken.json").write_text(WHOLE.replace("8,", "16,", 1))
    program = f"""
    import deepspeed
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    {loader}
    engine, *_ = deepspeed.initialize(model=model, config={config})
    for batch in loader:
        engine.backward(engine(**batch).loss)
        engine.step()
    """
    (tmp_path / "train.py").write_text(write(HEAD, program))
    (tmp_path / "run.sh").write_text("#!/bin/bash\ndeepspeed --num_gpus=1 train.py\n")
    assert [one.rule for one in gpulint.check(tmp_path).findings if one.rule == "batch-identity-broken"] == rules


def test_deepspeed_shards_the_states_by_its_dict(tmp_path: Path) -> None:
    """ZeRO-3 of 8.03e9 parameters: 16 bytes each over 8 GPUs are 15 GiB.

    The longest samples, 32,768 tokens, add about 40 GiB of logits and their gradients and 8 GiB of kept layer inputs.
    """
    program = """
    import deepspeed
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16)
    model.gradient_checkpointing_enable()
    config = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3},
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}
    engine, optimizer, _, _ = deepspeed.initialize(model=model, config=config)
    for batch in loader:
        loss = engine(**batch).loss
        engine.backward(loss)
        engine.step()
    """
    role = check(tmp_path, write(HEAD, program), gpus=8)
    assert role.engine == "deepspeed"
    assert role.verdict == "likely fits in every case"
