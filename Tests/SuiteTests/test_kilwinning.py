"""The Kilwinning app's thirteen calls over the gateway, decoded as strictly as by the app's models."""

import json
import re
import urllib.error
import urllib.request

import pytest
from attendance import Link
from campanile import PATIENCE_S
from kilwinning import (  # noqa: F401
    BROTHER, DONE, LOGIN, PRESENCE, STATISTICS, SUMMARY, TORNATA, admin_key, App, app, base, decode, lodge, pins, worshipful)


def test_picker_shows_only_names_before_a_login(app, lodge, admin_key):
    found = app.get("/fratelli", BROTHER)
    assert {b["nome"] for b in found} >= {"Giulia Bianchi"}
    assert len(found) == len(lodge.call("ListMembers", {"pageSize": 1000}, admin_key)["members"])
    assert all(b["email"] == "" and not b["admin_access"] and "data_iniziazione" not in b for b in found)


def test_name_alone_logs_in_no_member_of_the_sample(app, lodge, admin_key):
    for member in lodge.call("ListMembers", {"pageSize": 1000}, admin_key)["members"]:
        assert member["hasPin"], member["name"]
        assert app.status("POST", "/fratelli/login", {"nome": member["name"]}) == 401
    # Nor a member without a PIN, because Attendance's setting for such logins is off.
    made = lodge.call("CreateMember", {"member": {"name": "Senza Pin"}}, admin_key)["member"]
    assert app.status("POST", "/fratelli/login", {"nome": "Senza Pin"}) == 401
    lodge.call("DeactivateMember", {"memberId": made["id"]}, admin_key)


def test_login_sets_a_session_cookie(app, pins):
    status, headers, content = app.ask("POST", "/fratelli/login", {"nome": "Giulia Bianchi", "pin": pins["Giulia Bianchi"]})
    assert status == 200
    user = decode(LOGIN, json.loads(content))["user"]
    cookie = next(value for value in headers.get_all("Set-Cookie") if value.startswith("kilwinning_session="))
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Path=/api" in cookie and "Secure" not in cookie
    assert 28_700 < int(re.search(r"Max-Age=(\d+)", cookie).group(1)) <= 28_800
    status, headers, content = app.ask("GET", "/fratelli/me")
    assert status == 200 and decode(BROTHER, json.loads(content)) == user
    assert re.search(r"Max-Age=28[78]\d\d", headers["Set-Cookie"])
    assert app.get("/fratelli", BROTHER)
    token = next(cookie.value for cookie in app.jar if cookie.name == "kilwinning_session")
    assert app.get("/fratelli/logout", DONE, "POST", {})["success"]
    assert [cookie.name for cookie in app.jar] == ["kilwinning_device"]
    assert app.status("GET", "/fratelli/me") == 401
    # Logout also invalidates the token, instead of only removing its cookie.
    assert app.status("GET", "/fratelli/me", Cookie=f"kilwinning_session={token}") == 401
    assert app.get("/fratelli/logout", DONE, "POST", {})["success"]


def test_known_device_can_log_in_despite_a_lock(app, base, lodge, admin_key, pins):
    """The device cookie is sent to logins only, and permits a login when failures elsewhere have locked the PIN."""
    member = lodge.call("CreateMember", {"member": {"name": "Piero Conti"}}, admin_key)["member"]
    lodge.call("SetMemberPin", {"memberId": member["id"], "pin": "471147"}, admin_key)
    right = {"nome": "Piero Conti", "pin": "471147"}
    _, headers, _ = app.ask("POST", "/fratelli/login", right)
    cookie = next(value for value in headers.get_all("Set-Cookie") if value.startswith("kilwinning_device=cad_"))
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/api/fratelli/login" in cookie
    assert "Max-Age=15552000" in cookie
    with Link(lodge.endpoints["attendance"]["rpc"], lodge.endpoints["internalToken"]) as link:
        for k in range(101):
            link.answer("SessionsService/Login", {"name": "Piero Conti", "pin": "000000"}, {"campanile-remote-address": f"192.0.2.{k}"})
    status, _, content = App(base).ask("POST", "/fratelli/login", right)
    assert (status, json.loads(content)["reason"]) == (409, "LOGIN_LOCKED")
    assert app.get("/fratelli/login", LOGIN, "POST", right)["user"]["nome"] == "Piero Conti"
    giulia = {"nome": "Giulia Bianchi", "pin": pins["Giulia Bianchi"]}
    # Without its cookie the device is a stranger again; a malformed token counts as none.
    for other in ("kilwinning_device=x", "kilwinning_device=" + "A" * 400, "kilwinning_device=a b"):
        assert App(base).status("POST", "/fratelli/login", right, Cookie=other) == 409
        assert App(base).status("POST", "/fratelli/login", giulia, Cookie=other) == 200
    assert App(base).status("POST", "/fratelli/login", right, Cookie="kilwinning_device=a; kilwinning_device=b") == 400


