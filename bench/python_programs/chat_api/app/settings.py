from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="CHAT_")

    model: str = "Qwen/Qwen2.5-0.5B-Instruct"
    max_model_len: int = 2048
    gpu_memory_utilization: float = 0.90


settings = Settings()
