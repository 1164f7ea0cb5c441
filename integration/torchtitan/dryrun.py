"""Builds and steps the real Trainer of TorchTitan for one rank of a planned job, on fake tensors.

    WORLD_SIZE=512 RANK=511 python dryrun.py --job.config_file train.toml     (0.2.2)
    WORLD_SIZE=512 RANK=511 python dryrun.py --module ndc_job --config run    (0.3.0)

Real are the configuration manager, the mesh, the model, how it is split and sharded, and the code of
forward, backward, clipping, optimizer and, where the job validates, of one step of validation. Nothing is
computed or allocated; collectives return at once. Stand-ins: the attention kernel and what its masks hold, the
data, the tokenizer, the checkpointer, the initial values; without torchao, layers of bf16 for those of low precision. Prints one JSON line; any rejection by the framework
is an exception.

    python dryrun.py --many LIST

does the same for every line "FOLDER WORLD_SIZE RANK" of LIST, each in a process forked after the imports,
and prints one JSON line for each: the folder, and the error if there was one.
"""

import dataclasses
import importlib.util
import json
import os
import sys
from unittest import mock

os.environ.setdefault("LOCAL_RANK", "0")

import torch  # noqa: E402

import cpu  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import children  # noqa: E402

cpu.install()

import torch.distributed._tools.fake_collectives  # noqa: E402,F401  collectives on meta tensors
from torch import library  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily  # noqa: E402

import torchtitan.distributed.utils as distributed  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402

try:
    import torchtitan.trainer as entry

    TOML = False
except ImportError:
    import torchtitan.train as entry

    TOML = True


@library.custom_op("ndc::attention", mutates_args=())
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    raise RuntimeError("for fake tensors only")


@attention.register_fake
def _(q, k, v):
    batch, heads, length, _ = q.shape
    out = q.new_empty(batch, length, heads, v.shape[-1]).transpose(1, 2)
    return out, q.new_empty(batch, heads, length, dtype=torch.float32)


