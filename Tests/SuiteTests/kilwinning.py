"""Plays the Kilwinning app for tests: its models, its cookie jar, and a suite with the sample's lodge."""

import http.cookiejar
import json
import re
import urllib.error
import urllib.request

import pytest
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
