#!/usr/bin/env python3
"""Writes sample.json: users with buckets and notifications in the format of Zentik's sync files, and a lodge as CSV files.

    make_sample.py            write sample.json next to this script
    make_sample.py --check    fail if sample.json differs from the output of this script

The output is reproducible, because all random values come from a seeded generator.
"""
import csv
import datetime
import io
import json
import pathlib
import random
import sys

SEED = 20251108
END = datetime.datetime(2025, 11, 8, 9, 30, tzinfo=datetime.timezone.utc)
TARGET = pathlib.Path(__file__).with_name("sample.json")

# principal: [(bucket, description, color, icon, isOrphan, count, templates)]
# A template is (title, subtitle, body, extras); the placeholders {n} {p} {c} {name} {host} are substituted.
HOME = [
    ("Porta d'ingresso aperta", "Casa · Ingresso", "La porta è rimasta aperta per {n} minuti. Verificare che sia tutto a posto 🚪", "camera"),
    ("Movimento rilevato in giardino", None, "Rilevato movimento alle {clock}. Probabilità che sia il gatto: {p}% 🐈", "video"),
    ("Temperatura in soggiorno: {t} °C", "Comfort", "È più caldo del solito; perché non aprire un po' le finestre?", None),
    ("Lavatrice finita ✅", None, "Il programma «Cotone 60°» è terminato. Già asciutto? No: c'è da stendere.", "snooze"),
    ("Perdita d'acqua!", "Cantina", "Il sensore sotto la caldaia è bagnato. Chiudere il rubinetto principale subito.", "critical"),
    ("Pannelli solari: {p} kWh oggi", None, "Così tanta energia non si vedeva da novembre 2024. ☀️", "gif"),
]
BUILD = [
    ("Build #{n} failed on main", "campanile/backend", "2 tests failed:\n• NotificationTests.testMarkRead\n• WatchTests.testResume\n\nLast commit by {name}.", "ci"),
    ("Build #{n} passed", "campanile/backend", "All checks green in {p} s. 🟢", "ci"),
    ("{name} requested your review", "PR #{n}", "“Fix the streak across cancelled meetings” — +{p} −{c}", "link"),
    ("Release v2.{c}.0 published", None, "See the notes for what's new: “smart quotes”, tabs\tand \\backslashes\\ survive.", "link"),
    ("Deploy to production finished 🚀", "{host}", "Rolled out to 3 of 3 nodes in {p} s; error rate 0.0{c} %.", None),
]
ALERT = [
    ("CPU on {host} above 90 %", "for 10 minutes", "load average: {c}.{p}, {c}.12, {c}.03", "webhook"),
    ("Disk /var on {host} is {p} % full", None, "At this rate it is full in {c} days.", "webhook"),
    ("Certificate of {host} expires in {c} days", "TLS", "Renew it before it does: openssl x509 -enddate -noout", "link"),
    ("{host} is back", None, "Down for {n} s.", None),
    ("Nightly backup finished", "{host}", "{n} MB in {p} files, SHA-256 verified. 🔐", "file"),
]
FAMILY = [
    ("Nonna chiede: vieni domenica?", "Famiglia Rossi", "C'è la lasagna 🍝 e più tardi il tiramisù. Perché non porti anche {name}?", "audio"),
    ("Foto nuove da {name} 📸", None, "{c} foto da «Città della Pieve», l'ultima è bellissima.", "image"),
    ("Promemoria: compleanno di {name} 🎂", None, "È fra {c} giorni. Già pensato al regalo?", "snooze"),
    ("Compito di Sofia corretto: {c}½/10", "Scuola", "Matematica: bene le frazioni, meno le proporzioni. Né più né meno di così.", "file"),
]
SHOP = [
    ("Pacco in consegna oggi 📦", "Corriere 24/7", "Consegna prevista alle {clock}. Codice di ritiro: {n}.", "link"),
    ("Prezzo sceso a {p},99 €", "Lista dei desideri", "Le cuffie che stavi guardando costano il {c} % in meno.", "image"),
    ("Ordine n° {n} spedito", None, "Da: Forlì → A: Cefalù. Il corriere è «Poste» e l'arrivo è giovedì.", "link"),
]
TOKYO = [
    ("東京は今日{t}度、晴れ ☀️", "天気予報", "夕方から雨になる確率は{p}%です。傘をお忘れなく☂️", "icon"),
    ("{c}号線が{n}分遅れています", "運行情報", "渋谷〜新宿間で信号確認のため。ご迷惑をおかけします。🚃", None),
    ("新着メッセージ：{name}さん", "グループ「山登り」", "来週の土曜日、高尾山に行きませんか？集合は朝{c}時です。⛰️", "open"),
    ("荷物が届きました", None, "宅配ボックス{c}番・暗証番号は{n}です。", "postpone"),
    ("地震速報：震度{c}", "気象庁", "津波の心配はありません。落ち着いて行動してください。", "critical"),
]
NEWS = [
    ("عاجل: افتتاح الجسر الجديد", "أخبار المدينة", "افتُتح الجسر صباح اليوم بحضور {n} شخصًا، والمرور مجاني حتى نهاية الشهر.", "link"),
    ("מזג האוויר מחר: {t}°", "תחזית", "בהיר עד מעונן חלקית, רוח מערבית קלה. 🌤️", None),
    ("Città più verdi: 최신 보고서", "Rassegna", "Un rapporto di {p} pagine: Ünïcödé, «caporali», naïve, Ελληνικά, Кириллица, ไทย.", "link"),
    ("한국 프로야구: {c} 대 {t}", "스포츠", "연장 {c}회까지 가는 접전이었습니다 ⚾️", "video"),
    ("Family emoji test 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇮🇹", None, "Joined sequences stay whole: 👩🏾‍🚒 🧑‍🚀 e\u0301 = é.", None),
]
LOG = [
    ("cron: {host} rotate-logs ok", None, None, "silent"),
    ("heartbeat {host}", None, None, "silent"),
    ("sync finished", None, "{n} records, {c} conflicts", "silent"),
]

