// The sign-in: a one-use link, an API key, a lodge member's name and PIN, or an account at the token issuer.
// The response sets a cookie that scripts cannot read.

import { field } from "../../parts.js";
import { h, show, signal } from "../../view.js";
import { en } from "./texts.en.js";
import { it } from "./texts.it.js";

/**
 * @param {object} options
 * @param {URL} options.root
 * @param {Record<string, string>} options.headers
 * @param {"en" | "it"} options.language
 * @param {string | undefined} options.link The secret of a one-use link.
 * @param {string | undefined} options.issuerFailure The reason for which a sign-in at the token issuer has failed.
 * @param {string} options.expired Why the sign-in is shown again; empty at first.
 * @param {() => void} options.done
 */
export function signIn({ root, headers, language, link, issuerFailure, expired, done }) {
  const t = { en, it }[language], isBusy = signal(link !== undefined), issuer = signal("");
  const error = signal(issuerFailure ? t.issuerErrors[issuerFailure === "ISSUER_REFUSED" ? "refused" : issuerFailure === "ISSUER_UNAVAILABLE" ? "unavailable" : "invalid"] : "");
  const way = signal(/** @type {"key" | "lodge"} */ ("key"));

  /** @param {keyof typeof t.errors} kind @param {object} body */
  const submit = async (kind, body) => {
    [isBusy.value, error.value] = [true, ""];
    try {
      const response = await fetch(new URL("session", root), {
        method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) });
      if (response.ok) return done();
      error.value = response.status === 429 ? t.errors.many : response.status < 500 ? t.errors[kind] : t.errors.unreachable;
    } catch {
      error.value = t.errors.unreachable;
    }
    isBusy.value = false;
  };
  if (link) void submit("link", { link });
  // Without a response the other ways remain.
  fetch(new URL("session", root), { headers }).then((response) => response.json(), () => ({})).then((found) => {
    if (typeof found.issuer === "string") issuer.value = new URL(found.issuer).host;
  }, () => {});

  /** @param {Event} event */
  const onsubmit = (event) => {
    event.preventDefault();
    const values = new FormData(/** @type {HTMLFormElement} */ (event.target));
    if (way.value === "key") void submit("key", { apiKey: String(values.get("key")).trim() });
    else void submit("lodge", { lodge: { name: String(values.get("name")).trim(), pin: String(values.get("pin")).trim() } });
  };
  return h("main", { class: "gate" }, h("form", { class: "gate-card", onsubmit },
    h("img", { src: new URL("../../logo.svg", import.meta.url).href, alt: "" }), h("h1", null, t.title),
    expired && h("p", { class: "message" }, expired),
    h("div", { class: "segments", role: "group", "aria-label": t.title }, (/** @type {const} */ ([["key", t.withKey], ["lodge", t.withLodge]])).map(([name, text]) =>
      h("button", { type: "button", "aria-pressed": () => String(way.value === name), onclick: () => { [way.value, error.value] = [name, ""]; } }, text))),
    show(() => way.value === "key", () => field(t.key, h("input", {
      name: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false", autofocus: true }), h("small", null, t.keyHint)),
    () => [
      field(t.name, h("input", { name: "name", autocomplete: "username", required: true })),
      field(t.pin, h("input", { name: "pin", type: "password", inputmode: "numeric", autocomplete: "current-password", required: true })),
    ]),
    show(error, () => h("p", { class: "message bad", role: "alert" }, error)),
    h("button", { class: "primary", disabled: isBusy }, () => isBusy.value && link ? t.linkUsed : t.submit),
    show(issuer, () => h("a", { class: "button", href: new URL("issuer", root).href }, t.withIssuer(issuer.value))),
    h("hr", null), h("p", { class: "muted" }, t.link), h("pre", null, "campanile console")));
}
