"""Judges one case in a child process, or waits for its ranks, all forked after the imports.

A framework keeps state and may hang, crash or grow, so that every case has process groups and a time limit of its own,
and a memory limit where it is judged: what exceeds them is an answer about this case, and the next one goes on.
"""
import atexit
import gc
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time

SECONDS = 240  # of computing; a busy machine takes longer for the same
PATIENCE = 10  # times as long for one that only waits
MEMORY = 4 << 30  # beyond what the parent holds
TIMEOUT = 124  # the exit code of ranks whose time ran out
LAST_WORDS = 5  # seconds in which ranks may say what they met when another failed


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
        end(child)
        answer.seek(0)
        text = answer.read().decode()
    if code == 0:
        return text, ""
    if code == -signal.SIGXCPU:
        return text, f"no answer within {seconds} s of computing"
    if code == -signal.SIGALRM:
        return text, f"no answer within {PATIENCE * seconds} s"
    return text, f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def leave():
    """Ends a rank whose training is over, with what other code wants done at the end. The interpreter's own end could abort
    it where gloo stands in for NCCL: a thread of gloo's that lets go of a tensor then finds no interpreter."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def end(child):
    """Kills the process group of a child: itself, and what it left behind."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait(ranks, seconds):
    """Waits for children with process groups of their own. One that fails, or time that runs out, ends the others, which
    would wait for the dead; nothing that they started outlives them. Returns the child that failed first, or None, and
    its exit code. A child that was killed comes before those that lost a peer by it, and may be seen to end before it."""
    left, limit, failed, code = list(ranks), time.time() + seconds, None, 0
    while left and time.time() < limit:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child not in left:
            time.sleep(0.02)
            continue
        left.remove(child)
        end(child)
        ended = os.waitstatus_to_exitcode(status)
        if ended and not code:
            limit = min(limit, time.time() + LAST_WORDS)
        if ended and (not code or ended == -signal.SIGKILL):
            failed, code = child, ended
    if left and not code:
        failed, code = left[0], TIMEOUT
    for child in left:
        end(child)
        os.waitpid(child, 0)
    return failed, code


held = None  # the claim to the last port


def free_port():
    """A port for the next case, that nobody listens on and no other suite takes meanwhile: outside of those that the kernel
    hands out, and claimed by the name of a socket, which ends with this process or its next case."""
    global held
    for port in random.SystemRandom().sample(range(20000, 30000), 1000):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0ndc-port-{port}")
            with socket.socket() as listener:
                listener.bind(("", port))
        except OSError:
            claim.close()
            continue
        held = claim
        return port
    raise OSError("no port is free")
