"""A stranger with a valid key calls every method that takes an id: once with another user's ids, once with unknown ids.

Both responses are the same. They reveal nothing about the other user's objects, and no object changes.
"""

import base64
import json
import re
import uuid

import pytest
from google.protobuf import descriptor_pb2

from campanile import Suite
from test_method_matrix import Contract, first
from campanile_wire import Peer

Field = descriptor_pb2.FieldDescriptorProto
CANARY = f"canary{uuid.uuid4().hex[:12]}"
APP = "dev.campanile.example"

# Fields that end in `id` but name no object of a user, or name one that the caller chooses and then owns.
FREE = {
    "request_id", "user_id", "team_id", "apns_id", "apns_ids", "alert_id", "collapse_id", "thread_id", "channel_id",
    "entity_id", "installation_id", "owner_id", "push_id", "action_id", "room_id", "through_notification_id", "group_id", "control_id",
    "recipient_ids",
}
IMAGE = {"mediaType": "MEDIA_TYPE_IMAGE", "contentType": "image/png"}
SHOWN = {"app": APP, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "attributesType": "T", "attributesJson": "{}"}
# Fields other than ids that a request needs to reach the lookup of the objects.
MORE = {
    "NotificationsService/UpdateBucket": {"bucket": {"name": "mine"}},
    "NotificationsService/PostponeNotification": {"releaseTime": "2020-01-01T00:00:00Z"},
    "NotificationsService/MarkAllNotificationsRead": {"throughNotificationId": "~"},
    "NotificationsService/CreateNotification": {"notification": {"title": "mine", "attachments": [IMAGE]}},
    "NotificationsService/BatchCreateNotifications": {
        "requests": [{"notification": {"title": "mine", "attachments": [IMAGE]}}]},
    "NotificationsService/UpdateNotification": {"notification": {"title": "mine", "attachments": [IMAGE]}},
    "NotificationsService/CreateBucket": {"bucket": {"name": "mine"}},
    "NotificationsService/SearchNotifications": {"query": CANARY},
    "NotificationsService/InvokeAction": {"actionId": "0"},
    "SharingService/ShareBucket": {"userId": "stranger", "role": "BUCKET_ROLE_ADMIN"},
    "SharingService/UnshareBucket": {"userId": "stranger"},
    "SharingService/InviteToBucket": {"userId": "stranger", "role": "BUCKET_ROLE_READER"},
    "SharingService/CreateInviteCode": {"role": "BUCKET_ROLE_READER"},
    "SharingService/CreatePublishKey": {"name": "mine"},
    "AutomationService/CreateTemplate": {"template": {"name": "mine", "title": "mine"}},
    "AutomationService/CreateHeartbeat": {"heartbeat": {"name": "mine", "period": "3600s"}},
    "AutomationService/CreateWebhook": {"webhook": {"name": "mine", "url": "https://example.com/mine"}},
    "AutomationService/UpdateTemplate": {"template": {"name": "mine", "title": "mine"}},
    "AutomationService/UpdateWebhook": {"webhook": {"name": "mine", "url": "https://example.com/mine", "method": "METHOD_POST"}},
    "ActivitiesService/UpdateActivity": {"contentStateJson": '{"n":666}'},
    "ActivitiesService/BatchUpdateActivities": {"requests": [{"contentStateJson": '{"n":666}'}]},
    "ActivitiesService/StartActivity": {**SHOWN, "contentStateJson": '{"n":1}'},
    "UnreadService/StartUnreadActivity": SHOWN,
    "RoomsService/JoinRoom": {**SHOWN, "roomId": "f0" * 24},
    "TimersService/StartTimer": {**SHOWN, "methodName": "Pomodoro", "sessionType": "TIMER_SESSION_TYPE_SINGLE",
                                 "duration": "60s"},
    "PushTokensService/RegisterPushToken": {
        "kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": "ab" * 32, "app": APP, "environment": "development", "installationId": "x"},
    "AssetsService/DeleteAsset": {"deviceId": "mine", "name": "NAME"},
    "AssetsService/GetAsset": {"name": "NAME", "includeContent": True},
    "AssetsService/PatchAsset": {"deviceId": "mine", "name": "NAME", "etag": "1", "mergePatch": '{"a":666}'},
    "AssetsService/RestoreAssetVersion": {"deviceId": "mine", "name": "NAME", "version": "1"},
    "AssetsService/ResolveAssetConflict": {"deviceId": "mine", "name": "NAME", "version": "1"},
    "AssetsService/PutAsset": {"deviceId": "mine", "put": {"name": "own.json", "recordType": "Note", "mustNotExist": True}},
    "AssetsService/CommitAssets": {"deviceId": "mine", "changes": [{"delete": {"name": "NAME"}}]},
    "AssetsService/DownloadAsset": {"name": "NAME"}, "AssetsService/GetAssetDelta": {"name": "NAME"},
    "AssetsService/ListAssetVersions": {"name": "NAME"},
    "UploadsService/CreateUpload": {"deviceId": "mine", "recordType": "Note", "sizeBytes": "5", "sha256": "00" * 32},
    "DevicesService/RegisterDevice": {"device": {"role": "DEVICE_ROLE_WRITER"}},
    "AssetsService/ImportRecords": {"recordsJson": "[]"},
    "DevicesService/PublishUpdate": {"requestId": "m", "message": {"type": "SYNC_UPDATE_TYPE_NOTIFICATION_READ", "entityId": "NAME", "eventTime": "2026-01-01T00:00:00Z"}},
}
# Callers of these methods may see everything. Others are refused before ids are read, as test_method_matrix.py shows.
OPERATORS = re.compile(r"gateway\.v1|Service/(GetPush|ListPushes)$|DebugService|SigningService|PutUnreadSummary|SendAlert|RecordDeliveries"
                       r"|BroadcastChannels|ActivityGroups|ReloadWidgets|ReadContainers|ReplayDeadLetters|DeleteDeadLetters"
                       r"|ExplainUserDelivery|SimulatorService|WatchPushes|List(Notification|Activity|Sync)Users")


