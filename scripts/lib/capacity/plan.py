"""Plan for a number of users: deployment, processes, lanes, nodes, memory, network and disk."""

import math
from typing import NamedTuple

from . import costs, limits, load


class Row(NamedTuple):
    """One value of a plan. `key` is its name in JSON."""

    key: str
    label: str
    value: object


def rounded(value):
    """Rounds to three significant digits, so that the text and the JSON have the same numbers. Whole numbers stay exact."""
    if not isinstance(value, float) or math.isinf(value):
        return value
    if value == 0:
        return 0
    digits = 2 - math.floor(math.log10(abs(value)))
    result = round(value, digits)
    return int(result) if result == int(result) else result


def processes(needed, clusters):
    """Returns the processes for a need: one on SQLite (0 clusters); otherwise at least two per cluster, for availability.

    Clusters share no process, so each may have one that is not full.
    """
    if clusters == 0:
        return 1
    return max(2 * clusters, math.ceil(needed) + clusters - 1)


def apns_connections(needed, clusters):
    """Returns the connections of all senders of pushes. Each cluster may have one that is not full."""
    return math.ceil(needed) + max(0, clusters - 1) if needed > 0 else 0


def engine_of(inputs, users):
    fits = all(limit.fits(users) for limit in limits.sqlite(inputs))
    return load.SQLITE if fits else load.POSTGRESQL


def process_rows(inputs, users, busy, traffic, clusters):
    """Yields the number of processes of each kind, for the scarcest of cores, memory, network, and connections or watches.

    What a gateway receives it also sends, so its network carries the traffic of both directions in each.
    """
    connected = users * inputs.connected
    cores = inputs.cores * inputs.utilization
    memory = inputs.memory_gb * 1e9 * inputs.utilization - costs.PROCESS_MEMORY.value
    network = inputs.network_mbit * 1e6 / 8 * inputs.utilization
    at_gateways, at_services = (connected * size for size in limits.watch_bytes(inputs))
    gateways = max(busy["gateway"] / cores, connected / limits.connections_per_gateway(inputs), at_gateways / memory,
                   (traffic["in"] + traffic["out"]) / network)
    yield Row("gateways", "gateways", processes(gateways, clusters))
    for name in load.SERVICES:
        watching = name in load.WATCHED
        watches = connected / inputs.watches_per_process if watching else 0
        held = at_services / len(load.WATCHED) / memory if watching else 0
        yield Row(f"{name}_processes", f"processes of {name}", processes(max(busy[name] / cores, watches, held), clusters))


def lane_rows(inputs, rates, engine):
    """Yields the writers that each service needs. A deployment has one for each service today."""
    for name, busy in load.writer_time(inputs, rates, engine).items():
        yield Row(f"{name}_lanes", f"lanes of {name}", max(1, math.ceil(busy / inputs.utilization)))


def memory_rows(inputs, users, count):
    """Yields memory for connections and watches, with that of the processes themselves."""
    connected = users * inputs.connected
    at_gateways, at_services = (connected * size for size in limits.watch_bytes(inputs))
    services = sum(count[f"{name}_processes"] for name in load.SERVICES)
    base = costs.PROCESS_MEMORY.value
    yield Row("connections", "connections", math.ceil(connected))
    yield Row("watches", "watches", math.ceil(connected * len(load.WATCHED)))
    yield Row("gateway_memory_gb", "memory of all gateways, GB", (count["gateways"] * base + at_gateways) / 1e9)
    yield Row("service_memory_gb", "memory of all services, GB", (services * base + at_services) / 1e9)


def database_rows(inputs, users, engine, clusters, count):
    found = limits.cluster(inputs)
    without_lanes = [limit for limit in found if not limits.is_lane(limit)]
    services = sum(count.values())
    nodes = int(costs.NODES.value)
    data = load.stored_bytes(inputs, users) / 1e9
    yield Row("clusters", "PostgreSQL clusters", clusters)
    yield Row("nodes", "PostgreSQL nodes", clusters * nodes)
    yield Row("clusters_with_more_lanes", "clusters if databases had many lanes (not built)",
              limits.parts(without_lanes, users) if clusters else 0)
    connections = math.ceil(services / clusters) * int(costs.DATABASE_CONNECTIONS.value) if clusters else 0
    yield Row("database_connections", "connections to PostgreSQL, per cluster (its max_connections)", connections)
    yield Row("data_gb", "data after the retention, GB", data)
    yield Row("disk_gb", "disk of all copies, GB", data * (nodes if clusters else 1))


def rows(inputs, users):
    """Returns the plan for so many users."""
    engine = engine_of(inputs, users)
    on_sqlite = engine == load.SQLITE
    found = limits.sqlite(inputs) if on_sqlite else limits.cluster(inputs)
    clusters = 0 if on_sqlite else limits.parts(found, users)
    rates = load.peak_rates(inputs, users)
    busy = load.cpu(inputs, rates)
    traffic = load.traffic(inputs, rates)
    running = list(process_rows(inputs, users, busy, traffic, clusters))
    count = {row.key: row.value for row in running}
    in_flight = rates.pushes * inputs.apns_latency_ms / 1000
    limit = limits.first(found)
    result = [
        Row("users", "users", users),
        Row("deployment", "deployment", "SQLite" if on_sqlite else "PostgreSQL"),
        Row("calls_per_s", "calls/s, busiest hour", rates.calls),
        Row("pushes_per_s", "pushes/s, busiest hour", rates.pushes),
        Row("events_per_s", "events to watches/s, busiest hour", rates.events),
        *running,
        Row("busy_cores", "busy cores of gateways and services", sum(busy.values()) - busy[load.POSTGRESQL]),
        Row("primary_cores", "busy cores of primaries", 0.0 if on_sqlite else busy[load.POSTGRESQL]),
        *lane_rows(inputs, rates, engine),
        *database_rows(inputs, users, engine, clusters, count),
        *memory_rows(inputs, users, count),
        Row("in_mbit_per_s", "from clients, Mbit/s", traffic["in"] * 8 / 1e6),
        Row("out_mbit_per_s", "to clients and APNs, Mbit/s", traffic["out"] * 8 / 1e6),
        Row("apns_connections", "connections to APNs",
            apns_connections(in_flight / inputs.utilization / costs.APNS_STREAMS.value, clusters)),
        Row("limit", "limit", limit.resource),
        Row("limit_users", "limit at users", limit.users_max),
    ]
    return [row._replace(value=rounded(row.value)) for row in result]


