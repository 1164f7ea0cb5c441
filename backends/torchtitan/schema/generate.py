"""Writes the option table of the installed TorchTitan release as JSON lines on standard output.

    python generate.py > 0.3.0.jsonl        # with the Python that has torchtitan 0.3.0

One record per option and per component: its path, type, default, and choices where the type is a closed set. 0.2.2 has
one tree of dataclasses, JobConfig; in 0.3.0 the tree starts at Trainer.Config and the components are
the ones that ndc emits.
"""

import dataclasses
import json
import types
import typing

# Names the framework checks by itself, outside its types (optimizer.py, pipeline_parallel.py and
# context_parallel.py of each release): path -> values.
CLOSED = {
    "parallelism.context_parallel_load_balancer": ["headtail", "ptrr"],
    "compile.components": ["model", "loss"],
}


def described(annotation):
    """Returns (type name, choices, nargs) of an annotation."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        kinds = [a for a in arguments if a is not type(None)]
        names = {k for k in kinds if isinstance(k, type)}
        return described(float if names == {int, float} else kinds[0])
    if origin is typing.Literal:
        return "str", [str(a) for a in arguments], None
    if origin is list:
        inner = typing.get_args(arguments[0])
        return ("list" if inner else described(arguments[0])[0]), None, "*"
    if origin is not None:
        return "object", None, "*"
    return getattr(annotation, "__name__", str(annotation)), None, None


def default_of(field):
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None


def options(config, prefix, components):
    """Yields a record for every leaf of a dataclass."""
    hints = typing.get_type_hints(config, include_extras=True)
    for field in dataclasses.fields(config):
        path, annotation = prefix + field.name, hints[field.name]
        nested = components.get(path, annotation)
        if dataclasses.is_dataclass(nested):
            yield {"flags": [path], "dest": path, "type": "object", "nargs": "*", "default": None, "choices": None}
            yield from options(nested, path + ".", components)
            continue
        kind, choices, count = described(annotation)
        default = default_of(field)
        try:
            json.dumps(default)
        except TypeError:
            default = None
        yield {
            "flags": [path],
            "dest": path,
            "type": kind,
            "nargs": count,
            "default": default,
            "choices": CLOSED.get(path, choices),
        }


def tree():
    """Returns (root dataclass, component classes by path) of the installed release."""
    try:
        from torchtitan.config.job_config import JobConfig

        return JobConfig, {}
    except ImportError:
        from torchtitan.components.checkpointer import CheckpointManager
        from torchtitan.components.loss import ChunkedLossWrapper
        from torchtitan.trainer import Trainer

        return Trainer.Config, {"checkpoint": CheckpointManager.Config, "loss": ChunkedLossWrapper.Config}


if __name__ == "__main__":
    root, components = tree()
    for record in options(root, "", components):
        print(json.dumps(record))
