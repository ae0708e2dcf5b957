// The frame of the console: navigation, the page, the state of the connection, keys and notices.

import { createFormat } from "./format.js";
import { pages } from "./pages.js";
import { errorText, icon, iconButton, openDialog } from "./parts.js";
import { openHelp, openPalette } from "./palette.js";
import { hasSession, preferences, setPreferences } from "./preferences.js";
import { formatRoute, parseRoute } from "./router.js";
import { boundary, computed, effect, h, onDispose, show, signal, untrack } from "./view.js";

/** @import { Child, Context, Page } from "./types.d.ts" */

// The first page loads while the gateway is asked who the caller is. A failure is that of the later import.
(hasSession() ? pages.find(({ name }) => name === parseRoute(location.hash).page)?.load() : import("./pages/signin/signin.js"))?.catch(() => {});

/**
 * @param {object} options
 * @param {Context["client"]} options.client
 * @param {Context["caller"]} options.caller
 * @param {Context["services"]} options.services
 * @param {ReturnType<typeof import("./live.js").connect>} options.live
 * @param {Context["t"]} options.t
 * @param {ReturnType<typeof import("./toasts.js").createToasts>} options.toasts
 * @param {() => void} options.signOut
 * @param {URL} options.root
 */
export function createShell({ client, caller, services, live, t, toasts, signOut, root }) {
  const route = signal(parseRoute(location.hash)), isMenuOpen = signal(false);
  const entries = pages.filter(({ needs }) => needs(caller));
  const entry = computed(() => entries.find(({ name }) => name === route.value.page));
  listen(globalThis, "hashchange", () => {
    route.value = parseRoute(location.hash);
    isMenuOpen.value = false;
    closeDialogs();
  });
  onDispose(closeDialogs);

  /** @type {Context} */
  const context = {
    client, caller, services, t, route, watch: live.watch, notify: toasts.notify, root, language: preferences.value.language,
    format: createFormat(preferences.value.language, { style: () => preferences.value.times }),
    href: formatRoute,
    navigate(path, query, { replace = false } = {}) {
      const hash = formatRoute(path, query);
      if (!replace) location.hash = hash;
      else {
        history.replaceState(null, "", hash);
        route.value = parseRoute(hash);
      }
    },
    fail: (error) => toasts.notify(errorText(t, error), { kind: "error" }),
  };

  /** @type {Record<string, Page>} */
  const loadedPages = {};
  const times = computed(() => preferences.value.times);
  const body = () => {
    // Another style of times shows the page anew.
    const found = times.value && entry.value;
    if (!found) return notFound(t);
    return untrack(() => {
      const content = signal(/** @type {Child} */ (null)), error = signal(/** @type {unknown} */ (undefined));
      const load = async () => {
        try {
          const page = loadedPages[found.name] ??= (await found.load()).page;
          content.value = () => boundary(() => page.render(context), (thrown) => failed(t, thrown));
        } catch (thrown) {
          error.value = thrown;
        }
      };
      void load();
      return [show(() => error.value, () => failed(t, error.value), () => () => content.value)];
    });
  };
  effect(() => { document.title = `${entry.value ? t.pages[entry.value.name] : t.failure.notFound} · Campanile`; });

  const commands = () => [
    ...entries.map(({ name, icon }) => ({ icon, text: t.pages[name], run: () => context.navigate(name) })),
    ...(/** @type {const} */ (["system", "light", "dark"])).map((theme) => ({
      icon: "moon", text: `${t.theme}: ${t.themes[theme]}`, run: () => setPreferences({ theme }) })),
    { icon: "settings", text: `${t.language}: ${context.language === "en" ? "Italiano" : "English"}`,
      run: () => setPreferences({ language: context.language === "en" ? "it" : "en" }) },
    { icon: "help", text: t.help.title, run: () => { openHelp(t); } },
    { icon: "back", text: t.signOut, run: signOut },
  ];
  const palette = () => openPalette(t, commands(), (page, parts) => context.navigate([page, ...parts].map(encodeURIComponent).join("/")));
  keys({ palette, help: () => openHelp(t), go: (name) => { if (entries.some((each) => each.name === name)) context.navigate(name); } });

  const isOnline = signal(navigator.onLine), mac = /Mac|iPhone|iPad/.test(navigator.userAgent);
  listen(globalThis, "online", () => { isOnline.value = true; });
  listen(globalThis, "offline", () => { isOnline.value = false; });
  const seconds = ticks(() => live.state.value.state !== "live");
  const connection = computed(() => {
    const { state, lastEventMs } = live.state.value, now = seconds.value;
    if (state === "live") return { kind: "good", text: t.connection.live };
    if (state !== "waiting") return { kind: "", text: t.connection.connecting };
    return { kind: "warn", text: lastEventMs > 0 ? t.connection.waiting(context.format.duration(now - lastEventMs)) : t.connection.waitingFirst };
  });

  return h("div", { class: "shell" },
    h("a", { class: "skip button", href: "#main", onclick: (/** @type {Event} */ event) => {
      event.preventDefault();
      document.getElementById("main")?.focus();
    } }, t.skip),
    h("header", { class: "top" }, iconButton("menu", t.openMenu, { onclick: () => { isMenuOpen.value = true; }, "aria-expanded": () => String(isMenuOpen.value) }),
      h("strong", { class: "ellipsis" }, () => entry.value ? t.pages[entry.value.name] : ""),
      iconButton("search", t.palette.open, { onclick: palette })),
    show(isMenuOpen, () => h("div", { class: "shade", onclick: () => { isMenuOpen.value = false; } })),
    h("aside", { class: "side", "aria-label": t.menu, "data-open": () => String(isMenuOpen.value) },
      h("a", { class: "brand", href: formatRoute("overview") }, h("img", { src: new URL("logo.svg", import.meta.url).href, alt: "" }), "Campanile"),
      h("button", { type: "button", class: "goto", onclick: palette }, icon("search"), t.palette.open, h("kbd", null, mac ? "⌘K" : "Ctrl K")),
      h("nav", { "aria-label": t.navigation }, h("ul", null, entries.map(({ name, icon: symbol }) => h("li", null,
        h("a", { href: formatRoute(name), "aria-current": () => entry.value?.name === name ? "page" : null }, icon(symbol), t.pages[name]))))),
      h("div", { class: "side-end" },
        h("div", { class: "connection", role: "status", title: () => t.connection.shared(live.state.value.tabs) },
          h("span", { class: () => `dot ${connection.value.kind}` }), h("span", null, () => connection.value.text)),
        h("div", { class: "who" }, h("span", { class: "grow ellipsis", title: t.signedInAs(caller.principal) }, caller.principal),
          iconButton("settings", t.settings, { onclick: () => openPreferences(t) }), iconButton("help", t.help.title, { onclick: () => openHelp(t) }),
          iconButton("back", t.signOut, { onclick: signOut })))),
    h("div", { class: "bars" },
      show(() => !isOnline.value, () => h("div", { class: "bar", role: "alert" }, icon("offline"), t.connection.offline)),
      show(() => isOnline.value && live.state.value.state === "waiting", () =>
        h("div", { class: "bar connection-bar", "aria-hidden": "true" }, h("span", { class: "dot warn" }), () => connection.value.text))),
    h("main", { id: "main", tabindex: -1 }, body), toasts.view(t));
}

