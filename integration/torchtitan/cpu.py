"""Lets TorchTitan 0.2.2 and 0.3.0 run on machines without an accelerator.

Call install() before the first import of torchtitan. Nothing of TorchTitan is replaced but the parts
that exist on CUDA only.
"""

import functools
import inspect
import os
import types

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # torch compiles parts of its own even where a job asks for none

import torch  # noqa: E402
import torch.distributed.fsdp._fully_shard._fsdp_collectives as collectives  # noqa: E402


def install():
    """Names the CPU as torch's device, with the functions of torch.cuda that TorchTitan calls."""
    torch._utils._get_available_device_type = lambda: "cpu"
    properties = types.SimpleNamespace(name="CPU", total_memory=80 * 2**30)
    stand_ins = {
        "get_device_name": lambda *args: "NVIDIA H100",  # looked up in a table of peak FLOPS
        "get_device_properties": lambda *args: properties,
        "current_device": lambda: 0,
        "set_device": lambda *args: None,
        "reset_peak_memory_stats": lambda *args: None,
        "empty_cache": lambda: None,
        "memory_stats": lambda *args, **kwargs: {},
    }
    for name, function in stand_ins.items():
        setattr(torch.cpu, name, function)
    plain_sums()
    integer_histograms()
    uneven_exchange()
    raw_transfers()
    split_attention()


def raw_transfers():
    """Stages of several sequences with tensor parallelism send tensors that are not contiguous.

    NCCL moves their memory as it lies, and gives it to a tensor of any order; gloo refuses them.
    """
    from torch.distributed.distributed_c10d import P2POp

    init = P2POp.__init__

    def as_it_lies(self, op, tensor, *args, **kwargs):
        laid = tensor.detach().permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
        init(self, op, laid if laid.is_contiguous() else tensor, *args, **kwargs)

    P2POp.__init__ = as_it_lies


def split_attention():
    """torch has rules for the attention of GPUs over tensor and context ranks; the CPU's takes and gives the same tensors."""
    import torch.distributed.tensor.experimental._context_parallel._attention as rings
    from torch.distributed.tensor import DTensor, Shard

    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

    def split(op, args, kwargs):
        q = args[op is backward]
        local = [a.to_local() if isinstance(a, DTensor) else a for a in args]
        if Shard(2) not in q.placements:  # sequences are whole
            results = op(*local, **kwargs)
        elif op is forward:
            named = dict(zip(("dropout_p", "is_causal"), local[3:])) | kwargs
            results = rings._templated_ring_attention(q.device_mesh.get_group(), 2, op, *local[:3], **named)
        else:
            names = "grad_out", "query", "key", "value", "out", "logsumexp", "dropout_p", "is_causal"
            named = dict(zip(names, local)) | kwargs
            results = rings._templated_ring_attention_backward(q.device_mesh.get_group(), 2, op, grad_out_name="grad_out", **named)
        return tuple(DTensor.from_local(r, q.device_mesh, q.placements, run_check=False) for r in results)

    attention = torch.nn.functional.scaled_dot_product_attention

    def of_one_width(q, k, v, *args, scale=None, **kwargs):  # as the CPU's kernel wants heads
        widths = [t.shape[-1] for t in (q, k, v)]
        if not isinstance(q, DTensor) or len(set(widths)) == 1:
            return attention(q, k, v, *args, scale=scale, **kwargs)
        wide = [torch.nn.functional.pad(t.to_local(), (0, max(widths) - t.shape[-1])) for t in (q, k, v)]
        q, k, v = (DTensor.from_local(t, q.device_mesh, q.placements, run_check=False) for t in wide)
        return attention(q, k, v, *args, scale=scale or widths[0] ** -0.5, **kwargs)[..., : widths[2]]

    torch.nn.functional.scaled_dot_product_attention = of_one_width
    for op in forward, backward:
        DTensor._op_dispatcher._custom_op_handlers[op] = split


def uneven_exchange():
    """gloo's all-to-all of lists wants equal sizes; its single-tensor form takes any split."""
    import torch.distributed as dist

    def all_to_all(outputs, inputs, group=None, async_op=False):
        sizes_out, sizes_in = [t.shape[0] for t in outputs], [t.shape[0] for t in inputs]
        received = inputs[0].new_empty((sum(sizes_out), *inputs[0].shape[1:]))
        dist.all_to_all_single(received, torch.cat(inputs), sizes_out, sizes_in, group=group)
        for target, part in zip(outputs, received.split(sizes_out)):
            target.copy_(part)

    dist.all_to_all = all_to_all


