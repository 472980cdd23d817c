from fastapi import FastAPI
from sentence_transformers import SentenceTransformer

app = FastAPI()
encoder = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2", device="cuda")


@app.post("/embed")
def embed(texts: list[str]):
    return encoder.encode(texts).tolist()
