"""Tokenizers in Hugging Face's format, and the ids that every emitted reader has to make of a text with them.

A tokenizer says what it puts around a text by itself: Llama 3's begins it, Qwen's and GPT-NeoX's do nothing. That is
what Megatron-LM's tools/preprocess_data.py writes, too, with --append-eod, which ends every document.
"""
import json
import os

from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = {"<begin>": 0, "<end>": 1, "<unknown>": 2, "one": 3, "two": 4, "three": 5}
TEXT = "one three two"

# name: what the tokenizer puts around a text, its tokenizer_config.json, end_of_document_id of the job, ids of TEXT
CASES = {
    "nothing around a text": ("$A", {"eos_token": "<end>"}, None, [3, 5, 4, 1]),
    "a token of beginning that is not used": ("$A", {"bos_token": "<begin>", "eos_token": "<end>"}, None, [3, 5, 4, 1]),
    "begun": ("<begin> $A", {"bos_token": "<begin>", "eos_token": "<end>"}, None, [0, 3, 5, 4, 1]),
    "begun and ended": ("<begin> $A <end>", {"bos_token": "<begin>", "eos_token": "<end>"}, None, [0, 3, 5, 4, 1]),
    "no end": ("$A", {}, None, [3, 5, 4]),
    "an end of the job's": ("<begin> $A", {"bos_token": "<begin>", "eos_token": "<end>"}, 2, [0, 3, 5, 4, 2]),
    "the same end of the job's": ("$A <end>", {"eos_token": "<end>"}, 1, [3, 5, 4, 1]),
}


def write(folder, around, config):
    """Writes a tokenizer into a folder."""
    os.makedirs(folder, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<begin>", "<end>", "<unknown>"])
    if around != "$A":
        tokenizer.post_processor = processors.TemplateProcessing(single=around, special_tokens=list(WORDS.items())[:2])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", **config}, f)