USERS = {
    "user/giulia": [
        ("Casa", "Sensori e telecamere di casa", "#E4572E", "home", False, 70, HOME),
        ("Famiglia", "Messaggi della famiglia: compleanni, foto, «lasagna»", "#F2C14E", "family", False, 56, FAMILY),
        ("Acquisti", None, "#4D9DE0", "cart", False, 40, SHOP),
        ("Notizie 🌍", "Rassegna in più lingue", "#3BB273", "news", False, 44, NEWS),
        ("Senza bucket", None, None, None, True, 8, SHOP),
    ],
    "user/marco": [
        ("CI & Code review", "What the build server and reviewers say", "#7768AE", "build", False, 76, BUILD),
        ("Server alerts", "Monitoring of the nodes", "#C1121F", "alert", False, 64, ALERT),
        ("Log", "Silent: only to look up", "#8D99AE", None, False, 60, LOG),
    ],
    "user/yuki": [
        ("東京の毎日", "天気・電車・荷物", "#FF6B6B", "tokyo", False, 72, TOKYO),
        ("Work", None, "#2A9D8F", "build", False, 34, BUILD),
        ("ニュース", "世界のニュース", "#264653", "news", False, 26, NEWS),
    ],
}
# name, degree, office, initiation date, user id
LODGE = [
    ("Giulia Bianchi", "master", "secretary", "2015-03-21", "giulia"),
    ("Marco Rossi", "fellow", "", "2021-05-18", "marco"),
    ("Yuki Tanaka", "apprentice", "", "2024-11-19", "yuki"),
    ("Niccolò D'Angelo", "master", "worshipful_master", "2001-10-02", ""),
    ("Łukasz Nowak", "master", "treasurer", "2009-09-15", ""),
    ("Zoë O'Brien", "fellow", "", "2022-01-25", ""),
    ("Jürgen Groß", "master", "orator", "1998-04-07", ""),
    ("Sofia Conti", "apprentice", "", "2025-03-04", ""),
]
# Roles by office; other members have the role member.
ROLES = {"worshipful_master": "admin", "secretary": "secretary"}
DISCUSSIONS = ["La pietra grezza", "Le due colonne", "Il silenzio dell'apprendista", "La stella fiammeggiante",
               "Il viaggio del compagno", "La squadra e il compasso", "La volta stellata", "Bilancio e «opere buone»"]
