"""Runs Megatron-LM's pretrain_gpt.py as one rank on a CPU, where torchrun would start it.

    torchrun ... on_cpu.py .../pretrain_gpt.py ARGUMENTS

Everything in which such a run differs from the launch is in changed() and in the stand-ins of pretend.py and
arithmetic.py. The last rank prints loss and gradient norm of every step with all their digits: the log itself rounds,
and its second line is a mean of two steps.
"""
import inspect
import os
import runpy
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402


def plain(arguments):
    """Whether the launch asks for layers of plain torch by itself."""
    return "local" in [after for word, after in zip(arguments, arguments[1:]) if word == "--transformer-impl"]


def uncaptured(arguments):
    """The arguments without CUDA graphs, each with its values."""
    kept, graphs = [], False
    for word in arguments:
        if word.startswith("--"):
            graphs = word.startswith("--cuda-graph-") or word == "--te-rng-tracker"
        if not graphs:
            kept.append(word)
    return kept


def changed(arguments):
    """The arguments with layers of plain torch instead of Transformer Engine's kernels, without CUDA graphs, without a sum
    of NCCL's that gloo does not have, and without the processes that hand data to a GPU's memory."""
    kept = [word for word in uncaptured(arguments) if word not in ("--moe-permute-fusion", "--moe-router-fusion", "--delay-wgrad-compute")]
    layers = [] if plain(arguments) else ["--transformer-impl", "local", "--no-rope-fusion", "--no-masked-softmax-fusion"]
    return kept + layers + ["--no-gradient-reduce-div-fusion", "--num-workers", "0"]


def prepare(folder, capability, keep, layers=True):
    """Puts the stand-ins in place for the Megatron-LM that belongs to the pretrain_gpt.py of a folder, those of layers where
    they are wanted; keep(step, loss, norm, rate, samples) is called by the last rank after every step."""
    sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), folder]
    import arithmetic
    import pretend
    import torch

    torch.set_num_threads(1)
    placement = pretend.gpu(capability)
    if "FAKE_RANK" not in os.environ:  # else there is no gloo, but a process group that does nothing
        arithmetic.gloo()
    arithmetic.backward(placement)
    import megatron.core.datasets.utils
    import megatron.core.dist_checkpointing.strategies.async_utils as asynchronous
    import megatron.core.dist_checkpointing.strategies.filesystem_async as filesystem
    import megatron.training.initialize
    import megatron.training.training

    megatron.core.datasets.utils.compile_helpers = lambda: None  # the wheel brings them
    for module in (megatron.training.training, megatron.training.initialize):
        if hasattr(module, "set_jit_fusion_options"):
            module.set_jit_fusion_options = lambda *_, **__: None  # warms up what is not compiled here
    loaders(megatron.training.training)
    watch(megatron.training.training, keep)
    queue = filesystem.get_write_results_queue  # of its own it starts a process that imports everything again
    filesystem.get_write_results_queue = lambda *_, **__: queue("fork")
    writer = asynchronous.PersistentAsyncCaller._get_process  # and so does the process that writes
    asynchronous.PersistentAsyncCaller._get_process = lambda rank, mp_mode="", *priorities: writer(rank, "fork", *priorities)
    write = filesystem.FileSystemWriterAsync.prepare_write_data

    def staged(self, plan, planner):
        """What lies on a GPU is copied before training goes on. Of what lies on the host already there is no copy: it would be
        written while the next step changes it."""
        write(self, plan, planner)
        self.write_buckets = [(path, name, (values, [(item, tensor.clone()) for item, tensor in tensors]))
                              for path, name, (values, tensors) in self.write_buckets]

    filesystem.FileSystemWriterAsync.prepare_write_data = staged
    pretend.no_kernel_builds()
    if not layers:
        pretend.host_calls()
        return
    pretend.local_layers()
    arithmetic.kernels()
    arithmetic.recompute()
    arithmetic.reductions()
    arithmetic.attention()
    arithmetic.adam()


def loaders(training):
    """Loaders draw a seed from the host's generator, after a checkpoint is read. On a GPU dropout has one of its own."""
    import torch

    build = training.build_train_valid_test_data_iterators

    def apart(*args, **kwargs):
        state = torch.get_rng_state()
        iterators = build(*args, **kwargs)
        torch.set_rng_state(state)
        return iterators

    training.build_train_valid_test_data_iterators = apart


def watch(training, keep):
    """Tells keep what training_log is given: of a step that was passed over no norm, and the rate that the next will have."""
    log = training.training_log
    signature = inspect.signature(log)

    def training_log(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if "lm loss" in given["loss_dict"] and int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:
            keep(given["iteration"], float(given["loss_dict"]["lm loss"]), float(given["grad_norm"] or 0), given["learning_rate"],
                 training.get_args().consumed_train_samples)
        return log(*args, **kwargs)

    training.training_log = training_log


def tell(step, loss, norm, *_):
    print(f"step {step} loss {loss!r} gradient norm {norm!r}", flush=True)


def main():
    script = os.path.abspath(sys.argv[1])
    prepare(os.path.dirname(script), (9, 0), tell, layers=not plain(sys.argv))
    sys.argv = [script, *changed(sys.argv[2:])]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
    children.leave()
