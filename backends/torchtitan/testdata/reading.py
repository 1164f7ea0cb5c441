"""Folders of JSON lines are read as one file that holds the same lines, by any number of ranks and after any stop, and a
blend of several wholly.

    python3 reading.py TEMPLATES SCRATCH

It needs Python alone, and reads folders of token files and blends too where there is a numpy.
"""
import copy
import itertools
import json
import os
import sys
import types
from unittest import mock

RANKS, READ = 3, 40


def runtime(templates):
    """ndc_runtime without torch, and without numpy where there is none. Returns it and whether there is."""
    sys.path.insert(0, templates)
    torch = mock.MagicMock()
    torch.utils.data = types.SimpleNamespace(Dataset=object)
    sys.modules.update({"torch": torch, "torch.distributed": torch.distributed})
    try:
        import numpy
        found = bool(numpy)
    except ModuleNotFoundError:
        sys.modules["numpy"] = mock.MagicMock()
        found = False
    import ndc_runtime
    return ndc_runtime, found


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


def lines(numbers, last=b"\n"):
    return b"\n".join(b'{"text": "%d"}' % n for n in numbers) + last


class Words:
    """A tokenizer whose ids are the numbers in the text."""

    def encode(self, text, add_eos):
        return [int(text)]


def documents(ndc, path, rank, stop):
    """What a rank reads, when it stops after some documents and another process goes on."""
    data = {"sources": [["text", path, 1.0]], "end_of_document": None, "sequence_length": 8, "seed": 7}
    reader = ndc.JSONLines(data, Words(), rank, RANKS)
    for n in range(READ):
        if n == stop:
            state, reader = json.dumps(reader.state), ndc.JSONLines(data, Words(), rank, RANKS)
            reader.state = copy.deepcopy(json.loads(state))
        reader.extend(0, reader.state[0])
    return reader.state[0][2]


def text(ndc, scratch):
    folder, one = os.path.join(scratch, "folder"), os.path.join(scratch, "one.jsonl")
    write(os.path.join(folder, "0.jsonl"), lines(range(7)))
    write(os.path.join(folder, "1.jsonl"), b"")
    write(os.path.join(folder, "2.jsonl"), lines(range(7, 9), last=b""))  # as many writers end a file
    write(os.path.join(folder, "3.jsonl"), b"\n" + lines(range(9, 20)))
    write(os.path.join(folder, "3.txt"), lines(range(100, 200)))
    write(one, lines(range(9)) + b"\n" + lines(range(9, 20)))
    with mock.patch.object(ndc, "Blend"):
        for rank in range(RANKS):
            wanted = documents(ndc, one, rank, None)
            assert set(wanted) <= set(range(20)) and len(wanted) == READ, wanted
            for stop in range(READ):
                got = documents(ndc, folder, rank, stop)
                assert got == wanted, f"rank {rank} stopped at {stop}: {got}, want {wanted}"


def broken(ndc, scratch):
    """A line that is no document is told with its place."""
    folder = os.path.join(scratch, "broken")
    write(os.path.join(folder, "0.jsonl"), lines(range(3)))
    for line, why in ((b'{"text": "3"', "no JSON"), (b'{"content": "3"}', 'no object with a "text"'), (b'{"text": 3}', 'no object with a "text"'), (b"3", 'no object with a "text"')):
        write(os.path.join(folder, "1.jsonl"), lines([3]) + line + b"\n")
        try:
            with mock.patch.object(ndc, "Blend"):
                documents(ndc, folder, 1, None)
        except ValueError as problem:
            assert str(problem).startswith(f"{folder}/1.jsonl, byte 14: {why}"), problem
        else:
            raise AssertionError(line)


