"""The Kilwinning app in daily use: switches, degrees, years, next meetings, taps that waited, and the summary's file."""

import csv
import datetime
import io

from kilwinning import (  # noqa: F401
    BROTHER, DONE, LOGIN, PRESENCE, STATISTICS, SUMMARY, TORNATA, admin_key, App, app, base, decode, lodge, pins, worshipful)


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


def test_morning_meeting_on_the_day_of_initiation_is_shown_and_counted(worshipful, lodge, base, admin_key):
    """The app hides meetings whose instant lies before `data_iniziazione`; it must show all of that day in the lodge's time zone."""
    member = lodge.call("CreateMember", {"member": {"name": "Primo Mattino"}}, admin_key)["member"]
    lodge.call("SetMemberPin", {"memberId": member["id"], "pin": "471148"}, admin_key)
    app = App(base)
    user = app.login("Primo Mattino", "471148")
    made = {}
    # Rome is an hour ahead of UTC: the first is on the evening before, the second past midnight, the third before noon.
    for name, instant in (("eve", "2025-03-09T22:30:00Z"), ("night", "2025-03-09T23:30:00Z"), ("morning", "2025-03-10T08:30:00Z")):
        made[name] = worshipful.get("/admin/tornate", TORNATA, "POST", {
            "data": instant, "discussione": name, "location": "", "cena": False, "tipo": "ordinaria"})["id"]
    try:
        for tornata in made.values():
            worshipful.get(f"/admin/tornate/{tornata}", TORNATA, "PUT", {"stato": "completata"})
            assert app.get("/presenze", DONE, "POST", {"tornata_id": tornata, "presente": True})["success"]
        # The date picker of the app sends the day with the current hour, here the evening.
        initiation = {"grado": "Apprendista", "data_iniziazione": "2025-03-10T19:40:12Z"}
        changed = worshipful.get(f"/fratelli/{user['id']}", BROTHER, "PUT", initiation)
        assert changed["data_iniziazione"] == "2025-03-09T23:00:00Z"
        meetings = {t["id"]: t["data"] for t in app.get("/tornate?anno=2025&stato=completata", TORNATA)}
        shown = {name for name, tornata in made.items() if meetings[tornata] >= changed["data_iniziazione"]}
        listed = {p["tornata_id"] for p in app.get(f"/presenze/fratello/{user['id']}?anno=2025", PRESENCE)}
        assert shown == {"night", "morning"} and listed == {made[name] for name in shown}
        figures = app.get(f"/presenze/fratello/{user['id']}/statistiche?anno=2025", STATISTICS)
        assert figures["presenze_count"] == 2 and figures["totali_tornate"] >= 2
    finally:
        for tornata in made.values():
            worshipful.get(f"/admin/tornate/{tornata}", DONE, "DELETE")
        lodge.call("DeactivateMember", {"memberId": member["id"]}, admin_key)


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
