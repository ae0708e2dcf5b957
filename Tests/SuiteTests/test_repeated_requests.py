"""Requests that a caller repeats after the gateway has lost its response to the first."""

import sqlite3

import pytest
from campanile_wire import Peer, reason
from wire_marks import on_sqlite

NOTIFICATIONS = "campanile.notifications.v1.NotificationsService"
SHARING = "campanile.notifications.v1.SharingService"


@pytest.fixture
def link(suite):
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        link.hello(suite.key("user/repeats"))
        yield link


@pytest.fixture
def forget(suite):
    """Removes the stored responses of the gateway, as if it had ended before it stored them."""
    def delete():
        with sqlite3.connect(suite.folder / "gateway.sqlite", timeout=30) as store:
            assert store.execute("DELETE FROM store_idempotency WHERE principal = 'user/repeats'").rowcount > 0
        store.close()

    return delete


@on_sqlite
def test_the_service_recognizes_a_repeat_by_its_idempotency_key(link, forget):
    def call(method, params, key):
        return link.call(method, params, metadata={"idempotency-key": key})

    bucket = call(f"{NOTIFICATIONS}/CreateBucket", {"bucket": {"name": "b"}}, "bucket")["result"]["bucket"]["id"]
    request = {"notification": {"bucketId": bucket, "title": "once"}}
    # The longest key, which is longer than a request id may be.
    key = "k" * 128
    first = call(f"{NOTIFICATIONS}/CreateNotification", request, key)["result"]
    secret = call(f"{SHARING}/CreatePublishKey", {"bucketId": bucket, "name": "k"}, "secret")["result"]
    assert secret["secret"]
    forget()
    assert call(f"{NOTIFICATIONS}/CreateNotification", request, key)["result"] == first
    forget()
    other = {"notification": {"bucketId": bucket, "title": "another"}}
    assert reason(call(f"{NOTIFICATIONS}/CreateNotification", other, key)) == "REQUEST_ID_REUSED"
    repeated = call(f"{SHARING}/CreatePublishKey", {"bucketId": bucket, "name": "k"}, "secret")["result"]
    assert repeated["key"] == secret["key"] and "secret" not in repeated
    # The caller's own request id counts.
    for request_id, title in [("r1", "twice"), ("r2", "twice")]:
        forget()
        call(f"{NOTIFICATIONS}/CreateNotification",
             {"requestId": request_id, "notification": {"bucketId": bucket, "title": title}}, "own")
    found = link.call(f"{NOTIFICATIONS}/ListNotifications", {"bucketId": bucket})["result"]["notifications"]
    assert sorted(one["title"] for one in found) == ["once", "twice", "twice"]
