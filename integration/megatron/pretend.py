"""Stand-ins that let Megatron-LM's own code run on a machine without a GPU.

gpu()                  answers device queries as one GPU and places "cuda" tensors elsewhere
collectives()          replaces NCCL by torch's fake process group, so one process plays any rank
local_layers()         lets the layers written in plain torch take the sizes that only
                       Transformer Engine's take
host_calls()           leaves out what needs a driver

Argument, mesh, schedule, data-parallel and optimizer code of Megatron-LM is not
touched. Call gpu() before the first import of megatron, the rest after it.
"""
import contextlib
import os
import sys
import types

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode


class Placement(TorchFunctionMode):
    """Puts every tensor that asks for "cuda" on another device."""

    def __init__(self, device):
        super().__init__()
        self.device = torch.device(device)

    @staticmethod
    def asks_for_gpu(place):
        if isinstance(place, bool):
            return False
        return isinstance(place, int) or str(place).startswith("cuda")

    def __torch_function__(self, function, _types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        kwargs.pop("pin_memory", None)
        if kwargs.get("device") is not None and self.asks_for_gpu(kwargs["device"]):
            kwargs["device"] = self.device
        if function is torch.Tensor.to and len(args) > 1 and not isinstance(args[1], (torch.dtype, torch.Tensor)) and self.asks_for_gpu(args[1]):
            args = (args[0], self.device, *args[2:])
        return function(*args, **kwargs)


class Idle:
    """A stream or event on which nothing ever runs."""

    priority, device, cuda_stream = 0, None, 0

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: True

    @staticmethod
    def priority_range():
        return 0, -1

    @staticmethod
    def elapsed_time(_):
        return 0.0


def constant(value):
    return lambda *_, **__: value


MEMORY = 80 << 30


def compute_capability(major, minor):
    """What the pretended GPU says it is; may change as long as nothing was asked."""
    properties = types.SimpleNamespace(
        name="pretended", major=major, minor=minor, total_memory=MEMORY,
        multi_processor_count=132, warp_size=32, L2_cache_size=50 << 20)
    torch.cuda.get_device_capability, torch.cuda.get_device_properties = constant((major, minor)), constant(properties)


def gpu(capability, device="cpu"):
    """Pretends a GPU of a compute capability, with tensors on device; returns
    the placement, whose device may be changed later."""
    answers = {
        "is_available": True, "is_initialized": True, "is_bf16_supported": True, "is_current_stream_capturing": False,
        "device_count": 8, "current_device": 0, "get_device_name": "pretended", "mem_get_info": (MEMORY, MEMORY),
    }
    compute_capability(*capability)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "device_memory_used"):
        answers[name] = 0
    for name in ("init", "_lazy_init", "set_device", "synchronize", "empty_cache", "ipc_collect", "set_stream",
                 "reset_peak_memory_stats", "manual_seed_all"):
        answers[name] = None
    for name, value in answers.items():
        setattr(torch.cuda, name, constant(value))
    torch.cuda.memory_stats = lambda *_, **__: dict.fromkeys(("allocation.all.current", "num_alloc_retries"), 0)
    torch.cuda.Stream = torch.cuda.Event = Idle
    torch.cuda.current_stream = torch.cuda.default_stream = lambda *_, **__: Idle()
    torch.cuda.stream = torch.cuda.device = lambda *_, **__: contextlib.nullcontext()
    for name in ("range_push", "range_pop", "mark"):
        setattr(torch.cuda.nvtx, name, constant(None))
    random_state()
    tensor_methods(device)
    kernels()
    placement = Placement(device)
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor.to(placement.device)
    placement.__enter__()
    return placement


def random_state():
    """One generator, torch's own, serves as the GPU's."""
    cuda = torch.cuda
    cuda.manual_seed = torch.manual_seed
    cuda.get_rng_state = cuda.random.get_rng_state = lambda *_, **__: torch.get_rng_state()
    cuda.set_rng_state = cuda.random.set_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    generator = types.SimpleNamespace(
        get_state=torch.get_rng_state, set_state=torch.set_rng_state, manual_seed=torch.manual_seed,
        graphsafe_get_state=torch.get_rng_state, graphsafe_set_state=constant(None))
    generator.clone_state = constant(generator)
    cuda.default_generators = (generator,) * 8