@pytest.mark.parametrize("cookie", ["kilwinning_session=x", "kilwinning_session=", "kilwinning_session=a b", "other=1",
                                    "kilwinning_session=cas_" + "A" * 43, "kilwinning_session=" + "A" * 400])
def test_invalid_session_cookies_are_refused(app, cookie):
    assert app.status("GET", "/fratelli/me", Cookie=cookie) == 401
    # The picker also works with the cookie of an ended session.
    assert app.status("GET", "/fratelli", Cookie=cookie) == 200


def test_two_session_cookies_are_refused(app):
    assert app.status("GET", "/fratelli/me", Cookie="kilwinning_session=a; kilwinning_session=b") == 400


def test_presences_statistics_and_summary_match_attendance(app, lodge, admin_key, pins):
    user = app.login("Giulia Bianchi", pins["Giulia Bianchi"])
    member = f"m_{user['id']}"
    for query, year in (("?anno=2025", 2025), ("?anno=Tutti", 0), ("?anno=tutti", 0), ("", 0)):
        known = lodge.call("ListMemberAttendance", {"memberId": member, "year": year, "pageSize": 1000}, admin_key)
        found = app.get(f"/presenze/fratello/{user['id']}{query}", PRESENCE)
        assert len(found) == len(known["attendances"])
        assert len({p["tornata_id"] for p in found}) == len(found)
        assert all(p["fratello_id"] == p["brother_id"] == user["id"] for p in found)
        assert all(p["presente"] == (p["status"] == "Presente") for p in found)
        told = lodge.call("GetMemberStatistics", {"memberId": member, "year": year}, admin_key)["statistics"]
        figures = app.get(f"/presenze/fratello/{user['id']}/statistiche{query}", STATISTICS)
        assert figures["totali_tornate"] == figures["total_tornate"] == told["countedCount"]
        assert figures["presenze_count"] == figures["presences"] == told["presentCount"]
        assert figures["absences"] == told["countedCount"] - told["presentCount"] >= 0
        assert figures["percentuale"] == told["percentage"] and 0 <= figures["attendance_rate"] <= 1
        assert figures["presenze_consecutive"] == figures["consecutive_presences"] == told.get("currentStreak", 0)
        assert figures["personal_record"] == told["bestStreak"]
        summary = app.get(f"/presenze/riepilogo-fratelli{query}", SUMMARY)
        mine = next(line for line in summary if line["id"] == user["id"])
        assert (mine["presenze"], mine["tornate_disponibili"], mine["percentuale"]) == (
            figures["presenze_count"], figures["totali_tornate"], figures["percentuale"])


def test_statistics_of_a_year_without_meetings_are_zero(app, pins):
    user = app.login("Giulia Bianchi", pins["Giulia Bianchi"])
    figures = app.get(f"/presenze/fratello/{user['id']}/statistiche?anno=1999", STATISTICS)
    assert set(figures.values()) == {0}


