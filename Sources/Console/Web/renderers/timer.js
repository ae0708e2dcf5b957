// Timers: they count by themselves from the start, the pause and the sum of all pauses.

import { button, clock, column, progress, row, space, symbol, text } from "./pieces.js";
import { clockText, dateMs, member, numberOf, textOf } from "./values.js";

/** @import { Renderer, RenderInput } from "./types.d.ts" */

const orange = "#FF9F0A", green = "#34C759", grey = "#8E8E93", red = "#FF453A";

/**
 * Returns the times of a timer. `remainingMs` and `part` are undefined for a timer without an end.
 *
 * @param {Pick<RenderInput, "state" | "dates" | "nowMs">} input
 */
function timesOf({ state, dates, nowMs }) {
  const startedMs = dateMs(member(state, "startedAt"), dates) ?? nowMs;
  const pausedMs = dateMs(member(state, "pausedAt"), dates);
  const durationMs = Math.max(0, numberOf(member(state, "duration"))) * 1000;
  const pausesMs = Math.max(0, numberOf(member(state, "totalPausedDuration"))) * 1000;
  const isCompleted = member(state, "sessionType") === "completed";
  const ranMs = Math.max(0, (pausedMs ?? nowMs) - startedMs - pausesMs);
  const elapsedMs = durationMs > 0 ? (isCompleted ? durationMs : Math.min(durationMs, ranMs)) : ranMs;
  const hasEnd = durationMs > 0;
  return {
    isPaused: pausedMs !== undefined && !isCompleted,
    isCompleted,
    elapsedMs,
    remainingMs: hasEnd ? durationMs - elapsedMs : undefined,
    part: hasEnd ? elapsedMs / durationMs : undefined,
  };
}

/** @type {Renderer} */
export const timer = {
  name: "timer",
  fits: ({ state }) => Object.hasOwn(state, "startedAt") && (Object.hasOwn(state, "sessionType") || Object.hasOwn(state, "duration")),
  render(input) {
    const { state, words } = input, times = timesOf(input), type = textOf(member(state, "sessionType"));
    const name = textOf(member(state, "methodName"), textOf(member(state, "protocolName"), words.timer));
    const countsUp = times.remainingMs === undefined || type === "countup";
    // A countdown shows full seconds until its end, as the system does.
    const shownMs = countsUp ? times.elapsedMs : Math.ceil((times.remainingMs ?? 0) / 1000) * 1000;
    const time = clockText(shownMs), color = times.isCompleted ? green : times.isPaused ? grey : orange;
    const label = times.isCompleted ? words.completed : times.isPaused ? words.paused : type;
    const mark = symbol(times.isCompleted ? "checkmark.circle.fill" : times.isPaused ? "pause.fill" : "timer", color);
    const bar = times.part === undefined ? [] : [progress(times.part, "bar", color)];
    const controls = times.isCompleted ? [] : [row(
      times.isPaused ? button(words.resume, "play.fill", orange) : button(words.pause, "pause.fill", orange),
      button(words.stop, "stop.fill", red),
    )];
    const head = column(text(name, "headline", { linesMax: 1 }), text(label, "caption", { tone: "secondary" }));
    return {
      lockScreen: column(row(mark, head, space(), clock(time, "large", color)), ...bar, ...controls),
      compactLeading: mark,
      compactTrailing: clock(time, "small", color),
      expanded: { leading: mark, trailing: clock(time, "large", color), center: head, bottom: column(...bar, ...controls) },
      minimal: times.part === undefined ? mark : progress(times.part, "ring", color),
      watch: column(row(mark, text(name, "headline", { linesMax: 1 })), clock(time, "large", color), ...bar),
      spoken: `${name}. ${label}. ${countsUp ? words.elapsed(time) : words.remaining(time)}`,
      ticks: !times.isPaused && !times.isCompleted,
      keyline: color,
    };
  },
};
