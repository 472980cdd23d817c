import os

BASE_MODEL = os.environ["BASE_MODEL"]
BETA = float(os.environ.get("BETA", "0.1"))
MAX_LENGTH = 1024
BATCH = 2
