"""Load of users as rates, and the time of processors and writers that these rates take. Pure functions, all linear in the rates."""

import dataclasses

from . import costs

DAY_S = 86_400
SERVICES = ("notifications", "activities", "sync", "attendance")
# The services at which a connected user has a watch.
WATCHED = ("notifications", "activities", "sync")
SQLITE, POSTGRESQL = "sqlite", "postgresql"


@dataclasses.dataclass(frozen=True)
class Rates:
    """Calls per second, and the work that follows from them. `copies` counts each recipient of a publication."""

    reads: float
    notifications: float
    activities: float
    sync: float
    attendance: float
    copies: float
    pushes: float
    notifications_events: float
    activities_events: float
    sync_events: float

    @property
    def calls(self):
        return self.reads + self.notifications + self.activities + self.sync + self.attendance

    @property
    def events(self):
        return self.notifications_events + self.activities_events + self.sync_events


def follow(inputs, calls, known=None):
    """Returns the rates of these calls. `known` has measured rates of the work that follows from them, if any."""
    copies = calls["notifications"] * inputs.recipients
    derived = {
        "copies": copies,
        "pushes": (copies + calls["activities"]) * inputs.devices,
        "notifications_events": copies * inputs.connected,
        "activities_events": calls["activities"] * inputs.connected,
        "sync_events": calls["sync"] * inputs.connected,
    }
    return Rates(**calls, **(derived | (known or {})))


def mean_rates(inputs, users):
    calls = {name: getattr(inputs, name) * users / DAY_S for name in ("reads", *SERVICES)}
    return follow(inputs, calls)


def peak_rates(inputs, users):
    mean = dataclasses.asdict(mean_rates(inputs, users))
    return Rates(**{name: rate * inputs.peak for name, rate in mean.items()})


def content_us(inputs, bytes_per_s):
    """Returns the microseconds to write the content of a sync commit."""
    return inputs.sync_bytes / bytes_per_s.value * 1e6


def gateway_us(inputs, rates):
    framed = costs.GATEWAY_CALL.value * costs.CREDENTIALS.value
    call = inputs.http_share * costs.HTTP_CALL.value + (1 - inputs.http_share) * framed
    return (rates.calls * call + rates.events * costs.GATEWAY_EVENT.value) * costs.OBSERVED.value


def service_us(inputs, rates):
    reads = {name: rates.reads * share.value * costs.READ.value for name, share in costs.READS.items()}
    commit = costs.SYNC_COMMIT.value + inputs.sync_bytes * costs.SYNC_BYTE.value
    event = costs.WATCH_EVENT.value
    return {
        "notifications": reads["notifications"] + rates.copies * (costs.PUBLICATION.value + costs.INDEXING.value)
        + rates.notifications_events * event,
        "activities": reads["activities"] + rates.activities * costs.ACTIVITY_UPDATE.value + rates.copies * costs.ALERT.value
        + rates.pushes * costs.PUSH.value + rates.activities_events * event,
        "sync": reads["sync"] + rates.sync * commit + rates.sync_events * event,
        "attendance": reads["attendance"] + rates.attendance * costs.ATTENDANCE.value,
    }


def postgresql_us(inputs, rates):
    statements = (
        rates.copies * (costs.COPY_STATEMENTS.value + costs.INDEX_STATEMENTS.value + costs.ALERT_STATEMENTS.value)
        + rates.activities * costs.UPDATE_STATEMENTS.value + rates.pushes * costs.PUSH_STATEMENTS.value
        + rates.sync * costs.COMMIT_STATEMENTS.value + rates.attendance * costs.RECORD_STATEMENTS.value)
    # The time of a content is an upper bound for its CPU.
    contents = rates.sync * content_us(inputs, costs.POSTGRESQL_CONTENT)
    return statements * costs.STATEMENT.value + contents + rates.reads * costs.POSTGRESQL_READ.value


def cpu(inputs, rates):
    """Returns the busy cores of each kind of process; `postgresql` is the primary, which a suite on SQLite does not have."""
    busy = {"gateway": gateway_us(inputs, rates)}
    for name, us in service_us(inputs, rates).items():
        busy[name] = us * costs.OBSERVED.value
    busy["postgresql"] = postgresql_us(inputs, rates)
    return {name: us / 1e6 / inputs.speed for name, us in busy.items()}


def writer_time(inputs, rates, engine):
    """Returns the share of its time that the one writer of each service is busy; above 1 it cannot keep up."""
    on_sqlite = engine == SQLITE
    publication = 1e6 / (costs.SQLITE_PUBLICATIONS if on_sqlite else costs.POSTGRESQL_PUBLICATIONS).value
    record = 1e6 / (costs.SQLITE_RECORDS if on_sqlite else costs.POSTGRESQL_RECORDS).value
    update = 1e6 / (costs.UPDATES if on_sqlite else costs.POSTGRESQL_UPDATES).value
    content = content_us(inputs, costs.SQLITE_CONTENT if on_sqlite else costs.POSTGRESQL_CONTENT)
    # The same writer indexes notifications for search. An alert and a sync commit take as long as a publication.
    busy = {
        "notifications": rates.copies * (publication + costs.INDEXING.value),
        "activities": rates.activities * update + rates.copies * publication + rates.pushes * 1e6 / costs.PUSHES.value,
        "sync": rates.sync * (publication + content),
        "attendance": rates.attendance * record,
    }
    return {name: us / 1e6 / inputs.speed for name, us in busy.items()}


def traffic(inputs, rates):
    """Returns the bytes per second from and to clients. Pushes go out as well."""
    around = costs.ENVELOPE.value
    payloads = (rates.notifications * inputs.notification_bytes + rates.activities * inputs.activity_bytes
                + rates.sync * inputs.sync_bytes)
    # A watch of Sync reports the commit, not the content, which a device then reads.
    events = (rates.notifications_events * inputs.notification_bytes + rates.activities_events * inputs.activity_bytes
              + rates.sync_events * inputs.sync_bytes)
    pushed = rates.pushes * (max(inputs.notification_bytes, inputs.activity_bytes) + around)
    return {
        "in": payloads + rates.calls * around,
        "out": rates.reads * inputs.read_bytes + events + (rates.calls + rates.events) * around + pushed,
    }


def stored_bytes(inputs, users):
    """Returns the bytes that the databases hold in one copy after the retention."""
    mean = mean_rates(inputs, users)
    per_s = (mean.copies * inputs.notification_bytes * costs.STORED_FACTOR.value + mean.pushes * costs.STORED_PUSH.value
             + mean.sync * (inputs.sync_bytes + costs.STORED_ROW.value) + mean.attendance * costs.STORED_ROW.value)
    return per_s * DAY_S * inputs.days