PEOPLE = ["Sofia", "Niccolò", "Zoë", "Jürgen", "陽菜", "Mariam", "Łukasz", "O'Brien"]
HOSTS = ["web-1.example.com", "web-2.example.com", "db-1.example.com", "mx.example.com"]


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def identifier(chance):
    raw = f"{chance.getrandbits(128):032x}"
    return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"


def fill(text, values):
    if text is None:
        return None
    for key, value in values.items():
        text = text.replace("{" + key + "}", str(value))
    return text


def action(kind, value=None, title=None, icon=None, destructive=False):
    made = {"type": kind, "value": value, "destructive": destructive, "title": title, "icon": icon}
    return {key: item for key, item in made.items() if item is not None}


def extras(kind, number, own_id):
    """Returns the attachments, actions and tap action of a kind of notification."""
    media = f"https://media.example.com/{kind}/{number}"
    page = f"https://app.example.com/{kind}/{number}"
    read = action("MARK_AS_READ", "mark_as_read_notification", "Segna come letta", "sfsymbols:checkmark")
    delete = action("DELETE", "delete_notification", "Elimina", "sfsymbols:trash", True)
    table = {
        "camera": ([("IMAGE", f"{media}.jpg", "ingresso.jpg")],
                   [action("BACKGROUND_CALL", "POST::https://home.example.com/api/door/lock", "Chiudi la porta", "sfsymbols:lock"), read],
                   action("NAVIGATE", page)),
        "video": ([("VIDEO", f"{media}.mp4", "clip.mp4"), ("IMAGE", f"{media}.jpg", "anteprima.jpg")], [read, delete], action("NAVIGATE", page)),
        "gif": ([("GIF", f"{media}.gif", None)], [read], None),
        "audio": ([("AUDIO", f"{media}.m4a", "vocale della nonna.m4a")], [action("NAVIGATE", page, "Rispondi", "sfsymbols:arrowshape.turn.up.left"), read], None),
        "image": ([("IMAGE", f"{media}-{part}.jpg", f"foto {part}.jpg") for part in range(1, 4)], [read, delete], action("NAVIGATE", page)),
        "file": ([("FILE", f"{media}.pdf", "rapporto – novembre.pdf")], [read], action("NAVIGATE", page)),
        "icon": ([("ICON", f"{media}.png", None)], [], None),
        "ci": ([], [action("NAVIGATE", page, "Open the log"), action("WEBHOOK", f"wh_rerun_{number}", "Run again", "sfsymbols:arrow.clockwise"), read], action("NAVIGATE", page)),
        "webhook": ([], [action("WEBHOOK", f"wh_ack_{number}", "Acknowledge"), action("SNOOZE", "60", "Snooze for an hour"), delete], None),
        "link": ([], [read], action("NAVIGATE", page + "?utm=push&x=1")),
        "snooze": ([], [action("SNOOZE", "15", "Tra 15 minuti"), action("SNOOZE", "60", "Tra un'ora"), read], None),
        "postpone": ([], [action("POSTPONE", "120", "2時間後に通知"), read], None),
        "open": ([], [action("OPEN_NOTIFICATION", own_id, "開く")], action("OPEN_NOTIFICATION", own_id)),
        "critical": ([], [read, delete], action("OPEN_NOTIFICATION", own_id)),
    }
    attachments, actions, tap = table.get(kind, ([], [], None))
    named = [{key: item for key, item in zip(("mediaType", "url", "name"), one) if item is not None} for one in attachments]
    return named, actions, tap


def user(principal, plan, chance):
    buckets, notifications = [], []
    for name, description, color, icon, orphan, count, templates in plan:
        bucket_id = identifier(chance)
        made = END - datetime.timedelta(days=chance.randint(60, 400), seconds=chance.randint(0, 86399))
        bucket = {"id": bucket_id, "name": name, "description": description, "color": color,
                  "iconUrl": f"https://media.example.com/icons/{icon}.png" if icon else None,
                  "createdAt": stamp(made), "updatedAt": stamp(made + datetime.timedelta(days=3)),
                  "isOrphan": orphan if orphan else None}
        buckets.append({key: item for key, item in bucket.items() if item is not None})
        for _ in range(count):
            notifications.append(notification(bucket_id, chance.choice(templates), chance))
    # Newest first, as in the phone's files.
    notifications.sort(key=lambda item: (item["createdAt"], item["id"]), reverse=True)
    moment = stamp(END)
    return {"principal": principal, "buckets": {"buckets": buckets, "syncTimestamp": moment},
            "notifications": {"notifications": notifications, "syncTimestamp": moment}}


