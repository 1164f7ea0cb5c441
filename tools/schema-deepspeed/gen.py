#!/usr/bin/env python3
"""Write backends/deepspeed/schema/<version>.jsonl from source trees of DeepSpeed.

    python gen.py TREES OUT

TREES holds one source tree (or installed package) per release, named after it.
A table equal to the one before it is not written: a file stands for all
releases up to the next file.
"""
import pathlib
import subprocess
import sys

DUMP = pathlib.Path(__file__).with_name("dump.py")


def main():
    trees, out = map(pathlib.Path, sys.argv[1:3])
    last = None
    for tree in sorted(trees.iterdir(), key=lambda p: tuple(map(int, p.name.split(".")))):
        table = subprocess.run([sys.executable, DUMP, tree.resolve()], check=True, capture_output=True).stdout
        if table != last:
            (out / f"{tree.name}.jsonl").write_bytes(table)
        last = table


if __name__ == "__main__":
    main()
