FROM vllm/vllm-openai:v0.10.1
ENV HF_HOME=/models
ENTRYPOINT ["vllm", "serve"]
CMD ["Qwen/Qwen3-8B", "--max-model-len", "16384", "--gpu-memory-utilization", "0.9"]
