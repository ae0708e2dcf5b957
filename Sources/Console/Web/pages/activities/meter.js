// The size of a Live Activity's push, as APNs counts it: the bytes of the whole payload. Pure.

const payloadBytesMax = 4096;
const broadcastBytesMax = 5120;

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text).length;

/**
 * @typedef {object} Draft
 * @property {"start" | "update" | "end"} event
 * @property {string} stateJson The text of an object, which is pushed as it is.
 * @property {{ title?: string, body?: string, sound?: string } | undefined} [alert]
 * @property {string | undefined} [staleTime]
 * @property {string | undefined} [dismissalTime]
 * @property {number | undefined} [relevanceScore]
 * @property {string | undefined} [attributesType]
 * @property {string | undefined} [attributesJson]
 * @property {string | undefined} [channelId]
 */

const seconds = (/** @type {string} */ time) => Math.floor(Date.parse(time) / 1000) || 0;

/** Returns the payload that the service would push, with a timestamp of the usual width. @param {Draft} draft */
export function payloadOf(draft) {
  const { event, stateJson, alert, staleTime, dismissalTime, relevanceScore, attributesType, attributesJson, channelId } = draft;
  const isVisible = alert && (alert.title || alert.body);
  const start = event !== "start" ? "" : `,"attributes-type":${JSON.stringify(attributesType ?? "")},"attributes":${attributesJson || "{}"},` +
    (channelId ? `"input-push-channel":${JSON.stringify(channelId)}` : '"input-push-token":1');
  const sounding = isVisible && { ...(alert.title && { title: alert.title }), ...(alert.body && { body: alert.body }), ...(alert.sound && { sound: alert.sound }) };
  return `{"aps":{"timestamp":1700000000,"event":"${event}","content-state":${stateJson}${start}` +
    (staleTime ? `,"stale-date":${seconds(staleTime)}` : "") +
    (event === "end" && dismissalTime ? `,"dismissal-date":${seconds(dismissalTime)}` : "") +
    (relevanceScore !== undefined && Number.isFinite(relevanceScore) ? `,"relevance-score":${Number.isInteger(relevanceScore) ? `${relevanceScore}.0` : relevanceScore}` : "") +
    (sounding ? `,"alert":${JSON.stringify(sounding)}` : "") + "}}";
}

/** Returns the size of a draft, its limit, and the excess. @param {Draft} draft */
export function measure(draft) {
  const size = bytes(payloadOf(draft)), limit = draft.channelId && draft.event !== "start" ? broadcastBytesMax : payloadBytesMax;
  return { size, limit, excess: Math.max(0, size - limit) };
}

/**
 * Returns the measure that a refusal states; undefined for another error. It counts what the page cannot know.
 *
 * @param {unknown} error
 */
export function refusedMeasure(error) {
  const { reason, metadata = {}, fieldViolations = [] } = /** @type {{ reason?: string, metadata?: Record<string, string>, fieldViolations?: readonly { reason: string }[] }} */ (error ?? {});
  if (reason !== "PAYLOAD_TOO_LARGE" && !fieldViolations.some(({ reason }) => reason === "PAYLOAD_TOO_LARGE")) return undefined;
  const [size, limit, excess] = ["sizeBytes", "limitBytes", "excessBytes"].map((name) => Number(metadata[name]));
  return size !== undefined && limit !== undefined && excess !== undefined && [size, limit, excess].every(Number.isFinite) ? { size, limit, excess } : undefined;
}

/** Returns what is wrong with a text that should be one JSON object; empty if nothing is. @param {string} text @returns {"" | "syntax" | "object"} */
export function fault(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? "" : "object";
  } catch {
    return "syntax";
  }
}
