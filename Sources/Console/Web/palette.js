// The command palette and the help about keys.

import { computed, h, signal } from "./view.js";
import { icon, openDialog } from "./parts.js";
import { recognise, search } from "./router.js";

/** @import { Texts } from "./types.d.ts" */
/** @typedef {{ icon: string, text: string, run: () => void }} Command */

/**
 * @param {Texts<typeof import("./texts/en.js").en>} t
 * @param {readonly Command[]} commands
 * @param {(page: string, parts: string[]) => void} open
 */
export function openPalette(t, commands, open) {
  const query = signal(""), selected = signal(0);
  const results = computed(() => {
    const id = recognise(query.value);
    if (!id) return search(commands, ({ text }) => text, query.value).slice(0, 12);
    return [{ icon: "search", text: t.palette.open1(`${t.palette.kinds[id.kind]} ${id.id}`), run: () => open(id.page, id.parts) }];
  });
  /** @param {(() => void) | undefined} run @param {() => void} close */
  const choose = (run, close) => {
    close();
    run?.();
  };
  const dialog = openDialog(t, t.palette.open, (close) => [
    h("input", {
      type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-results", "aria-label": t.palette.placeholder,
      "aria-activedescendant": () => results.value.length > 0 ? `palette-${selected.value}` : null, placeholder: t.palette.placeholder,
      autofocus: true, autocomplete: "off", spellcheck: "false",
      oninput: (/** @type {Event & { target: HTMLInputElement }} */ { target }) => { [query.value, selected.value] = [target.value, 0]; },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const count = results.value.length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && count > 0) selected.value = (selected.value + step + count) % count;
        else if (event.key === "Enter") choose(results.value[selected.value]?.run, close);
        else return;
        event.preventDefault();
      },
    }),
    h("div", { id: "palette-results", role: "listbox", "aria-label": t.palette.pages, class: "palette-results" },
      () => results.value.map((command, index) => h("div", {
        role: "option", id: `palette-${index}`, "aria-selected": () => String(index === selected.value), class: "palette-row row",
        onclick: () => choose(command.run, close), onpointermove: () => { selected.value = index; },
      }, icon(command.icon), h("span", { class: "ellipsis" }, command.text)))),
    h("p", { class: "muted palette-none", role: "status" }, () => results.value.length > 0 ? "" : t.palette.none),
  ], { class: "palette" });
  return dialog;
}

/** @param {Texts<typeof import("./texts/en.js").en>} t */
export function openHelp(t) {
  const keys = t.help.keys, mac = /Mac|iPhone|iPad/.test(navigator.userAgent);
  /** @type {[string, [string[], string][]][]} */
  const groups = [
    [t.help.general, [
      [[mac ? "⌘" : "Ctrl", "K"], keys.palette], [["?"], keys.help], [["g", "o"], keys.goOverview], [["g", "i"], keys.goInbox],
      [["g", "t"], keys.goTrace], [["Esc"], keys.close],
    ]],
    [t.help.list, [
      [["j"], keys.next], [["k"], keys.previous], [["Enter"], keys.open], [["x"], keys.select], [["e"], keys.archive], [["#"], keys.remove],
      [["/"], keys.search],
    ]],
  ];
  return openDialog(t, t.help.title, () => h("div", { class: "help-groups" }, groups.map(([title, rows]) => h("section", { class: "stack" },
    h("h3", null, title), h("dl", { class: "help-keys" }, rows.map(([pressed, text]) => h("div", null,
      h("dt", null, text), h("dd", null, pressed.map((key) => h("kbd", null, key))))))))), { class: "help" });
}
