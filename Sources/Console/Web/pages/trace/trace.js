import { h } from "../../view.js";

/** @import { Page } from "../../types.d.ts" */

/** @type {Page} */
export const page = {
  path: "trace",
  render: ({ t }) => h("h1", null, t.pages.trace),
};
