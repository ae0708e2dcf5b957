// Starts the console: finds out who uses it, and shows the sign-in or the shell with the page that the URL names.

import { AccessService } from "../sdk/generated/campanile.gateway.v1.js";
import { Client } from "../sdk/campanile.js";
import { createCaller } from "./caller.js";
import { connect } from "./live.js";
import { hasSession, preferences, rememberSession, sessionKey } from "./preferences.js";
import { errorText } from "./parts.js";
import { createShell } from "./shell.js";
import { createToasts } from "./toasts.js";
import { append, computed, effect, h, signal, untrack } from "./view.js";

/** @import { GetCallerResponse } from "../sdk/generated/campanile.gateway.v1.js" */

// The console's own folder, however deep it lies, and the gateway whose paths begin above it.
const root = new URL(".", location.href);
const api = new URL("..", root).href.replace(/\/$/, "");
// Forms of other origins cannot send this header.
const headers = { "x-campanile-console": "1" };

/** @typedef {{ state: "starting" } | { state: "signedOut", expired: boolean } | { state: "failed", error: unknown } | { state: "in", response: GetCallerResponse }} Session */
const session = signal(/** @type {Session} */ ({ state: "starting" }));

const client = new Client(api, {
  headers: () => headers,
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    if (response.status === 401 && session.value.state === "in") ended(true);
    return response;
  },
});

async function start() {
  try {
    const response = await client.call(AccessService.getCaller, {});
    session.value = { state: "in", response };
    rememberSession(true);
    live?.restart();
  } catch (error) {
    const { code } = /** @type {{ code?: string }} */ (error);
    if (code === "UNAUTHENTICATED") ended(true);
    else session.value = { state: "failed", error };
  }
}

/** @param {boolean} expired Whether the session ended by itself. */
function ended(expired) {
  rememberSession(false);
  session.value = { state: "signedOut", expired };
}

// The secret of a one-use link leaves the address bar at once.
const link = /^#link=(csl_[\w-]+)$/.exec(location.hash)?.[1];
// So does the reason of a sign-in at the token issuer that has failed.
const issuerFailure = /^#issuer=([A-Z_]+)$/.exec(location.hash)?.[1];
if (/^#(link|issuer)=/.test(location.hash)) history.replaceState(null, "", "#/");

/** @type {ReturnType<typeof connect> | undefined} */
let live;
const toasts = createToasts();
const loadTexts = { en: async () => (await import("./texts/en.js")).en, it: async () => (await import("./texts/it.js")).it };
const texts = signal(/** @type {Awaited<ReturnType<typeof loadTexts["en"]>> | Awaited<ReturnType<typeof loadTexts["it"]>> | undefined} */ (undefined));

effect(() => {
  const { theme, language } = preferences.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.documentElement.lang = language;
  void loadTexts[language]().then((loaded) => { texts.value = loaded; });
});

let usedLink = false;
const state = computed(() => session.value.state);
append(document.body, () => {
  const t = texts.value;
  if (!t) return null;
  if (state.value === "starting") return h("div", { class: "gate", role: "status", "aria-label": t.loading });
  return untrack(() => {
    const current = session.value;
    if (current.state === "failed") {
      return h("main", { class: "gate" }, h("div", { class: "gate-card" }, h("h1", null, t.failure.load),
        h("p", null, errorText(t, current.error)), h("button", { type: "button", class: "primary", onclick: start }, t.failure.retry)));
    }
    if (current.state !== "in") {
      const host = h("div", null), [secret, failure] = usedLink ? [] : [link, issuerFailure];
      void import("./pages/signin/signin.js").then(({ signIn }) => append(host, signIn({
        root, headers, language: preferences.value.language, link: secret, issuerFailure: failure, done: start,
        expired: current.state === "signedOut" && current.expired ? t.sessionEnded : "",
      })));
      usedLink = true;
      return host;
    }
    live ??= connect({ api, headers });
    follow(live);
    const caller = createCaller(current.response.caller ?? {});
    return createShell({ client, caller, services: current.response.services ?? [], live, t, toasts, signOut, root });
  });
});

/** Ends the session of the page when the stream reports its end. @param {NonNullable<typeof live>} live */
function follow(live) {
  effect(() => {
    if (live.state.value.state === "signedOut" && untrack(() => session.value.state) === "in") ended(true);
  });
}

async function signOut() {
  const response = await fetch(new URL("session", root), { method: "DELETE", headers }).catch(() => undefined);
  if (response?.ok || response?.status === 401) ended(false);
  else toasts.notify(texts.value?.notSignedOut ?? "", { kind: "error" });
}

// Another tab has signed in.
addEventListener("storage", ({ key, newValue }) => {
  if (key === sessionKey && newValue && session.value.state === "signedOut") void start();
});

// Without a sign-in in this browser, or with a link, there is nothing to ask.
if (link || !hasSession()) session.value = { state: "signedOut", expired: false };
else void start();
