#!/usr/bin/env python3
"""Read emitted configurations with the real classes.

    python accept.py FOLDER [--configure]

For every case in FOLDER: DeepSpeedConfig takes ds_config.json and keeps what it says; transformers builds the model
of model/config.json on the meta device, with as many parameters as case.json says where it does. Prints the names
of accepted cases, and "name: complaint" for the others. With --configure, it builds no model.
"""
import json
import os
import sys

os.environ["DS_ACCELERATOR"] = "cpu"
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402


def check_deepspeed(folder):
    from deepspeed.runtime.config import DeepSpeedConfig
    with open(os.path.join(folder, "ds_config.json"), encoding="utf-8") as f:
        given = json.load(f)
    config = DeepSpeedConfig(dict(given))
    zero = given["zero_optimization"]
    assert config.zero_optimization_stage == zero["stage"]
    for key, value in zero.items():
        name = key.removeprefix("stage3_")
        if not isinstance(value, dict):
            kept = getattr(config.zero_config, name, getattr(config.zero_config, key, None))
            assert kept == value, f"zero_optimization.{key} is {kept!r}, not {value!r}"
    assert config.gradient_clipping == given["gradient_clipping"]


def check_model(folder, parameters):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    config = AutoConfig.from_pretrained(os.path.join(folder, "model"))
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        attention = json.load(f)["model"]["attention"]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    count = sum(p.numel() for p in model.parameters())
    assert not parameters or count == parameters, f"transformers builds {count} parameters, the plan has {parameters}"


def judge(folder, configure):
    """The complaint about one case, or nothing; for a process of its own."""
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    try:
        check_deepspeed(folder)
        if not configure:
            check_model(folder, case.get("parameters"))
    except Exception as e:  # noqa: BLE001: whatever it is, it is reported
        return f"{type(e).__name__}: {' '.join(str(e).split())[:500]}"
    return ""


def main():
    import deepspeed.runtime.config  # noqa: F401
    import transformers.models.auto.modeling_auto  # noqa: F401
    report, sys.stdout = sys.stdout, sys.stderr
    failed = False
    root, configure = sys.argv[1], "--configure" in sys.argv[2:]
    children.settle()
    for name in sorted(os.listdir(root)):
        error, complaint = children.run(lambda: judge(os.path.join(root, name), configure))
        error = error or complaint
        failed = failed or bool(error)
        print(f"{name}: {error}" if error else name, file=report, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
