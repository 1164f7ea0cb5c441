"""Checks check_speed.py without a cluster: whether slow nodes are found among many, in how many rounds.

    bisect.py CHECK_SPEED.PY
"""
import math
import random
import runpy
import sys

program = runpy.run_path(sys.argv[1])


def found(count, slow=(), most=None, trunk=None, wrong=False):
    """What bisect says of so many nodes, of which some are slow; or all; or those before and behind a trunk, together."""
    names, slow, rounds = ["n%d" % i for i in range(count)], {"n%d" % i for i in slow}, []

    def measure(groups):
        seen = [n for g in groups for n in g]
        assert len(seen) == len(set(seen)) and all(len(g) > 1 for g in groups), groups
        rounds.append(groups)
        sides = [{int(n[1:]) < trunk for n in g} if trunk else set() for g in groups]
        late = [wrong or bool(slow & set(g)) or len(s) == 2 for g, s in zip(groups, sides)]
        return [program["expected"](len(g)) * (3 if l else 1) if i % 2 or not l else None for i, (g, l) in enumerate(zip(groups, late))]

    bad, doubts = program["bisect"](names, measure, max(4, count // 10) if most is None else most)
    return sorted(int(n[1:]) for n in bad), doubts, len(rounds)


random.seed(1)
for count in (3, 4, 5, 6, 7, 9, 16, 31, 34, 64, 100, 257, 1000, 2048):
    for _ in range(30):
        slow = sorted(random.sample(range(count), random.randint(0, min(4, (count - 1) // 2))))
        bad, doubts, rounds = found(count, slow)
        assert (bad, doubts) == (slow, []), (count, slow, bad, doubts)
        assert rounds <= [1, max(5, 2 + math.ceil(math.log2(count))), 10 + math.ceil(math.log2(count))][min(2, len(slow))], (count, slow, rounds)
        assert (bad, doubts, rounds) == found(count, slow)
for bad, doubts, _ in found(2, [1]), found(2048, wrong=True), found(2048, trunk=1024), found(64, range(20)):
    assert not bad and len(doubts) == 1, (bad, doubts)
assert found(2048, [777])[2] == 12
alone = {"n%d" % i: [{"gemms": 1.0, "sum": 1.0}] * 2 for i in range(4)}
program["judge_alone"].__globals__.update(MATMUL_SECONDS=1.0, NODE_SECONDS=1.0)
judge = program["judge_alone"]
assert judge(alone) == []
slower = {**alone, "n1": [{"gemms": 1.0, "sum": 1.0}, {"gemms": 1.6, "sum": 1.0}]}
assert judge(slower) == [("n1", "bad", "GEMMs: GPU 1 takes 1.6 s instead of 1 s")], judge(slower)
everywhere = {n: [{"gemms": 1.6, "sum": 1.0}] for n in alone}
assert [f[:2] for f in judge(everywhere)] == [("-", "unknown")], judge(everywhere)
one = {**alone, "n2": [{"error": "x"}, {"gemms": 1.0, "sum": 1.0}]}
assert judge(one) == [("n2", "bad", "measuring its speed, GPU 0: x")], judge(one)
assert {f[1] for f in judge({n: [{"error": "x"}] for n in alone})} == {"unknown"}
