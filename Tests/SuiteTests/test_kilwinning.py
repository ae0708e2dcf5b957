"""The Kilwinning app's thirteen calls over the gateway, decoded as strictly as by the app's models, and two more paths."""

import csv
import datetime
import http.cookiejar
import io
import json
import re
import urllib.error
import urllib.request

import pytest
from attendance import Link
from campanile import PATIENCE_S, Suite

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch
DEGREES = {"Apprendista", "Compagno", "Maestro"}
ROLES = {
    "Nessuno", "Ven.mo Maestro", "1° Sorvegliante", "2° Sorvegliante", "Oratore", "Segretario", "Tesoriere",
    "Ospitaliere", "Maestro delle Cerimonie", "Copritore Interno", "Copritore Esterno"}
TYPES = {"ordinaria", "straordinaria", "cerimonia"}
ADMIN_PIN = "271828"
STATUSES = {"programmata", "completata", "annullata"}

# Required keys, then optional ones. Each value is a type, a set of words, or a predicate for the text.
BROTHER = ({
    "id": int, "nome": str, "first_name": str, "last_name": str, "email": str, "grado": DEGREES, "degree": DEGREES,
    "role": ROLES, "admin_access": bool, "registration_date": DATE,
}, {"carica_fissa": str, "data_iniziazione": DATE, "data_passaggio": DATE, "data_elevazione": DATE})
TORNATA = ({
    "id": int, "discussione": str, "title": str, "data": DATE, "date": DATE, "tipo": TYPES, "type": TYPES,
    "location": str, "location_enum": {"Nostra Loggia - Tolfa", "Loggia in Visita"}, "introduced_by": str,
    "cena": bool, "has_dinner": bool, "stato": STATUSES, "status": STATUSES,
}, {"notes": str, "cover_image_url": str})
PRESENCE = ({
    "fratello_id": int, "brother_id": int, "tornata_id": int, "presente": bool,
    "status": {"Presente", "Assente", "Non Confermato"},
}, {"id": int, "confirmed_at": DATE})
STATISTICS = ({
    "totali_tornate": int, "total_tornate": int, "presenze_count": int, "presences": int, "absences": int,
    "percentuale": int, "presenze_consecutive": int, "consecutive_presences": int, "personal_record": int,
    "attendance_rate": float,
}, {})
SUMMARY = ({"id": int, "nome": str, "grado": DEGREES, "presenze": int, "tornate_disponibili": int, "percentuale": int}, {})
LOGIN = ({"user": dict, "admin_access": bool}, {})
DONE = ({"success": bool}, {"message": str})


def fits(value, kind):
    if isinstance(kind, set):
        return type(value) is str and value in kind
    if kind is float:
        return type(value) in (int, float)
    if isinstance(kind, type):
        return type(value) is kind
    return type(value) is str and bool(kind(value))


def decode(model, value):
    """Decodes like the app: a missing or null required key, or a value of another type, fails the whole response."""
    required, optional = model
    assert type(value) is dict, value
    for key, kind in required.items():
        assert key in value and value[key] is not None, (key, value)
        assert fits(value[key], kind), (key, value[key])
    for key, kind in optional.items():
        assert value.get(key) is None or fits(value[key], kind), (key, value[key])
    assert not value.keys() - required.keys() - optional.keys(), value
    return value


class App:
    """The app, whose only state is a cookie jar."""

    def __init__(self, base):
        self.base = base
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def ask(self, method, path, body=None, **headers):
        made = urllib.request.Request(
            self.base + "/api" + path, method=method, data=None if body is None else json.dumps(body).encode())
        if body is not None:
            made.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            made.add_header(name.replace("_", "-"), value)
        try:
            with self.opener.open(made, timeout=PATIENCE_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, path, model=None, method="GET", body=None):
        status, _, content = self.ask(method, path, body)
        assert 200 <= status <= 299, (status, content)
        value = json.loads(content)
        if type(value) is list:
            return [decode(model, item) for item in value]
        return decode(model, value)

    def status(self, method, path, body=None, **headers):
        return self.ask(method, path, body, **headers)[0]

    def login(self, name, pin):
        answer = self.get("/fratelli/login", LOGIN, "POST", {"nome": name, "pin": pin})
        decode(BROTHER, answer["user"])
        assert answer["admin_access"] == answer["user"]["admin_access"]
        return answer["user"]


