"""Writes small data in the three formats that jobs read, the same bytes on every machine.

    python make_data.py FOLDER VOCABULARY

FOLDER/text_document.{bin,idx} and code_document.{bin,idx} (Megatron), text.tokens (flat), text.jsonl
and tokenizer/ (Hugging Face). A document counts upwards from a random start, so that a loss falls.
"""

import json
import os
import struct
import sys

import numpy as np


def documents(seed, count, vocabulary):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        length, start = int(generator.integers(20, 200)), int(generator.integers(1, vocabulary))
        yield (start + np.arange(length)) % (vocabulary - 1) + 1


def megatron(prefix, docs):
    lengths = np.array([len(d) for d in docs], dtype=np.int32)
    pointers = np.concatenate(([0], np.cumsum(lengths[:-1].astype(np.int64) * 2)))
    with open(prefix + ".bin", "wb") as file:
        file.write(np.concatenate(docs).astype(np.uint16).tobytes())
    with open(prefix + ".idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, len(docs), len(docs) + 1))
        file.write(lengths.tobytes() + pointers.astype(np.int64).tobytes())
        file.write(np.arange(len(docs) + 1, dtype=np.int64).tobytes())


def tokenizer(folder, vocabulary):
    """A word-level tokenizer of the numbers below the vocabulary's size."""
    words = {str(i): i for i in range(vocabulary - 2)} | {"<s>": vocabulary - 2, "</s>": vocabulary - 1}
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump({
            "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None, "decoder": None,
            "added_tokens": [{"id": words[w], "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for w in ("<s>", "</s>")],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "0"},
        }, file)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"bos_token": "<s>", "eos_token": "</s>"}, file)


def main(folder, vocabulary):
    os.makedirs(folder, exist_ok=True)
    text, code = list(documents(1, 400, vocabulary)), list(documents(2, 200, vocabulary))
    megatron(os.path.join(folder, "text_document"), text)
    megatron(os.path.join(folder, "code_document"), code)
    flat = np.concatenate([np.append(d, 0) for d in text])
    flat.astype(np.uint16).tofile(os.path.join(folder, "text.tokens"))
    with open(os.path.join(folder, "text.jsonl"), "w") as file:
        for d in text:
            file.write(json.dumps({"text": " ".join(str(int(i) % (vocabulary - 2)) for i in d)}) + "\n")
    tokenizer(os.path.join(folder, "tokenizer"), vocabulary)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
