"""How many elements every rank of an emitted DeepSpeed job holds after deepspeed.initialize.

    python partitions.py < cases > answers

A case is one line of JSON, {"folder", "ranks"}; the folder holds what ndc emitted. The ranks are forked and speak
gloo; the emitted train.py runs up to the end of deepspeed.initialize. An answer is one line of JSON per case: a list
with one object per rank, or the error.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "deepspeed"))
import run_cases  # noqa: E402


class Known(SystemExit):
    """Ends the program once the sizes are known."""


def numel(tensors):
    return sum(t.numel() for t in tensors)


def sizes(engine):
    """Elements by what they are for."""
    parameters = list(engine.module.parameters())
    optimizer = engine.optimizer
    answer = {"parameters": numel(parameters)}
    experts = {id(p) for p in parameters if not getattr(p, "allreduce", True) or hasattr(p, "group_name")}
    answer["expert_parameters"] = numel(p for p in parameters if id(p) in experts)
    if hasattr(parameters[0], "ds_tensor"):  # stage 3: what is left of a parameter is its shard
        answer["parameters"] = numel(p.ds_tensor for p in parameters)
        answer["whole"] = sum(p.ds_numel for p in parameters)
        answer["expert_parameters"] = numel(p.ds_tensor for p in parameters if id(p) in experts)
        answer["whole_experts"] = sum(p.ds_numel for p in parameters if id(p) in experts)
        answer["secondary"] = numel(p.ds_secondary_tensor for p in parameters if p.ds_secondary_tensor is not None)
    masters = []
    for name in ("fp32_partitioned_groups_flat", "single_partition_of_fp32_groups", "fp32_groups_flat_partition", "fp32_groups_flat"):
        masters = getattr(optimizer, name, None) or []
        if masters:
            break
    else:  # stage 0 shards nothing
        masters = [p for group in getattr(optimizer, "optimizer", optimizer).param_groups for p in group["params"]]
    answer["optimizer"] = numel(masters)
    return answer


def watch():
    """Replaces deepspeed.initialize by one that writes what the rank holds."""
    import deepspeed

    start = deepspeed.initialize

    def initialize(*args, **kwargs):
        answer = json.dumps(sizes(start(*args, **kwargs)[0]))
        with open(os.path.join(os.environ["NDC_LOG_DIR"], f"sizes-{os.environ['RANK']}.json"), "w", encoding="utf-8") as f:
            f.write(answer)
        raise Known(0)

    deepspeed.initialize = initialize


def main():
    report, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    import torch
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    run_cases.stand_in()
    watch()
    for line in sys.stdin:
        case = json.loads(line)
        folder = case["folder"]
        code = run_cases.launch(folder, case["ranks"])
        try:
            answer = [json.load(open(os.path.join(folder, f"sizes-{rank}.json"), encoding="utf-8")) for rank in range(case["ranks"])]
        except OSError:
            answer = {"error": f"exit code {code}: {run_cases.report(folder)['error']}"}
        print(json.dumps(answer), file=report, flush=True)


if __name__ == "__main__":
    main()
