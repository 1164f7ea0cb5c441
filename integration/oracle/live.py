"""How many bytes of tensors one rank of a planned TorchTitan job has alive at its peak.

    python live.py < cases > answers

A case is one line of JSON: {"folder", "world", "rank"}; the folder holds what ndc emitted. The real Trainer is
built and stepped on fake tensors as ../torchtitan/dryrun.py does it, under a count of the storages that live. An
answer is one line of JSON: rank, layers, bytes of the rank's parameters, gradients and optimizer moments, the peak,
what kind of tensor was made when it was reached, and its parts by kind (kinds.py), or the error. Every case runs in a
process of its own, forked after the imports. With LIVE_EXPLAIN=1 the answer lists what is alive at the peak by
origin, and what was alive by kind at the highest point of every kind and operator that made something.
"""
import collections
import json
import os
import sys
import traceback
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "torchtitan"))
import dryrun  # noqa: E402
import kinds  # noqa: E402
import torch  # noqa: E402
from torch import library  # noqa: E402
from torch._guards import active_fake_mode  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily  # noqa: E402
from torch.distributed.tensor import DTensor, Partial  # noqa: E402
from torch.distributed.tensor._sharding_prop import ShardingPropagator  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402
from torch.utils.weak import WeakIdKeyDictionary  # noqa: E402

BLOCK = 512  # the allocator's unit


def saves(ctx, inputs, output):
    ctx.save_for_backward(*inputs, *output)


def gradients(ctx, gradient, _):
    return dryrun.attention_backward(gradient, *ctx.saved_tensors[:3])


dryrun.attention.register_autograd(gradients, setup_context=saves)  # a real kernel keeps output and statistics too


