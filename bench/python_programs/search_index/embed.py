import os

import psycopg
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("BAAI/bge-large-en-v1.5", device="cuda")

with psycopg.connect(os.environ["DATABASE_URL"]) as db:
    rows = db.execute("select id, body from documents where embedding is null").fetchall()
    vectors = model.encode([r[1] for r in rows], batch_size=int(os.environ.get("BATCH", "32")), normalize_embeddings=True)
    for (key, _), vector in zip(rows, vectors):
        db.execute("update documents set embedding = %s where id = %s", (vector.tolist(), key))
