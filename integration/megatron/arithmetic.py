"""What only a GPU computes, in plain torch with real results, so that Megatron-LM trains on a CPU.

gloo()      carries every collective
kernels()   the fused gradient kernel, and events to wait for
backward()  keeps the placement of tensors during backward passes
adam()      an optimizer that can be resumed
recompute() of modules by themselves
reductions() that may be added to
attention() the sizes of latent attention, and context parallelism

Call gloo() and kernels() after pretend.gpu(); the rest after the first import of megatron.
"""
import contextlib
import sys
import types

import pretend
import torch
import torch.distributed as dist


def gloo():
    """Every group is one of gloo."""
    start, group, exchange = dist.init_process_group, dist.new_group, dist.all_to_all_single

    def init_process_group(*_, **kwargs):
        return start(backend="gloo", **{k: kwargs[k] for k in ("rank", "world_size", "timeout") if k in kwargs})

    def new_group(ranks=None, timeout=None, *_, **__):
        return group(ranks, timeout=timeout, backend="gloo")

    def all_to_all_single(output, tensor, output_split_sizes=None, input_split_sizes=None, **kwargs):
        """Split sizes are read back from the GPU where there is one; here they may still be tensors."""
        sizes = [s.tolist() if torch.is_tensor(s) else s for s in (output_split_sizes, input_split_sizes)]
        return exchange(output, tensor, *sizes, **kwargs)

    gather, scatter = dist.all_gather, dist.reduce_scatter

    def all_gather(parts, tensor, group=None, async_op=False):
        """Ranks that spread experts and split them have parts of several sizes, which gloo takes at one size alone."""
        sizes = [len(part) for part in parts]
        if min(sizes) == max(sizes):
            return gather(parts, tensor, group, async_op)
        padded = [tensor.new_zeros((max(sizes), *tensor.shape[1:])) for _ in parts]
        mine = torch.zeros_like(padded[0])
        mine[: len(tensor)] = tensor
        gather(padded, mine, group=group)
        for part, whole in zip(parts, padded):
            part.copy_(whole[: len(part)])

    def reduce_scatter(output, parts, op=dist.ReduceOp.SUM, group=None, async_op=False):
        sizes = [len(part) for part in parts]
        if min(sizes) == max(sizes):
            return scatter(output, parts, op, group, async_op)
        total = torch.cat(parts)
        dist.all_reduce(total, op, group)
        output.copy_(total.split(sizes)[group.rank()])

    barrier = dist.barrier
    dist.all_gather, dist.reduce_scatter = all_gather, reduce_scatter
    dist.init_process_group = init_process_group
    dist.new_group = dist.distributed_c10d.new_group = new_group
    dist.all_to_all_single = all_to_all_single
    dist.barrier = lambda group=None, **_: barrier(group)


def kernels():
    """The kernel that adds a weight's gradient to the accumulated one; an event on a stream is over at once."""

    def accumulate(inputs, gradient, total):
        inputs, gradient = (t.reshape(-1, t.shape[-1]).to(total.dtype) for t in (inputs, gradient))
        total.add_(gradient.t() @ inputs)

    module = sys.modules["fused_weight_gradient_mlp_cuda"]
    module.wgrad_gemm_accum_fp32 = module.wgrad_gemm_accum_fp16 = accumulate
    pretend.Idle.record_event = lambda *_, **__: pretend.Idle()


def backward(placement):
    """Modes of tensor functions are left while autograd runs; its functions allocate, too."""
    run = torch.autograd.graph._engine_run_backward

    def placed(*args, **kwargs):
        with type(placement)(placement.device):
            return run(*args, **kwargs)

    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = placed


def recompute():
    """What is recomputed without its output asks Transformer Engine whether it is in fp8, and for a context of that."""
    import megatron.core.tensor_parallel.random as module

    manager = types.SimpleNamespace(is_fp8_enabled=lambda: False)
    stand_ins = {"FP8GlobalStateManager": manager} | dict.fromkeys(
        ("activation_recompute_forward", "fp8_autocast"), lambda *_, **__: contextlib.nullcontext())
    for name, value in stand_ins.items():
        if not hasattr(module, name):
            setattr(module, name, value)


def reductions():
    """The sum over a single rank is the tensor itself, which experts with biases add to in place, and autograd refuses it.
    Transformer Engine's layers return one of their own."""
    import megatron.core.tensor_parallel.layers as layers

    reduce = layers.reduce_from_tensor_model_parallel_region
    layers.reduce_from_tensor_model_parallel_region = lambda *args, **kwargs: reduce(*args, **kwargs).clone()


def attention():
    """Attention in plain torch as Megatron-LM has it, for two more cases that only Transformer Engine's kernels take:
    values of another head size than keys, and sequences that are spread over ranks. There every rank gathers all keys
    and values, which is what the ring's exchange amounts to."""
    import megatron.core.transformer.dot_product_attention as module
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.mappings import gather_from_sequence_parallel_region
    from megatron.core.transformer.enums import AttnMaskType

    kind = module.DotProductAttention
    make, compute = kind.__init__, kind.forward

    def init(self, config, *args, v_channels=None, **kwargs):
        make(self, config, *args, **kwargs)
        if v_channels is not None:
            self.hidden_size_per_partition = v_channels * self.num_attention_heads_per_partition

    def forward(self, query, key, value, attention_mask, *args, **kwargs):
        ranks = self.config.context_parallel_size
        if ranks > 1:
            group = parallel_state.get_context_parallel_group()
            key, value = (gather_from_sequence_parallel_region(t.contiguous(), group=group) for t in (key, value))
            # Each rank holds a chunk of the front and its mirror image of the back, so that all have equal work.
            chunk = torch.arange(query.size(0)).chunk(2)[0]
            order = [[chunk + i * len(chunk) for i in (r, 2 * ranks - 1 - r)] for r in range(ranks)]
            mine = torch.cat(order[parallel_state.get_context_parallel_rank()])
            everyone = torch.cat([c for rank in order for c in rank])
            attention_mask = (everyone[None, :] > mine[:, None])[None, None]
            self.scale_mask_softmax.attn_mask_type = AttnMaskType.padding  # take the mask that is given
        return compute(self, query, key, value, attention_mask, *args, **kwargs)

    kind.__init__, kind.forward = init, forward


class FusedAdam(torch.optim.Optimizer):
    """AdamW as the fused kernels of Apex and Transformer Engine count its steps: one number for a group of parameters,
    where torch's own keeps one beside every parameter, with which Megatron-LM cannot resume."""

    def __init__(self, params, lr, betas, eps, weight_decay, adam_w_mode=True, capturable=False):
        if not adam_w_mode or capturable:
            raise ValueError("only AdamW outside of graphs")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            if not group["params"]:
                continue
            group["step"] = count = group.get("step", 0) + 1
            first, second = group["betas"]
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                if not state:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                mean, square = state["exp_avg"].lerp_(p.grad, 1 - first), state["exp_avg_sq"]
                square.mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                scale = (square / (1 - second**count)).sqrt_().add_(group["eps"])
                p.mul_(1 - group["lr"] * group["weight_decay"]).addcdiv_(mean, scale, value=-group["lr"] / (1 - first**count))


def adam():
    """Puts FusedAdam where Megatron-LM looks for Transformer Engine's."""
    import megatron.core.optimizer as optimizer
    import megatron.core.optimizer.distrib_optimizer as distributed

    optimizer.Adam = distributed.Adam = FusedAdam
    optimizer.USING_PYTORCH_OPTIMIZER = False
    distributed.HAVE_APEX_OR_TE = distributed.USING_TE_OPTIMIZER = True
