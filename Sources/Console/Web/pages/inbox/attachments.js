// The media of a notification. Remote ones are links until they are asked for.

import { NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { clean } from "../../format.js";
import { icon } from "../../parts.js";
import { h, onDispose, show, signal } from "../../view.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Attachment, Notification } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @param {Context} context @param {T} t @param {Notification} notification */
export const attachments = (context, t, { id = "", attachments = [] }) =>
  h("ul", { class: "stack" }, attachments.map((each) => h("li", null, attachment(context, t, id, each))));

/** @param {Context} context @param {T} t @param {string} notificationId @param {Attachment} attachment */
function attachment({ client, fail }, t, notificationId, { url = "", name = "", contentId = "", mediaType, contentType = "" }) {
  const source = signal(""), isImage = /IMAGE|GIF|ICON/.test(mediaType ?? "");
  const host = /^https?:/.test(url) ? new URL(url).host : "";
  onDispose(() => { if (source.value.startsWith("blob:")) URL.revokeObjectURL(source.value); });
  const label = clean(name || (url ? url : contentId), 120);
  const showKept = async () => {
    try {
      const { data = "", contentType: kind = contentType } = await client.call(Service.getAttachmentContent, { notificationId, contentId });
      // Only image types become images: an SVG in an img element runs no script.
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      source.value = URL.createObjectURL(new Blob([bytes], { type: kind.startsWith("image/") ? kind : "application/octet-stream" }));
    } catch (error) {
      fail(error);
    }
  };
  return h("div", { class: "attachment stack" }, h("div", { class: "row wrap" }, icon("file"),
    host ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer", class: "ellipsis" }, label) : h("span", { class: "ellipsis" }, label),
    isImage && contentId && show(() => !source.value, () => h("button", { type: "button", onclick: showKept }, t.loadKept)),
    isImage && host && h("small", { class: "muted" }, t.imageHint(host))),
  show(source, () => h("img", { src: source, alt: label, onerror: () => { source.value = ""; } })));
}
