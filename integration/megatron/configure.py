"""Hand arguments to the configuration classes of the real Megatron-LM: parser and validation, and the configurations of
the transformer, the optimizer and the data-parallel wrapper.

    python configure.py [--checkout MEGATRON] [--options TABLE] < cases > answers

A case is one line of JSON, as for probe.py (whose ranks it does not need), an answer is one, too:
    {"id", "accepted", "stage", "error"}

Nothing else is built, so that thousands of cases are asked in a minute. The parser is made once; cases are parsed and
validated in processes forked after that, some at a time, and whoever is refused once more in a process of its own. Wheels before 0.17 have no parser: their arguments are read by TABLE, the release's
own options as ndc keeps them, and go to the configurations only.
"""
import argparse
import contextlib
import dataclasses
import io
import json
import os
import sys
import traceback
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402
import engine  # noqa: E402
import pretend  # noqa: E402

warnings.filterwarnings("ignore")
TRANSFORMER_ENGINE = "2.9.0"
OWN = dict(os.environ)
SECONDS = 60
BATCH = 20  # cases of a process: to fork costs more than to ask


def remember_parser(arguments):
    """Every case parses with the parser that the release made for the first."""
    make = arguments.add_megatron_arguments
    parser = make(argparse.ArgumentParser(description="Megatron-LM Arguments", allow_abbrev=False))
    arguments.add_megatron_arguments = lambda _: parser


def whole(arguments):
    """The stages of a release with parser and validation."""
    try:
        from megatron.training import argument_utils
    except ImportError:
        argument_utils = arguments
    configure = getattr(argument_utils, "core_transformer_config_from_args", None) or arguments.core_transformer_config_from_args

    def stages(case):
        yield "arguments"
        sys.argv = ["pretrain_gpt.py", *case["arguments"]]
        args = arguments.parse_args()
        args = arguments.validate_args(args, {"tokenizer_type": "GPT2BPETokenizer"}) or args
        yield "transformer"
        configure(args)
        yield from states(vars(args))

    return stages


def states(args):
    """The stages of the optimizer and its wrapper; fields have the names of arguments."""
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig

    for kind, stage in (OptimizerConfig, "optimizer"), (DistributedDataParallelConfig, "data parallel"):
        yield stage
        kind(**{f.name: args[f.name] for f in dataclasses.fields(kind) if f.init and f.name in args})


