import sagemaker
from sagemaker.huggingface import HuggingFace

INSTANCE = "ml.p4d.24xlarge"

estimator = HuggingFace(
    entry_point="train.py",
    source_dir="scripts",
    instance_type=INSTANCE,
    instance_count=1,
    role=sagemaker.get_execution_role(),
    transformers_version="4.36.0",
    pytorch_version="2.1.0",
    py_version="py310",
    distribution={"torch_distributed": {"enabled": True}},
    hyperparameters={"model_id": "Qwen/Qwen2.5-1.5B", "epochs": 2, "batch_size": 1},
)
estimator.fit({"training": "s3://acme-ml/intents/"})