@library.custom_op("ndc::attention_backward", mutates_args=())
def attention_backward(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    raise RuntimeError("for fake tensors only")


@attention_backward.register_fake
def _(gradient, q, k, v):
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


attention.register_autograd(
    lambda ctx, gradient, _: attention_backward(gradient, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


class Reader:
    """Stands for the emitted reader: gives what it was asked for, without a file."""

    def __init__(self, data, *, batch_size, with_positions, **kwargs):
        self.batch_size, self.with_positions, self.length = batch_size, with_positions, data["sequence_length"]

    def __iter__(self):
        while True:
            yield batch(self.batch_size, self.length, self.with_positions)


class Replica:
    """Stands for DistributedDataParallel, whose reducer looks at the memory of parameters."""

    def __init__(self, module, **kwargs):
        self._pre_forward = lambda *args, **kwargs: (args, kwargs)
        self._post_forward = lambda output: output


class Nothing:
    """Answers every attribute with a function that returns None."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def unfaked(function):
    """Mesh arithmetic needs real index tensors."""

    def call(*args, **kwargs):
        with unset_fake_temporarily():
            return function(*args, **kwargs)

    return call


def known_shapes(config, width, vocabulary, head_in_loss):
    """Stages of a fake process group cannot tell one another their shapes."""
    import torchtitan.distributed.pipeline_parallel as pipeline

    parallelism, stage_class = config.parallelism, pipeline.PipelineStage
    dtype = getattr(torch, config.training.mixed_precision_param)
    batch = parallelism.pipeline_parallel_microbatch_size
    length = config.training.seq_len // parallelism.context_parallel_degree
    split = parallelism.tensor_parallel_degree if getattr(parallelism, "enable_sequence_parallel", True) else 1

    def stage(module, index, count, device, **kwargs):
        def hidden():
            shape = (batch, length // split, width)
            return torch.empty(shape, dtype=dtype, device="meta", requires_grad=True)

        tokens = torch.empty(batch, length, dtype=torch.int64, device="meta")
        logits = torch.empty(batch, length, vocabulary, dtype=dtype, device="meta")
        last = index == count - 1 and not head_in_loss
        kwargs |= {"input_args": hidden() if index else tokens, "output_args": logits if last else hidden()}
        return stage_class(module, index, count, torch.device("cpu"), **kwargs)

    pipeline.PipelineStage = stage


def fake_group(world_size, *args, **kwargs):
    """0.2.2 always simulates rank 0; this one takes the rank."""
    torch.distributed.init_process_group("fake", rank=int(os.environ["RANK"]), world_size=world_size)


def balanced_toml():
    """0.2.2: every expert gets the same number of rows; their order does not matter here."""
    import torchtitan.distributed.expert_parallel as experts
    import torchtitan.models.deepseek_v3.model.args as latent
    import torchtitan.models.gpt_oss.model.args as sinks
    import torchtitan.models.gpt_oss.model.moe as sink_experts
    import torchtitan.models.moe.moe as layers
    import torchtitan.models.moe.utils as utils

    def dispatch(self, module, inputs, mesh):
        rows, counts = inputs
        ranks, count = mesh.shape[0], inputs[0].shape[0]
        self.input_splits = self.output_splits = [count // ranks + (i < count % ranks) for i in range(ranks)]
        rows = experts.all_to_all_single_autograd(rows, self.output_splits, self.input_splits, mesh.get_group())
        self.input_shape, rows, self.permuted_indices, counts = experts._permute(
            rows, counts, ranks, counts.shape[0] // ranks
        )
        return rows, counts

    def order(counts, local_experts, ranks, length, alignment):
        return torch.zeros(length, dtype=torch.int64), counts[:local_experts], counts[:local_experts].to(torch.int32)

    def biased(w1, b1, w2, b2, limit, rows, counts, ranks=1):  # biases are repeated by counts
        offsets = torch.cumsum(counts, 0, dtype=torch.int32)
        hidden = torch._grouped_mm(rows.bfloat16(), w1.transpose(-2, -1).bfloat16(), offs=offsets)
        hidden = sink_experts.swiglu(hidden + b1.sum(0).to(hidden.dtype), limit=limit)
        out = torch._grouped_mm(hidden, w2.transpose(-2, -1).bfloat16(), offs=offsets)
        return out + sink_experts.ScaleBiasForward.apply(b2.sum(0), ranks).to(out.dtype)

    sink_experts._run_experts_grouped_mm = biased
    experts.ExpertParallel._token_dispatch = dispatch
    utils.generate_permute_indices = order
    for experts_class in (layers.GroupedExperts, sink_experts.GptOssGroupedExperts):  # before Hopper a loop reads the counts
        experts_class.use_grouped_mm = property(lambda self: True, lambda self, value: None)
    latent.has_cuda_capability = sinks.has_cuda_capability = lambda *capability: True  # grouped GEMMs


def prepare_toml(config):
    import torchtitan.models.attention as kernels

    from torch.distributed.tensor import DTensor

    distributed.init_fake_mode = fake_group
    importlib.import_module("torch.distributed._composable.replicate").DistributedDataParallel = Replica

    def scaled_dot_product(self, q, k, v, **kwargs):
        if isinstance(q, DTensor):  # under context parallelism
            out, _ = attention(q.to_local(), k.to_local(), v.to_local())
            return DTensor.from_local(out, q.device_mesh, q.placements)
        return attention(q, k, v)[0]

    kernels.ScaledDotProductAttentionWrapper.forward = scaled_dot_product
    balanced_toml()

    def flex(self, q, k, v, *, return_lse=False, **kwargs):
        if isinstance(q, DTensor):  # which torch refuses
            return kernels.flex_attention(q.detach(), k.detach(), v.detach(), return_lse=return_lse, **kwargs)
        return attention(q, k, v) if return_lse else attention(q, k, v)[0]

    kernels.FlexAttentionWrapper.forward = flex
    cpu.use_host_masks(kernels)
    for model in ("llama3", "deepseek_v3", "qwen3", "gpt_oss"):
        module = importlib.import_module(f"torchtitan.models.{model}.infra.parallelize")
        module._op_sac_save_list.add(torch.ops.ndc.attention.default)
    get = entry.train_spec_module.get_train_spec

    def spec(name):
        real = get(name)
        arguments = real.model_args[config.model.flavor]
        real.model_cls.init_weights = lambda self, **kwargs: None
        known_shapes(config, arguments.dim, arguments.vocab_size, head_in_loss=False)
        return dataclasses.replace(
            real,
            build_tokenizer_fn=lambda config: object(),
            model_cls=unfaked(real.model_cls),
            parallelize_fn=unfaked(real.parallelize_fn),
            pipelining_fn=real.pipelining_fn and unfaked(real.pipelining_fn),
        )

    entry.train_spec_module.get_train_spec = spec
    entry.CheckpointManager = Nothing
    importlib.import_module(config.experimental.custom_import).Loader = Reader


def balanced(dispatcher):
    """Row counts of the expert all-to-all are data: take them as equal."""
    dispatch = dispatcher.dispatch

    def remember(self, x, scores, ids, *args, **kwargs):
        self.rows = ids.numel()
        return dispatch(self, x, scores, ids, *args, **kwargs)

    def counts(self, local, remote, ranks):
        parts = [self.rows // ranks + (i < self.rows % ranks) for i in range(ranks)]
        return remote.reshape(-1), parts, parts

    dispatcher.dispatch, dispatcher._sync_token_count_exchange = remember, counts


def prepare_python(config):
    import torchtitan.distributed.activation_checkpoint as recompute
    import torchtitan.models.common.attention as kernels
    import torchtitan.models.common.decoder as decoder
    import torch.distributed.tensor.experimental._context_parallel._attention as parts
    import torchtitan.components.validate as validate
    import torchtitan.models.common.token_dispatcher as dispatchers
    from torchtitan.protocols.model import BaseModel

    def flex(q, k, v, **kwargs):
        out, lse = attention(q, k, v)
        return out, cpu.Auxiliary(lse)

    def mask(mask_mod, batch, heads, rows, columns, **kwargs):
        q, n = -(-rows // 128), -(-columns // 128)

        def zeros(*shape):
            return torch.zeros(batch, 1, *shape, dtype=torch.int32)

        return kernels.BlockMask.from_kv_blocks(
            zeros(q), zeros(q, n), zeros(q), zeros(q, n), BLOCK_SIZE=128, mask_mod=mask_mod, seq_lengths=(rows, columns)
        )

    def bounds(positions, **kwargs):  # where documents begin is data: with every sequence
        rows, length = positions.shape
        starts = torch.zeros(rows + 1, dtype=torch.int32)
        return kernels.VarlenMetadata(starts, starts, length, length)

    def again(value):  # what has the same sizes, fake under the mode of fake tensors and real outside of it
        if isinstance(value, torch.Tensor):
            return torch.zeros(value.shape, dtype=value.dtype)
        if isinstance(value, dict):
            return {name: again(part) for name, part in value.items()}
        if isinstance(value, kernels.BlockMask):
            return mask(value.mask_mod, value.kv_num_blocks.shape[0], 1, *value.seq_lengths)
        return value

    def shard(inputs, labels, extra, mesh, *args, **kwargs):  # the order of the sequence is arithmetic with real indices
        with unset_fake_temporarily():
            parts = real_shard(again(inputs), again(labels), again(extra), mesh, *args, **kwargs)
        return tuple(map(again, parts))

    for candidate in vars(dispatchers).values():
        if isinstance(candidate, type) and "_sync_token_count_exchange" in vars(candidate):
            balanced(candidate)
    real_shard = entry.prepare_context_parallel_input
    entry.prepare_context_parallel_input = validate.prepare_context_parallel_input = shard
    parts._compiled_create_block_mask = mask
    kernels.FlexAttention._compiled_flex_attn = staticmethod(flex)
    kernels._compiled_create_block_mask = mask
    decoder.create_varlen_metadata_for_document = bounds
    kernels.BlockMask.__str__ = kernels.BlockMask.__repr__ = lambda self: "BlockMask"
    saved = recompute._get_default_save_ops
    recompute._get_default_save_ops = lambda: saved() | {torch.ops.ndc.attention.default}
    BaseModel.init_weights = lambda self, **kwargs: None
    spec = config.model_spec
    spec.parallelize_fn, spec.pipelining_fn = unfaked(spec.parallelize_fn), unfaked(spec.pipelining_fn)
    type(spec.model).build = unfaked(type(spec.model).build)
    known_shapes(config, spec.model.dim, spec.model.vocab_size, type(config.loss).__qualname__.startswith("Chunked"))
    for part in (config.tokenizer, config.dataloader, config.checkpoint):
        type(part).build = lambda self, **kwargs: Nothing()
    type(config.validator.dataloader).build = lambda self, *, seq_len=0, local_batch_size=0, **kwargs: Reader(
        {"sequence_length": seq_len}, batch_size=local_batch_size, with_positions=True)
    config.training.disable_cuda_graphs = True
    config.debug.enable_structured_logging = False


def batch(rows, length, positions=True):
    tokens = torch.zeros(rows, length, dtype=torch.int64)
    extra = {"positions": torch.zeros_like(tokens)} if positions else {}
    return {"input": tokens, **extra}, torch.zeros_like(tokens)


def step(trainer, config):
    """One forward and backward call with clipping and an optimizer step."""
    rows, length = config.training.local_batch_size, config.training.seq_len
    dims = trainer.parallel_dims
    if dims.pp_enabled and not TOML:  # 0.3.0 hands micro-batches to the schedule one by one
        size = config.parallelism.pipeline_parallel_microbatch_size
        inputs, labels = map(list, zip(*[batch(size, length) for _ in range(rows // size)]))
    else:
        inputs, labels = batch(rows, length, not TOML or trainer.dataloader.with_positions)
    trainer.optimizers.zero_grad()
    tokens = torch.ones((), dtype=torch.int64)
    trainer.forward_backward_step(input_dict=inputs, labels=labels, global_valid_tokens=tokens)
    distributed.clip_grad_norm_(
        [p for part in trainer.model_parts for p in part.parameters()],
        config.training.max_norm,
        foreach=True,
        pp_mesh=dims.get_optional_mesh("pp"),
        ep_enabled=dims.ep_enabled,
    )
    trainer.optimizers.step()


def validate(trainer):
    """One step of validation; what would be read of a tensor is 1."""
    import torchtitan.components.validate as validation

    trainer.metrics_processor.log_validation = lambda **kwargs: None
    validation.dist_utils.dist_sum = lambda *args, **kwargs: 1.0
    with mock.patch.object(torch.Tensor, "item", lambda self: 1):
        trainer.validator.validate(trainer.model_parts, 1)


def low_precision():
    """With torchao its layers are built whatever the machine; without it they stay as they are."""
    here = importlib.util.find_spec("torchao")
    for name in ("float8", "mx", "nvfp4"):
        try:
            module = importlib.import_module(f"torchtitan.components.quantization.{name}")
        except ImportError:  # 0.2.2 has no nvfp4
            continue
        if here:
            module.has_cuda_capability = lambda *capability: True
            continue
        for converter in vars(module).values():
            if isinstance(converter, type) and "convert" in vars(converter):
                converter.__init__ = lambda self, *args, **kwargs: None
                converter.convert = lambda self, model: model
                converter.post_optimizer_hook = lambda self, model: None


def main():
    low_precision()
    cpu.claim_generation()
    os.environ["NGPU"] = os.environ["WORLD_SIZE"]
    config = ConfigManager().parse_args(sys.argv[1:])
    config.comm.mode = "fake_backend"
    if TOML and config.compile.enable:  # what overlaps tensor parallelism is made by the compiler
        config.parallelism.enable_async_tensor_parallel = False
    config.compile.enable = False  # it takes a GPU
    validation = config.validation if TOML else config.validator
    validation.steps = 1
    (prepare_toml if TOML else prepare_python)(config)
    distributed.set_determinism = lambda *args, **kwargs: None
    real_init = entry.Trainer.init_distributed

    def init_distributed(self):
        with unset_fake_temporarily():
            dims = real_init(self)
            dims.build_mesh()
            return dims

    entry.Trainer.init_distributed = init_distributed
    torch.autograd.set_multithreading_enabled(False)
    with FakeTensorMode(allow_non_fake_inputs=True):
        trainer = entry.Trainer(config)
        trainer.device = torch.device("cpu")
        step(trainer, config)
        if validation.enable:
            validate(trainer)
    print(json.dumps({
        "rank": torch.distributed.get_rank(),
        "world": trainer.parallel_dims.world_size,
        "layers": [list(part.layers) for part in trainer.model_parts],
        "parameters": sum(p.numel() for part in trainer.model_parts for p in part.parameters()),
        "accumulation": trainer.gradient_accumulation_steps,
    }))


def judge(folder, world, rank):
    """The first error of main, or nothing; for a process of its own."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    os.environ |= {"WORLD_SIZE": world, "RANK": rank}
    sys.argv[1:] = ["--job.config_file", "train.toml"] if TOML else ["--module", "ndc_job", "--config", "run"]
    sys.stdout = sys.stderr = open(os.devnull, "w")
    try:
        main()
    except BaseException as error:  # a rejection, whatever its kind
        while error.__cause__ is not None:
            error = error.__cause__
        text = f"{type(error).__name__}: {error}"
        return text if len(text) <= 4000 else text[:2000] + " … " + text[-2000:]
    return ""


def many(path):
    children.settle()
    with open(path) as lines:
        for line in lines:
            folder, world, rank = line.split()
            error, complaint = children.run(lambda: judge(folder, world, rank))
            print(json.dumps({"folder": folder, "rank": rank, "error": error or complaint}), flush=True)


if __name__ == "__main__":
    sys.exit(many(sys.argv[2]) if sys.argv[1] == "--many" else main())
