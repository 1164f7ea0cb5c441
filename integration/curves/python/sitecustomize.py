"""Python reads this module at its start: with SAME_WEIGHTS set, whichever of the three frameworks runs begins with the
same weights, drawn by name, in the dense Llama that the spec describes.

They are put in place of the framework's own when the model is first called, which is before the first update. That is
enough in fp32 without sharded optimizers, where the parameters are the ones that are updated.
"""
import os
import re
import zlib

STD, LAYERS, GROUPS, HEAD = 0.02, 4, 2, 64  # of the model debug: init_std, layers, kv_heads, head_dim
BACK = STD / (2 * LAYERS) ** 0.5


def draw(name, rows, columns, std=STD):
    import numpy as np
    import torch

    values = np.random.default_rng(zlib.crc32(name.encode())).normal(0, std, (rows, columns))
    return torch.from_numpy(values.astype(np.float32))


def interleaved(weight, heads):
    """Rows of a projection for rotary embeddings that turn neighbouring pairs instead of halves."""
    rows, columns = weight.shape
    return weight.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)


def attention(layer, rows, columns, pairs):
    """Queries, keys and values as one matrix: for every group of heads its queries, its key, its value."""
    queries = rows - 2 * GROUPS * HEAD
    q, k, v = (draw(f"{layer}.{n}", size, columns) for n, size in (("q", queries), ("k", GROUPS * HEAD), ("v", GROUPS * HEAD)))
    if pairs:
        q, k = interleaved(q, queries // HEAD), interleaved(k, GROUPS)
    return q, k, v


def fused(q, k, v):
    import torch

    parts = (w.view(GROUPS, -1, w.shape[1]) for w in (q, k, v))
    return torch.cat(tuple(parts), dim=1).reshape(-1, q.shape[1])


def weight(name, rows, columns):
    """The matrix of a parameter in the framework whose name it bears."""
    import torch

    if re.search(r"(tok_embeddings|embed_tokens|word_embeddings)\.weight$", name):
        return draw("embedding", rows, columns)
    if re.search(r"(lm_head|output_layer)\.weight$", name):
        return draw("head", rows, columns)
    layer = re.search(r"layers\.(\d+)\.", name)[1]
    end = name.split("layers.")[1].split(".", 1)[1]
    if end.endswith(("wqkv.weight", "linear_qkv.weight")):
        return fused(*attention(layer, rows, columns, pairs="wqkv" in end))
    if match := re.search(r"self_attn\.([qkv])_proj", end):
        return draw(f"{layer}.{match[1]}", rows, columns)
    if end.endswith(("wo.weight", "o_proj.weight", "linear_proj.weight")):
        return draw(f"{layer}.o", rows, columns, BACK)
    if end.endswith("linear_fc1.weight"):
        return torch.cat((draw(f"{layer}.gate", rows // 2, columns), draw(f"{layer}.up", rows // 2, columns)))
    for suffixes, part, std in ((("w1.weight", "gate_proj.weight"), "gate", STD), (("w3.weight", "up_proj.weight"), "up", STD),
                                (("w2.weight", "down_proj.weight", "linear_fc2.weight"), "down", BACK)):
        if end.endswith(suffixes):
            return draw(f"{layer}.{part}", rows, columns, std)
    raise KeyError(name)


def install():
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook

    def replace(module, _):
        named = [(n, p) for n, p in module.named_parameters() if p.dim() > 1]
        if len(named) < LAYERS:
            return
        hook.remove()
        with torch.no_grad():
            for name, parameter in named:
                local = parameter.to_local() if hasattr(parameter, "to_local") else parameter.data
                local.copy_(weight(name, *parameter.shape))

    hook = register_module_forward_pre_hook(replace)


if os.environ.get("SAME_WEIGHTS"):
    install()
