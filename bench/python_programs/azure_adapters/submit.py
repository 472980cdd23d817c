from azure.ai.ml import Input, MLClient, command
from azure.ai.ml.entities import AmlCompute
from azure.identity import DefaultAzureCredential

client = MLClient.from_config(DefaultAzureCredential())

cluster = AmlCompute(
    name="a100-cluster",
    size="Standard_NC24ads_A100_v4",
    min_instances=0,
    max_instances=2,
)
client.compute.begin_create_or_update(cluster).result()

job = command(
    code="./src",
    command="python adapters.py --data ${{inputs.data}} --rank 16",
    inputs={"data": Input(type="uri_file", path="azureml:faq:3")},
    environment="AzureML-acpt-pytorch-2.2-cuda12.1@latest",
    compute="a100-cluster",
    instance_count=1,
    display_name="faq-adapters",
)
client.jobs.create_or_update(job)