def notification(bucket_id, template, chance):
    title, subtitle, body, kind = template
    own_id, number = identifier(chance), chance.randint(100, 9999)
    values = {"n": number, "p": chance.randint(11, 99), "c": chance.randint(2, 9), "t": chance.randint(12, 29),
              "name": chance.choice(PEOPLE), "host": chance.choice(HOSTS),
              "clock": f"{chance.randint(7, 22):02d}:{chance.randint(0, 59):02d}"}
    age = datetime.timedelta(minutes=chance.randint(1, 42 * 24 * 60), milliseconds=chance.randint(0, 59999))
    made = END - age
    attachments, actions, tap = extras(kind, number, own_id)
    # Older notifications are more likely to have been read.
    is_read = chance.random() < min(0.95, 0.15 + age.days * 0.06)
    read = made + (END - made) * chance.uniform(0.05, 0.9) if is_read else None
    sent = None if kind == "silent" else made + datetime.timedelta(milliseconds=chance.randint(80, 2500))
    entry = {"id": own_id, "title": fill(title, values), "subtitle": fill(subtitle, values), "body": fill(body, values),
             "readAt": stamp(read) if read else None, "sentAt": stamp(sent) if sent else None,
             "createdAt": stamp(made), "updatedAt": stamp(read or made), "bucketId": bucket_id,
             "attachments": attachments, "actions": actions, "tapAction": tap}
    return {key: item for key, item in entry.items() if item is not None}


def table(rows):
    """Formats rows as CSV (RFC 4180)."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(rows[0].keys())
    writer.writerows(row.values() for row in rows)
    return written.getvalue()


def lodge(chance):
    """Returns members, the meetings of two years, and the attendance records of past meetings."""
    members = [{"name": name, "degree": degree, "office": office, "initiation_date": initiation,
                "role": ROLES.get(office, "member"), "user_id": user_id}
               for name, degree, office, initiation, user_id in LODGE]
    meetings, records = [], []
    day = datetime.datetime(2024, 1, 16, 18, 30, tzinfo=datetime.timezone.utc)
    while day.year < 2026:
        if day.month not in (7, 8):
            is_over, is_cancelled = day < END, day.month == 2
            start = day.strftime("%Y-%m-%dT%H:%M:%SZ")
            meetings.append({
                "start_time": start, "discussion": chance.choice(DISCUSSIONS), "location": "Nostra Loggia - Tolfa",
                "type": "ceremony" if day.month == 6 else "ordinary", "has_dinner": str(day.day < 20).lower(),
                "status": "cancelled" if is_cancelled else "completed" if is_over else "scheduled"})
            for name, _, _, initiation, _ in LODGE if is_over and not is_cancelled else []:
                if initiation <= start[:10]:
                    status = chance.choices(("present", "absent", "excused"), (0.75, 0.15, 0.10))[0]
                    records.append({"member_name": name, "meeting_start_time": start, "status": status})
        day += datetime.timedelta(days=14)
    return {"members": table(members), "meetings": table(meetings), "attendance": table(records)}


def text():
    chance = random.Random(SEED)
    lines = ['{"users": [']
    people = [user(principal, plan, chance) for principal, plan in USERS.items()]
    for number, person in enumerate(people):
        lines.append('{"principal": ' + json.dumps(person["principal"]) + ",")
        for part, key, last in (("buckets", "buckets", ","), ("notifications", "notifications", "")):
            rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in person[part][key]]
            lines.append(f' "{part}": {{"syncTimestamp": "{person[part]["syncTimestamp"]}", "{key}": [')
            lines.append(",\n".join("  " + row for row in rows))
            lines.append(" ]}" + last)
        lines.append("}" + ("," if number + 1 < len(people) else ""))
    rows = [f' "{name}": {json.dumps(file, ensure_ascii=False)}' for name, file in lodge(random.Random(SEED)).items()]
    return "\n".join(lines) + '\n],\n"lodge": {\n' + ",\n".join(rows) + "\n}}\n"


def main():
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text():
            sys.exit(f"{TARGET} is outdated: run make_sample.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        TARGET.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
