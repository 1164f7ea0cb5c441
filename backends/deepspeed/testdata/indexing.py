"""Many jobs that index one corpus at once, corpora that change behind their indices, and lines that are no documents.

    python3 indexing.py TEMPLATES SCRATCH

It needs Python alone: nothing of numpy or torch is used where the indices are made.
"""
import array
import json
import os
import sys
import types

JOBS, ROUNDS = 80, 5


def write(path, lines):
    with open(path, "wb") as f:
        f.writelines(lines)


def starts(lines):
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def read(index):
    offsets = array.array("q")
    with open(index, "rb") as f:
        offsets.frombytes(f.read())
    return offsets.tolist()


def at_once(line_starts, path, cache, wanted):
    """All jobs wait for one gate; each must read what it asked for. How many failed."""
    gate, opener = os.pipe()
    children = []
    for _ in range(JOBS):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(opener)
                os.read(gate, 1)  # until it is closed
                code = int(read(line_starts(path, cache)) != wanted)
            finally:
                os._exit(code)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


def many_jobs(line_starts, scratch):
    failed = 0
    for number in range(ROUNDS):
        path, cache = os.path.join(scratch, f"{number}.jsonl"), os.path.join(scratch, f"cache-{number}")
        lines = [b'{"text": "%0*d"}\n' % (n % 50, n) for n in range(2000)]
        write(path, lines)
        failed += at_once(line_starts, path, cache, starts(lines))
        left = os.listdir(cache)
        assert len(left) == 1, left
    assert not failed, f"{failed} of {ROUNDS * JOBS} jobs failed"


def changes(line_starts, scratch):
    """Longer, as long with other lines, and back to what it was, each older than the index of the one before."""
    path, cache = os.path.join(scratch, "changed.jsonl"), os.path.join(scratch, "cache")
    first = [b'{"text": "a"}\n', b'{"text": "bcd"}\n']
    for age, lines in enumerate([first, first + first, [first[1], first[0]], first]):
        write(path, lines)
        os.utime(path, (1e9 - age, 1e9 - age))
        assert read(line_starts(path, cache)) == starts(lines), lines


def blank_lines(line_starts, scratch):
    """Wherever they are, no document is one of them; a file of nothing else has none."""
    path, cache = os.path.join(scratch, "blank.jsonl"), os.path.join(scratch, "cache")
    documents = [{"text": "a"}, {"text": "b"}]
    write(path, [b"\n", b'{"text": "a"}\n', b"\r\n", b"  \n", b'{"text": "b"}\n', b"\n"])
    offsets = read(line_starts(path, cache))
    with open(path, "rb") as f:
        content = f.read()
    assert [json.loads(content[low:high]) for low, high in zip(offsets, offsets[1:])] == documents, offsets
    write(path, [b"\n", b"\n"])
    assert len(read(line_starts(path, cache))) == 1


def broken(text):
    """A line that is no document is told with its place."""
    assert text(b'{"text": "a", "id": 1}\n', "x") == "a"
    for line, why in ((b'{"text": "a"', "no JSON"), (b'{"content": "a"}', 'no object with a "text"'), (b'{"text": null}', 'no object with a "text"'), (b"[1]", 'no object with a "text"')):
        try:
            text(line, "/data/a.jsonl, byte 12")
        except ValueError as problem:
            assert str(problem).startswith(f"/data/a.jsonl, byte 12: {why}"), problem
        else:
            raise AssertionError(line)


def main():
    sys.dont_write_bytecode = True
    templates, scratch = sys.argv[1:]
    sys.path.insert(0, templates)
    for name in ("numpy", "torch", "torch.distributed"):
        sys.modules[name] = types.ModuleType(name)
    from trainer.lines import line_starts, text
    many_jobs(line_starts, scratch)
    changes(line_starts, scratch)
    blank_lines(line_starts, scratch)
    broken(text)


if __name__ == "__main__":
    main()
