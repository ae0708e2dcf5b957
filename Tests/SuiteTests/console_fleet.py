"""Devices of users for tests of the console: tokens that are registered with the suite and, by name, with the simulated APNs."""

import json
import uuid

from campanile import eventually


def token():
    return uuid.uuid4().hex * 2


class Device:
    """A user's phone, which the simulated APNs knows by its name."""

    def __init__(self, suite, user, name=None):
        self.suite, self.user = suite, user
        self.name = name or f"{user}-{uuid.uuid4().hex[:6]}"
        self.key = suite.key(f"user/{user}")
        self.app = suite.endpoints["apns"]["topic"]

    def call(self, method, request):
        return self.suite.call(method, request, self.key)

    def register(self, kind, simulated, **more):
        """Registers a token of this phone. Returns the token."""
        made = token()
        self.suite.simulator("POST", "/tokens", {"token": made, "bundleId": self.app, "kind": simulated, "device": self.name})
        self.call("RegisterPushToken", {"kind": f"PUSH_TOKEN_KIND_{kind}", "token": made, "app": self.app, "environment": "development",
                                        "installationId": "phone", **more})
        return made

    def alerts(self):
        """Registers the token for alerts."""
        return self.register("DEVICE", "device")

    @property
    def place(self):
        return {"app": self.app, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL"}

    def show(self, method, **request):
        """Starts an activity that the app shows, and registers its token. Returns the activity's id and the token."""
        activity = self.call(method, self.place | request)["activity"]["id"]
        key = self.register("ACTIVITY_UPDATE", "activity", activityId=activity)
        # A local start pushes nothing. This pushes the state.
        self.call("UpdateActivity", {"activityId": activity, "relevanceScore": 50})
        return activity, key

    def displays(self, key, text):
        """Waits until the simulated screen of a token has a text."""
        return eventually(lambda: text in json.dumps(self.suite.screen(key)), f"{text} on the screen of {self.name}")
