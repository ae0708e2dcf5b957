// An iPhone of 393 × 852 points: Lock Screen, Home Screen with the Dynamic Island, and its expanded and minimal forms.
// The picture is hidden from screen readers, which get `label`.

import { h } from "../view.js";
import { draw } from "./pieces.js";
import { symbolOf } from "./symbols.js";

/** @import { Presentations } from "../renderers/types.d.ts" */

/**
 * @typedef {"started" | "stale" | "ended" | "dismissed"} Look
 * @typedef {{ key: string, shown: Presentations, look: Look, app: string, alert?: Banner | undefined }} ActivityCard
 * @typedef {{ app: string, title: string, subtitle?: string, body: string, time: string }} Banner
 * @typedef {"lock" | "home" | "expanded" | "minimal"} View
 * @typedef {object} PhoneModel
 * @property {View} view
 * @property {string} clock Such as `9:41`.
 * @property {string} date Such as `Tuesday 24 November`.
 * @property {readonly ActivityCard[]} activities The one with the highest relevance first.
 * @property {readonly Banner[]} banners Newest first.
 * @property {string} app The last part of the bundle id.
 * @property {number} badge
 * @property {number} hue Of the wallpaper.
 * @property {boolean} connected
 * @property {{ stale: string, ended: string, offline: string }} words
 */

/** @param {string} app @param {number} hue */
const appIcon = (app, hue) => h("span", { class: "app-icon", style: { background: `linear-gradient(160deg, hsl(${hue} 70% 55%), hsl(${hue + 40} 70% 38%))` } },
  (app[0] ?? "?").toUpperCase());

/** @param {Banner} banner @param {number} hue */
const bannerOf = (banner, hue) => h("div", { class: "banner" }, appIcon(banner.app, hue),
  h("div", { class: "p-column" },
    h("div", { class: "p-row" }, h("span", { class: "p-text p-headline p-line1", dir: "auto" }, banner.title || banner.app),
      h("span", { class: "p-space" }), h("span", { class: "p-text p-caption p-secondary" }, banner.time)),
    banner.subtitle ? h("span", { class: "p-text p-body p-line1", dir: "auto" }, banner.subtitle) : null,
    h("span", { class: "p-text p-body p-line2", dir: "auto" }, banner.body)));

/** @param {ActivityCard} card @param {PhoneModel} model */
const cardOf = (card, model) => h("div", { class: `activity-card is-${card.look}` },
  draw(card.shown.lockScreen),
  card.look === "stale" || card.look === "ended" ? h("span", { class: "look-mark" }, model.words[card.look]) : null);

/** @param {PhoneModel} model */
function lockScreen(model) {
  const cards = model.activities.filter(({ look }) => look !== "dismissed");
  return [
    h("div", { class: "lock-head" }, symbolOf("lock.fill"), h("span", { class: "lock-date" }, model.date), h("span", { class: "lock-clock" }, model.clock)),
    h("div", { class: "lock-stack" }, model.banners.slice(0, cards.length > 0 ? 2 : 3).map((banner) => bannerOf(banner, model.hue)),
      cards.slice(0, 2).map((card) => cardOf(card, model))),
  ];
}

/** @param {PhoneModel} model */
function homeScreen(model) {
  const others = Array.from({ length: 15 }, (_, index) => h("span", { class: "home-app" }, h("span", { class: "app-icon is-other", style: { opacity: String(0.35 + (index % 4) / 12) } })));
  return [
    h("div", { class: "status-bar" }, h("span", null, model.clock)),
    h("div", { class: "home-grid" }, h("span", { class: "home-app" }, appIcon(model.app, model.hue),
      model.badge > 0 ? h("span", { class: "badge" }, model.badge > 999 ? "999+" : String(model.badge)) : null,
      h("span", { class: "home-name" }, model.app)), others),
  ];
}

/** Draws the Dynamic Island. Ended activities leave it. @param {PhoneModel} model */
export function island(model) {
  const cards = model.activities.filter(({ look }) => look === "started" || look === "stale"), shown = cards[0]?.shown, { view } = model;
  const stale = cards[0]?.look === "stale" ? "is-stale" : "", keyline = { "--keyline": shown?.keyline ?? "transparent" };
  if (!shown || view === "lock") return h("div", { class: "island" });
  if (view === "minimal") {
    return [h("div", { class: "island" }), h("div", { class: `island-bubble ${stale}`, style: keyline }, draw(shown.minimal))];
  }
  if (view === "home") {
    return [
      h("div", { class: `island is-compact ${stale}`, style: keyline }, h("div", null, draw(shown.compactLeading)), h("div", null, draw(shown.compactTrailing))),
      cards[1] ? h("div", { class: "island-bubble" }, draw(cards[1].shown.minimal)) : null,
    ];
  }
  const { leading, trailing, center, bottom } = shown.expanded;
  return h("div", { class: `island is-expanded ${stale}`, style: keyline },
    h("div", { class: "island-top" }, h("div", null, draw(leading)), h("div", { class: "island-center" }, draw(center)), h("div", null, draw(trailing))),
    h("div", { class: "island-bottom" }, draw(bottom)));
}

/**
 * Draws a phone. Follows the model.
 *
 * @param {() => PhoneModel} model @param {() => string} label What the phone shows, in words.
 */
export const phone = (model, label) => h("div", { class: "phone", role: "img", "aria-label": label },
  () => {
    const now = model();
    return h("div", { class: `phone-screen is-${now.view}`, "aria-hidden": "true", style: { "--wall": String(now.hue) } },
      now.view === "lock" ? lockScreen(now) : homeScreen(now), island(now),
      now.connected ? null : h("div", { class: "offline-mark" }, now.words.offline), h("div", { class: "home-bar" }));
  });
