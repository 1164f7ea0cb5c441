"""Hand launches to the real Megatron-LM as single ranks of their planned world.

    python probe.py --checkout MEGATRON [--upto STAGE] < cases > answers

A case is one line of JSON:
    {"id", "world", "ranks": [..], "capability": [9, 0], "script", "arguments": [..], "environment": {..}}
An answer is one line of JSON per case and rank:
    {"id", "rank", "accepted", "stage", "error", "parameters", "expert_parameters",
     "layers", "buffers", "optimizer"}

STAGE is the last stage to pass: arguments < config < mesh < build < schedule. Arguments stay as they were emitted; layers
are built on the meta device, at any size, by Megatron-LM's own specifications, with engine.py in the place of Transformer
Engine. The script of the checkout (pretrain_gpt.py, or that of hybrid models) runs as it is, one forked process per rank.
"""
import argparse
import functools
import inspect
import io
import json
import os
import runpy
import sys
import traceback
import warnings

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402
import engine  # noqa: E402
import pretend  # noqa: E402

warnings.filterwarnings("ignore")
STAGES = ["arguments", "config", "mesh", "build", "schedule"]
TRANSFORMER_ENGINE = "2.9.0"


class Passed(BaseException):
    """Ends the script once the last wanted stage is passed."""


class Probe:
    """One rank of one case, in a process of its own."""

    def __init__(self, case, rank, upto, placement):
        self.case, self.rank, self.placement = case, rank, placement
        self.last = STAGES.index(upto)
        self.answer = {"id": case["id"], "rank": rank, "accepted": False, "stage": STAGES[0]}

    def passed(self, stage):
        at = STAGES.index(stage)
        if at >= self.last:
            raise Passed
        if at >= STAGES.index(self.answer["stage"]):
            self.answer["stage"] = STAGES[at + 1]

    def run(self, script):
        environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "LOCAL_RANK": self.rank % 8, "RANK": self.rank,
                       "WORLD_SIZE": self.case["world"], "LOCAL_WORLD_SIZE": min(8, self.case["world"])}
        os.environ.update({name: str(value) for name, value in {**self.case.get("environment", {}), **environment}.items()})
        sys.argv = [script, *self.case["arguments"]]
        engine.suit(self.case["arguments"])
        output, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), (log := io.StringIO()), log
        try:
            pretend.compute_capability(*self.case["capability"])
            self.hook()
            runpy.run_path(script, run_name="__main__")
            self.answer["error"] = "the script ended early"
        except Passed:
            self.answer["accepted"] = True
        except SystemExit:
            self.answer["error"] = " ".join(log.getvalue().strip().splitlines()[-1:])
        except BaseException as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.answer["error"] = f"{type(error).__name__}: {str(error)[:500]} ({os.path.basename(frame.filename)}:{frame.lineno})"
            if os.environ.get("PROBE_TRACE"):
                traceback.print_exc(file=output[1])
        finally:
            sys.stdout, sys.stderr = output
        return self.answer

    def hook(self):
        """Watches the stages; releases keep the same functions in other modules."""
        from megatron.training import arguments, global_vars, initialize, training

        try:
            from megatron.training import argument_utils
        except ImportError:
            argument_utils = arguments
        make_config = getattr(argument_utils, "core_transformer_config_from_args", None) or arguments.core_transformer_config_from_args
        validate = arguments.validate_args

        def validate_and_configure(args, *rest, **named):
            result = validate(args, *rest, **named)
            self.passed("arguments")
            make_config(result if result is not None else args)
            self.passed("config")
            return result

        for module in (arguments, initialize):
            if hasattr(module, "validate_args"):
                module.validate_args = validate_and_configure
        # Warm-up, user buffers, a process that writes checkpoints, and a service that the last rank logs to.
        for module in (training, initialize, global_vars):
            for name in ("set_jit_fusion_options", "_initialize_tp_communicators", "init_persistent_async_worker", "_set_wandb_writer"):
                if hasattr(module, name):
                    setattr(module, name, lambda *_, **__: None)
        setup = training.setup_model_and_optimizer

        def setup_and_count(*args, **kwargs):
            self.passed("mesh")
            self.build(lambda: setup(*args, **kwargs))

        training.setup_model_and_optimizer = setup_and_count

    def build(self, setup):
        import torch
        from megatron.training import get_args

        get_args().load = get_args().pretrained_checkpoint = None  # no checkpoint lies here
        self.placement.device = torch.device("meta")
        with torch.device("meta"):
            model, optimizer, _ = setup()
        self.count(model if isinstance(model, list) else [model], optimizer)
        self.passed("build")
        self.schedule(model)
        self.passed("schedule")

    def count(self, chunks, optimizer):
        """What this rank holds, as Megatron-LM built it."""
        parameters = {id(p): p for chunk in chunks for p in chunk.parameters()}.values()
        experts = [p for p in parameters if not getattr(p, "allreduce", True)]
        self.answer["parameters"] = sum(p.numel() for p in parameters)
        self.answer["expert_parameters"] = sum(p.numel() for p in experts)
        self.answer["layers"] = [
            sum(any(base.__name__ in ("TransformerLayer", "MambaLayer") for base in type(m).__mro__) for m in chunk.modules()) for chunk in chunks]
        self.answer["buffers"] = [
            {"expert": kind != "buffers", "numel": b.numel, "unpadded": b.numel_unpadded, "ranks": b.data_parallel_world_size,
             "gradient": str(b.grad_dtype).rpartition(".")[2]}
            for chunk in chunks for kind in ("buffers", "expert_parallel_buffers") for b in getattr(chunk, kind, None) or []
            if hasattr(b, "data_parallel_world_size")]
        self.answer["optimizer"] = sum(
            p.numel() for o in getattr(optimizer, "chained_optimizers", [optimizer]) if getattr(o, "optimizer", None)
            for group in o.optimizer.param_groups for p in group["params"])

    @staticmethod
    def schedule(model):
        """Enters the pipeline schedule up to the first forward step, which only
        the first stage takes before it communicates."""
        from megatron.core import parallel_state
        from megatron.core.num_microbatches_calculator import get_num_microbatches
        from megatron.core.pipeline_parallel import get_forward_backward_func
        from megatron.training import get_args

        if parallel_state.get_pipeline_model_parallel_rank() != 0:
            return

        class Started(Exception):
            pass

        def step(*_, **__):
            raise Started

        args = get_args()
        try:
            get_forward_backward_func()(
                forward_step_func=step, data_iterator=[iter(())] * len(model) if len(model) > 1 else iter(()), model=model,
                num_microbatches=get_num_microbatches(), seq_length=args.seq_length, micro_batch_size=args.micro_batch_size,
                decoder_seq_length=args.decoder_seq_length, forward_only=False)
        except Started:
            pass