class World:
    """The objects of one user, with the canary in everything that the user has written."""

    def __init__(self, suite):
        self.suite, self.key = suite, suite.key("user/owner")
        with Peer(suite.endpoints["gateway"]["rpc"]) as link:
            link.hello(self.key)

            def ask(method, params, package="notifications"):
                answer = link.call(f"campanile.{package}.v1.{method}", params)
                assert "result" in answer, (method, answer)
                return answer["result"]
            bucket = ask("NotificationsService/CreateBucket", {"bucket": {"name": CANARY}})["bucket"]["id"]
            made = ask("NotificationsService/CreateNotification", {"notification": {
                "bucketId": bucket, "title": CANARY, "attachments": [IMAGE | {"data": base64.b64encode(CANARY.encode()).decode()}],
                "actions": [{"type": "ACTION_TYPE_MARK_AS_READ", "title": "ok"}]}})["notification"]
            key = ask("SharingService/CreatePublishKey", {"bucketId": bucket, "name": CANARY})
            invitation = ask("SharingService/InviteToBucket", {
                "bucketId": bucket, "userId": "invited", "role": "BUCKET_ROLE_READER"})["invitation"]
            code = ask("SharingService/CreateInviteCode", {"bucketId": bucket, "role": "BUCKET_ROLE_READER"})["code"]
            template = ask("AutomationService/CreateTemplate", {"template": {"name": CANARY, "title": CANARY}})["template"]
            heartbeat = ask("AutomationService/CreateHeartbeat", {"heartbeat": {
                "name": CANARY, "bucketId": bucket, "period": "3600s"}})["heartbeat"]
            webhook = ask("AutomationService/CreateWebhook", {"webhook": {
                "name": CANARY, "url": f"https://example.com/{CANARY}", "method": "METHOD_POST"}})["webhook"]
            activity = ask("ActivitiesService/StartActivity", {
                "app": APP, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL",
                "contentStateJson": json.dumps({"n": CANARY}), "attributesType": "T", "attributesJson": "{}"}, "activities")["activity"]["id"]
            token = ask("PushTokensService/RegisterPushToken", {
                "kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": "cd" * 32, "app": APP, "environment": "development",
                "installationId": "x", "activityId": activity}, "activities")["token"]["id"]
            ask("DevicesService/RegisterDevice", {"device": {"id": "owner-device", "role": "DEVICE_ROLE_WRITER"}}, "sync")
            ask("AssetsService/PutAsset", {"deviceId": "owner-device", "put": {
                "name": f"{CANARY}.json", "recordType": "Note", "mustNotExist": True,
                "inlineContent": base64.b64encode(json.dumps({'a': CANARY}).encode()).decode()}}, "sync")
            upload = ask("UploadsService/CreateUpload", {
                "deviceId": "owner-device", "recordType": "Note", "sizeBytes": "5", "sha256": "00" * 32}, "sync")["upload"]["id"]
        lodge = suite.endpoints["gateway"]["adminKey"]
        with Peer(suite.endpoints["gateway"]["rpc"]) as link:
            link.hello(lodge)

            def ask_lodge(method, params):
                return link.call(f"campanile.attendance.v1.{method}", params)["result"]
            member = ask_lodge("MembersService/CreateMember", {"member": {"name": CANARY}})["member"]["id"]
            meeting = ask_lodge("MeetingsService/CreateMeeting", {"meeting": {
                "startTime": "2026-01-10T19:00:00Z", "discussion": CANARY}})["meeting"]["id"]
            feed = ask_lodge("MeetingsService/CreateCalendarFeed", {"name": CANARY})["feed"]["id"]
        self.ids = {
            "bucket_id": bucket, "notification_id": made["id"], "notification_ids": made["id"], "template_id": template["id"],
            "heartbeat_id": heartbeat["id"], "webhook_id": webhook["id"], "activity_id": activity, "token_id": token,
            "content_id": (made.get("attachments") or [{}])[0].get("contentId", "c_1"), "device_id": "owner-device", "upload_id": upload,
            "member_id": member, "meeting_id": meeting, "feed_id": feed,
            "key_id": key["key"]["id"], "invitation_id": invitation["id"], "code_id": code["id"], "zone_id": "", "NAME": f"{CANARY}.json",
            "bucket.id": bucket, "notification.id": made["id"], "template.id": template["id"], "heartbeat.id": heartbeat["id"],
            "webhook.id": webhook["id"], "member.id": member, "meeting.id": meeting, "device.id": "owner-device",
            "notifications.id": made["id"], "content_refs.id": "c_1", "contents.key": "c_1"}

    def nobodys(self):
        """Ids of the same form that belong to nobody."""
        def other(value):
            if not value:
                return value
            changed = "".join("k" if letter.isalpha() else "7" for letter in value[-4:]) if "_" in value else "wxyz"
            return value[:-4] + changed
        return {name: other(value) for name, value in self.ids.items()} | {"NAME": "nobodys.json"}

    def state(self):
        """Everything that the owner can see, without times, etags and resume tokens."""
        seen = []
        with Peer(self.suite.endpoints["gateway"]["rpc"]) as link:
            link.hello(self.key)
            for method in ("notifications.v1.NotificationsService/ListBuckets", "notifications.v1.NotificationsService/ListNotifications",
                           "notifications.v1.AutomationService/ListTemplates", "notifications.v1.AutomationService/ListHeartbeats",
                           "notifications.v1.AutomationService/ListWebhooks", "activities.v1.ActivitiesService/ListActivities",
                           "activities.v1.PushTokensService/ListPushTokens", "sync.v1.AssetsService/ListAssets",
                           "sync.v1.DevicesService/ListSyncDevices", "notifications.v1.NotificationsService/GetUnreadCounts"):
                seen.append(link.call(f"campanile.{method}", {})["result"])
            for method, params in (("notifications.v1.SharingService/ListPublishKeys", {"bucketId": self.ids["bucket_id"]}),
                                   ("notifications.v1.SharingService/ListBucketShares", {"bucketId": self.ids["bucket_id"]}),
                                   ("notifications.v1.SharingService/ListBucketInvitations", {"bucketId": self.ids["bucket_id"]}),
                                   ("notifications.v1.SharingService/ListInviteCodes", {"bucketId": self.ids["bucket_id"]}),
                                   ("sync.v1.UploadsService/GetUpload", {"uploadId": self.ids["upload_id"]})):
                seen.append(link.call(f"campanile.{method}", params)["result"])
        for answer in seen:
            # Sync also writes its own files, which have no device.
            answer.pop("revision", None)
            answer["assets"] = [one for one in answer.get("assets", []) if "deviceId" in one]
        return re.sub(r'"(\w*[tT]ime|etag|resumeToken)": "[^"]*"', "", json.dumps(seen, sort_keys=True))


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    running = Suite(tmp_path_factory.mktemp("foreign") / "data")
    yield running.wait_ready()
    running.stop()


