"""Writes what TorchTitan prints of its configurations, as debug.save_config_file does, with a line for each section.

    python dump.py < cases

A case is one line of JSON: {"folder", "module", "config", "into"}: where to start Python, the arguments of its command line, and the
file to write. Prints one line of JSON for each: {"into", "error"}.
"""

import importlib
import json
import os
import sys

import cpu

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

cpu.install()

from torchtitan.config import ConfigManager  # noqa: E402

for name in ("llama3", "deepseek_v3", "qwen3", "gpt_oss"):  # once for all children
    importlib.import_module(f"torchtitan.models.{name}")

cpu.claim_generation()


def dump(case):
    """The error of reading, or nothing; for a process of its own."""
    os.chdir(case["folder"])
    sys.path.insert(0, case["folder"])
    sys.stdout = sys.stderr = open(os.devnull, "w")
    try:
        config = ConfigManager().parse_args(["--module", case["module"], "--config", case["config"]])
        with open(case["into"], "w") as f:
            f.write("{" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in config.to_dict().items()) + "}\n")
    except BaseException as error:  # a rejection, whatever its kind
        return f"{type(error).__name__}: {error}"[:4000]
    return ""


def main():
    children.settle()
    for line in sys.stdin:
        case = json.loads(line)
        error, complaint = children.run(lambda: dump(case))
        print(json.dumps({"into": case["into"], "error": error or complaint}), flush=True)


if __name__ == "__main__":
    main()