@pytest.fixture(scope="module")
def lodge(tmp_path_factory):
    suite = Suite(tmp_path_factory.mktemp("kilwinning") / "data", "--demo")
    try:
        yield suite.wait_ready()
    finally:
        suite.stop()


@pytest.fixture(scope="module")
def base(lodge):
    return f"http://127.0.0.1:{lodge.endpoints['gateway']['http']}"


@pytest.fixture(scope="module")
def admin_key(lodge):
    return lodge.endpoints["gateway"]["adminKey"]


@pytest.fixture(scope="module")
def pins(lodge):
    """The sample's PINs, by name."""
    return json.loads((lodge.folder / "demo.json").read_text())["pins"]


@pytest.fixture
def app(base):
    return App(base)


@pytest.fixture
def worshipful(lodge, base, admin_key):
    """The app of a member who is an admin."""
    members = lodge.call("ListMembers", {"pageSize": 1000}, admin_key)["members"]
    member = next((m for m in members if m["name"] == "Amministratore"), None)
    if member is None:
        member = lodge.call(
            "CreateMember", {"member": {"name": "Amministratore", "role": "MEMBER_ROLE_ADMIN"}}, admin_key)["member"]
        lodge.call("SetMemberPin", {"memberId": member["id"], "pin": ADMIN_PIN}, admin_key)
    app = App(base)
    app.user = app.login("Amministratore", ADMIN_PIN)
    assert app.user["admin_access"] and f"m_{app.user['id']}" == member["id"]
    return app


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


def test_fixed_office_is_present_for_officers_only(app, lodge, admin_key, pins):
    offices = {b["nome"]: b.get("carica_fissa") for b in app.get("/fratelli", BROTHER)}
    assert offices["Niccolò D'Angelo"] == "Ven.mo Maestro" and offices["Giulia Bianchi"] == "Segretario"
    assert offices["Marco Rossi"] is None
    user = app.login("Giulia Bianchi", pins["Giulia Bianchi"])
    assert user["carica_fissa"] == user["role"] == "Segretario"


def test_administrators_of_the_sample_change_degrees(base, lodge, admin_key, pins):
    """`admin_access` promises the management of meetings and of degrees; both work for all who have it."""
    yuki = next(b for b in App(base).get("/fratelli", BROTHER) if b["nome"] == "Yuki Tanaka")
    for name in ("Niccolò D'Angelo", "Giulia Bianchi"):
        app = App(base)
        assert app.login(name, pins[name])["admin_access"]
        for degree in ("Compagno", "Apprendista"):
            assert app.get(f"/fratelli/{yuki['id']}", BROTHER, "PUT", {"grado": degree})["degree"] == degree
        made = app.get("/admin/tornate", TORNATA, "POST", {
            "data": "2032-03-01T18:30:00Z", "discussione": "x", "location": "", "cena": False, "tipo": "ordinaria"})
        assert app.status("DELETE", f"/admin/tornate/{made['id']}") == 200
    app = App(base)
    assert not app.login("Marco Rossi", pins["Marco Rossi"])["admin_access"]
    roles = {m["name"]: m.get("role") for m in lodge.call("ListMembers", {"pageSize": 1000}, admin_key)["members"]}
    assert roles["Niccolò D'Angelo"] == "MEMBER_ROLE_ADMIN"


