"""Runs Megatron-LM's pretrain_gpt.py on a CPU, to show that what starts it on a GPU starts.

    python megatron_on_cpu.py .../pretrain_gpt.py ARGUMENTS
"""
import os
import runpy
import sys

script = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "megatron"), os.path.dirname(script)]
import arithmetic  # noqa: E402
import pretend  # noqa: E402

placement = pretend.gpu((9, 0))
if "FAKE_RANK" not in os.environ:
    arithmetic.gloo()
arithmetic.kernels()
arithmetic.backward(placement)
import megatron.core.datasets.utils  # noqa: E402
import megatron.training.initialize  # noqa: E402
import megatron.training.training  # noqa: E402

megatron.core.datasets.utils.compile_helpers = lambda: None
for module in (megatron.training.training, megatron.training.initialize):
    if hasattr(module, "set_jit_fusion_options"):
        module.set_jit_fusion_options = lambda *_, **__: None
pretend.local_layers()
arithmetic.attention()
sys.argv = sys.argv[1:]
runpy.run_path(script, run_name="__main__")
