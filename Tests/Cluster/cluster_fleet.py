"""The suite on a cluster: two gateways, and two processes of each service."""

import itertools
import pathlib

import psycopg
from fleet import ORDER, Fleet, eventually, is_ready, run
from postgresql_server import POSTGRESQL

# Below the range from which the system takes the ports of connections.
PORT_BASE, COPY_OFFSET = 21_400, 40
# The processes of each part; one if not given.
COPIES = dict.fromkeys(("gateway", "notifications", "activities", "sync", "attendance"), 2)


class ClusterFleet(Fleet):
    """The processes of `campanile up --store`, and copies of some of them with data folders of their own."""

    def __init__(self, folder, cluster, users=(), copies=None):
        self.cluster = cluster
        super().__init__(folder, "--store", cluster.address, "--port-base", f"{PORT_BASE}", users=users)
        self.order = list(ORDER)
        self.parts = {name: name for name in ORDER}
        for part, count in (COPIES if copies is None else copies).items():
            for number in range(2, count + 1):
                self.add_copy(part, number)
        self.change = lambda name, command: self.with_backends(command) if self.parts[name] == "gateway" else self.with_links(command)
        self.next_gateway = itertools.cycle(self.named("gateway"))
        self.url = {}

    def named(self, part):
        """The names of all processes of a part."""
        return [name for name, own in self.parts.items() if own == part]

    def add_copy(self, part, number):
        name = f"{part}-{number}"
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        command, offset = list(self.commands[part]), COPY_OFFSET * (number - 1)
        for flag in ("--port", "--http-port", "--admin-port"):
            if flag in command:
                place = command.index(flag) + 1
                command[place] = str(int(command[place]) + offset)
        command[command.index("--data-dir") + 1] = str(folder)
        command[command.index("--ready-file") + 1] = str(self.ready_file(name))
        self.commands[name], self.parts[name] = command, part
        # After the processes that its kind needs.
        self.order.insert(self.order.index(part) + 1, name)

    def port(self, name):
        command = self.commands[name]
        return int(command[command.index("--port") + 1])

    def with_backends(self, command):
        """Lets a gateway know all processes of each service."""
        place = command.index("--backends") + 1
        listed = [one.split("=") for one in command[place].split(",")]
        every = [(part, f"127.0.0.1:{self.port(name)}") for part, _ in listed for name in self.named(part)]
        # The simulator's service is on a port of its own.
        every += [(part, address) for part, address in listed if not self.named(part)]
        command[place] = ",".join(f"{part}={address}" for part, address in every)
        return command

    def with_links(self, command):
        """Lets a service know all processes of the services that it calls."""
        first = {str(self.port(part)): part for part in ORDER}
        for place, argument in enumerate(command):
            host, _, port = argument.rpartition(":")
            if command[place - 1].endswith("-address") and port in first:
                command[place] = ",".join(f"{host}:{self.port(name)}" for name in self.named(first[port]))
        return command

    def is_damaged(self, store):
        """Checks the tables and indexes of a database with PostgreSQL's own program."""
        node = self.cluster.primary()
        options = ["-h", node.host.address, "-p", node.port, "-U", "postgres", "--install-missing", f"campanile_{store}"]
        return run(POSTGRESQL / "pg_amcheck", *options, check=False).returncode != 0

    def peer(self, user=None, timeout_s=60, port=None, host="127.0.0.1", **members):
        """A connection to one of the gateways, by turns."""
        return super().peer(user, timeout_s, port or self.gateway_port(), host, **members)

    def gateway_port(self):
        """The port of the next gateway that runs."""
        for _ in self.named("gateway"):
            name = next(self.next_gateway)
            if (process := self.processes.get(name)) and process.poll() is None:
                break
        return self.port(name)

    def unready(self, timeout_s=5):
        def port(command):
            return command[command.index("--http-port") + 1]

        return [name for name in self.order if name != "apns-simulator" and not is_ready(port(self.commands[name]), timeout_s)]

    def serves(self, timeout_s=5):
        return not self.unready(timeout_s)

    def wait_serving(self):
        eventually(self.serves, "all processes serve")

    def rows(self, store, statement, *arguments):
        with psycopg.connect(self.cluster_address(store), autocommit=True) as database:
            return [tuple(row) for row in database.execute(statement.replace("?", "%s"), arguments or None).fetchall()]

    def cluster_address(self, store):
        return f"postgresql://postgres@{self.cluster.hosts}/campanile_{store}?target_session_attrs=read-write&connect_timeout=3"

    def stop(self):
        super().stop()
        self.log.close()


def memory_folder(path, size):
    """Mounts a file system of a limited size, in this namespace only."""
    pathlib.Path(path).mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path)
    return path
