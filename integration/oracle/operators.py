"""Counts what the operations of a decoder layer read and write where nothing fuses them: the records of
compiler/estimate/data/layers.json for the implementation that is installed, one JSON object per line, in bytes per
element of the operation's output. Tensors are bf16; torch runs on the CPU, where its RMSNorm is composed of several
kernels, as it is on a GPU before torch 2.9.
"""
import functools
import json

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Operators that move nothing.
VIEWS = set(
    """view _unsafe_view t transpose slice select expand unsqueeze squeeze detach alias permute split unbind
    view_as_complex view_as_real as_strided empty empty_like empty_strided new_empty new_empty_strided reshape
    _reshape_alias split_with_sizes chunk narrow _conj resolve_conj is_same_size""".split()
)
# Operators that write without reading.
FILLS = {"zeros", "zeros_like", "new_zeros", "full", "fill_", "zero_", "ones_like", "scalar_tensor"}
PRODUCTS = {"mm", "addmm", "bmm"}

# A layer of Llama 3 8B.
TOKENS = 64
HIDDEN, FFN, HEADS, GROUPS, HEAD = 4096, 14336, 32, 8, 128
ROTATED = (HEADS + GROUPS) * HEAD


def held(tensor):
    """The bytes that a tensor's elements take; a broadcast dimension is read once."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        elements *= size if stride else 1
    return elements * tensor.element_size()


def tensors(tree):
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


class Moved(TorchDispatchMode):
    """Sums the bytes of all operators but some products and attention."""

    def __init__(self, products=PRODUCTS):
        super().__init__()
        self.bytes, self.products = 0, products

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name not in VIEWS and name not in self.products and "scaled_dot_product" not in name:
            if name not in FILLS:
                self.bytes += sum(map(held, tensors((args, kwargs))))
            self.bytes += sum(t.numel() * t.element_size() for t in tensors(out))
        return out


def both(function, *inputs, parameters=(), products=PRODUCTS):
    """What the forward and the backward pass of a function move, in bytes, until the gradients are there."""
    with Moved(products) as forward:
        out = tensors(function(*inputs))
    ones = [torch.ones_like(t) for t in out]
    with Moved(products) as backward:
        torch.autograd.grad(out, [*inputs, *parameters], ones)
    return forward.bytes, backward.bytes


def random(*shape):
    return torch.randn(*shape, dtype=torch.bfloat16, requires_grad=True)


def operations(norm, rope, activation, projections, layer, run):
    """All operations of an implementation, and the rest of a whole layer. Three projections read one input, so that
    their gradients are summed twice; gate and up make a third sum of a layer."""
    sums = both(lambda x: [project(x) for project in projections], random(1, TOKENS, HIDDEN))
    counted = {
        "gradient_sum": ([b / 2 for b in sums], HIDDEN),
        "rmsnorm": (both(norm, random(1, TOKENS, HIDDEN), parameters=norm.parameters()), HIDDEN),
        "rope": (rope, ROTATED),
        "gated": (both(activation, random(1, TOKENS, FFN), random(1, TOKENS, FFN)), FFN),
        "relu2": (both(lambda x: torch.square(torch.relu(x)), random(1, TOKENS, FFN)), FFN),
    }
    whole = both(run, random(1, TOKENS, HIDDEN), parameters=layer.parameters())
    sum_of = ["gradient_sum"] * 3
    listed = (counted[name][0] for name in ("rmsnorm", "rmsnorm", "rope", "gated", *sum_of))
    counted["residual"] = ([all - sum(one) for all, *one in zip(whole, *listed)], HIDDEN)
    return {name: [b / TOKENS / per for b in moved] for name, (moved, per) in counted.items()}


def transformers():
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama as llama

    config = LlamaConfig(
        hidden_size=HIDDEN, intermediate_size=FFN, num_attention_heads=HEADS, num_key_value_heads=GROUPS, num_hidden_layers=1, head_dim=HEAD
    )
    config._attn_implementation = "sdpa"
    layer = llama.LlamaDecoderLayer(config, 0).to(torch.bfloat16)
    positions = torch.arange(TOKENS)[None]
    cos, sin = llama.LlamaRotaryEmbedding(config)(random(1, TOKENS, HIDDEN), positions)

    def run(x):
        out = layer(x, attention_mask=None, position_ids=positions, position_embeddings=(cos, sin))
        return out[0] if isinstance(out, tuple) else out

    return {
        "transformers": operations(
            llama.LlamaRMSNorm(HIDDEN).to(torch.bfloat16),
            both(lambda q, k: llama.apply_rotary_pos_emb(q, k, cos, sin), random(1, HEADS, TOKENS, HEAD), random(1, GROUPS, TOKENS, HEAD)),
            lambda gate, up: layer.mlp.act_fn(gate) * up,
            [getattr(layer.self_attn, name) for name in ("q_proj", "k_proj", "v_proj")],
            layer,
            run,
        )
    }


def torchtitan():
    from torchtitan.models.llama3.model import model as llama
    from torchtitan.models.llama3.model.args import TransformerModelArgs

    arguments = TransformerModelArgs(dim=HIDDEN, n_heads=HEADS, n_kv_heads=GROUPS, n_layers=1, max_seq_len=TOKENS, multiple_of=1024, ffn_dim_multiplier=1.3)
    layer = llama.TransformerBlock(0, arguments).to(torch.bfloat16)
    table = llama.precompute_freqs_cis(HEAD, TOKENS, arguments.rope_theta)
    found = operations(
        torch.nn.RMSNorm(HIDDEN).to(torch.bfloat16),
        both(lambda q, k: llama.apply_rotary_emb(q, k, table), random(1, TOKENS, HEADS, HEAD), random(1, TOKENS, GROUPS, HEAD)),
        lambda gate, up: torch.nn.functional.silu(gate) * up,
        [layer.attention.wq, layer.attention.wk, layer.attention.wv],
        layer,
        lambda x: layer(x, table, None),
    )
    return {"torchtitan-2024": {"rmsnorm": found.pop("rmsnorm")}, "torchtitan": found | routed()}


def routed():
    """What happens to the rows of experts, per element, apart from the experts' own MLPs, for which one product
    stands. Rows are many, so that those which pad them count little."""
    from torchtitan.models.moe import kernels, moe, utils

    tokens, hidden, top, experts = 4096, 512, 8, 16
    arguments = moe.MoEArgs(num_experts=experts, num_shared_experts=0, top_k=top, score_before_experts=False, load_balance_coeff=None)
    layer = moe.MoE(arguments, dim=hidden, hidden_dim=hidden).to(torch.bfloat16)
    with torch.no_grad():
        layer.init_weights(0.02, torch.device("cpu"))
    moe._run_experts_grouped_mm = lambda w1, w2, w3, x, counts: x @ w1[0]
    histogram = torch.histc  # has no integers on the CPU
    torch.histc = lambda x, **limits: histogram(x.float(), **limits).int()
    utils.generate_permute_indices = functools.partial(kernels.generate_permute_indices, use_cpu=True)
    whole = both(layer, random(1, tokens, hidden), parameters=[layer.experts.w1], products={"mm", "addmm"})
    combine = both(
        lambda out, scores: torch.bmm(scores, out.float()).to(torch.bfloat16),
        random(tokens, top, hidden),
        torch.rand(tokens, 1, top, requires_grad=True),
        products=(),
    )
    rows = tokens * top * hidden
    return {"permute": [(a - b) / rows for a, b in zip(whole, combine)], "combine": [b / rows for b in combine]}


def megatron():
    from megatron.core.fusions.fused_bias_geglu import weighted_bias_quick_geglu_impl as geglu
    from megatron.core.transformer.moe.experts import TEGroupedMLP

    rows, hidden, experts = 64, 2880, 2
    biases = [random(hidden) for _ in range(experts)]
    probabilities = torch.rand(rows, 1, requires_grad=True)
    added = both(
        lambda out, p: TEGroupedMLP._apply_bias(out, biases, [rows // experts] * experts, p), random(rows, hidden), probabilities, parameters=biases
    )
    clamped, plain = (
        both(lambda x, p: geglu(x, None, p, False, 1.0, clamp), random(rows, 2 * hidden), probabilities) for clamp in (7.0, None)
    )
    moved = {"expert_out_bias": added, "clamp": [a - b for a, b in zip(clamped, plain)]}
    return {"megatron": {name: [b / rows / hidden for b in of] for name, of in moved.items()}}


def installed():
    try:
        import megatron.core as _
    except ImportError:
        pass
    else:
        return megatron
    try:
        import torchtitan as _
    except ImportError:
        return transformers
    return torchtitan


if __name__ == "__main__":
    torch.manual_seed(0)
    for layers, records in installed()().items():
        for operation, (forward, backward) in records.items():
            print(json.dumps({"layers": layers, "operation": operation, "forward": forward, "backward": backward}))
