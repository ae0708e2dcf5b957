export const en = {
  title: "Overview", services: "Services", up: "Running", down: "Not responding",
  downHint: (name = "") => `${name} does not respond. Look at its log in the suite’s folder, or run this:`,
  unread: "Unread", dead: "Dead letters", accepted: "Accepted by APNs, 24 h", rejected: "Rejected or given up, 24 h", latency: "Median to APNs’ answer",
  pushes: "Pushes per hour", hour: "Hour", count: "Accepted", failedCount: "Failed", none: "No pushes in the last 24 hours.",
  toInbox: "Open the inbox", toTrace: "Find out why",
  start: "First steps", startText: "Each step is ticked as soon as it is done.",
  steps: {
    bucket: "Create a bucket", publish: "Publish a notification", device: "Register a device", trace: "See the result",
  },
  done: "Done", open: "Open", devicesHint: "An app registers its token by itself when it is opened; this does it by hand.",
  keys: { title: "API keys", id: "Id", principal: "Principal", scopes: "Scopes", used: "Last use", description: "Description", all: "All keys" },
};