function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/** @param {EventTarget} target @param {string} name @param {(event: any) => void} listener */
function listen(target, name, listener) {
  target.addEventListener(name, listener);
  onDispose(() => target.removeEventListener(name, listener));
}

/** Returns the time, each second while it is wanted. @param {() => boolean} isWanted */
function ticks(isWanted) {
  const now = signal(Date.now());
  effect(() => {
    if (!isWanted()) return;
    const timer = setInterval(() => { now.value = Date.now(); }, 1000);
    onDispose(() => clearInterval(timer));
  });
  return now;
}

/** @param {Context["t"]} t */
const notFound = (t) => h("div", { class: "empty" }, icon("search"), h("h1", null, t.failure.notFound), h("p", null, t.failure.notFoundText));

/** Shows a failed page. Its button loads the console again: browsers keep the failure of a module. @param {Context["t"]} t @param {unknown} error */
function failed(t, error) {
  console.warn("the page has failed:", error);
  return h("div", { class: "empty", role: "alert" }, icon("alert"), h("h1", null, t.failure.title), h("p", null, t.failure.explanation),
    h("details", null, h("summary", null, t.failure.details), h("code", null, String(error))),
    h("button", { type: "button", class: "primary", onclick: () => location.reload() }, t.failure.retry));
}

/** @param {{ palette: () => void, help: () => void, go: (name: string) => void }} actions */
function keys({ palette, help, go }) {
  const places = /** @type {Record<string, string>} */ ({ o: "overview", i: "inbox", t: "trace", a: "activities", d: "devices" });
  let isGoing = false;
  listen(document, "keydown", (/** @type {KeyboardEvent & { target: HTMLElement }} */ event) => {
    const { key, target } = event, hasDialog = document.querySelector("dialog[open]") !== null;
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
      event.preventDefault();
      if (!hasDialog) palette();
      return;
    }
    if (hasDialog || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input:not([type=checkbox]), textarea, select")) return;
    const place = isGoing ? places[key] : undefined;
    isGoing = key === "g";
    if (place) {
      // The letter is not also one of the page's keys.
      event.stopImmediatePropagation();
      go(place);
    } else if (key === "?") help();
  });
}

/** @param {Context["t"]} t */
function openPreferences(t) {
  /** @param {string} label @param {[string, string][]} options @param {() => string} value @param {(value: any) => void} choose */
  const choice = (label, options, value, choose) => h("fieldset", { class: "field" }, h("legend", null, label),
    h("div", { class: "segments" }, options.map(([name, text]) => h("button", {
      type: "button", "aria-pressed": () => String(value() === name), onclick: () => choose(name) }, text))));
  return openDialog(t, t.settings, () => h("div", { class: "stack" },
    choice(t.theme, Object.entries(t.themes), () => preferences.value.theme, (theme) => setPreferences({ theme })),
    choice(t.times, Object.entries(t.timeStyles), () => preferences.value.times, (times) => setPreferences({ times })),
    choice(t.language, [["en", "English"], ["it", "Italiano"]], () => preferences.value.language, (language) => setPreferences({ language }))));
}
