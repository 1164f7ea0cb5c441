"""Tests the reader that ndc emits, on the data of make_data.py.

    PYTHONPATH=FOLDER_OF_ndc_runtime python check_runtime.py DATA
"""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import documents  # noqa: E402
import make_data  # noqa: E402
import ndc_runtime  # noqa: E402

LENGTH, VOCABULARY = 64, 512


def spec(folder, **changes):
    return {
        "format": "megatron",
        "sources": [["text", folder + "/text_document", 0.75], ["code", folder + "/code_document", 0.25]],
        "validation_sources": [],
        "split": None,
        "sequence_length": LENGTH,
        "vocab_size": VOCABULARY,
        "end_of_document": None,
        "restart_positions": True,
        "seed": 7,
        "workers": 0,
    } | changes


def batches(data, count, *, rank=0, ranks=1, size=8, state=None, **more):
    loader = ndc_runtime.Loader(data, rank=rank, ranks=ranks, batch_size=size, with_positions=True, **more)
    if state is not None:
        loader.load_state_dict(state)
    taken = list(itertools.islice(loader, count))
    return taken, loader.state_dict()


def rows(taken):
    return np.concatenate([inputs["input"].numpy() for inputs, _ in taken])


def check_layouts(folder):
    """Eight ranks of two sequences read what two ranks of eight read, step by step."""
    one, _ = batches(spec(folder), 4, size=16)
    parts = [batches(spec(folder), 4, rank=r, ranks=8, size=2)[0] for r in range(8)]
    for step in range(4):
        together = np.concatenate([rows([part[step]]) for part in parts])
        assert (together == rows([one[step]])).all()


def check_traces(folder):
    """Steps 3 and 4 are traced, as 0.2.2 asks for it, and none later; neither are those of a run that goes on."""
    ndc_runtime.trace_once()
    action = torch.profiler.schedule(wait=1, warmup=2, active=2)
    rests = torch.profiler.ProfilerAction.NONE
    assert [step for step in range(50) if action(step) != rests] == [1, 2, 3, 4]
    assert all(action(step) == rests for step in range(5000, 5010))


def check_epochs(folder):
    """An epoch of one source holds every sample once; the next epoch in another order."""
    data = spec(folder, sources=[["text", folder + "/text_document", 1.0]])
    samples = ndc_runtime.TokenSamples(data, (0, 1))
    count = samples.count[0]
    stream = np.fromfile(folder + "/text_document.bin", np.uint16)
    expected = {stream[i * LENGTH : (i + 1) * LENGTH + 1].tobytes() for i in range(count)}
    orders = [[samples[e * count + i][0].tobytes() for i in range(count)] for e in range(2)]
    assert set(orders[0]) == set(orders[1]) == expected and len(orders[0]) == count
    assert orders[0] != orders[1]


def check_documents(folder):
    """Positions restart exactly where make_data.py started a document."""
    lengths = [len(d) for d in make_data.documents(1, 400, VOCABULARY)]
    starts = set(np.concatenate(([0], np.cumsum(lengths))))
    samples = ndc_runtime.TokenSamples(spec(folder, sources=[["text", folder + "/text_document", 1.0]]), (0, 1))
    for sample in range(20):
        low = ndc_runtime.permute(sample, samples.count[0], 7) * LENGTH
        _, found = samples[sample]
        assert set(found + low) == {s for s in starts if low <= s < low + LENGTH}
        ids = ndc_runtime.positions(LENGTH, found, True)
        assert all((ids[i] == 0) == (i == 0 or low + i in starts) for i in range(LENGTH))


def check_flat(folder):
    """A flat file gives its documents by the id that ends them."""
    data = spec(folder, format="tokens", sources=[["text", folder + "/text.tokens", 1.0]], end_of_document=0)
    samples = ndc_runtime.TokenSamples(data, (0, 1))
    for sample in range(20):
        tokens, starts = samples[sample]
        assert all(tokens[s - 1] == 0 for s in starts if s > 0)
        assert sum(tokens[: LENGTH - 1] == 0) == sum(s > 0 for s in starts)


