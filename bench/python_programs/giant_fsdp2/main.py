import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from transformers import AutoModelForCausalLM

from loader import batches

CHECKPOINT = "meta-llama/Llama-3.1-70B"
MICRO_BATCH = 1
SEQ_LEN = 4096


def build(mesh):
    # master weights stay in float32, compute is bfloat16
    model = AutoModelForCausalLM.from_pretrained(CHECKPOINT, torch_dtype=torch.float32)
    model.gradient_checkpointing_enable()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    model = build(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    for step, ids in enumerate(batches(MICRO_BATCH, SEQ_LEN)):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0 and step % 10 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
