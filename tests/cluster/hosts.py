"""Three simulated machines: namespaces for network, names, processes, shared memory and mounts, and an sshd in each.

They share only the file system, as machines of a cluster do. A machine and the network switch are processes; the real
machine is not changed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

NAMES = ("h1", "h2", "h3")
NET = "10.77.0.0"
NEEDED = ("ip", "unshare", "nsenter", "setpriv", "sshd", "ssh", "ssh-keygen")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
SPACES = ("--net", "--uts", "--pid", "--ipc", "--mount")
RELAY = Path(__file__).with_name("relay.py")
MORTAL = ("setpriv", "--pdeathsig", "KILL")
"""Prefix of commands that must end with these tests."""
SSHD = """
HostKey {place}/key
AuthorizedKeysFile {place}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
Subsystem sftp internal-sftp
"""
SSH = """
Host *
IdentityFile {place}/key
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
ConnectTimeout 3
LogLevel ERROR
"""
TRIAL = "mount -t tmpfs none /run && ip link add veth0 type veth peer name veth1"
UP = """
hostname {name}
mount -t tmpfs none /dev/shm
mount -t tmpfs none /run
mkdir /run/sshd
mount --bind {place}/{name}.hosts /etc/hosts
mount --bind {place}/ssh_config /etc/ssh/ssh_config
ip link set lo up
touch {place}/{name}.up
while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip address add {address}/24 dev eth0
ip link set eth0 up
ip route add default dev eth0
exec {sshd} -D -e -f {place}/sshd_config
"""


def lacking() -> str | None:
    """Return why this system cannot simulate machines; None if it can."""
    missing = [name for name in NEEDED if shutil.which(name, path=PATH) is None]
    if missing:
        return f"no {', '.join(missing)} on this machine"
    if os.geteuid() != 0:
        return "namespaces are made as root"
    try:
        words = ["unshare", *SPACES, "--fork", "--mount-proc", "sh", "-c", TRIAL]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, env={**os.environ, "PATH": PATH})
    except subprocess.TimeoutExpired:
        return "namespaces cannot be made here"
    return None if done.returncode == 0 else f"namespaces cannot be made here: {done.stderr.strip()}"


class Host(NamedTuple):
    """A machine: the process that holds its namespaces, and the outer process number of its first process."""

    name: str
    holder: subprocess.Popen[bytes]
    first: int


class Hosts:
    """The machines and their switch. A machine resolves its own name to 127.0.1.1, as Debian does."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._switch = subprocess.Popen([*MORTAL, "unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        self._hosts: dict[str, Host] = {}
        self._started: list[subprocess.Popen[str]] = []
        self._log = (place / "hosts.log").open("wb")

    def up(self) -> None:
        _until(lambda: _net(self._switch.pid) != _net("self"), "a switch")
        self._at_the_switch("ip link add bridge type bridge")
        self._at_the_switch("ip link set bridge up")
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self._place}/key"]
        subprocess.run(key, check=True, timeout=20)
        (self._place / "sshd_config").write_text(SSHD.format(place=self._place))
        (self._place / "ssh_config").write_text(SSH.format(place=self._place))
        for name in NAMES:
            self.start(name)
        for name in NAMES:
            self._until_reached(name)

    def start(self, name: str) -> None:
        """Switch a machine on."""
        others = [f"{address(other)} {other}" for other in NAMES if other != name]
        (self._place / f"{name}.hosts").write_text("\n".join(["127.0.0.1 localhost", f"127.0.1.1 {name}", *others, ""]))
        ready = self._place / f"{name}.up"
        ready.unlink(missing_ok=True)
        sshd = shutil.which("sshd", path=PATH)
        script = UP.format(name=name, place=self._place, address=address(name), sshd=sshd)
        holder = subprocess.Popen(
            [*MORTAL, "unshare", *SPACES, "--fork", "--mount-proc", "--kill-child", "sh", "-ec", script],
            env={**os.environ, "PATH": PATH},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        _until(lambda: ready.exists() or holder.poll() is not None, name)
        assert holder.poll() is None, self.log()
        first = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())
        self._hosts[name] = Host(name, holder, first)
        self._at_the_switch(f"ip link add {name} type veth peer name eth0 address {_card(name)} netns {first}")
        self._at_the_switch(f"ip link set {name} master bridge up")

    def kill(self, name: str) -> None:
        """End a machine with all its processes, which closes its connections."""
        host = self._hosts.pop(name)
        host.holder.kill()
        host.holder.wait()

    def link(self, name: str, state: str) -> None:
        """Take the cable of a machine out of the switch, or put it back: up or down."""
        self._at_the_switch(f"ip link set {name} {state}")

    def start_in(self, name: str, words: Sequence[str], cwd: Path, **environment: str) -> subprocess.Popen[str]:
        """Start a process on a machine, with only this environment."""
        process = subprocess.Popen(
            self._entered(name, words, cwd),
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self._place), "LANG": "C.UTF-8", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    @contextmanager
    def relayed(self, setting: Path) -> Iterator[None]:
        """Replace the switch by a relay with the latency (ms) and rate (Mbit/s) that a file holds."""
        words = ["nsenter", "-t", str(self._switch.pid), "--net", sys.executable, str(RELAY), str(setting), *NAMES]
        for name in NAMES:
            self._route(name, "initcwnd", "200", "initrwnd", "200")
            self._at_the_switch(f"ip link set {name} nomaster")
        relay = subprocess.Popen([*MORTAL, *words], stdin=subprocess.DEVNULL, stderr=self._log)
        try:
            yield
            assert relay.poll() is None, self.log()
        finally:
            relay.kill()
            relay.wait()
            for name in NAMES:
                self._at_the_switch(f"ip link set {name} master bridge")
                self._route(name)

    def _route(self, name: str, *window: str) -> None:
        """Set the window with which TCP connections of a machine begin, in segments; by default it is small."""
        self.run_in(name, "ip", "route", "replace", f"{NET}/24", "dev", "eth0", "src", address(name), *window)

    @contextmanager
    def far(self, name: str, folder: Path, *options: str) -> Iterator[Path]:
        """Mount a folder of h1 on another machine by sshfs, by default with the default options."""
        place = Path("/run/far")
        self.run_in(name, "mkdir", "-p", str(place))
        process = self.start_in(name, ["sshfs", "-f", f"h1:{folder}", str(place), *options], Path("/"))
        _until(lambda: f" {place} fuse.sshfs" in self.run_in(name, "cat", "/proc/mounts"), "sshfs")
        try:
            self.run_in(name, "ls", str(place))
            yield place
        finally:
            self.run_in(name, "umount", "-l", str(place))
            process.wait(timeout=20)

    def tidy(self) -> None:
        """End all processes that were started on the machines."""
        for process in self._started:
            if process.poll() is None:
                for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                    os.kill(int(child), signal.SIGKILL)  # the child of nsenter, by its outer number
            process.communicate(timeout=20)
        self._started.clear()

    def run_in(self, name: str, *words: str, cwd: Path = Path("/"), at_most_s: float = 20, **environment: str) -> str:
        """Run a short command on a machine, which must succeed, and return its output."""
        process = self.start_in(name, words, cwd, **environment)
        out, err = process.communicate(timeout=at_most_s)
        assert process.returncode == 0, f"{words} on {name}: {out}{err}"
        return out

    def log(self) -> str:
        return (self._place / "hosts.log").read_text(errors="replace")

    def close(self) -> None:
        for holder in (*(host.holder for host in self._hosts.values()), self._switch):
            holder.kill()
            holder.wait()
        self._log.close()
        self.tidy()

    def _entered(self, name: str, words: Sequence[str], cwd: Path) -> list[str]:
        return ["nsenter", "-t", str(self._hosts[name].first), *SPACES, f"--wdns={cwd}", *words]

    def _at_the_switch(self, command: str) -> None:
        words = ["nsenter", "-t", str(self._switch.pid), "--net", *command.split()]
        subprocess.run(words, check=True, timeout=20, env={**os.environ, "PATH": PATH})

    def _until_reached(self, name: str) -> None:
        other = next(one for one in NAMES if one != name)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(AssertionError):
                self.run_in(other, "ssh", name, "true", at_most_s=20)
                return
            time.sleep(0.2)
        raise RuntimeError(f"{other} does not reach {name}:\n{self.log()}")


def address(name: str) -> str:
    return f"{NET.removesuffix('0')}{NAMES.index(name) + 1}"


def _card(name: str) -> str:
    """Return the MAC address of a machine, which it keeps after a restart."""
    return f"02:00:00:00:00:0{NAMES.index(name) + 1}"


@contextmanager
def hosts(place: Path) -> Iterator[Hosts]:
    made = Hosts(place)
    try:
        made.up()
        yield made
    finally:
        made.close()


def _net(pid: int | str) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


def _until(true, what: str) -> None:
    deadline = time.monotonic() + 20
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} does not come up")
        time.sleep(0.02)
