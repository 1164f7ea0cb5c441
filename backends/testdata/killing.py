"""Kills a process before one of its operations on files, for the tests of what backends emit to save checkpoints."""
import itertools
import os
import sys

KILLED = 137
NEVER = 10**6  # more operations than any run has


def killed(at, work):
    """Run work in a process that dies before its operation number `at` on files; whether it died."""
    child = os.fork()
    if child == 0:
        count = itertools.count()

        def die(event, _):
            if event.startswith(("open", "os.", "shutil.")) and next(count) == at:
                os._exit(KILLED)

        try:
            sys.addaudithook(die)
            work()
            os._exit(0)
        except BaseException as e:
            print(f"killed at operation {at}: {e!r}", file=sys.stderr)
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED), f"exit code {code} at operation {at}"
    return code == KILLED
