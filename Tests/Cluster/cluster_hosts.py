"""The network of the cluster's nodes: a namespace for each one, or loopback where namespaces are not permitted."""

import subprocess

from fleet import eventually, run


class Host:
    """One machine: its address, and the command that enters it."""

    def __init__(self, address, enter=()):
        self.address, self.enter = address, list(enter)


class Loopback:
    """All nodes on 127.0.0.1. Nothing can be cut."""

    can_cut = False

    def __init__(self, count):
        self.hosts = [Host("127.0.0.1") for _ in range(count)]

    def heal(self):
        """There is nothing to heal."""

    def end(self):
        """There is nothing to end."""


class Namespaces:
    """A network namespace for each node, and cables to this one, which routes between them and runs the clients."""

    can_cut = True

    def __init__(self, count):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(count)]
        self.hosts = []
        mine = run("readlink", "/proc/self/ns/net").stdout
        run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        for number, holder in enumerate(self.holders):
            eventually(lambda pid=holder.pid: run("readlink", f"/proc/{pid}/ns/net").stdout != mine, "the namespace is separate")
            enter = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
            here, there, subnet = f"cable{number}", f"node{number}", f"10.78.{number}"
            run("ip", "link", "add", "name", here, "type", "veth", "peer", "name", there, "netns", str(holder.pid))
            for prefix, device, address in (([], here, f"{subnet}.1"), (enter, there, f"{subnet}.2")):
                run(*prefix, "ip", "address", "add", f"{address}/24", "dev", device)
                run(*prefix, "ip", "link", "set", device, "up")
            run(*enter, "ip", "link", "set", "lo", "up")
            run(*enter, "ip", "route", "add", "default", "via", f"{subnet}.1")
            self.hosts.append(Host(f"{subnet}.2", enter))

    def cut(self, number, sent=True, received=True, others=None):
        """Drops what a node sends, what is sent to it, or both; between it and one other node if `others` names it."""
        device = f"cable{number}"
        for is_cut, flag, other, chains in ((sent, "-i", "-o", ("FORWARD", "INPUT")), (received, "-o", "-i", ("FORWARD", "OUTPUT"))):
            for chain in chains if is_cut else ():
                if others is None:
                    run("iptables", "-A", chain, flag, device, "-j", "DROP")
                elif chain == "FORWARD":
                    run("iptables", "-A", chain, flag, device, other, f"cable{others}", "-j", "DROP")

    def heal(self):
        run("iptables", "-F")

    def end(self):
        for holder in self.holders:
            holder.kill()
        for holder in self.holders:
            holder.wait()
