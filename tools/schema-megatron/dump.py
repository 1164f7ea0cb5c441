#!/usr/bin/env python3
"""Print the option table of a Megatron-LM version as JSON Lines.

    python dump.py [CHECKOUT] > backends/megatron/schema/core_vX.Y.Z.jsonl

Without CHECKOUT the installed megatron-core package is read (it carries
megatron.training from 0.17 on); with it, that checkout's parser. torch must be
importable; no GPU is needed. One object per option, in the parser's order:
flags, dest, type, action, nargs, default, choices. Help texts are left out.
"""
import argparse
import json
import sys

PLAIN = (int, float, str, bool, list, type(None))


def record(action):
    name = type(action).__name__.strip("_")
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "type": getattr(action.type, "__name__", str(action.type)) if action.type else None,
        "action": name.removesuffix("Action"),
        "nargs": action.nargs,
        "default": action.default if isinstance(action.default, PLAIN) else str(action.default),
        "choices": [str(choice) for choice in action.choices] if action.choices else None,
    }


def main():
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
    table, sys.stdout = sys.stdout, sys.stderr  # imports of the framework print
    from megatron.training.arguments import add_megatron_arguments

    parser = add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
    for group in parser._action_groups:
        for action in group._group_actions:
            if not isinstance(action, argparse._HelpAction):
                table.write(json.dumps(record(action), default=str) + "\n")


if __name__ == "__main__":
    main()
