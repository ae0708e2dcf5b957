"""Costs and limits of the suite, each with the document or command that measured it.

Where a document gives a range, the constant is its worse end. Rates of "both ends on one core" include the load generator, so the
cost of the service alone is lower. A cost without a measurement has the source ASSUMED and appears among the assumptions.
"""

from typing import NamedTuple

ASSUMED = "assumed"


class Cost(NamedTuple):
    value: float
    unit: str
    text: str
    source: str


# CPU of the gateway and of the services, in microseconds of one core.

# scripts/bench rpc, docs/performance.md "Sequential calls through the gateway".
GATEWAY_CALL = Cost(2.25, "µs", "CPU of the gateway for a framed call, 64 in flight", "docs/performance.md, scripts/bench rpc")
# scripts/bench gateway, docs/gateway.md "Speed".
CREDENTIALS = Cost(1.09, "×", "CPU of the gateway with a key, scopes and limits", "docs/gateway.md, scripts/bench gateway")
# scripts/bench observability, docs/performance.md "Cost of observability".
OBSERVED = Cost(1.04, "×", "CPU with metrics, the slow call log and traces of 1 %", "docs/performance.md, scripts/bench observability")
# scripts/bench gateway, docs/gateway.md "Speed": 38,200 calls a second with tester, gateway and service on one core.
HTTP_CALL = Cost(1e6 / 38_200, "µs", "CPU of a Connect call: tester, gateway and echo together",
                 "docs/gateway.md, scripts/bench gateway")
# scripts/bench compare, docs/performance.md: highest rate of the read in a closed loop, lowest of its runs.
READ = Cost(1e6 / 81_288, "µs", "CPU of a service for a read", "docs/performance.md, scripts/bench compare")
# scripts/bench compare, docs/performance.md: durable write, load generators in C, lowest of its runs.
PUBLICATION = Cost(1e6 / 19_546, "µs", "CPU of a publication, both ends on one core", "docs/performance.md, scripts/bench compare")
# Measured in process when the index was designed; no script repeats it.
INDEXING = Cost(108, "µs", "CPU to index a notification for search, 1,000 users with 30 each",
                "docs/decisions/0036, no script repeats it")
# scripts/bench activities, docs/decisions/0007: 4,000 updates a second on two cores. This includes their
# pushes and the simulator.
# The model counts these pushes again, so the sum is an upper bound.
ACTIVITY_UPDATE = Cost(2e6 / 4_000, "µs", "CPU of an activity's update, 10,000 activities",
                       "docs/decisions/0007, scripts/bench activities")
# scripts/bench activities, docs/decisions/0007.
PUSH = Cost(67, "µs", "CPU of a push, from the queue to the delivery log", "docs/decisions/0007, scripts/bench activities")
# docs/attendance.md "Speed".
ATTENDANCE = Cost(50, "µs", "CPU of an attendance record", "docs/attendance.md, scripts/bench attendance")
# docs/sync.md "Speed": base64, JSON and hashes of 137 kB take about half a millisecond.
SYNC_BYTE = Cost(500 / 137_000, "µs", "CPU to decode and hash a byte of a small content", "docs/sync.md, scripts/bench sync")
# scripts/bench hot_paths, docs/performance.md: 36,000 events a second on the core that the writes share.
WATCH_EVENT = Cost(1e6 / 36_000, "µs", "CPU of a service for an event to one watch", "docs/performance.md, scripts/bench hot_paths")
GATEWAY_EVENT = Cost(2.25, "µs", "CPU of the gateway for an event, as for a call", ASSUMED)
SYNC_COMMIT = Cost(1e6 / 19_546, "µs", "CPU of a sync commit without its content, as of a publication", ASSUMED)
ALERT = Cost(1e6 / 19_546, "µs", "CPU of Activities for the alert of a notification, as of a publication", ASSUMED)

# Commits of one writer. On SQLite a writer has a thread, on PostgreSQL a lane, and both serialize.

# scripts/bench compare, docs/performance.md.
SQLITE_PUBLICATIONS = Cost(19_546, "/s", "publications of one writer on SQLite", "docs/performance.md, scripts/bench compare")
# scripts/bench attendance, docs/attendance.md: the bad quarter of an hour.
SQLITE_RECORDS = Cost(9_100, "/s", "attendance records of one writer on SQLite", "docs/attendance.md, scripts/bench attendance")
# scripts/bench activities, docs/decisions/0007.
UPDATES = Cost(4_000, "/s", "updates of 10,000 activities by one writer on SQLite, each with a push",
               "docs/decisions/0007, scripts/bench activities")
# scripts/bench activities, docs/scaling.md "Capacity of one machine".
PUSHES = Cost(14_100, "/s", "pushes of one process, which sends them all", "docs/scaling.md, scripts/bench activities")
# scripts/bench sync, docs/scaling.md "Capacity of one machine".
SQLITE_CONTENT = Cost(114e6, "B/s", "contents of files put to the disk", "docs/scaling.md, scripts/bench sync")
# scripts/bench postgresql, docs/postgresql.md "Speed": 0.45 ms more for each round trip.
POSTGRESQL_PUBLICATIONS = Cost(19_100, "/s", "publications of one lane, round trips of 0.45 ms",
                               "docs/postgresql.md, scripts/bench postgresql")
