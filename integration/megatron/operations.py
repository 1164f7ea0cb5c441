"""Ends a process group, as SIGKILL does, before one of its system calls that change files of a folder.

Counted are, over all processes of the group: files that are opened to be written, writes as they leave the buffer, fsync, close,
rename, mkdir, unlink and rmdir.
"""
import builtins
import io
import multiprocessing
import os
import signal
import sys

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def kill_before(number, folder):
    """Counts from here on. torch must be imported, and not have been asked to save."""
    import torch

    count, fsync, save, read = multiprocessing.Value("q", 0), os.fsync, torch.save, builtins.open

    def operation():
        with count.get_lock():
            if count.value == number:
                os.killpg(0, signal.SIGKILL)
            count.value += 1

    def inside(path):
        return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(folder)

    def hook(event, args):
        if event in CHANGES and inside(args[0]) or event == "open" and inside(args[0]) and args[2] & WRITES:
            operation()

    class File(io.FileIO):
        def write(self, data):
            operation()
            return super().write(data)

        def close(self):
            if not self.closed:
                operation()
            super().close()

    def opened(path, mode="r", *args, **kwargs):
        if not inside(path) or mode not in ("w", "wb"):
            return read(path, mode, *args, **kwargs)
        binary = io.BufferedWriter(File(path, "w"))
        return binary if mode == "wb" else io.TextIOWrapper(binary)

    def synced(descriptor):
        operation()
        fsync(descriptor)

    def saved(thing, target, *args, **kwargs):
        """To a path it writes in C++, unseen."""
        if not inside(target):
            return save(thing, target, *args, **kwargs)
        with opened(target, "wb") as file:
            return save(thing, file, *args, **kwargs)

    os.fsync, torch.save = synced, saved
    builtins.open = io.open = opened
    sys.addaudithook(hook)