def tensor_methods(device):
    """Tensors answer as if they lay on a GPU where Megatron-LM asks for it:
    optimizers tell parameters apart by the names of CUDA tensor types."""
    plain_type = torch.Tensor.type

    def type_(tensor, *args, **kwargs):
        answer = plain_type(tensor, *args, **kwargs)
        return "torch.cuda." + answer.rpartition(".")[2] if isinstance(answer, str) else answer

    torch.Tensor.type = type_
    for name in ("Float", "Half", "BFloat16", "Double", "Int", "Long", "Byte"):
        setattr(torch.cuda, name + "Tensor", getattr(torch, name + "Tensor"))
    torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor
    torch.Tensor.record_stream = constant(None)
    torch.nn.Module.cuda = lambda module, *_, **__: module
    for name in ("_cuda_graph_capture_health_check", "_accelerator_graph_capture_health_check"):
        if hasattr(torch.optim.Optimizer, name):
            setattr(torch.optim.Optimizer, name, constant(None))


def kernels():
    """Names of compiled extensions that are only imported, never called here."""
    accumulate = types.ModuleType("fused_weight_gradient_mlp_cuda")
    accumulate.wgrad_gemm_accum_fp32 = accumulate.wgrad_gemm_accum_fp16 = constant(None)
    grouped = types.ModuleType("grouped_gemm")
    grouped.ops = types.SimpleNamespace(gmm=constant(None))
    dispatch, utilities = types.ModuleType("deep_ep"), types.ModuleType("deep_ep.utils")
    dispatch.Buffer = dispatch.HybridEPBuffer = type("Buffer", (Idle,), {"set_num_sms": staticmethod(constant(None))})
    utilities.EventHandle = utilities.EventOverlap = Idle
    dispatch.utils, dispatch.__path__ = utilities, []
    mixers()
    for module in (accumulate, grouped, dispatch, utilities):
        module.__spec__ = types.SimpleNamespace(name=module.__name__)
        sys.modules[module.__name__] = module


class GatedNorm(torch.nn.Module):
    """The weight of mamba_ssm's norm over the heads of a mixer."""

    def __init__(self, width, eps=1e-5, group_size=None, norm_before_gate=True, device=None, dtype=None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width, device=device, dtype=dtype))
        self.register_parameter("bias", None)


def mixers():
    """Packages of the mixers of hybrid models: of mamba_ssm a norm with its weight, the kernels are not called."""

    def kernel(*_, **__):
        raise NotImplementedError

    contents = {
        "mamba_ssm.ops.triton.layernorm_gated": {"RMSNorm": GatedNorm},
        "mamba_ssm.ops.triton.ssd_combined": {"mamba_chunk_scan_combined": kernel, "mamba_split_conv1d_scan_combined": kernel},
        "fla.modules.convolution": {"causal_conv1d": kernel}, "fla.modules.l2norm": {"l2norm": kernel},
        "fla.ops.gated_delta_rule": {"chunk_gated_delta_rule": kernel},
    }
    for name, members in contents.items():
        parts = name.split(".")
        for n in range(1, len(parts) + 1):
            path = ".".join(parts[:n])
            module = sys.modules.setdefault(path, types.ModuleType(path))
            module.__path__, module.__spec__, module.__version__ = [], types.SimpleNamespace(name=path), "2.2.4"
        vars(sys.modules[name]).update(members)


def no_kernel_builds():
    """Releases before 0.17 compile fused kernels when they start."""
    try:
        import megatron.legacy.fused_kernels as fused
    except ImportError:
        return
    fused.load = constant(None)


