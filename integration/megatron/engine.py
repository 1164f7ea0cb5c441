"""Stands in for Transformer Engine where layers are built and no kernel runs.

install(version) makes every module of transformer_engine importable. The modules that hold weights have those of the
real ones, of the same shapes and names, and refuse what those refuse when they are made; Megatron-LM's own wrappers
and layer specifications, which decide about the model, run on them as they are. All other names exist and do nothing.
"""
import contextlib
import importlib.abc
import importlib.machinery
import sys
import types

import torch

ROOT = "transformer_engine"


class Module(torch.nn.Module):
    """What modules with weights share: they are cut over the tensor group, and drawn by nobody."""

    save_original_input = False

    def __init__(self, parallel_mode=None, tp_group=None, tp_size=1, params_dtype=None, device=None, sequence_parallel=False):
        super().__init__()
        self.parallel_mode, self.tp_size, self.tp_group = parallel_mode, tp_size, tp_group
        self.sequence_parallel = sequence_parallel and tp_size > 1
        self.place = {"dtype": params_dtype or torch.get_default_dtype(), "device": device}
        self.fp8_meta = {}

    def weights(self, rows, columns, bias, suffix=""):
        mode, size = self.parallel_mode, self.tp_size
        for kind, n in (("column", rows), ("row", columns)):
            if mode == kind and n % size:
                raise ValueError(f"{n} is not divisible by {size}")
        rows, columns = rows // (size if mode == "column" else 1), columns // (size if mode == "row" else 1)
        weight = self.parameter("weight" + suffix, rows, columns)
        weight.tensor_model_parallel, weight.partition_dim, weight.partition_stride = mode is not None, int(mode == "row"), 1
        if not bias:
            setattr(self, "bias" + suffix, torch.empty(0, **self.place))
            return
        bias = self.parameter("bias" + suffix, rows)
        bias.sequence_parallel = self.sequence_parallel and mode == "row"
        bias.tensor_model_parallel, bias.partition_dim, bias.partition_stride = mode == "column", 0, 1

    def norm(self, prefix, size, kind):
        for name in ["weight"] + ["bias"] * (kind == "LayerNorm"):
            self.parameter(prefix + name, size).sequence_parallel = self.sequence_parallel

    def parameter(self, name, *shape):
        made = torch.nn.Parameter(torch.empty(shape, **self.place))
        self.register_parameter(name, made)
        return made

    def set_tensor_parallel_group(self, group):
        self.tp_group = group

    set_context_parallel_group = backward_dw = reset_parameters = lambda *_, **__: None


class Linear(Module):
    def __init__(self, in_features, out_features, *, sequence_parallel=False, tp_group=None, tp_size=1, bias=True, params_dtype=None,
                 parallel_mode=None, device=None, **_):
        super().__init__(parallel_mode, tp_group, tp_size, params_dtype, device, sequence_parallel)
        self.in_features, self.out_features, self.use_bias = in_features, out_features, bias
        self.weights(out_features, in_features, bias)


class LayerNormLinear(Module):
    def __init__(self, in_features, out_features, *, sequence_parallel=False, tp_group=None, tp_size=1, bias=True, params_dtype=None,
                 parallel_mode=None, normalization="LayerNorm", device=None, **_):
        super().__init__(parallel_mode, tp_group, tp_size, params_dtype, device, sequence_parallel)
        self.in_features, self.out_features, self.use_bias, self.normalization = in_features, out_features, bias, normalization
        self.norm("layer_norm_", in_features, normalization)
        self.weights(out_features, in_features, bias)


class GroupedLinear(Module):
    def __init__(self, num_gemms, in_features, out_features, *, sequence_parallel=False, tp_group=None, tp_size=1, bias=True,
                 params_dtype=None, parallel_mode=None, device=None, scale_bias=False, **_):  # the operation of the name has the last
        super().__init__(parallel_mode, tp_group, tp_size, params_dtype, device, sequence_parallel)
        self.num_gemms, self.in_features, self.out_features, self.use_bias = num_gemms, in_features, out_features, bias
        for i in range(num_gemms):
            self.weights(out_features, in_features, bias, str(i))


