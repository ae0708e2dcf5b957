// The forms for a new notification and a new bucket. What the server refuses is shown at its field.

import { AutomationService, NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { clean } from "../../format.js";
import { sending } from "../../forms.js";
import { field, openDialog } from "../../parts.js";
import { h, show, signal } from "../../view.js";
import { en } from "./forms.en.js";
import { it } from "./forms.it.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Template } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @type {Record<"en" | "it", import("../../types.d.ts").Texts<typeof en>>} */
const forms = { en, it };

/** @param {Context} context @param {T} t @param {import("./model.js").Model} model */
export function openCompose({ client, notify, fail, format, navigate, t: shell, language }, t, model) {
  const f = forms[language];
  const templates = signal(/** @type {Template[]} */ ([])), template = signal(/** @type {Template | undefined} */ (undefined));
  const isScheduled = signal(false), { isBusy, violation, onsubmit } = sending(fail, {
    subtitle: "subtitle", title: "heading", body: "body", bucketid: "bucket", delivertime: "deliver", attachments: "attachment", priority: "priority" });
  void client.call(AutomationService.listTemplates, { pageSize: 1000 }).then(({ templates: found = [] }) => { templates.value = found; }, () => {});
  const requestId = crypto.randomUUID(), canPublish = model.buckets.value.filter(({ role }) => role !== "BUCKET_ROLE_READER");
  openDialog(shell, f.form.title, (close) => canPublish.length === 0 ? h("p", null, f.form.noBucket) : h("form", {
    class: "stack",
    onsubmit: onsubmit(async (data) => {
      const values = Object.fromEntries([...data].map(([name, value]) => [name, String(value)]));
      const variables = Object.fromEntries(Object.entries(values).flatMap(([name, value]) => name.startsWith("$") ? [[name.slice(1), value]] : []));
      const { notification } = await client.call(Service.createNotification, {
        requestId,
        notification: {
          bucketId: values.bucket, priority: /** @type {any} */ (values.priority),
          ...(values.heading && { title: values.heading }), ...(values.subtitle && { subtitle: values.subtitle }), ...(values.body && { body: values.body }),
          ...(values.deliver && { deliverTime: new Date(values.deliver).toISOString() }),
          ...(values.attachment && { attachments: [{ url: values.attachment, mediaType: mediaType(values.attachment) }] }),
        },
        ...(template.value?.id && { templateId: template.value.id, variables }),
      });
      close();
      if (values.deliver) {
        notify(f.form.scheduled(format.full(values.deliver)));
        navigate("inbox/scheduled");
        if (model.place.value === "scheduled") void model.reload();
      } else {
        notify(f.form.sent);
        navigate(`inbox/${model.place.value === "all" || model.bucketId.value === values.bucket ? model.place.value : "all"}/${notification?.id}`);
      }
    }),
  }, h("div", { class: "fields" },
    field(f.form.bucket, h("select", { name: "bucket" }, canPublish.map(({ id, name }) => h("option", {
      value: id, selected: id === model.bucketId.value }, clean(name, 80)))), violation("bucket")),
    field(f.form.priority, h("select", { name: "priority" }, Object.entries(t.priorities).map(([value, text]) =>
      h("option", { value, selected: value === "PRIORITY_NORMAL" }, text))), violation("priority"))),
  show(() => templates.value.length > 0, () => field(f.form.template, h("select", {
    onchange: (/** @type {Event & { target: HTMLSelectElement }} */ { target }) => { template.value = templates.value.find(({ id }) => id === target.value); } },
  h("option", { value: "" }, f.form.noTemplate), templates.value.map(({ id, name }) => h("option", { value: id }, clean(name, 80)))))),
  () => template.value?.requiredVariables?.map((name) => field(name, h("input", { name: `$${name}` }))),
  field(f.form.heading, h("input", { name: "heading", maxlength: 256, required: () => !template.value, autofocus: true }), violation("heading")),
  field(f.form.subtitle, h("input", { name: "subtitle", maxlength: 256 }), violation("subtitle")),
  field(f.form.body, h("textarea", { name: "body", rows: 4, maxlength: 16_384 }), violation("body")),
  h("div", { class: "fields" },
    field(f.form.deliver, h("input", { name: "deliver", type: "datetime-local",
      oninput: (/** @type {Event & { target: HTMLInputElement }} */ { target }) => { isScheduled.value = target.value !== ""; } }),
    [h("small", null, f.form.deliverHint), violation("deliver")]),
    field(f.form.attachment, h("input", { name: "attachment", type: "url", placeholder: "https://" }), violation("attachment"))),
  h("div", { class: "row dialog-end" }, h("span", { class: "grow" }), h("button", { type: "button", onclick: close }, shell.cancel),
    h("button", { class: "primary", disabled: isBusy }, () => isScheduled.value ? f.form.schedule : f.form.send))));
}

/** @param {string} url */
const mediaType = (url) => /\.(png|jpe?g|webp|avif|heic)([?#]|$)/i.test(url) ? "MEDIA_TYPE_IMAGE" : /\.gif([?#]|$)/i.test(url) ? "MEDIA_TYPE_GIF" : "MEDIA_TYPE_FILE";

/** @param {Context} context @param {T} t @param {import("./model.js").Model} model */
export function openBucketForm({ client, fail, navigate, t: shell, language }, t, model) {
  const f = forms[language], { isBusy, violation, onsubmit } = sending(fail, { name: "name" });
  openDialog(shell, t.newBucket, (close) => h("form", {
    class: "stack",
    onsubmit: onsubmit(async (data) => {
      const { bucket } = await client.call(Service.createBucket, { bucket: { name: String(data.get("name")) }, requestId: crypto.randomUUID() });
      close();
      await model.reloadBuckets();
      navigate(`inbox/${bucket?.id}`);
    }),
  }, field(f.form.name, h("input", { name: "name", required: true, maxlength: 128, autofocus: true }), violation("name")),
  h("div", { class: "row" }, h("span", { class: "grow" }), h("button", { class: "primary", disabled: isBusy }, f.form.create))));
}
