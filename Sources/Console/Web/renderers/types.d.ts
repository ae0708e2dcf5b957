/** The types of renderers. Nothing here is served. */
import type { Texts } from "../types.d.ts";

/** An element of the small tree that a renderer returns. It has no markup: `devices/pieces.js` draws it. */
export type Piece =
  | { readonly type: "column" | "row"; readonly children: readonly Piece[] }
  | {
    readonly type: "text";
    readonly text: string;
    /** The font: Apple's text styles. */
    readonly style: "title" | "headline" | "body" | "caption";
    readonly tone?: "secondary" | "link" | undefined;
    /** `#RRGGBB`. */
    readonly color?: string | undefined;
    readonly linesMax?: number | undefined;
  }
  /** A running or stopped time, already formatted: it has the width of its digits. */
  | { readonly type: "clock"; readonly text: string; readonly style: "large" | "small"; readonly color?: string | undefined }
  /** A symbol of `devices/symbols.js`, by its name in SF Symbols. */
  | { readonly type: "symbol"; readonly name: string; readonly color?: string | undefined; readonly size?: "small" | undefined }
  | { readonly type: "dot"; readonly color: string }
  /** A part from 0 to 1. */
  | { readonly type: "progress"; readonly part: number; readonly shape: "bar" | "ring"; readonly color?: string | undefined }
  /** The icon of a bucket, by its first letter and a hue from its id: remote images are not loaded. */
  | { readonly type: "icon"; readonly letter: string; readonly hue: number }
  | { readonly type: "button"; readonly label: string; readonly symbol: string; readonly color?: string | undefined }
  | { readonly type: "space" }
  | { readonly type: "line" };

/** The presentations of an activity. An absent part shows nothing. */
export interface Presentations {
  /** Lock Screen, and the banner of an update with an alert. */
  readonly lockScreen: Piece;
  readonly compactLeading: Piece;
  readonly compactTrailing: Piece;
  readonly expanded: { readonly leading?: Piece; readonly trailing?: Piece; readonly center?: Piece; readonly bottom?: Piece };
  readonly minimal: Piece;
  /** The card in the watch's Smart Stack. */
  readonly watch: Piece;
  /** The state in words, for screen readers. */
  readonly spoken: string;
  /** Whether the presentations change with time alone. */
  readonly ticks: boolean;
  /** `#RRGGBB`: the colour of the activity's edge in the Dynamic Island. */
  readonly keyline?: string | undefined;
}

/** The form of an app's dates, as in `--content-state-dates`. `any` recognizes the form by the value. */
export type DateForm = "any" | "foundation" | "unix" | "iso8601";

/** The input of a renderer. Everything in it is untrusted, and may have any form. */
export interface RenderInput {
  /** The attributes' type; empty if it is unknown. */
  readonly attributesType: string;
  readonly attributes: Record<string, unknown>;
  readonly state: Record<string, unknown>;
  readonly dates: DateForm;
  readonly nowMs: number;
  readonly words: Words;
}

export type Words = Texts<typeof import("./texts.en.js").en>;

/** A renderer of the activities of an app. */
export interface Renderer {
  readonly name: string;
  /** Whether this renderer draws such a state. The first one that does is chosen. */
  fits(input: Pick<RenderInput, "attributesType" | "attributes" | "state">): boolean;
  /** Returns the presentations. Pure: time is in the input. */
  render(input: RenderInput): Presentations;
}
