"""What kind of thing a tensor of a training step is, by where it was made.

    parameters   the rank's shards                      known objects
    moments      of the optimizer                       known objects
    gradients    the rank's shards                      known objects once they exist
    buckets      whole gradients that wait for their reduction, and its buffers
    gathered     parameters that fully_shard holds whole, and the buffers of gathering them
    activations  made by the forward pass of embedding and layers
    recomputed   the same, made again by the backward pass
    received     buffers of a pipeline stage
    loss         made by final norm, head and loss, forward and backward
    transients   made by the backward pass of embedding and layers
    step         made by clipping and the optimizer
    other        the rest: tables, tokens

A weight's gradient is told from other transients when fully_shard collects it, the final norm's input from other
activations when the norm reads it.
"""
import bisect
import weakref

import torch
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.pipelining import stage as pipeline

node = torch._C._current_autograd_node
number = torch._C._autograd._get_sequence_nr


class Kinds:
    """Follows what the process is doing."""

    def __init__(self, mark):
        self.mark = mark  # gives a tensor's storage a kind
        self.modules = weakref.WeakKeyDictionary()  # embedding, layers, final norm: the kind of what they make
        self.running = []  # (kind, the autograd node that runs it again)
        self.starts, self.ends = [], []  # sequence numbers of the autograd nodes of embedding and layers
        self.forced = []  # kinds that go before others
        self.phase = "other"

    def now(self):
        """The kind of a tensor that is made now."""
        if self.forced:
            return self.forced[-1]
        if self.phase != "pass":
            return self.phase
        current = node()
        if self.running and self.running[-1][1] is current:
            return self.running[-1][0] if current is None else "recomputed"
        if current is None:
            return "loss"
        i = bisect.bisect_right(self.starts, current._sequence_nr()) - 1
        return "transients" if i >= 0 and current._sequence_nr() < self.ends[i] else "loss"

    def of(self, kind, function, before=None):
        """The function, which makes tensors of one kind."""

        def call(*args, **kwargs):
            if before is not None:
                before(*args)
            self.forced.append(kind)
            try:
                return function(*args, **kwargs)
            finally:
                self.forced.pop()

        return call

    def install(self):
        """Follows calls of modules, fully_shard and pipeline stages."""
        call, kinds = torch.nn.Module.__call__, self

        def run(module, *args, **kwargs):
            kind = kinds.modules.get(module)
            if kind is None:
                return call(module, *args, **kwargs)
            if kind == "loss":
                for a in args:
                    kinds.mark(a, kind)
            kinds.running.append((kind, node()))
            start = number()
            try:
                return call(module, *args, **kwargs)
            finally:
                kinds.running.pop()
                if kind == "activations" and not kinds.running and node() is None:
                    kinds.starts.append(start)
                    kinds.ends.append(number())

        torch.nn.Module.__call__ = run
        for name in ("unshard", "wait_for_unshard"):
            setattr(FSDPParamGroup, name, self.of("gathered", getattr(FSDPParamGroup, name)))
        FSDPParamGroup.post_backward = self.of("buckets", FSDPParamGroup.post_backward, self.collected)
        pipeline._make_tensor_from_meta = self.of("received", pipeline._make_tensor_from_meta)

    def collected(self, group, *_):
        """Marks the gradients that a group of fully_shard is about to reduce."""
        for p in group.fsdp_params:
            gradient = getattr(getattr(p, "_unsharded_param", None), "grad", None)
            if gradient is not None:
                self.mark(gradient, "buckets")

    def know(self, parts):
        """Which modules of the model's parts are layers."""
        for part in parts:
            for module in part.layers.modules():  # a checkpoint runs what it wraps again, not itself
                self.modules[module] = "activations"
            for name, kind in (("tok_embeddings", "activations"), ("norm", "loss")):
                if getattr(part, name, None) is not None:
                    self.modules[getattr(part, name)] = kind
