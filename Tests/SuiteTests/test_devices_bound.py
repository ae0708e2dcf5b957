"""Keys of a device, from the gateway to Sync."""

import json

USER = "user/bound-ada"


def refusal(suite, method, request, key):
    """The reason of a refused call."""
    result = suite.run("call", method, json.dumps(request), key=key)
    assert result.returncode != 0, result.stdout
    return result.stderr


def test_a_watch_with_its_key_reads_and_never_writes(suite):
    phone = suite.key(USER)
    suite.call("RegisterDevice", {"device": {"id": "phone", "role": "DEVICE_ROLE_WRITER"}}, phone)
    suite.call("RegisterDevice", {"device": {"id": "watch", "role": "DEVICE_ROLE_READER"}}, phone)
    watch = suite.run("keys", "create", USER, "--device", "watch", "--scope", "sync:read", "--scope", "sync:publish",
                      "--secret-only", check=0).stdout.strip()
    # Everything that a watch does.
    update = {"requestId": "m1", "message": {"type": "SYNC_UPDATE_TYPE_FULL_SYNC", "eventTime": "2026-01-01T00:00:00Z"}}
    suite.call("PublishUpdate", {"deviceId": "watch", **update}, watch)
    waiting = suite.call("ListUpdates", {"deviceId": "watch"}, watch)
    suite.call("AcknowledgeUpdates", {"deviceId": "watch", "throughSequence": waiting["sequence"]}, watch)
    suite.call("SetSubscriptions", {"deviceId": "watch", "wakesForUpdates": True}, watch)
    suite.call("ListAssets", {}, watch)
    # It cannot be the phone, and it cannot write.
    assert "DEVICE_MISMATCH" in refusal(suite, "PublishUpdate", {"deviceId": "phone", **update}, watch)
    assert "DEVICE_MISMATCH" in refusal(suite, "ListUpdates", {"deviceId": "phone"}, watch)
    put = {"put": {"name": "a.json", "recordType": "Note", "inlineContent": "MQ==", "mustNotExist": True}}
    assert "SCOPE_MISSING" in refusal(suite, "PutAsset", {"deviceId": "watch", **put}, watch)
    # A key of the watch with all scopes is still that of a reader.
    strong = suite.run("keys", "create", USER, "--device", "watch", "--secret-only", check=0).stdout.strip()
    assert "DEVICE_MISMATCH" in refusal(suite, "PutAsset", {"deviceId": "phone", **put}, strong)
    assert "DEVICE_READ_ONLY" in refusal(suite, "PutAsset", {"deviceId": "watch", **put}, strong)
    assert "DEVICE_READ_ONLY" in refusal(suite, "UnregisterDevice", {"deviceId": "watch"}, strong)
    assert "DEVICE_READ_ONLY" in refusal(suite, "CreateZone", {"zoneId": "Z"}, strong)
    # Other keys are not bound.
    suite.call("PutAsset", {"deviceId": "phone", **put}, phone)