def filled(contract, message, ids, parent="", depth=0):
    """A request with every id that it can have, and the names of id fields that this test does not know."""
    request, unknown = {}, set()
    for field in contract.messages[message].field:
        name, value = field.name, None
        if field.type == Field.TYPE_STRING:
            key = f"{parent}.{name}" if name == "id" else name
            if key in ids:
                value = ids[key]
            elif (name == "id" or name.endswith(("_id", "_ids"))) and name not in FREE:
                unknown.add(f"{message} {parent}.{name}")
        elif field.type == Field.TYPE_MESSAGE and depth < 2 and field.type_name in contract.messages and (
                not field.type_name.startswith(".google.")) and not field.HasField("oneof_index"):
            inner, more = filled(contract, field.type_name, ids, name, depth + 1)
            unknown |= more
            value = inner or None
        if value:
            request[field.json_name] = [value] if field.label == Field.LABEL_REPEATED else value
    return request, unknown


def merged(request, more, ids):
    """Merges `more` into a request, also in nested messages and lists of one."""
    result = dict(request)
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value, ids)
        elif isinstance(value, list) and isinstance(value[0], dict) and result.get(key):
            result[key] = [merged(result[key][0], value[0], ids)]
        else:
            result[key] = json.loads(json.dumps(value).replace("NAME", ids["NAME"]))
    return result


