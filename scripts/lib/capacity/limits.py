"""Limits of one machine on SQLite and of one PostgreSQL cluster: what is used per user, what is available, and for how many users."""

import math
from typing import NamedTuple

from . import costs, load


class Limit(NamedTuple):
    """A resource that a deployment has once. Its use is `fixed` plus `per_user` for each user."""

    resource: str
    unit: str
    fixed: float
    per_user: float
    available: float

    def used(self, users):
        return self.fixed + self.per_user * users

    def fits(self, users):
        return self.used(users) <= self.available

    @property
    def users_max(self):
        """The highest number of users that fits, or infinity."""
        if self.fixed > self.available:
            return 0
        return math.floor((self.available - self.fixed) / self.per_user) if self.per_user else math.inf


def watch_bytes(inputs):
    """Returns the memory for a connected user's watches: at the gateways, and at all services together."""
    return len(load.WATCHED) * costs.GATEWAY_STREAM.value, len(load.WATCHED) * costs.SERVICE_WATCH.value


def connections_per_gateway(inputs):
    """Returns the connections that a gateway can have. Each has one stream to each watched service."""
    return min(inputs.connections_per_gateway, int(costs.STREAMS_PER_LOOP.value) * inputs.cores)


def shared(inputs, engine):
    """Returns the limits that both deployments have: one writer per service, and one process that sends pushes."""
    rates = load.peak_rates(inputs, 1)
    word = "writer" if engine == load.SQLITE else "lane"
    writers = [Limit(f"{word} of {name}", "share of its time", 0, busy, inputs.utilization)
               for name, busy in load.writer_time(inputs, rates, engine).items()]
    sending = Limit("sender of pushes (one process)", "pushes/s", 0, rates.pushes, costs.PUSHES.value * inputs.speed * inputs.utilization)
    in_flight = costs.APNS_CONNECTIONS.value * costs.APNS_STREAMS.value
    apns = Limit("connections to APNs (8 per route)", "pushes in flight", 0, rates.pushes * inputs.apns_latency_ms / 1000,
                 in_flight * inputs.utilization)
    return [*writers, sending, apns]


def sqlite(inputs):
    """Returns the limits of one machine with a process of the gateway and of each service."""
    rates = load.peak_rates(inputs, 1)
    busy = load.cpu(inputs, rates)
    cores = sum(cores for name, cores in busy.items() if name != load.POSTGRESQL)
    processes = 1 + len(load.SERVICES)
    traffic = load.traffic(inputs, rates)
    return [
        *shared(inputs, load.SQLITE),
        Limit("cores", "cores", 0, cores, inputs.cores * inputs.utilization),
        Limit("memory", "GB", processes * costs.PROCESS_MEMORY.value / 1e9, inputs.connected * sum(watch_bytes(inputs)) / 1e9,
              inputs.memory_gb * inputs.utilization),
        Limit("data", "GB", 0, load.stored_bytes(inputs, 1) / 1e9, inputs.sqlite_gb),
        Limit("network in", "Mbit/s", 0, traffic["in"] * 8 / 1e6, inputs.network_mbit * inputs.utilization),
        Limit("network out", "Mbit/s", 0, traffic["out"] * 8 / 1e6, inputs.network_mbit * inputs.utilization),
        Limit("connections of the gateway", "connections", 0, inputs.connected, connections_per_gateway(inputs)),
        Limit("watches of a service", "watches", 0, inputs.connected, inputs.watches_per_process),
    ]


def cluster(inputs):
    """Returns the limits of one PostgreSQL cluster. Gateways and processes of services are not among them: more can be added."""
    rates = load.peak_rates(inputs, 1)
    return [
        *shared(inputs, load.POSTGRESQL),
        Limit("cores of the primary", "cores", 0, load.cpu(inputs, rates)[load.POSTGRESQL], inputs.cores * inputs.utilization),
        Limit("disk of a node", "GB", 0, load.stored_bytes(inputs, 1) / 1e9, inputs.disk_gb * inputs.utilization),
    ]


def is_lane(limit):
    return limit.resource.startswith("lane of ")


def first(limits):
    """Returns the limit that the growth of users reaches first."""
    return min(limits, key=lambda limit: limit.users_max)


def parts(limits, users):
    """Returns the number of equal deployments among which so many users must be divided."""
    return max(1, *(math.ceil(limit.used(users) / limit.available) for limit in limits))
