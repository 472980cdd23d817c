import sky

MODEL = "Qwen/Qwen2.5-32B-Instruct"

task = sky.Task(
    name="qa",
    setup="pip install vllm==0.8.5",
    run=f"vllm serve {MODEL} --port 8000 --max-model-len 8192 --dtype bfloat16",
)
task.set_resources(sky.Resources(cloud=sky.GCP(), accelerators="A100:1", ports=8000))

if __name__ == "__main__":
    sky.launch(task, cluster_name="qa")