def answer(link, path, method, request):
    identifier = link.next_id
    link.next_id += 1
    frame = {"jsonrpc": "2.0", "id": identifier, "method": path}
    link.send(frame if method.client_streaming else {**frame, "params": request})
    if method.client_streaming:
        link.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": identifier, "message": request}})
        link.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": identifier}})
    frame = first(link, identifier, method.server_streaming or method.client_streaming)
    if frame is None:
        return "goes on"
    if "error" not in frame:
        return frame["result"]
    return f"{frame['error']['data']['status']} {frame['error']['data']['details'][0]['reason']} {frame['error']['message']}"


def scrubbed(value, ids):
    """A response without the times, tokens and ids that differ from call to call, as text."""
    # The sequence of the caller's own changes grows meanwhile: its notifications become files.
    text = re.sub(r'"(\w*[tT]ime|etag|\w*[tT]oken|acknowledgedSequence)": "[^"]*"', "", json.dumps(value, sort_keys=True))
    # The longest first, because a short id may be part of another.
    for one in sorted(ids.values(), key=len, reverse=True):
        if one:
            text = text.replace(one, "ID")
    return re.sub(r"[a-z]{1,2}_[0-9a-z]{10,}", "ID", text)


def test_objects_of_another_user_look_like_missing_ones(suite):
    contract, world = Contract(suite), World(suite)
    nobodys, before = world.nobodys(), world.state()
    stranger = suite.key("user/stranger")
    looked, unknown, invalid = 0, set(), []
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        link.hello(stranger)
        link.call("campanile.sync.v1.DevicesService/RegisterDevice", {"device": {"id": "mine", "role": "DEVICE_ROLE_WRITER"}})
        for path, method in sorted(contract.methods.items()):
            if path not in contract.listed or OPERATORS.search(path):
                continue
            short = path.split(".")[-1]
            answers = []
            for ids in (nobodys, world.ids):
                request, more = filled(contract, method.input_type, ids)
                unknown |= more
                request = merged(request, MORE.get(short, {}), ids)
                answers.append(scrubbed(answer(link, path, method, request), ids) if request else None)
                assert CANARY not in (answers[-1] or "").replace("ID", ""), (path, answers)
            if not request:
                continue
            looked += 1
            assert answers[0] == answers[1], f"{path} distinguishes a foreign object from a missing one:\n{answers[0]}\n{answers[1]}\n{request}"
            if "INVALID_ARGUMENT" in answers[1]:
                invalid.append((path, answers[1]))
    # The owner does see the objects; otherwise equal responses would prove nothing.
    told = 0
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        link.hello(world.key)
        for path, method in contract.methods.items():
            short = path.split(".")[-1]
            if path in contract.listed and method.options.idempotency_level == 1 and not OPERATORS.search(path):
                request = merged(filled(contract, method.input_type, world.ids)[0], MORE.get(short, {}), world.ids)
                told += CANARY in json.dumps(answer(link, path, method, request))
    assert told >= 8, f"only {told} methods return objects of the owner"
    assert not unknown, f"add the objects of these ids to this test: {sorted(unknown)}"
    assert world.state() == before
    print(looked, "methods")
    assert invalid == [], "\n".join(f"{path}: {told}" for path, told in invalid)
    assert looked > 80