def check_blend(folder):
    """Weights are met in every stretch, not only on the average."""
    blend = ndc_runtime.Blend([0.75, 0.25])
    taken = np.array([blend[g][0] for g in range(25_000)])
    for end in (100, 9_999, 10_001, 25_000):
        assert abs((taken[:end] == 1).sum() - 0.25 * end) <= 1
    assert sorted(blend[g][1] for g in range(25_000) if taken[g] == 1) == list(range((taken == 1).sum()))
    # However small a weight, its source is read, each of its samples in turn.
    blend = ndc_runtime.Blend([1.0, 1e-6, 1e-9, 2e-4, 0.0])
    seen = [blend[g] for g in range(30_000)]
    for s, count in enumerate((9_996, 1, 1, 2, 0)):
        assert [n for source, n in seen if source == s] == list(range(3 * count)), s


def check_resume(folder, tokenizer):
    """A reader goes on where another left off, in every format."""
    text = [["text", folder + "/text.jsonl", 1.0]]
    for changes in ({}, {"format": "mock"}, {"format": "jsonl", "sources": text}):
        data = spec(folder, **changes)
        whole, _ = batches(data, 6, tokenizer=tokenizer, ranks=2, rank=1)
        _, state = batches(data, 3, tokenizer=tokenizer, ranks=2, rank=1)
        rest, _ = batches(data, 3, tokenizer=tokenizer, ranks=2, rank=1, state=state)
        assert (rows(whole[3:]) == rows(rest)).all(), changes
    _, state = batches(spec(folder), 3, ranks=2, size=8)  # 48 samples, now on one rank
    whole, _ = batches(spec(folder), 4, size=16)
    rest, _ = batches(spec(folder), 1, size=16, state=state)
    assert (rows(whole[3:]) == rows(rest)).all()


def check_split(folder):
    """Training and validation share no sample."""
    data = spec(folder, split=[0.8, 0.2, 0.0], sources=[["text", folder + "/text_document", 1.0]])
    training, validation = (ndc_runtime.Loader(data, rank=0, ranks=1, batch_size=1, split=s).samples for s in (0, 1))
    assert training.first[0] + training.count[0] == validation.first[0]
    assert validation.first[0] + validation.count[0] <= (len(training.files[0].tokens) - 1) // LENGTH


def check_text(folder):
    """Text becomes the ids that every reader makes of it."""
    from torchtitan.components.tokenizer import HuggingFaceTokenizer

    for n, (name, (around, config, end, expected)) in enumerate(documents.CASES.items()):
        place = f"{folder}/tokenizer-{n}"
        documents.write(place, around, config)
        with open(place + "/text.jsonl", "w", encoding="utf-8") as f:
            f.write(json.dumps({"text": documents.TEXT}) + "\n")
        tokenizer = HuggingFaceTokenizer(tokenizer_path=place)
        data = spec(folder, format="jsonl", sources=[["text", place + "/text.jsonl", 1.0]], end_of_document=end)
        found = ndc_runtime.JSONLines(data, tokenizer, 0, 1)[0][0][: len(expected) * 2].tolist()
        assert found == expected * 2, (name, found, expected)


class Tokenizer:
    def encode(self, text, add_eos):
        return [int(word) for word in text.split()] + [511] * add_eos


FAILS = """
import sys
import check_runtime
data = dict(check_runtime.spec(sys.argv[1]), workers=2)
batches = iter(check_runtime.ndc_runtime.Loader(data, rank=0, ranks=1, batch_size=8))
next(batches)
raise OSError("the disk is full")
"""


def check_failure(folder):
    """A rank that ends by an exception takes its readers with it, which are deaf to SIGTERM."""
    done = subprocess.run([sys.executable, "-c", FAILS, folder], stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.endswith("OSError: the disk is full\n"), done.stderr


def main(folder):
    make_data.main(folder, VOCABULARY)
    check_layouts(folder)
    check_epochs(folder)
    check_documents(folder)
    check_flat(folder)
    check_blend(folder)
    check_resume(folder, Tokenizer())
    check_split(folder)
    check_text(folder)
    check_failure(folder)
    check_traces(folder)
    print("the reader holds")


if __name__ == "__main__":
    main(sys.argv[1])