class LayerNorm(Module):
    kind = "LayerNorm"

    def __init__(self, normalized_shape=None, *, hidden_size=None, sequence_parallel=False, params_dtype=None, dtype=None, device=None, **_):
        super().__init__(params_dtype=params_dtype or dtype, device=device)
        self.sequence_parallel = sequence_parallel
        self.norm("", normalized_shape or hidden_size, self.kind)  # releases before 0.17 use the older name


class RMSNorm(LayerNorm):
    kind = "RMSNorm"


class DotProductAttention(Module):
    def __init__(self, num_attention_heads, kv_channels, *, num_gqa_groups=None, tp_group=None, tp_size=1, softmax_type="vanilla", **_):
        super().__init__(tp_group=tp_group, tp_size=tp_size)
        for n in (num_attention_heads, num_gqa_groups or num_attention_heads):
            if n % tp_size:
                raise ValueError(f"{n} heads or groups are not divisible by the tensor parallel size {tp_size}")
        if softmax_type == "learnable":
            self.place["dtype"] = torch.float32
            self.parameter("softmax_offset", 1, num_attention_heads // tp_size, 1, 1)


class FusedAdam(torch.optim.AdamW):
    """Takes the types of its states."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, master_weight_dtype=None,
                 exp_avg_dtype=None, exp_avg_sq_dtype=None, use_decoupled_grad=False, store_param_remainders=False, **_):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


class FusedSGD(torch.optim.SGD):
    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, **_):
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay)


class FP8GlobalStateManager:
    is_fp8_enabled = is_fp8_calibration = with_fp8_parameters = staticmethod(lambda: False)
    set_skip_fp8_weight_update_tensor = reset = staticmethod(lambda *_: None)


class CudaRNGStatesTracker:
    def __init__(self):
        self.reset()

    def reset(self):
        self.states_ = {}

    def get_states(self):
        return dict(self.states_)

    def set_states(self, states):
        self.states_ = states

    def add(self, name, seed):
        self.states_[name] = seed

    @contextlib.contextmanager
    def fork(self, name="model-parallel-rng"):
        yield


def context(*_, **__):
    return contextlib.nullcontext()


GIVEN = {kind.__name__: kind for kind in (
    Linear, LayerNormLinear, GroupedLinear, LayerNorm, RMSNorm, DotProductAttention, FusedAdam, FusedSGD, FP8GlobalStateManager, CudaRNGStatesTracker)}
GIVEN |= dict.fromkeys(("fp8_autocast", "fp8_model_init", "autocast", "quantized_model_init"), context)
GIVEN["get_cpu_offload_context"] = lambda *_, **__: (contextlib.nullcontext(), lambda tensor: tensor)


class Anything(type):
    """A class that has every attribute."""

    def __getattr__(cls, name):
        return named(name)


named_before = {}


def named(name):
    """What a name stands for: given above, or a class that can be made, called, derived from and asked for attributes."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in GIVEN and name not in named_before:
        named_before[name] = Anything(name, (), {"__init__": lambda self, *_, **__: None})
    return GIVEN.get(name) or named_before[name]


class Namespace(types.ModuleType):
    def __getattr__(self, name):
        return named(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, *_):
        if name.partition(".")[0] == ROOT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Namespace(spec.name)

    def exec_module(self, module):
        module.__version__ = Finder.version


def install(version):
    """Call it before the first import of megatron."""
    Finder.version = version
    sys.meta_path.insert(0, Finder())


def suit(arguments):
    """Says the release that a launch needs where that is a newer one than others do with: experts in one kernel, in any width that
    the kernel takes. Call it in the launch's own process."""
    if "--use-transformer-engine-op-fuser" in arguments:
        import megatron.core.utils as utilities

        sys.modules[ROOT].__version__, utilities._te_version = "2.15.0", None
