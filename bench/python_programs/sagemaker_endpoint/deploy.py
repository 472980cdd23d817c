import json

import sagemaker
from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri

role = sagemaker.get_execution_role()

config = {
    "HF_MODEL_ID": "meta-llama/Llama-3.1-70B-Instruct",
    "SM_NUM_GPUS": json.dumps(4),
    "MAX_INPUT_LENGTH": json.dumps(3072),
    "MAX_TOTAL_TOKENS": json.dumps(4096),
}

model = HuggingFaceModel(
    role=role,
    image_uri=get_huggingface_llm_image_uri("huggingface", version="3.0.1"),
    env=config,
)

predictor = model.deploy(
    initial_instance_count=1,
    instance_type="ml.g5.12xlarge",
    endpoint_name="chat-70b",
    container_startup_health_check_timeout=1800,
)
