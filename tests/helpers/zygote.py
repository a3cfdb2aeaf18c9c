"""A process that has imported the suite and forks a child per command: python -m tests.helpers.zygote SOCKET

It listens on the socket with this number until its standard input ends; whoever connects is attended by a child.
One JSON line in, {"script", "words", "cwd", "kill_after", "environment"}; one out, {"code", "out", "err"}. It
has no threads, so its children are as good as new. With ``kill_after``, the command's process group is killed
that many seconds after its birth; an ``environment`` takes the place of this one.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback

import sklearn.datasets  # noqa: F401  a second to import, which no child need spend

import bench.contract
import bench.fetch
import bench.methods
import bench.partition
import bench.run
import bench.status
import bench.sync
import bench.topology
from bench.base.registry import discover
from bench.config.plan import of_command
from bench.engine.fingerprint import fingerprint

COMMANDS = (
    *(bench.contract, bench.fetch, bench.methods, bench.partition),
    *(bench.run, bench.status, bench.sync, bench.topology),
)
MAIN = {f"{module.__name__.replace('.', '/')}.py": module.main for module in COMMANDS}
TIMEOUT_S = 100


def child(order: dict, out: int, err: int) -> None:
    code = 99
    try:
        os.setsid()
        os.chdir(order["cwd"])
        if order["environment"] is not None:
            os.environ.clear()
            os.environ.update(order["environment"])
            tempfile.tempdir = None  # that of the environment, not the one that was asked for before
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = [order["script"], *order["words"]]
        code = MAIN[order["script"]]()
    except SystemExit as end:  # argparse, after its help or complaint
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve(order: dict) -> dict:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            child(order, out.fileno(), err.fileno())
        deadline = time.monotonic() + (order["kill_after"] or TIMEOUT_S)
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            time.sleep(0.01)
        out.seek(0)
        err.seek(0)
        return {"code": os.waitstatus_to_exitcode(ended[1]), "out": out.read(), "err": err.read()}


def attend(client: socket.socket) -> None:
    """All commands of one process of the tests, one after the other."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client.makefile("r") as orders, client.makefile("w") as answers:
        for line in orders:
            print(json.dumps(serve(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    discover()
    fingerprint(*of_command([]))  # what is looked up once, no child need look up
    gc.freeze()  # or each child's first collection would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that attend
    with socket.socket(fileno=int(sys.argv[1])) as server:
        server.set_inheritable(False)  # by what a command starts, and may leave behind
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                attend(client)
                os._exit(0)
            client.close()