def table_parser(table):
    """A parser of the options that ndc keeps of a release."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    actions = {"StoreTrue": "store_true", "StoreFalse": "store_false", "BooleanOptional": argparse.BooleanOptionalAction}
    for line in open(table, encoding="utf-8"):
        option = json.loads(line)
        given = {"dest": option["dest"], "default": option["default"]}
        if option["action"] == "Store":
            given |= {"type": {"int": int, "float": float}.get(option["type"], str), "nargs": option["nargs"]}
        else:
            given["action"] = actions[option["action"]]
        parser.add_argument(*(option["flags"][:1] if option["action"] == "BooleanOptional" else option["flags"]), **given)
    return parser


RENAMED = {"norm_epsilon": "layernorm_epsilon", "num_experts": "num_moe_experts", "fp8_param_gather": "fp8_param",
           "apply_layernorm_1p": "layernorm_zero_centered_gamma"}


def core(table):
    """The stages of a wheel without megatron.training: arguments become fields of the transformer configuration by their
    names, but for those that the release's own conversion renames."""
    import torch
    import torch.nn.functional as functional
    from megatron.core.transformer.enums import AttnBackend
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

    parser = table_parser(table)
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.uint8}

    def settle(args):
        """What validation derives from arguments, as far as the configurations read it."""
        args = {name: types.get(value, value) if name.endswith("_dtype") else value for name, value in args.items()}
        args["params_dtype"] = torch.bfloat16 if args["bf16"] else torch.float16 if args["fp16"] else torch.float32
        args["attention_backend"] = AttnBackend[str(args["attention_backend"]).rpartition(".")[2]]
        args["virtual_pipeline_model_parallel_size"] = args["num_virtual_stages_per_pipeline_rank"]
        args["sequence_parallel"] = args["sequence_parallel"] and args["tensor_model_parallel_size"] > 1
        args["moe_router_dtype"] = None if args["moe_router_dtype"] == torch.float32 else args["moe_router_dtype"]
        for name in ("cp_comm_type", "moe_router_load_balancing_type", "moe_aux_loss_coeff"):
            if isinstance(args[name], list) and len(args[name]) == 1:
                args[name] = args[name][0]
        if not args["group_query_attention"]:
            args["num_query_groups"] = None
        return args

    def fields(kind, args):
        config = {f.name: args[f.name] for f in dataclasses.fields(kind) if f.name in args}
        config |= {RENAMED[name]: value for name, value in args.items() if name in RENAMED}
        config |= {"pipeline_dtype": args["params_dtype"], "bias_activation_fusion": args["bias_swiglu_fusion"] if args["swiglu"] else args["bias_gelu_fusion"]}
        if args["swiglu"]:
            config |= {"activation_func": functional.silu, "gated_linear_unit": True}
        if config.get("rope_type", 0) is None:
            del config["rope_type"]
        if "cuda_graph_scope" in config:
            config["cuda_graph_scope"] = scope(config["cuda_graph_scope"])
        return config

    def scope(given):
        try:
            from megatron.core.transformer.enums import CudaGraphScope
        except ImportError:
            return given[0] if isinstance(given, list) else given
        return [CudaGraphScope[name] for name in ([given] if isinstance(given, str) else given or []) if name != "full"]

    def stages(case):
        yield "arguments"
        args = settle(vars(parser.parse_args(case["arguments"])))
        yield "transformer"
        kind = MLATransformerConfig if args["multi_latent_attention"] else TransformerConfig
        kind(**fields(kind, args))
        yield from states(args)

    return stages


def judge(case, stages):
    answer = {"id": case["id"], "accepted": False, "stage": "", "error": ""}
    rank = {"RANK": 0, "WORLD_SIZE": case["world"], "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": min(8, case["world"]),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1}
    os.environ.clear()
    os.environ.update(OWN | {name: str(value) for name, value in {**case.get("environment", {}), **rank}.items()})
    log = io.StringIO()
    try:
        pretend.compute_capability(*case["capability"])
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            for stage in stages(case):
                answer["stage"] = stage
        answer["accepted"] = True
    except SystemExit:
        answer["error"] = " ".join(log.getvalue().strip().splitlines()[-1:])
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        answer["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:500]} ({os.path.basename(frame.filename)}:{frame.lineno})"
    return json.dumps(answer)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--checkout", help="folder of Megatron-LM to use instead of the installed one")
    options.add_argument("--options", help="table of the release's options, where it brings no parser")
    options = options.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr
    if options.checkout:
        sys.path.insert(0, options.checkout)
    import logging
    import torch

    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    pretend.gpu((9, 0))
    pretend.collectives()
    engine.install(TRANSFORMER_ENGINE)
    if options.options:
        stages = core(options.options)
    else:
        from megatron.training import arguments

        remember_parser(arguments)
        stages = whole(arguments)
    children.settle()
    cases = [json.loads(line) for line in sys.stdin]
    for batch in (cases[i:i + BATCH] for i in range(0, len(cases), BATCH)):
        text, _ = children.run(lambda: "\n".join(judge(case, stages) for case in batch), seconds=SECONDS)
        answers = dict(zip((case["id"] for case in batch), text.splitlines()))
        for case in batch:
            answer = answers.get(case["id"], "")
            if not answer or not json.loads(answer)["accepted"]:
                answer, complaint = children.run(lambda: judge(case, stages), seconds=SECONDS)
            print(answer or json.dumps({"id": case["id"], "accepted": False, "stage": "process", "error": complaint}), file=out, flush=True)


if __name__ == "__main__":
    main()