def tokenizers():
    """Tokenizers lie on the cluster; only the ids that end documents and the
    size of the vocabulary are asked for here."""
    import megatron.training.global_vars as variables

    build = variables.build_tokenizer

    def build_tokenizer(args, **kwargs):
        if args.tokenizer_type == "NullTokenizer":
            return build(args, **kwargs)
        return types.SimpleNamespace(vocab_size=args.padded_vocab_size, eod=0, pad=0)

    variables.build_tokenizer = build_tokenizer


def collectives():
    """Every group is torch's fake one: collectives return at once."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    start, group = dist.init_process_group, dist.new_group

    def init_process_group(*_, **kwargs):
        return start(backend="fake", store=FakeStore(), rank=kwargs["rank"], world_size=kwargs["world_size"])

    def new_group(ranks=None, *_, **__):
        return group(ranks, backend="fake")

    dist.init_process_group = init_process_group
    dist.new_group = dist.distributed_c10d.new_group = new_group


def local_layers():
    """Layers in plain torch refuse sequence parallelism in the norm, context
    parallelism and latent attention's head sizes; here only their parameters
    count, so they may be built."""
    import inspect
    import megatron.core.transformer.dot_product_attention as attention
    import megatron.core.transformer.torch_norm as norm

    make_norm = norm.WrappedTorchNorm.__new__

    def norm_anyway(cls, config, *args, **kwargs):
        parallel, persist = config.sequence_parallel, config.persist_layer_norm
        config.sequence_parallel = config.persist_layer_norm = False
        try:
            layer = make_norm(cls, config, *args, **kwargs)
        finally:
            config.sequence_parallel, config.persist_layer_norm = parallel, persist
        for parameter in layer.parameters():
            parameter.sequence_parallel = parallel
        return layer

    norm.WrappedTorchNorm.__new__ = staticmethod(norm_anyway)
    make_attention = attention.DotProductAttention.__init__
    accepted = inspect.signature(make_attention).parameters

    def attention_anyway(self, config, *args, **kwargs):
        context, config.context_parallel_size = config.context_parallel_size, 1
        window, config.window_size = getattr(config, "window_size", None), None
        try:
            make_attention(self, config, *args, **{k: v for k, v in kwargs.items() if k in accepted})
        finally:
            config.context_parallel_size, config.window_size = context, window

    attention.DotProductAttention.__init__ = attention_anyway
    biases_of_experts()
    name_absent_classes()
    host_calls("set_save_original_input")  # of Transformer Engine's quantised layers


def biases_of_experts():
    """Transformer Engine's grouped GEMMs leave tensor ranks to Megatron-LM, so that nothing adds up the gradients
    of biases over them, which are those of other experts there."""
    import megatron.core.tensor_parallel.layers as layers

    make = layers.RowParallelLinear.__init__

    def with_own_bias(self, *args, **kwargs):
        make(self, *args, **kwargs)
        if self.explicit_expert_comm and self.bias is not None:
            self.bias.sequence_parallel = False

    layers.RowParallelLinear.__init__ = with_own_bias


def host_calls(*more):
    """Leaves out the binding to the CPUs near a GPU, which needs a driver, and
    more functions of the modules that call it."""
    import importlib

    for name in ("extensions.transformer_engine", "pipeline_parallel.utils", "transformer.attention", "transformer.multi_latent_attention",
                 "transformer.mlp", "transformer.transformer_layer", "transformer.moe.moe_layer",
                 "transformer.moe.experts", "transformer.moe.shared_experts"):
        module = importlib.import_module("megatron.core." + name)
        for function in ("set_ideal_affinity_for_current_gpu", *more):
            if hasattr(module, function):
                setattr(module, function, constant(None))


def name_absent_classes():
    """isinstance() checks against classes of Transformer Engine need a class."""
    import importlib

    for name in ("transformer.multi_latent_attention", "tensor_parallel.inference_layers"):
        try:
            module = importlib.import_module("megatron.core." + name)
        except ImportError:
            continue
        for attribute, value in list(vars(module).items()):
            if attribute.startswith(("TE", "Inference")) and not isinstance(value, type):
                setattr(module, attribute, type(attribute, (), {}))
