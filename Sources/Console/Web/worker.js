// The SharedWorker that holds the only stream of all tabs of a browser.

import { Hub } from "./hub.js";

const { api, headers } = JSON.parse(new URLSearchParams(self.location.search).get("with") ?? "{}");
const hub = new Hub(api, headers);

self.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports;
  port.onmessage = ({ data }) => hub.receive(data, (message) => port.postMessage(message));
});
