// The parts that pages share: icons, states of a page, buttons that copy, dialogs, and what loads.

import { computed, h, onDispose, Scope, show, signal, svg } from "./view.js";

/** @import { Child, Context, Props, Readable } from "./types.d.ts" */

const sprite = new URL("icons.svg", import.meta.url).href;

/** Returns an icon of the sprite; hidden from screen readers. @param {string} name */
export const icon = (name) => svg("svg", { class: "icon-svg", "aria-hidden": "true" }, svg("use", { href: `${sprite}#${name}` }));

/** Returns a button that shows only an icon. @param {string} name @param {string} label @param {Props} [props] */
export const iconButton = (name, label, props = {}) =>
  h("button", { type: "button", class: "icon quiet", title: label, "aria-label": label, ...props }, icon(name));

/** Returns a short state. @param {"" | "good" | "warn" | "bad" | "accent"} kind @param {Child} text */
export const tag = (kind, text) => h("span", { class: `tag ${kind}` }, text);

/** Returns a time: short, with the full one as a hint. @param {Context} context @param {string | undefined} time */
export const when = ({ format }, time) =>
  h("time", { datetime: time, title: `${format.full(time)} · ${format.full(time, "UTC")}` }, format.time(time));

/** Returns what a page shows in place of content. @param {string} name @param {string} title @param {Child} [text] @param {Child} [action] */
export const empty = (name, title, text, action) =>
  h("div", { class: "empty" }, icon(name), h("h2", null, title), text && h("p", null, text), action);

/** Returns grey lines for what is loading. @param {string} label @param {number} [lines] */
export const skeleton = (label, lines = 4) =>
  h("div", { class: "stack", role: "status", "aria-label": label, "aria-busy": "true" },
    Array.from({ length: lines }, (_, line) => h("span", { class: "skeleton", style: { "inline-size": `${[92, 74, 83, 61][line % 4]}%` } })));

