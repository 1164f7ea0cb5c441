#!/usr/bin/env python3
"""Unit tests of the parts of the emitted program that need no GPU and no DeepSpeed engine.

    python unit.py TEMPLATES
"""
import json
import os
import random
import struct
import sys
import tempfile
import unittest
from types import SimpleNamespace

import numpy as np
import torch

sys.path.insert(0, sys.argv.pop(1))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import documents  # noqa: E402
from trainer import batches, blend, corpus, lines, model, schedule, text  # noqa: E402


def write_indexed(prefix, documents, dtype="<u2", code=8):
    """Megatron's format, one sequence per document."""
    with open(prefix + ".bin", "wb") as f:
        for document in documents:
            f.write(np.asarray(document, dtype=dtype).tobytes())
    lengths = [len(d) for d in documents]
    size = np.dtype(dtype).itemsize
    with open(prefix + ".idx", "wb") as f:
        f.write(corpus.MAGIC + struct.pack("<QBQQ", 1, code, len(documents), len(documents) + 1))
        f.write(np.asarray(lengths, dtype="<i4").tobytes())
        f.write((np.cumsum([0] + lengths[:-1]) * size).astype("<i8").tobytes())
        f.write(np.arange(len(documents) + 1, dtype="<i8").tobytes())


class Permutation(unittest.TestCase):
    def test_is_one(self):
        for count in (1, 2, 3, 7, 64, 1000):
            for seed in (0, 1, 1 << 60):
                self.assertEqual(sorted(corpus.permute(i, count, seed) for i in range(count)), list(range(count)))

    def test_moves(self):
        moved = sum(corpus.permute(i, 1000, 5) != i for i in range(1000))
        self.assertGreater(moved, 950)
        self.assertNotEqual([corpus.permute(i, 100, 1) for i in range(100)], [corpus.permute(i, 100, 2) for i in range(100)])


class Turns(unittest.TestCase):
    def test_proportions_and_positions(self):
        turn = blend.Turns([0.7, 0.2999, 0.0001])
        block = turn.BLOCK
        seen = [turn(i) for i in range(2 * block)]
        for source, weight in enumerate([0.7, 0.2999, 0.0001]):
            positions = [p for s, p in seen if s == source]
            self.assertEqual(sorted(positions), list(range(len(positions))))  # each sequence once, none skipped
            self.assertAlmostEqual(len(positions) / len(seen), weight, delta=2 / block)

    def test_small_and_no_weights(self):
        turn = blend.Turns([1.0, 1e-9, 0.0])
        seen = [turn(i) for i in range(2 * turn.BLOCK)]
        for source, count in enumerate([2 * turn.BLOCK - 2, 2, 0]):
            self.assertEqual([p for s, p in seen if s == source], list(range(count)))

    def test_even(self):
        turn = blend.Turns([0.8, 0.2])
        for start in range(0, 1000, 10):
            self.assertEqual(sum(turn(start + i)[0] == 1 for i in range(10)), 2)


class Indexed(unittest.TestCase):
    def test_reads_every_stretch_once_per_epoch(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "data")
            write_indexed(prefix, [list(range(10 * i, 10 * i + 10)) for i in range(13)])
            tokens = corpus.open_indexed(prefix)
            np.testing.assert_array_equal(tokens.ends, np.arange(10, 140, 10))
            source = corpus.Stretches(tokens, (0.0, 1.0), 16, seed=3)
            self.assertEqual(source.count, 8)  # (130 - 1) // 16
            for epoch in range(2):
                starts = sorted(int(source.read(epoch * 8 + i)[0]) for i in range(8))
                self.assertEqual(starts, list(range(0, 128, 16)))
            np.testing.assert_array_equal(np.diff(source.read(0)), np.ones(16))

    def test_split_by_documents(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = os.path.join(folder, "data")
            write_indexed(prefix, [[i] * (i + 1) for i in range(10)])
            tokens = corpus.open_indexed(prefix)
            train, held_out, test = corpus.shares("8,2,0")
            self.assertEqual(tokens.cut(train), (0, 36))
            self.assertEqual(tokens.cut(held_out), (36, 55))
            self.assertEqual(tokens.cut(test), (55, 55))

    def test_rejects_other_files(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "x.idx"), "wb") as f:
                f.write(b"something else")
            with self.assertRaises(ValueError):
                corpus.open_indexed(os.path.join(folder, "x"))


class Joined(unittest.TestCase):
    def test_reads_across_files(self):
        with tempfile.TemporaryDirectory(prefix="[v2]") as folder:  # which is no pattern
            for n in range(3):
                np.arange(10 * n, 10 * n + 10, dtype="<u2").tofile(os.path.join(folder, f"{n}.bin"))
            tokens = corpus.open_tokens(folder, "tokens", 100)
            self.assertEqual(len(tokens), 30)
            np.testing.assert_array_equal(tokens.values[5:25], np.arange(5, 25))


