"""Judges one case in a child process, forked after the imports.

A framework keeps state and may hang, crash or grow, so that every case has a process group, a time limit and a
memory limit of its own: what exceeds them is an answer about this case, and the next one goes on.
"""
import gc
import os
import resource
import signal
import tempfile

SECONDS = 240  # of computing; a busy machine takes longer for the same
PATIENCE = 10  # times as long for one that only waits
MEMORY = 4 << 30  # beyond what the parent holds


def settle():
    """Call once after the imports: the collector then leaves alone what all children share."""
    gc.collect()
    gc.freeze()


def limit(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    with open("/proc/self/statm", encoding="ascii") as f:
        held = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(PATIENCE * seconds)


def run(work, seconds=SECONDS):
    """The text that work() returns in a child, and how the child ended where it did not return: "" if it did."""
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                limit(seconds)
                os.write(answer.fileno(), work().encode())
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.killpg(child, signal.SIGKILL)  # processes that it left behind
        except ProcessLookupError:
            pass
        answer.seek(0)
        text = answer.read().decode()
    if code == 0:
        return text, ""
    if code == -signal.SIGXCPU:
        return text, f"no answer within {seconds} s of computing"
    if code == -signal.SIGALRM:
        return text, f"no answer within {PATIENCE * seconds} s"
    return text, f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