/** Returns a field with its label, and its error. @param {string} label @param {HTMLElement} control @param {Child} [hint] */
export function field(label, control, hint) {
  control.id ||= `field-${fields++}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, hint);
}
let fields = 1;

/** Returns a button that copies a text. @param {Context} context @param {string} text @param {string} [label] */
export const copyButton = ({ t, notify }, text, label = t.copy) => iconButton("copy", label, {
  onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      notify(t.copied);
    } catch {
      // Browsers have no clipboard on pages of plain HTTP, except those of the same machine.
      notify(t.notCopied, { kind: "error" });
    }
  },
});

/** Returns the mark of a list that has missed changes. @param {Context} context @param {Readable<number>} gapMs The time; 0 for none. */
export const gapMark = ({ t, format }, gapMs) => show(() => gapMs.value > 0,
  () => h("p", { class: "gap", role: "status" }, icon("alert"), () => t.gap(format.clock(gapMs.value).slice(0, 8))));

/** Follows a value, and keeps the last one after it has gone. @template T @param {Readable<T | undefined>} value */
export function keep(value) {
  let last = value.value;
  return /** @type {Readable<T>} */ (computed(() => last = value.value ?? last));
}

/** Returns the text of an error for people. @param {Context["t"]} t @param {unknown} error */
export function errorText(t, error) {
  const { code = "", message = String(error), fieldViolations = [] } = /** @type {import("../sdk/campanile.js").CallError} */ (error ?? {});
  if (fieldViolations.length > 0) return fieldViolations.map(({ field, description }) => `${field} ${description}`).join("; ");
  return t.errors[/** @type {keyof typeof t.errors} */ (code)] ?? message;
}

/** Returns the error of what was to be shown, and a button to try again. @param {Context} context @param {unknown} error @param {() => void} retry */
export function failure({ t }, error, retry) {
  const { code = "", reason = "", message = "" } = /** @type {{ code?: string, reason?: string, message?: string }} */ (error ?? {});
  return h("div", { class: "message bad", role: "alert" }, icon("alert"), h("div", { class: "grow stack" },
    h("strong", null, t.failure.load), h("p", null, errorText(t, error)),
    h("details", null, h("summary", null, t.failure.details), h("code", null, [code, reason, message].filter(Boolean).join(" · ")))),
    h("button", { type: "button", onclick: retry }, t.failure.retry));
}

/**
 * A value that is read, and read again. A newer reading replaces an older one, which keeps its value until then.
 *
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 */
export function resource(read) {
  const value = signal(/** @type {T | undefined} */ (undefined)), error = signal(/** @type {unknown} */ (undefined));
  const isLoading = signal(true);
  let abort = new AbortController();
  onDispose(() => abort.abort());
  const reload = async () => {
    abort.abort();
    const current = abort = new AbortController();
    isLoading.value = true;
    try {
      const result = await read(current.signal);
      if (current.signal.aborted) return;
      [value.value, error.value] = [result, undefined];
    } catch (thrown) {
      if (!current.signal.aborted) error.value = thrown;
    }
    if (!current.signal.aborted) isLoading.value = false;
  };
  void reload();
  return { value, error, isLoading, reload };
}

/**
 * Shows a resource: grey lines, an error with a button, or its value. The content is made anew with each value.
 *
 * @template T
 * @param {Context} context
 * @param {{ value: { value: T | undefined }, error: Readable<unknown>, reload: () => void }} resource
 * @param {(value: T) => Child} content
 * @param {() => Child} [loading]
 */
export const loaded = (context, { value, error, reload }, content, loading = () => skeleton(context.t.loading)) => () =>
  value.value !== undefined ? content(value.value) : error.value ? failure(context, error.value, reload) : loading();

/**
 * Opens a dialog, and ends it with what it contains once it is closed.
 *
 * @param {Context["t"]} t
 * @param {string} title
 * @param {(close: () => void) => Child} content
 * @param {Props} [props]
 */
export function openDialog(t, title, content, props = {}) {
  const scope = new Scope(), id = `dialog-${fields++}`;
  const dialog = scope.run(() => {
    const close = () => dialog.close();
    /** @type {HTMLDialogElement} */
    const dialog = h("dialog", {
      "aria-labelledby": id, ...props,
      onclose: () => {
        dialog.remove();
        scope.dispose();
      },
      onclick: (/** @type {MouseEvent} */ event) => { if (event.target === dialog) close(); },
    }, h("div", { class: "dialog-head row" }, h("h2", { id, class: "grow" }, title), iconButton("close", t.close, { onclick: close })),
      content(close));
    return dialog;
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @type {Map<string, Promise<void>>} */
const sheets = new Map();
/** Loads a page's stylesheet, once. A page awaits it before it renders. @param {URL} url @returns {Promise<void>} */
export function styles(url) {
  const loading = sheets.get(url.href) ?? new Promise((resolve, reject) => {
    document.head.append(h("link", { rel: "stylesheet", href: url.href, onload: () => resolve(undefined), onerror: reject }));
  });
  sheets.set(url.href, loading);
  return loading;
}

/**
 * Shows a part of a page whose module is loaded when it is first shown. A failure is that of the page.
 *
 * @template M
 * @param {() => Promise<M>} load
 * @param {(module: M) => Child} render
 */
export function later(load, render) {
  const module = signal(/** @type {{ loaded?: M, error?: unknown }} */ ({}));
  load().then((loaded) => { module.value = { loaded }; }, (error) => { module.value = { error }; });
  return show(() => Object.keys(module.value).length > 0, () => {
    const { loaded, error } = module.value;
    if (loaded === undefined) throw error;
    return render(loaded);
  }, pending);
}
/** Returns a mark without a picture for what is not loaded yet. */
export const pending = () => h("span", { hidden: true, "aria-busy": "true" });

/**
 * Returns a function that runs another one a moment later, once for all calls until then. Runs never overlap.
 *
 * @param {() => Promise<unknown>} run Its failure is ignored: the next call tries again.
 * @param {number} delayMs
 */
export function coalesce(run, delayMs) {
  let isDue = false, isRunning = false, isOver = false;
  onDispose(() => { isOver = true; });
  return async () => {
    isDue = true;
    if (isRunning) return;
    isRunning = true;
    while (isDue && !isOver) {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      isDue = false;
      if (!isOver) await run().catch(() => {});
    }
    isRunning = false;
  };
}