class Documents(unittest.TestCase):
    def setUp(self):
        self.batches = batches.Batches.__new__(batches.Batches)
        self.batches.end = 0
        self.batches.run = SimpleNamespace(data=SimpleNamespace(reset_position_ids=True, document_mask=True),
                                           training=SimpleNamespace(precision="fp32"))
        self.inputs = torch.tensor([[5, 6, 0, 7, 8, 9, 0, 0, 3]])

    def test_positions(self):
        self.assertEqual(self.batches.positions(self.inputs).tolist(), [[0, 1, 2, 0, 1, 2, 3, 0, 0]])

    def test_mask(self):
        allowed = self.batches.mask(self.inputs)[0, 0] == 0
        number = [0, 0, 0, 1, 1, 1, 1, 2, 3]
        for q in range(9):
            for k in range(9):
                self.assertEqual(bool(allowed[q, k]), k <= q and number[q] == number[k], (q, k))

    def test_made_up_tokens_without_ends(self):
        self.batches.end = None
        self.assertEqual(self.batches.positions(self.inputs).tolist(), [list(range(9))])
        self.assertTrue(torch.equal(self.batches.mask(self.inputs)[0, 0] == 0, torch.ones(9, 9, dtype=torch.bool).tril()))


class Position(unittest.TestCase):
    def read(self, batch, state, steps, ordered=False):
        """The sequences of some steps, and the state after them."""
        data = batches.Batches.__new__(batches.Batches)
        data.run = SimpleNamespace(layout=SimpleNamespace(micro_batch_size=2, micro_batches=batch // 2, global_batch_size=batch))
        data.ranks, data.pool, seen = SimpleNamespace(data_parallel=1, data_rank=0), None, []
        data.training = SimpleNamespace(read=seen.append, restore=lambda state: None, state=lambda: {"0,0": [1, 2]} if ordered else None)
        data.tensors = lambda rows, device: rows
        data.restore(state, steps[0])
        for step in steps:
            list(data.step(step, "cpu"))
        return seen, data.state(steps[-1] + 1)

    def test_another_batch_goes_on_where_the_last_ended(self):
        first, state = self.read(8, None, range(3))
        then, state = self.read(4, state, range(3, 6))
        last, _ = self.read(16, state, range(6, 8))
        self.assertEqual(first + then + last, list(range(24 + 12 + 32)))

    def test_from_the_beginning(self):
        self.assertEqual(self.read(8, None, range(3, 5))[0], list(range(16)))

    def test_lanes_keep_their_number(self):
        _, state = self.read(8, None, range(3), ordered=True)
        self.assertEqual(self.read(8, state, range(3, 4), ordered=True)[0], list(range(24, 32)))
        with self.assertRaisesRegex(ValueError, "8 of them read so far"):
            self.read(16, state, range(3, 4), ordered=True)


class Validation(unittest.TestCase):
    def test_reads_the_same_sequences_in_every_layout(self):
        """Three global batches of eight sequences, whichever replicas and micro-batches these are cut into."""
        for micro_batch_size, micro_batches, replicas in (8, 1, 1), (2, 4, 1), (1, 2, 4), (4, 1, 2):
            seen = []
            for rank in range(replicas):
                held = batches.Batches.__new__(batches.Batches)
                held.run = SimpleNamespace(
                    validation=SimpleNamespace(steps=3),
                    layout=SimpleNamespace(micro_batch_size=micro_batch_size, micro_batches=micro_batches, global_batch_size=8))
                held.ranks, held.pool = SimpleNamespace(data_parallel=replicas, data_rank=rank), None
                held.held_out = SimpleNamespace(read=lambda n: n, restore=lambda state: None)
                held.tensors = lambda rows, device: rows
                for micro_batch in held.validation("cpu"):
                    seen += micro_batch
            self.assertEqual(sorted(seen), list(range(24)))


class Lanes(unittest.TestCase):
    """Text lanes, with a tokenizer that gives one id per character."""

    def lanes(self, path, lanes=4):
        reader = text.Lanes.__new__(text.Lanes)
        reader.lanes, reader.length, reader.seed = lanes, 8, 7
        reader.encode = lambda document: [ord(c) for c in document] + [0]
        reader.sources = [text.Lines(path, os.path.dirname(path), SimpleNamespace(rank=0))]
        reader.turn = blend.Turns([1.0])
        reader.places, reader.rest = {}, {}
        return reader

    def setUp(self):
        lines.torch = SimpleNamespace(distributed=SimpleNamespace(broadcast_object_list=lambda names: None))
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "a.jsonl")
        random.seed(1)
        self.documents = ["".join(random.choices("abcdefgh", k=random.randint(1, 30))) for _ in range(50)]
        with open(self.path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps({"text": d}) + "\n" for d in self.documents)

    def tearDown(self):
        self.folder.cleanup()

    def test_resumes_anywhere(self):
        whole, part = self.lanes(self.path), self.lanes(self.path)
        wanted = [whole.read(n).tolist() for n in range(40)]
        got = [part.read(n).tolist() for n in range(13)]
        again = self.lanes(self.path)
        again.restore({f"{s},{lane}": place for (s, lane), place in part.places.items()})
        got += [again.read(n).tolist() for n in range(13, 40)]
        self.assertEqual(got, wanted)

    def test_reads_every_document_once_per_epoch(self):
        reader = self.lanes(self.path)
        seen = [tuple(reader.document(0, lane, n)) for n in range(12) for lane in range(4)]
        seen += [tuple(reader.document(0, lane, 12)) for lane in range(2)]
        self.assertEqual(sorted(seen), sorted(tuple(reader.encode(d)) for d in self.documents))

    def test_reads_a_folder(self):
        with tempfile.TemporaryDirectory(prefix="[v2]") as folder:  # which is no pattern
            for n, documents in enumerate((["a", "b"], ["c"])):
                with open(os.path.join(folder, f"{n}.jsonl"), "w", encoding="utf-8") as f:
                    f.writelines(json.dumps({"text": d}) + "\n" for d in documents)
            found = text.Lines(folder, self.folder.name, SimpleNamespace(rank=0))
            self.assertEqual([found[n] for n in range(len(found))], ["a", "b", "c"])


class Tokenizers(unittest.TestCase):
    def test_ids(self):
        with tempfile.TemporaryDirectory() as folder:
            for n, (name, (around, config, end, expected)) in enumerate(documents.CASES.items()):
                place = f"{folder}/{n}"
                documents.write(place, around, config)
                data = SimpleNamespace(tokenizer=SimpleNamespace(kind="huggingface", path=place), end_of_document_id=end)
                self.assertEqual(text.tokenizer(data)(documents.TEXT), expected, name)


class Schedule(unittest.TestCase):
    def run_of(self, kind, **more):
        spec = {"kind": kind, "warmup_steps": 10, "decay_start": 10, "decay_end": 110, "decay_shape": "",
                "minimum_learning_rate": 0.1} | more
        return SimpleNamespace(schedule=SimpleNamespace(**spec), optimizer=SimpleNamespace(learning_rate=1.0))

    def test_ends(self):
        for run in (self.run_of("cosine"), self.run_of("linear"),
                    *(self.run_of("wsd", decay_start=90, decay_shape=s) for s in ("linear", "cosine", "minus_sqrt", "exponential"))):
            self.assertEqual(schedule.rate(run, 0), 0)
            self.assertEqual(schedule.rate(run, 5), 0.5)
            self.assertEqual(schedule.rate(run, run.schedule.decay_start), 1)
            self.assertEqual(schedule.rate(run, 110), 0.1)
            rates = [schedule.rate(run, s) for s in range(10, 120)]
            self.assertEqual(rates, sorted(rates, reverse=True))

    def test_middle(self):
        self.assertAlmostEqual(schedule.rate(self.run_of("cosine"), 60), 0.55)
        self.assertAlmostEqual(schedule.rate(self.run_of("linear"), 60), 0.55)
        self.assertAlmostEqual(schedule.rate(self.run_of("wsd", decay_start=10, decay_shape="minus_sqrt"), 35), 0.1 + 0.9 * 0.5)
        self.assertEqual(schedule.rate(self.run_of("constant"), 1000), 1)


class Initialization(unittest.TestCase):
    def test_projections_back_into_the_residual_stream(self):
        back = ["layers.0.self_attn.o_proj.weight", "layers.0.mlp.down_proj.weight", "layers.0.mlp.experts.3.down_proj.weight",
                "layers.0.mlp.experts.down_proj", "layers.0.mlp.shared_experts.down_proj.weight", "h.0.attn.c_proj.weight",
                "h.0.mlp.c_proj.weight", "layers.0.block_sparse_moe.experts.0.w2.weight"]
        others = ["embed_tokens.weight", "lm_head.weight", "layers.0.self_attn.q_proj.weight", "layers.0.mlp.experts.gate_up_proj",
                  "layers.0.mlp.gate.weight", "layers.0.self_attn.kv_a_proj_with_mqa.weight", "h.0.attn.c_attn.weight",
                  "layers.0.block_sparse_moe.experts.0.w1.weight"]
        self.assertEqual([n for n in back + others if model.RESIDUAL.search("model." + n)], back)


class Replicas(unittest.TestCase):
    def test_parameters_name_the_group_of_their_shards(self):
        layer = torch.nn.Linear(2, 2)
        for parameter in layer.parameters():
            parameter.ds_process_group, parameter.comm = "all", SimpleNamespace(param_shard_group="half")
        model.name_groups(layer)
        self.assertEqual({p.ds_process_group for p in layer.parameters()}, {"half"})


class Balance(unittest.TestCase):
    def test_balanced_is_one(self):
        logits = torch.eye(4).repeat(5, 1) * 20  # every expert chosen by a quarter of the tokens
        self.assertAlmostEqual(model.balance(logits[None], 1).item(), 1, places=4)

    def test_collapsed_is_number_of_experts(self):
        logits = torch.tensor([[[30.0, 0, 0, 0]]]).repeat(1, 8, 1)
        self.assertAlmostEqual(model.balance(logits, 1).item(), 4, places=4)


if __name__ == "__main__":
    unittest.main()