POSTGRESQL_RECORDS = Cost(15_000, "/s", "attendance records of one lane, round trips of 0.45 ms",
                          "docs/postgresql.md, scripts/bench postgresql")
# Measured while the engine was designed: contents of 150 kB, one after another, with a synchronous standby.
POSTGRESQL_CONTENT = Cost(41e6, "B/s", "contents of 150 kB written as rows, synchronous standby",
                          "measured for the design, no script repeats it")
POSTGRESQL_UPDATES = Cost(4_000, "/s", "updates of activities by one lane, as on SQLite", ASSUMED)

# CPU of the PostgreSQL server, measured with pgbench and /proc while the engine was designed.

STATEMENT = Cost(53 / 4, "µs", "CPU of PostgreSQL for a pipelined statement",
                 "measured for the design with pgbench, no script repeats it")
POSTGRESQL_READ = Cost(133 / 4, "µs", "CPU of PostgreSQL for a read, as for a statement that is waited for", ASSUMED)

# Statements of a write.

COPY_STATEMENTS = Cost(4, "", "statements of a publication and of each copy, as of the benchmark's write",
                       "docs/postgresql.md, scripts/bench postgresql")
# docs/decisions/0007: an update and its push take eight statements.
UPDATE_STATEMENTS = Cost(8, "", "statements of an activity's update", "docs/decisions/0007")
# docs/attendance.md "Speed".
RECORD_STATEMENTS = Cost(4, "", "statements of an attendance record", "docs/attendance.md")
INDEX_STATEMENTS = Cost(4, "", "statements to index a notification on PostgreSQL", ASSUMED)
ALERT_STATEMENTS = Cost(4, "", "statements of an alert", ASSUMED)
PUSH_STATEMENTS = Cost(4, "", "statements of a push, from its claim to the delivery log", ASSUMED)
COMMIT_STATEMENTS = Cost(8, "", "statements of a sync commit", ASSUMED)

# Memory.

# docs/performance.md: RSS of a service after ten minutes; docs/gateway.md: of the gateway before any stream.
PROCESS_MEMORY = Cost(50e6, "B", "memory of a process without watches", "docs/performance.md, docs/gateway.md")
# scripts/bench gateway, docs/gateway.md: 5,000 open event streams take 62 MB.
GATEWAY_STREAM = Cost(62e6 / 5_000, "B", "memory of the gateway for a stream with its connection, without TLS",
                      "docs/gateway.md, scripts/bench gateway")
# docs/decisions/0013: 163 MB with 5,000 watches, less a process of 49 MB. 12 MB of them are for a larger page cache.
SERVICE_WATCH = Cost(114e6 / 5_000, "B", "memory of a service for a watch", "docs/decisions/0013, scripts/bench notifications")

# Limits that the programs have.

# docs/gateway-access.md "Limits".
STREAMS_PER_LOOP = Cost(6_000, "", "streams of a gateway to one service, per event loop (--backend-max-streams)",
                        "docs/gateway-access.md")
# docs/decisions/0007.
APNS_CONNECTIONS = Cost(8, "", "connections to APNs of a route (team, key and host)", "docs/decisions/0007")
APNS_STREAMS = Cost(128, "", "pushes in flight on a connection to APNs", "docs/decisions/0007")
# docs/postgresql.md "From nothing to a running suite".
DATABASE_CONNECTIONS = Cost(10, "", "connections of a process to PostgreSQL", "docs/postgresql.md")
# docs/scaling.md "A PostgreSQL cluster".
NODES = Cost(3, "", "nodes of a PostgreSQL cluster", "docs/scaling.md, scripts/chaos --cluster")

# Sizes and shares.

ENVELOPE = Cost(300, "B", "bytes around a payload, and of a message without one", ASSUMED)
STORED_FACTOR = Cost(3, "×", "disk for a notification's row, indexes, search words and log, by its payload", ASSUMED)
STORED_ROW = Cost(500, "B", "disk for a version of a file without its content, or an attendance record", ASSUMED)
STORED_PUSH = Cost(300, "B", "disk for an entry of the delivery log", ASSUMED)
READS = {
    "notifications": Cost(0.5, "", "share of the reads at Notifications", ASSUMED),
    "activities": Cost(0.2, "", "share of the reads at Activities", ASSUMED),
    "sync": Cost(0.2, "", "share of the reads at Sync", ASSUMED),
    "attendance": Cost(0.1, "", "share of the reads at Attendance", ASSUMED),
}


def all_costs():
    """Returns all costs by their names."""
    named = {name: value for name, value in globals().items() if isinstance(value, Cost)}
    return named | {f"READS[{name}]": value for name, value in READS.items()}