def remember_parser():
    """Releases since 0.17 read the sources of classes for their options' texts, every time that they make a parser."""
    inspect.getsource = functools.cache(inspect.getsource)
    from megatron.training.arguments import add_megatron_arguments

    add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))


def judged(probe, script):
    """The answer of the probe, run in a child process."""
    text, complaint = children.run(lambda: json.dumps(probe.run(script)))
    return text or json.dumps(probe.answer | {"stage": "process", "error": complaint})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--package", help="folder of an installed megatron-core to use instead of the checkout's")
    parser.add_argument("--upto", default="schedule", choices=STAGES)
    options = parser.parse_args()
    out, sys.stdout = sys.stdout, sys.stderr
    sys.path[:0] = [p for p in (options.package, options.checkout) if p]
    import logging
    import torch

    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    placement = pretend.gpu((9, 0))
    pretend.collectives()
    engine.install(TRANSFORMER_ENGINE)
    import megatron.core.datasets.utils
    import megatron.training.training  # noqa: F401

    megatron.core.datasets.utils.compile_helpers = lambda: None
    pretend.no_kernel_builds()
    pretend.tokenizers()
    pretend.host_calls()
    remember_parser()
    children.settle()
    for line in sys.stdin:
        case = json.loads(line)
        for rank in case["ranks"]:
            script = os.path.join(options.checkout, case.get("script", "pretrain_gpt.py"))
            print(judged(Probe(case, rank, options.upto, placement), script), file=out, flush=True)


if __name__ == "__main__":
    main()
