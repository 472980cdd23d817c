variable "model" {
  type = string
  default = "Qwen/Qwen2.5-7B-Instruct"
}
job "vllm" {
  datacenters = ["dc1"]
  type = "service"
  group "llm" {
    count = 2
    constraint {
      attribute = "${device.attr.nvidia/gpu.model}"
      value = "NVIDIA A100 80GB"
    }
    task "server" {
      driver = "docker"
      config {
        image = "vllm/vllm-openai:v0.6.3"
        args = ["--model", "${var.model}", "--tensor-parallel-size", "2"]
        shm_size = 17179869184
      }
      env {
        HF_HOME = "/x"
      }
      resources {
        cpu = 4000
        memory = 32000
        device "nvidia/gpu" {
          count = 2
          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "40 GiB"
          }
        }
      }
    }
  }
}
