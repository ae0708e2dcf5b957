"""Inputs of the capacity model: one field per flag, with its default, its range and its description."""

import dataclasses


class InputError(ValueError):
    """A value that the model does not accept. The text names the flag, the value and the allowed range."""


def flag(default, low, high, text):
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "text": text})


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Values of all flags but --users. A field with an integer as its default takes integers only."""

    connected: float = flag(0.05, 0, 1, "share of users connected at once: a connection, and a watch at each of three services")
    reads: float = flag(50.0, 0, 10**6, "reads per user and day")
    notifications: float = flag(5.0, 0, 10**6, "notifications created per user and day")
    activities: float = flag(5.0, 0, 10**6, "updates of Live Activities per user and day")
    sync: float = flag(2.0, 0, 10**6, "sync commits per user and day")
    attendance: float = flag(0.1, 0, 10**6, "attendance records per user and day")
    peak: float = flag(10.0, 1, 1000, "rate of the busiest hour, in means of the day")
    recipients: float = flag(2.0, 1, 100, "recipients of a publication: the publisher and the members of a shared bucket")
    devices: float = flag(1.5, 0, 100, "devices per user to which pushes go")
    http_share: float = flag(0.5, 0, 1, "share of calls over HTTP, which cost the gateway more than framed ones")
    read_bytes: int = flag(2000, 0, 10**8, "bytes of a read's response")
    notification_bytes: int = flag(500, 0, 10**6, "bytes of a notification")
    activity_bytes: int = flag(300, 0, 4096, "bytes of an activity's state")
    sync_bytes: int = flag(10_000, 0, 250 * 10**6, "bytes of a file's content in a sync commit")
    days: int = flag(30, 1, 36_500, "retention of notifications, versions, delivery log and records, in days")
    cores: int = flag(8, 1, 64, "cores per machine; a process uses all of them (--event-loop-threads)")
    memory_gb: float = flag(32.0, 0.5, 10_000, "memory per machine, in GB")
    disk_gb: float = flag(4000.0, 1, 10**6, "disk of a PostgreSQL node, in GB")
    sqlite_gb: float = flag(200.0, 1, 10**6, "data of one machine on SQLite, in GB: as much as its backups may take to read")
    network_mbit: float = flag(1000.0, 1, 10**6, "network per machine and direction, in Mbit/s")
    utilization: float = flag(0.6, 0.05, 0.95, "target utilization of cores, lanes, memory, disks and network")
    speed: float = flag(1.0, 0.01, 100, "speed of a core, in speeds of the measured machine")
    watches_per_process: int = flag(10_000, 1, 10**6, "watches of a process of a service (its --watches-max)")
    connections_per_gateway: int = flag(20_000, 1, 10**6, "connections of a gateway (its --max-connections)")
    apns_latency_ms: float = flag(50.0, 1, 10_000, "time from a push to its response by APNs, in ms")


FIELDS = {field.name: field for field in dataclasses.fields(Inputs)}
USERS_MAX = 10**11


def shown(value):
    """Returns a number with separators, and without the fraction of a whole one."""
    return f"{value:,.15g}" if isinstance(value, float) else f"{value:,}"


def flag_name(name):
    return "--" + name.replace("_", "-")


def number(name, text, kind, low, high):
    """Returns a value as a number. Throws InputError if it is none, or outside of its range."""
    wanted = "an integer" if kind is int else "a number"
    try:
        value = kind(text)
    except (TypeError, ValueError, OverflowError):
        value = None
    truncated = kind is int and isinstance(text, float) and value != text
    # A comparison with NaN is false, so it is refused as well.
    if value is None or isinstance(text, bool) or truncated or not low <= value <= high:
        raise InputError(f"{name} is {text}; allowed: {wanted} from {shown(low)} to {shown(high)}")
    return value


def parse(values):
    """Returns the inputs with these values, given as texts or numbers by field name. The others have their defaults."""
    found = {}
    for name, value in values.items():
        if name not in FIELDS:
            raise InputError(f"{flag_name(name)} is unknown; allowed: {', '.join(map(flag_name, FIELDS))}")
        field = FIELDS[name]
        found[name] = number(flag_name(name), value, type(field.default), field.metadata["low"], field.metadata["high"])
    return Inputs(**found)


def parse_users(text):
    """Returns the numbers of users in a list separated by commas."""
    sizes = text.split(",")
    if len(sizes) > 10:
        raise InputError(f"--users has {len(sizes)} numbers; allowed: 1 to 10 of them")
    return [number("--users", size.strip(), int, 1, USERS_MAX) for size in sizes]
