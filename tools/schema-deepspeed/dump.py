#!/usr/bin/env python3
"""Print the option table of ds_config.json of one DeepSpeed version as JSON Lines.

    python dump.py [CHECKOUT] > 0.19.8.jsonl

Without CHECKOUT the installed deepspeed is read; with it, that source tree's.
torch must be importable; no GPU is needed. One object per key, by path:
flags (spellings), dest, type, default, choices.

Strict sections are pydantic models and tell their own fields. Everything else
is read by DeepSpeed key by key: a dict that notes what it is asked for, given
to the real DeepSpeedConfig, tells those.
"""
import enum
import inspect
import json
import os
import sys
import typing

# Attribute of DeepSpeedConfig that holds a strict section -> its top-level key.
STRICT = {
    "zero_config": "zero_optimization", "float16_config": "fp16", "bfloat16_config": "bf16",
    "tensor_parallel_config": "tensor_parallel", "compile_config": "compile",
    "comms_config.comms_logger": "comms_logger", "timers_config": "timers.throughput", "hybrid_engine": "hybrid_engine",
    "monitor_config.tensorboard": "tensorboard", "monitor_config.wandb": "wandb",
    "monitor_config.csv_monitor": "csv_monitor", "monitor_config.comet": "comet",
}
# Sections that DeepSpeed reads key by key, with the keys that make it read on.
LOOSE = {
    "optimizer": {"type": "AdamW", "params": {}}, "scheduler": {"type": "WarmupLR", "params": {}},
    "activation_checkpointing": {}, "flops_profiler": {}, "checkpoint": {"writer": {}}, "data_types": {},
    "pipeline": {}, "aio": {}, "torch_autocast": {"enabled": True}, "expert_parallel": {"enabled": True},
}
# Keys without a default to tell their type by.
TYPES = {
    "train_batch_size": "int", "train_micro_batch_size_per_gpu": "int", "gradient_accumulation_steps": "int",
    "steps_per_print": "int", "communication_data_type": "str", "optimizer.type": "str", "scheduler.type": "str",
    "data_types.grad_accum_dtype": "str", "data_types.param_dtype": "str", "data_types.buffer_dtype": "str",
    "expert_parallel.preset_model": "str", "optimizer.params.lr": "float", "optimizer.params.eps": "float",
    "optimizer.params.weight_decay": "float", "optimizer.params.momentum": "float",
}


class Recorder(dict):
    """A dict that notes every key it is asked for, with the default given."""

    def __init__(self, values, path, seen):
        super().__init__({k: Recorder(v, f"{path}{k}.", seen) if isinstance(v, dict) else v for k, v in values.items()})
        self.path, self.seen = path, seen

    def note(self, key, default=None):
        if isinstance(key, str):
            self.seen.setdefault(self.path + key, default)

    def get(self, key, default=None):
        self.note(key, default)
        return super().get(key, default)

    def __contains__(self, key):
        self.note(key)
        return super().__contains__(key)

    def __getitem__(self, key):
        self.note(key)
        return super().__getitem__(key)

    def __copy__(self):
        return self


def plain(value):
    """A JSON value of a default: enumerations by value, infinities and objects by text."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return str(value)


def kind(annotation):
    """The type name and choices of a pydantic annotation."""
    origin = typing.get_origin(annotation)
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        inner = [a for a in typing.get_args(annotation) if a is not type(None)]
        return kind(inner[0]) if len(inner) == 1 else ("", None)
    if origin is typing.Literal:
        return "str", [str(a) for a in typing.get_args(annotation)]
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        values = [m.value for m in annotation]
        simple = all(isinstance(v, (int, str)) for v in values)
        return ("int" if simple and isinstance(values[0], int) else "str"), [str(v) for v in values] if simple else None
    if annotation in (bool, int, float, str, dict, list):
        return annotation.__name__, None
    if getattr(annotation, "__metadata__", None) or origin is typing.Annotated:
        return kind(typing.get_args(annotation)[0])
    return {"dict": "dict", "list": "list"}.get(getattr(origin, "__name__", ""), ""), None


def record(flags, type_, default, choices=None):
    return {"flags": flags, "dest": "", "type": type_, "default": default, "choices": choices}


def strict(model, path, out):
    """The fields of a pydantic section, nested sections included."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name, None)
        if hasattr(type(value), "model_fields"):
            strict(value, f"{path}.{field.alias or name}", out)
            continue
        inner = next((a for a in typing.get_args(field.annotation) if hasattr(a, "model_fields")), None)
        if inner is not None:
            strict(inner.model_construct(), f"{path}.{name}", out)
        spellings = [s for s in dict.fromkeys((field.alias, name)) if s]
        type_, choices = kind(field.annotation)
        default = None if field.is_required() or field.default_factory else field.default
        entry = record([f"{path}.{s}" for s in spellings], type_, plain(default), choices)
        out[f"{path}.{spellings[0]}"] = entry


def config_class():
    from deepspeed.runtime.config import DeepSpeedConfig
    return DeepSpeedConfig


def accepts(values):
    """Whether the real class takes these values; keys it has dropped raise even when empty."""
    try:
        config_class()({"train_micro_batch_size_per_gpu": 1, **values})
    except Exception:  # noqa: BLE001: whatever it raises, it does not take them
        return False
    return True


def loose(out):
    """The keys that DeepSpeed asks for one by one."""
    seen = {}
    sections = {k: v for k, v in LOOSE.items() if accepts({k: v})}
    # Not strict before 0.17.1, and never enabled together. One key of the loss scaler makes it read the others.
    for precision, more in (("fp16", {"initial_scale_power": 16}), ("bf16", {})):
        values = {"train_micro_batch_size_per_gpu": 1, **sections, precision: {"enabled": True, **more}}
        config = config_class()(Recorder(values, "", seen))
    for path, default in seen.items():
        if "." not in path and not accepts({path: {} if isinstance(default, dict) else default}):
            if path not in ("train_batch_size", "train_micro_batch_size_per_gpu"):
                continue
        default = plain(default)
        type_ = TYPES.get(path) or (type(default).__name__ if default is not None else "")
        # A text beside numbers, such as "auto", does not make the key a text.
        out.setdefault(path, record([path], "" if default == "auto" else type_, default))
    return config


def optimizer_params(out):
    """The parameters of the Adam family, from the signatures that receive them."""
    from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam
    names = {"torch_adam": False}
    for cls in (FusedAdam, DeepSpeedCPUAdam):
        for p in list(inspect.signature(cls.__init__).parameters.values())[2:]:
            names.setdefault(p.name, None if p.default is p.empty else plain(p.default))
    names.update({"momentum": 0, "nesterov": False})  # torch.optim.SGD
    for name, default in names.items():
        path = f"optimizer.params.{name}"
        out[path] = record([path], "bool" if isinstance(default, bool) else TYPES.get(path, ""), default)


def main():
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
        os.chdir(sys.argv[1])
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    table, sys.stdout = sys.stdout, sys.stderr  # imports of the framework print
    out = {}
    config = loose(out)
    for attribute, key in STRICT.items():
        model = config
        for part in attribute.split("."):
            model = getattr(model, part, None)
        if hasattr(type(model), "model_fields"):
            strict(model, key, out)
    optimizer_params(out)
    for path in sorted(out):
        print(json.dumps(out[path]), file=table)


if __name__ == "__main__":
    main()
