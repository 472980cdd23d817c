import os
from pathlib import Path

import whisper

model = whisper.load_model(os.environ.get("WHISPER_MODEL", "base"), device="cuda")

for file in sorted(Path("/calls").glob("*.wav")):
    result = model.transcribe(str(file), language="en", fp16=True)
    file.with_suffix(".txt").write_text(result["text"])
