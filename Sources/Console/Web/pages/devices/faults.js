// Buttons that make the simulated APNs fail, and the faults that are active.

import { SimulatorService } from "../../../sdk/generated/campanile.simulator.v1.js";
import { iconButton } from "../../parts.js";
import { each, h, show } from "../../view.js";
import { faultName, presets } from "./fault-names.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Fault } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @import { Model } from "./model.js" */
/** @import { T } from "./devices.js" */

const lastsMs = 30_000;

/** @param {Context} context @param {T} t @param {Model} model */
export function faultBar({ client, format }, t, model) {
  /** @param {Fault} fault */
  const create = (fault) => model.changeFaults(() => client.call(SimulatorService.createFault, {
    fault: { ...fault, endTime: new Date(Date.now() + lastsMs).toISOString() }, requestId: crypto.randomUUID(),
  }));
  /** @param {Fault} fault */
  const remove = (fault) => model.changeFaults(() => client.call(SimulatorService.deleteFault, { faultId: fault.id ?? "" }));
  return h("section", { class: "card faults", "aria-label": t.faults },
    h("div", { class: "row wrap" }, h("h2", { title: t.faultsLead }, t.faults), h("span", { class: "muted" }, t.faultFor), Object.entries(presets).map(([name, fault]) =>
      h("button", { type: "button", class: "fault-button", "data-fault": name, onclick: () => create(fault) }, t.fault[/** @type {keyof T["fault"]} */ (name)]))),
    h("div", { role: "status" }, show(() => model.faults.value.length > 0,
      () => h("ul", { class: "fault-list", "aria-label": t.activeFaults }, each(model.faults, ({ id }) => id, (fault) =>
        h("li", { class: "row wrap" }, h("span", { class: "tag bad" }, () => faultName(fault.value, t)),
          h("span", { class: "muted grow" }, () => [t.applied(format.number(fault.value.appliedCount)),
            fault.value.endTime ? t.endsIn(format.duration(Date.parse(fault.value.endTime) - model.nowMs.value)) : ""].filter(Boolean).join(" · ")),
          iconButton("trash", t.removeFault(faultName(fault.value, t)), { onclick: () => remove(fault.value) })))),
      () => h("span", { class: "muted" }, t.noFaults))));
}