def instant(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")


def test_switch_works_on_every_meeting_of_every_year(app, lodge, pins):
    """The app shows a switch on each meeting since the initiation, and every switch can be turned on and off."""
    user = app.login("Zoë O'Brien", pins["Zoë O'Brien"])
    since = instant(user["data_iniziazione"])
    years = app.get("/tornate/anni", ({"anno": int, "tornate": int, "completate": int}, {}))
    assert {2024, 2025} <= {line["anno"] for line in years}
    assert [line["anno"] for line in years] == sorted({line["anno"] for line in years}, reverse=True)
    found = [t for line in years for t in app.get(f"/tornate?anno={line['anno']}", TORNATA)]
    assert len(found) == sum(line["tornate"] for line in years) == len(app.get("/tornate", TORNATA))
    for line in years:
        done = [t for t in app.get(f"/tornate?anno={line['anno']}", TORNATA) if t["stato"] == "completata"]
        assert len(done) == line["completate"]
    shown = [t for t in found if instant(t["data"]) >= since]
    assert len(shown) > 30
    for tornata in shown:
        for present in (False, True):
            answer = app.get("/presenze", DONE, "POST", {"tornata_id": tornata["id"], "presente": present})
            # A cancelled meeting has no attendance; the app is not shown a network error for it.
            assert answer["success"] == (tornata["stato"] != "annullata") and ("message" in answer) != answer["success"]
    figures = app.get(f"/presenze/fratello/{user['id']}/statistiche", STATISTICS)
    assert figures["absences"] == 0 and figures["presenze_consecutive"] == figures["totali_tornate"] > 0


def test_late_switch_is_refused_only_if_the_lodge_sets_a_limit(app, lodge, admin_key, pins):
    app.login("Zoë O'Brien", pins["Zoë O'Brien"])
    tap = {"tornata_id": next(t["id"] for t in app.get("/tornate?anno=2024&stato=completata", TORNATA)), "presente": False}
    assert app.status("POST", "/presenze", tap) == 200
    lodge.call("UpdateLodgeSettings", {"settings": {"lateConfirmation": "604800s"}}, admin_key)
    try:
        assert app.status("POST", "/presenze", tap | {"presente": True}) == 409
    finally:
        lodge.call("UpdateLodgeSettings", {"settings": {}, "updateMask": "lateConfirmation"}, admin_key)
    assert app.status("POST", "/presenze", tap | {"presente": True}) == 200


def test_presences_before_the_initiation_are_not_shown(worshipful, base, pins):
    """A date that is set later hides earlier presences; a meeting of the same day counts, in the app too."""
    app = App(base)
    user = app.login("Łukasz Nowak", pins["Łukasz Nowak"])
    path = f"/presenze/fratello/{user['id']}"
    before = app.get(path, PRESENCE)
    meetings = {t["id"]: t for t in app.get("/tornate?anno=2025&stato=completata", TORNATA)}
    chosen = sorted((t["data"], t["id"]) for t in meetings.values())[5]
    # The app's date picker sends an instant of that day, at whatever hour.
    day = chosen[0][:10]
    changed = worshipful.get(f"/fratelli/{user['id']}", BROTHER, "PUT", {
        "grado": "Maestro", "data_iniziazione": f"{day}T21:15:00Z", "data_passaggio": f"{day}T21:15:00Z", "data_elevazione": f"{day}T21:15:00Z"})
    try:
        since = instant(changed["data_iniziazione"])
        shown = {t["id"] for t in app.get("/tornate?stato=completata", TORNATA) if instant(t["data"]) >= since}
        assert chosen[1] in shown
        found = app.get(path, PRESENCE)
        assert {p["tornata_id"] for p in found} == {p["tornata_id"] for p in before} & shown
        assert len(found) < len(before)
        assert app.get(path + "/statistiche", STATISTICS)["totali_tornate"] <= len(shown)
    finally:
        back = {key: user[key] for key in ("grado", "data_iniziazione")}
        worshipful.get(f"/fratelli/{user['id']}", BROTHER, "PUT", back)
    assert app.get(path, PRESENCE) == before


def test_next_meetings_exclude_past_ones(worshipful, app, pins):
    app.login("Marco Rossi", pins["Marco Rossi"])
    made = {}
    for year in (2023, 2033, 2034):
        made[year] = worshipful.get("/admin/tornate", TORNATA, "POST", {
            "data": f"{year}-05-01T18:30:00Z", "discussione": f"Tornata {year}", "location": "", "cena": False, "tipo": "ordinaria"})
    try:
        # The dashboard takes the first three of these by date.
        coming = app.get("/tornate?stato=programmata", TORNATA)
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
        assert coming and all(instant(t["data"]) > now and t["stato"] == "programmata" for t in coming)
        assert {made[2033]["id"], made[2034]["id"]} <= {t["id"] for t in coming}
        assert [t["id"] for t in app.get("/tornate?anno=2033&stato=programmata", TORNATA)] == [made[2033]["id"]]
        # Nobody has completed the past one; it stays in its year's list.
        assert app.get("/tornate?anno=2023&stato=programmata", TORNATA) == []
        assert [t["stato"] for t in app.get("/tornate?anno=2023", TORNATA)] == ["programmata"]
    finally:
        for tornata in made.values():
            worshipful.get(f"/admin/tornate/{tornata['id']}", DONE, "DELETE")


def test_queued_taps_are_ordered_by_their_time(app, pins):
    user = app.login("Sofia Conti", pins["Sofia Conti"])
    tornata = app.get("/tornate?anno=2025&stato=completata", TORNATA)[0]
    now = datetime.datetime.now(datetime.timezone.utc)

    def tap(present, **ago):
        moment = (now - datetime.timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
        app.get("/presenze", DONE, "POST", {"tornata_id": tornata["id"], "presente": present, "confirmed_at": moment})
        return next(p for p in app.get(f"/presenze/fratello/{user['id']}", PRESENCE) if p["tornata_id"] == tornata["id"])["presente"]

    assert tap(True, minutes=0)
    assert tap(False, days=2) is True
    for moment in ((now + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"), "2019-01-01T00:00:00Z", "ieri"):
        body = {"tornata_id": tornata["id"], "presente": False, "confirmed_at": moment}
        assert app.status("POST", "/presenze", body) == 400, moment


def test_summary_is_a_file_that_excel_opens_in_italy(worshipful, base, pins):
    status, headers, content = worshipful.ask("GET", "/presenze/riepilogo-fratelli.csv?anno=2025")
    assert status == 200 and headers["Content-Type"].startswith("text/csv; charset=utf-8")
    assert headers["Content-Disposition"] == 'attachment; filename="riepilogo-2025.csv"'
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=";"))
    summary = worshipful.get("/presenze/riepilogo-fratelli?anno=2025", SUMMARY)
    assert [(r["id_fratello"], r["nome"], r["grado"], int(r["presenze"]), int(r["tornate_conteggiate"]), int(r["percentuale"])) for r in rows] == [
        (f"m_{s['id']}", s["nome"], s["grado"], s["presenze"], s["tornate_disponibili"], s["percentuale"]) for s in summary]
    _, headers, content = worshipful.ask("GET", "/presenze/riepilogo-fratelli.csv?anno=Tutti&lingua=en&bom=false")
    assert content.startswith(b"member_id,name,degree,") and "riepilogo-tutti.csv" in headers["Content-Disposition"]
    _, _, content = worshipful.ask("GET", "/presenze/riepilogo-fratelli.csv?lingua=en&separatore=punto-e-virgola&bom=false")
    assert content.startswith(b"member_id;name;degree;")
    for query in ("lingua=fr", "separatore=;", "separatore=%09", "bom=1", "anno=x"):
        assert worshipful.status("GET", f"/presenze/riepilogo-fratelli.csv?{query}") == 400, query
    member = App(base)
    member.login("Marco Rossi", pins["Marco Rossi"])
    assert member.status("GET", "/presenze/riepilogo-fratelli.csv") == 403
    assert App(base).status("GET", "/presenze/riepilogo-fratelli.csv") == 401


def test_device_cookie_logs_in_without_a_pin_if_the_lodge_allows_it(base, lodge, admin_key, pins):
    """The app sends only a name; after one login with a PIN, its device is enough."""
    app = App(base)
    name = {"nome": "Giulia Bianchi"}
    app.login("Giulia Bianchi", pins["Giulia Bianchi"])
    app.get("/fratelli/logout", DONE, "POST", {})
    assert app.status("POST", "/fratelli/login", name) == 401
    lodge.call("UpdateLodgeSettings", {"settings": {"deviceLogin": True}}, admin_key)
    try:
        assert app.get("/fratelli/login", LOGIN, "POST", name)["user"]["nome"] == "Giulia Bianchi"
        assert app.status("POST", "/fratelli/login", {"nome": "Marco Rossi"}) == 401
        assert App(base).status("POST", "/fratelli/login", name) == 401
    finally:
        lodge.call("UpdateLodgeSettings", {"settings": {"deviceLogin": False}, "updateMask": "deviceLogin"}, admin_key)


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