def test_meeting_lifecycle_in_italian(worshipful, base, pins):
    made = worshipful.get("/admin/tornate", TORNATA, "POST", {
        "data": "2031-11-25T18:30:00Z", "discussione": "Le colonne", "location": "Nostra Loggia - Tolfa", "cena": True,
        "tipo": "cerimonia"})
    assert made["title"] == made["discussione"] == "Le colonne" and made["data"] == made["date"] == "2031-11-25T18:30:00Z"
    assert made["tipo"] == made["type"] == "cerimonia" and made["stato"] == made["status"] == "programmata"
    assert made["cena"] and made["has_dinner"] and made["location_enum"] == "Nostra Loggia - Tolfa"
    path = f"/admin/tornate/{made['id']}"
    # Absent fields stay unchanged.
    changed = worshipful.get(path, TORNATA, "PUT", {"cena": False, "stato": "annullata"})
    assert changed == made | {"cena": False, "has_dinner": False, "stato": "annullata", "status": "annullata"}
    assert worshipful.get(path, TORNATA, "PUT", {}) == changed
    again = worshipful.get(path, TORNATA, "PUT", {"stato": "programmata", "location": "Roma"})
    assert again["location"] == "Roma" and again["location_enum"] == "Loggia in Visita"

    member = App(base)
    user = member.login("Marco Rossi", pins["Marco Rossi"])
    found = member.get("/tornate?anno=2031", TORNATA)
    assert [t["id"] for t in found] == [made["id"]]
    assert member.get("/tornate?anno=2031&stato=completata", TORNATA) == []
    assert len(member.get("/tornate", TORNATA)) > len(found)
    assert member.get("/presenze", DONE, "POST", {"tornata_id": made["id"], "presente": True})["success"]
    assert member.get("/presenze", DONE, "POST", {"tornata_id": made["id"], "presente": False})["success"]
    mine = member.get(f"/presenze/fratello/{user['id']}?anno=2031", PRESENCE)
    assert [(p["tornata_id"], p["presente"], p["status"]) for p in mine] == [(made["id"], False, "Assente")]
    # A future meeting is not counted.
    assert member.get(f"/presenze/fratello/{user['id']}/statistiche?anno=2031", STATISTICS)["totali_tornate"] == 0

    for method, where, body in (("PUT", path, {"cena": True}), ("DELETE", path, None), ("POST", "/admin/tornate", {
            "data": "2031-11-25T18:30:00Z", "discussione": "x", "location": "", "cena": True, "tipo": "ordinaria"})):
        assert member.status(method, where, body) == 403
    assert worshipful.status("DELETE", path) == 200
    assert worshipful.status("DELETE", path) == 404


def test_degrees_and_dates_of_a_member_are_updated(worshipful, base, pins):
    member = App(base).login("Marco Rossi", pins["Marco Rossi"])
    path = f"/fratelli/{member['id']}"
    # Midnight in Rome is the evening before in UTC.
    changed = worshipful.get(path, BROTHER, "PUT", {"grado": "Maestro", "data_iniziazione": "2019-04-30T22:00:00Z"})
    assert changed["grado"] == changed["degree"] == "Maestro" and "data_iniziazione" in changed
    # The app compares this instant with the starts of meetings: it is midnight in Rome.
    assert changed["data_iniziazione"] == "2019-04-30T22:00:00Z"
    same = worshipful.get(path, BROTHER, "PUT", {"grado": "Maestro"})
    assert same["data_iniziazione"] == changed["data_iniziazione"]
    back = worshipful.get(path, BROTHER, "PUT", {"data_iniziazione": changed["data_iniziazione"]})
    assert back["data_iniziazione"] == changed["data_iniziazione"]
    assert worshipful.get(path, BROTHER, "PUT", {"grado": None}) == back
    mine = App(base)
    mine.login("Marco Rossi", pins["Marco Rossi"])
    assert mine.status("PUT", path, {"grado": "Apprendista"}) == 403


