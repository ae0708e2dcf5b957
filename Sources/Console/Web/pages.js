// The pages. To add one, add a line, its title to the texts, and its folder in pages/.

/** @import { Caller, Page } from "./types.d.ts" */

/**
 * @typedef {object} PageEntry
 * @property {"overview" | "inbox" | "trace" | "activities" | "devices"} name Also the first part of the path, and the title's key.
 * @property {string} icon A symbol of icons.svg.
 * @property {(caller: Caller) => boolean} needs Whether the caller has use for it; otherwise it is absent.
 * @property {() => Promise<{ page: Page }>} load
 */

/** @type {readonly PageEntry[]} */
export const pages = [
  { name: "overview", icon: "overview", needs: () => true, load: () => import("./pages/overview/overview.js") },
  {
    name: "inbox", icon: "inbox", needs: ({ may, user }) => user !== "" && may("notifications:read"),
    load: () => import("./pages/inbox/inbox.js"),
  },
  {
    name: "trace", icon: "trace", needs: ({ may, user }) => may("notifications:operate") || (user !== "" && may("notifications:read")),
    load: () => import("./pages/trace/trace.js"),
  },
  {
    name: "activities", icon: "activities", needs: ({ may, user }) => may("activities:operate") || (user !== "" && may("activities:read")),
    load: () => import("./pages/activities/activities.js"),
  },
  {
    name: "devices", icon: "devices", needs: ({ may }) => may("simulator:operate"),
    load: () => import("./pages/devices/devices.js"),
  },
];