def integer_histograms():
    """Routers count tokens with torch.histc, which takes no integers on the CPU."""
    histogram = torch.histc

    def count(x, bins=100, min=0, max=0):
        if x.is_floating_point() or x.device.type != "cpu":
            return histogram(x, bins=bins, min=min, max=max)
        return histogram(x.float(), bins=bins, min=min, max=max).to(x.dtype)

    torch.histc = count


def plain_sums():
    """FSDP with a divide factor of one asks for NCCL's scaled sum, which gloo does not have."""
    divide = collectives._get_gradient_divide_factors
    signature = inspect.signature(divide)

    def without_scaling(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments["force_sum_reduction_for_comms"] = True
        return divide(*bound.args, **bound.kwargs)

    collectives._get_gradient_divide_factors = without_scaling


def claim_generation():
    """TorchTitan 0.3.0 looks at the GPU before it takes a kernel of FlashAttention, and activates the package of one.

    Call it when what looks at the GPU for low precisions is imported.
    """
    import torchtitan.tools.utils as tools

    if hasattr(tools, "get_cuda_flash_attention_impl"):
        tools.has_cuda_capability = lambda *capability: True
        tools.get_cuda_flash_attention_impl = lambda: None


class Auxiliary:
    """The second result of FlexAttention."""

    def __init__(self, lse):
        self.lse = lse


def dense_attention(q, k, v, *, block_mask=None, scale=None, enable_gqa=False, return_lse=False, return_aux=None, **_):
    """What flex_attention computes, with the whole mask in memory."""
    from torch.nn.attention.flex_attention import create_mask

    mask = create_mask(block_mask.mask_mod, q.shape[0], 1, q.shape[2], k.shape[2], device="cpu")
    if enable_gqa:
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = (q @ k.transpose(-1, -2)).float() * (scale or q.shape[-1] ** -0.5)
    scores = scores.masked_fill(~mask, float("-inf"))
    out, lse = scores.softmax(-1).to(v.dtype) @ v, scores.logsumexp(-1)
    if return_aux is not None:
        return out, Auxiliary(lse)
    return (out, lse) if return_lse else out


def dense_documents(q, k, v, bounds, _, longest, __, *, scale=None, window_size=(-1, 0), enable_gqa=False, **___):
    """What varlen_attn computes under a causal mask, document by document."""
    if window_size != (-1, 0):
        raise NotImplementedError(f"a window of {window_size}")
    if enable_gqa:
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    parts = []
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        if last - first > longest:
            raise ValueError(f"{last - first} tokens in a document, of at most {longest}")
        mine = [x[first:last].transpose(0, 1) for x in (q, k, v)]
        scores = (mine[0] @ mine[1].transpose(-1, -2)).float() * (scale or q.shape[-1] ** -0.5)
        later = torch.ones(last - first, last - first, dtype=torch.bool).triu(1)
        parts.append((scores.masked_fill(later, float("-inf")).softmax(-1).to(v.dtype) @ mine[2]).transpose(0, 1))
    return torch.cat(parts)


def use_dense_attention():
    """FlexAttention has no backward pass on the CPU, varlen_attn no kernel."""
    try:
        import torchtitan.models.common.attention as attention
        attention.FlexAttention._compiled_flex_attn = staticmethod(dense_attention)
        attention.varlen_attn = dense_documents
    except ImportError:
        import torchtitan.models.attention as attention
        attention.FlexAttentionWrapper._compiled_flex_attn = staticmethod(dense_attention)
    use_host_masks(attention)


def use_host_masks(attention):
    """Compiling the masks of FlexAttention takes long, and 0.2.2 names the GPU as their device."""
    from torch.nn.attention.flex_attention import create_block_mask

    attention._compiled_create_block_mask = lambda *a, **k: create_block_mask(*a, **{**k, "device": "cpu"})


def use_host_permutation():
    """0.2.2 orders tokens by expert with a Triton kernel; its own host version does the same."""
    try:
        import torchtitan.models.moe.utils as utils
    except ImportError:
        return
    utils.generate_permute_indices = functools.partial(utils.generate_permute_indices, use_cpu=True)