@pytest.mark.parametrize("method, path, body, status", [
    ("POST", "/fratelli/login", {"nome": "Nessuno Di Noi"}, 401), ("POST", "/fratelli/login", {}, 400),
    ("POST", "/fratelli/login", {"nome": 7}, 400), ("POST", "/fratelli/login", [], 400),
    ("GET", "/fratelli/me", None, 401), ("GET", "/tornate", None, 401), ("GET", "/presenze/riepilogo-fratelli", None, 401),
    ("GET", "/presenze/fratello/1", None, 401), ("GET", "/presenze/fratello/1/statistiche", None, 401),
    ("POST", "/presenze", {"tornata_id": 1, "presente": True}, 401), ("PUT", "/fratelli/1", {"grado": "Maestro"}, 401),
    ("DELETE", "/admin/tornate/1", None, 401), ("GET", "/fratelli/login", None, 405), ("PATCH", "/tornate", {}, 405),
    ("GET", "/fratelli/x/y", None, 404), ("GET", "/admin", None, 404), ("PUT", "/fratelli/+1", {"grado": "Maestro"}, 404),
])
def test_strangers_are_refused(app, method, path, body, status):
    assert app.status(method, path, body) == status


@pytest.mark.parametrize("method, path, body, status", [
    ("GET", "/tornate?anno=25", None, 400), ("GET", "/tornate?anno=all", None, 400),
    ("GET", "/tornate?stato=finita", None, 400), ("GET", "/presenze/fratello/999999", None, 404),
    ("GET", "/presenze/fratello/999999/statistiche", None, 404), ("PUT", "/fratelli/999999", {"grado": "Maestro"}, 404),
    ("PUT", "/fratelli/1", {"grado": "Gran Maestro"}, 400), ("PUT", "/fratelli/1", {"data_iniziazione": "ieri"}, 400),
    ("PUT", "/fratelli/1", {"data_iniziazione": "2019-02-30"}, 400), ("POST", "/presenze", {"tornata_id": 999999, "presente": True}, 404),
    ("POST", "/presenze", {"tornata_id": "3", "presente": True}, 400), ("POST", "/presenze", {"tornata_id": 3, "presente": 1}, 400),
    ("POST", "/presenze", {"tornata_id": 3.5, "presente": True}, 400), ("POST", "/presenze", {"presente": True}, 400),
    ("POST", "/admin/tornate", {"discussione": "x"}, 400), ("POST", "/admin/tornate", {"data": "2031-01-01T20:00:00Z"}, 400),
    ("POST", "/admin/tornate", {"data": "2031-01-01", "discussione": "x"}, 400),
    ("POST", "/admin/tornate", {"data": "2031-01-01T20:00:00Z", "discussione": "x", "tipo": "speciale"}, 400),
    ("PUT", "/admin/tornate/999999", {"cena": True}, 404), ("GET", "/tornate", {"a": 1}, 400),
])
def test_wrong_input_of_an_admin_is_refused(worshipful, method, path, body, status):
    found, _, content = worshipful.ask(method, path, body)
    assert found == status, content
    assert json.loads(content)["success"] is False and json.loads(content)["message"]


def test_forms_of_other_sites_are_refused(worshipful):
    made = urllib.request.Request(
        worshipful.base + "/api/presenze", data=b'{"tornata_id":1,"presente":true}', headers={"Content-Type": "text/plain"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        worshipful.opener.open(made, timeout=PATIENCE_S)
    assert refused.value.code == 415


def test_api_key_is_a_credential_here_too(app, lodge, admin_key):
    assert app.status("GET", "/tornate", Authorization=f"Bearer {admin_key}") == 200
    wrong = "Bearer cmp_" + "A" * 43
    for path in ("/fratelli", "/tornate", "/nothing", "/fratelli/me"):
        assert app.status("GET", path, Authorization=wrong) == 401
    assert app.status("POST", "/fratelli/login", {"nome": "Giulia Bianchi"}, Authorization=wrong) == 401


def test_pages_of_other_sites_get_no_cors_headers(app):
    _, headers, _ = app.ask("OPTIONS", "/fratelli", Origin="https://evil.example", Access_Control_Request_Method="GET")
    assert headers.get("Access-Control-Allow-Origin") is None
    _, headers, _ = app.ask("GET", "/fratelli", Origin="https://evil.example")
    assert headers.get("Access-Control-Allow-Credentials") is None
