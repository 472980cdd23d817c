MODEL ?= Qwen/Qwen2.5-7B-Instruct
ARGS = --max-model-len 16384 --tensor-parallel-size 2

serve:
	# gpulint: accelerator=l40s
	docker run --gpus '"device=0,1"' --ipc host vllm/vllm-openai:v0.11.0 --model $(MODEL) $(ARGS)