def tokens(ndc, scratch):
    import numpy as np
    folder, one = os.path.join(scratch, "tokens"), os.path.join(scratch, "one.bin")
    for name, low, high in (("0.bin", 0, 30), ("1.bin", 30, 30), ("2.bin", 30, 101)):
        write(os.path.join(folder, name), np.arange(low, high, dtype=np.uint16).tobytes())
    write(one, np.arange(101, dtype=np.uint16).tobytes())
    data = {"format": "tokens", "vocab_size": 128, "end_of_document": 30, "sequence_length": 10, "seed": 7}
    joined, single = (ndc.TokenSamples(dict(data, sources=[["t", path, 1.0]]), (0, 1)) for path in (folder, one))
    assert joined.count == single.count == [10]
    for g in range(20):
        for a, b in zip(joined[g], single[g]):
            assert np.array_equal(a, b), f"sample {g}: {a}, want {b}"


def blend(ndc, scratch):
    """However many ranks share a blend out, together they read every document of each source, in shares by its weight."""
    sources = []
    for name, low in (("a", 0), ("b", 100)):
        sources.append([name, os.path.join(scratch, name + ".jsonl"), 1.0])
        write(sources[-1][1], lines(range(low, low + 100)))
    data = {"format": "jsonl", "sources": sources, "end_of_document": None, "sequence_length": 4, "seed": 7, "split": None}
    for ranks, size in ((1, 4), (2, 1), (2, 3), (4, 1), (4, 2)):
        read = set()
        for rank in range(ranks):
            loader = ndc.Loader(data, rank=rank, ranks=ranks, batch_size=size, tokenizer=Words())
            numbers = [n for batch in itertools.islice(loader.indices(0), 60 // ranks // size) for n in batch]
            found = [loader.samples[n][0].tolist() for n in numbers]
            read.update(*found)
            assert abs(2 * sum(sample[0] < 100 for sample in found) - len(found)) <= 1, (ranks, size, rank)
            later = next(loader.indices(len(numbers) * ranks))
            assert later == [len(numbers) + i for i in range(size)], later
        assert read == set(range(200)), (ranks, size, len(read))


def others(ndc, scratch):
    """A run that goes on with other sources reads on in those that it had, and a new one from its beginning."""
    for name, low in (("a", 0), ("b", 100), ("c", 200)):
        write(os.path.join(scratch, name + ".jsonl"), lines(range(low, low + 100)))

    def loader(names):
        sources = [[name, os.path.join(scratch, name + ".jsonl"), 1.0] for name in names]
        data = {"format": "jsonl", "sources": sources, "end_of_document": None, "sequence_length": 4, "seed": 7, "split": None}
        return ndc.Loader(data, rank=0, ranks=2, batch_size=1, tokenizer=Words())

    def read(loader):
        for s, _ in enumerate(loader.data["sources"]):
            loader.samples.extend(s, loader.samples.state[s])
        return {name: state[2] for (name, _, _), state in zip(loader.data["sources"], loader.samples.state)}

    with mock.patch.object(ndc, "Blend"):
        first = loader("ab")
        assert read(first) == {"a": [0], "b": [100]}
        for names, wanted in (("ab", {"a": [0, 2], "b": [100, 102]}), ("ba", {"a": [0, 2], "b": [100, 102]}),
                              ("abc", {"a": [0, 2], "b": [100, 102], "c": [200]}), ("cb", {"b": [100, 102], "c": [200]})):
            after = loader(names)
            after.load_state_dict(copy.deepcopy(first.state_dict()))
            found = read(after)
            assert found == wanted, f"{names}: {found}, want {wanted}"
        after = loader("ab")
        after.load_state_dict({"dp_rank_0": json.dumps([1, 2, first.samples.state])})  # as earlier builds saved it
        assert read(after) == {"a": [0, 2], "b": [100, 102]}


def empty(ndc, scratch):
    for extension in (".bin", ".jsonl"):
        try:
            ndc.files(os.path.join(scratch, "folder", ".."), ".none" + extension)
        except ValueError as e:
            assert "holds no *" in str(e)
        else:
            raise AssertionError("a folder without files is read")


def main():
    ndc, numbers = runtime(sys.argv[1])
    text(ndc, sys.argv[2])
    others(ndc, sys.argv[2])
    empty(ndc, sys.argv[2])
    broken(ndc, sys.argv[2])
    if numbers:
        tokens(ndc, sys.argv[2])
        blend(ndc, sys.argv[2])
    print("tokens too" if numbers else "text alone: no numpy")


main()
