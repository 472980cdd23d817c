import gradio as gr
from lmdeploy import GenerationConfig, TurbomindEngineConfig, pipeline

backend = TurbomindEngineConfig(tp=1, session_len=8192, cache_max_entry_count=0.5)
pipe = pipeline("Qwen/Qwen2.5-7B-Instruct", backend_config=backend)


def answer(message, history):
    messages = [*history, {"role": "user", "content": message}]
    return pipe(messages, gen_config=GenerationConfig(max_new_tokens=512)).text


gr.ChatInterface(answer, type="messages").launch(server_name="0.0.0.0", server_port=7860)