@library.custom_op("ndc::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    raise RuntimeError("for fake tensors only")


@rms_norm.register_fake
def _(x, weight):
    return torch.empty_like(x), x.new_empty(x.shape[:-1], dtype=torch.float32)


@library.custom_op("ndc::rms_norm_backward", mutates_args=())
def rms_norm_backward(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    raise RuntimeError("for fake tensors only")


@rms_norm_backward.register_fake
def _(gradient, x, weight, scale):
    return torch.empty_like(x), torch.empty_like(weight)


rms_norm.register_autograd(
    lambda ctx, gradient, _: rms_norm_backward(gradient, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs, output[1]),
)


def fused_norm(x, normalized_shape, weight=None, eps=None):
    """A GPU normalises in one kernel, which keeps input and scale; a CPU in fp32 steps, which keep copies."""
    if isinstance(x, DTensor):
        partial = [Partial() if p.is_shard() else p for p in x.placements]
        local = weight.to_local(grad_placements=partial) if isinstance(weight, DTensor) else weight
        return DTensor.from_local(rms_norm(x.to_local(), local)[0], x.device_mesh, x.placements)
    if isinstance(weight, DTensor):
        weight = weight.to_local()
    return rms_norm(x, weight)[0]


torch.nn.functional.rms_norm = fused_norm


def total(parts, key):
    """Bytes of (entry, bytes) by a member of the entries."""
    count = collections.Counter()
    for entry, size in parts:
        count[entry[key]] += size
    return count


class Live(TorchDispatchMode):
    """Counts the storages of fake tensors from their first sight to their end."""

    def __init__(self):
        super().__init__()
        self.seen = WeakIdKeyDictionary()  # storage: its entry
        self.alive = {}
        self.now = self.peak = self.paused = 0
        self.made = self.by = self.peak_made = "other"  # the kind of the last tensor, and what of the backward pass made it
        self.parts, self.pending = [], False  # (entry, bytes) at the peak; whether they are still to be listed
        self.points = {}  # the same for the highest point of each maker: its bytes, and by kind
        self.kinds, self.explain = kinds.Kinds(self.mark), bool(os.environ.get("LIVE_EXPLAIN"))
        self.kinds.install()

    def reset(self):
        self.peak, self.parts, self.pending, self.points = 0, [], False, {}

    def size(self, entry, count):
        count = -(-count // BLOCK) * BLOCK
        if count < entry["bytes"]:
            self.list()
            if self.explain and self.now > self.points.get(self.by, (0,))[0]:
                self.points[self.by] = self.now, total(((e, e["bytes"]) for e in self.alive.values()), "kind")
        self.now += count - entry["bytes"]
        entry["bytes"] = count
        if count == 0:
            self.alive.pop(id(entry), None)
        else:
            self.alive[id(entry)] = entry
        if self.now > self.peak:
            self.peak, self.peak_made, self.pending = self.now, self.made, True

    def list(self):
        """What lives at the peak, listed when the first of it goes: most peaks are passed by the next tensor."""
        if self.pending:
            self.parts, self.pending = [(e, e["bytes"]) for e in self.alive.values()], False

    def at_peak(self, key):
        """Bytes at the peak by a member of the entries."""
        self.list()
        return total(self.parts, key)

    def mark(self, tensor, kind):
        """Says what a tensor is, once that is known."""
        if not isinstance(tensor, torch.Tensor):
            return
        if is_traceable_wrapper_subclass(tensor):
            for name in tensor.__tensor_flatten__()[0]:
                self.mark(getattr(tensor, name), kind)
        elif (entry := self.seen.get(tensor.untyped_storage())) is not None:
            entry["kind"] = kind

    def look(self, tensor, origin):
        if is_traceable_wrapper_subclass(tensor):
            for name in tensor.__tensor_flatten__()[0]:
                self.look(getattr(tensor, name), origin)
            return
        if tensor.device.type == "meta":
            return
        storage = tensor.untyped_storage()
        entry = self.seen.get(storage)
        if entry is None:
            self.made = self.by = self.kinds.now()
            if self.explain and kinds.node():
                self.by += " " + kinds.node().name()
            entry = self.seen[storage] = {"bytes": 0, "kind": self.made, "origin": ""}
            if self.explain:
                entry["origin"] = f"{self.made} {origin} {str(tensor.dtype)[6:]} {tuple(tensor.shape)}"
            weakref.finalize(storage, self.size, entry, 0)
        self.size(entry, storage.size())

    def __enter__(self):
        self.fake = active_fake_mode()
        resize, propagate = torch.UntypedStorage.resize_, ShardingPropagator._propagate_tensor_meta_non_cached

        def resized(storage, count):  # how FSDP frees what it gathered
            resize(storage, count)
            if (entry := self.seen.get(storage)) is not None:
                self.made = self.by = self.kinds.now()
                self.size(entry, storage.size())

        def shapes_only(*args, **kwargs):  # DTensor runs operators at full size to learn their shapes
            self.paused += 1
            try:
                return propagate(*args, **kwargs)
            finally:
                self.paused -= 1

        torch.UntypedStorage.resize_ = resized
        ShardingPropagator._propagate_tensor_meta_non_cached = shapes_only
        return super().__enter__()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # it becomes operators on local tensors, which come back here
        if function is torch.ops._c10d_functional.wait_tensor.default:
            result = args[0]  # waiting makes no tensor
        else:
            result = function(*args, **(kwargs or {}))
        if not self.paused and active_fake_mode() is self.fake:
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor):
                    self.look(leaf, str(function))
        return result


def held(tensors):
    """Bytes of the local parts of tensors."""
    total = 0
    for t in tensors:
        local = t.to_local() if isinstance(t, DTensor) else t
        total += local.numel() * local.element_size()
    return total


def measure():
    config = dryrun.ConfigManager().parse_args(sys.argv[1:])
    config.comm.mode, config.compile.enable = "fake_backend", False
    (config.validation if dryrun.TOML else config.validator).enable = False
    (dryrun.prepare_toml if dryrun.TOML else dryrun.prepare_python)(config)
    dryrun.distributed.set_determinism = lambda *args, **kwargs: None
    start = dryrun.entry.Trainer.init_distributed

    def init_distributed(self):
        with unset_fake_temporarily():
            dims = start(self)
            dims.build_mesh()
            return dims

    dryrun.entry.Trainer.init_distributed = init_distributed
    torch.autograd.set_multithreading_enabled(False)
    with FakeTensorMode(allow_non_fake_inputs=True), Live() as live:
        trainer = dryrun.entry.Trainer(config)
        trainer.device = torch.device("cpu")
        answer = steps(trainer, config, live)
    return answer


def steps(trainer, config, live):
    """One step, once the moments exist."""
    parameters = [p for part in trainer.model_parts for p in part.parameters()]
    optimizers = trainer.optimizers.optimizers if hasattr(trainer.optimizers, "optimizers") else list(trainer.optimizers)
    clip, plain = dryrun.distributed.clip_grad_norm_, trainer.forward_backward_step
    gradients = []

    def several(**kwargs):  # micro-batches before the optimizer's step; more than two repeat the second
        for _ in range(min(trainer.gradient_accumulation_steps, 2)):
            live.kinds.phase = "pass"
            plain(**kwargs)
            mark(live, (p.grad for p in parameters), "gradients")
            live.kinds.phase = "other"

    def clipped(*args, **kwargs):
        live.kinds.phase = "step"
        gradients[:] = [held(p.grad for p in parameters if p.grad is not None)]
        return clip(*args, **kwargs)

    trainer.forward_backward_step, dryrun.distributed.clip_grad_norm_ = several, clipped
    live.kinds.know(trainer.model_parts)
    for p in parameters:
        p.grad = torch.zeros_like(p)
    trainer.optimizers.step()
    trainer.optimizers.zero_grad()
    moments = [t for o in optimizers for state in o.state.values() for t in state.values()
               if isinstance(t, torch.Tensor) and t.numel() > 1]
    mark(live, parameters, "parameters")
    mark(live, moments, "moments")
    live.reset()
    dryrun.step(trainer, config)
    answer = {"rank": torch.distributed.get_rank(), "layers": [len(part.layers) for part in trainer.model_parts],
              "parameters": held(parameters), "gradients": gradients[0], "moments": held(moments),
              "live_peak": live.peak, "made": live.peak_made, "parts": live.at_peak("kind")}
    if live.explain:
        answer["points"] = dict(sorted(live.points.items(), key=lambda point: -point[1][0])[:20])
        answer["census"] = [f"{n / 2**20:10.1f} MiB  {origin}" for origin, n in live.at_peak("origin").most_common(60)]
    return answer


def mark(live, tensors, kind):
    for t in tensors:
        live.mark(t, kind)


def one(case, out):
    os.chdir(case["folder"])
    sys.path.insert(0, case["folder"])
    os.environ |= {"WORLD_SIZE": str(case["world"]), "NGPU": str(case["world"]), "RANK": str(case["rank"])}
    sys.argv[1:] = ["--job.config_file", "train.toml"] if dryrun.TOML else ["--module", "ndc_job", "--config", "run"]
    log, sys.stdout = sys.stdout, sys.stderr
    try:
        answer = measure()
    except BaseException as error:
        if os.environ.get("LIVE_EXPLAIN"):
            traceback.print_exc()
        while error.__cause__ is not None:
            error = error.__cause__
        answer = {"rank": case["rank"], "error": f"{type(error).__name__}: {error}"[:2000]}
    out.write(json.dumps(answer) + "\n")
    out.flush()


def main():
    out = os.fdopen(os.dup(1), "w")
    if not os.environ.get("LIVE_EXPLAIN"):  # frameworks write to standard output
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                one(json.loads(line), out)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
