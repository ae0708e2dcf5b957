/** The types that the modules of the console share. Nothing here is served. */
import type { Client, ResumableMethod, ServerStreamingMethod, WatchState } from "../sdk/campanile.js";
import type { GatewayService } from "../sdk/generated/campanile.gateway.v1.js";
import type { Format } from "./format.js";

/** A signal or a computed value. */
export interface Readable<T> {
  readonly value: T;
}

/** A value, or a signal or function that yields it. */
export type Reactive<T> = T | Readable<T> | (() => T);

/** The contents of an element. Functions and signals are followed; null, undefined and booleans show nothing. */
export type Child = string | number | boolean | null | undefined | Node | Child[] | (() => Child) | Readable<unknown>;

/** Attributes, `onNAME` listeners, `style` (an object), and `ref`, which receives the element. */
// deno-lint-ignore no-explicit-any
export type Props = Record<string, any>;

/** The form of a language's texts: as in English, with the same parameters. */
export type Texts<T> = {
  readonly [K in keyof T]: T[K] extends string ? string
    : T[K] extends (...parameters: infer P) => string ? (...parameters: P) => string
    : Texts<T[K]>;
};

/** The user of the console. */
export interface Caller {
  /** Such as `user/anna`; empty if nobody is signed in. */
  readonly principal: string;
  /** The user's id without `user/`; empty for other principals. */
  readonly user: string;
  readonly scopes: readonly string[];
  /** The time at which the credential or the session ends. */
  readonly expireTime: string | undefined;
  /** Whether a scope is granted, also by `*` or `admin`. */
  may(scope: string): boolean;
}

/** The place in the console, which the URL holds completely. */
export interface Route {
  /** The name of the page, which is the first part of the path. */
  readonly page: string;
  /** The other parts of the path. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** The receivers of a watch's events. */
export interface WatchHandlers<Response> {
  message(message: Response): void;
  /** Changes were missed. Read everything again. */
  gap?(): void;
  /** The watch has ended, such as for a missing permission. */
  failed?(error: { code: string; reason: string; message: string }): void;
  state?(state: WatchState): void;
}

export interface WatchFunction {
  /** Follows a method through the browser's only connection. Returns a function that ends it. */
  <Request, Response>(
    method: ResumableMethod<Request, Response> | ServerStreamingMethod<Request, Response>,
    request: NoInfer<Request>, handlers: WatchHandlers<NoInfer<Response>>,
  ): () => void;
}

export interface NoticeOptions {
  /** Offers to undo for ten seconds. */
  undo?: (() => unknown) | undefined;
  kind?: "info" | "error" | undefined;
}

/** The context of a page. */
export interface Context {
  readonly client: Client;
  readonly caller: Caller;
  /** The services behind the gateway, as they were when the console was opened. */
  readonly services: readonly GatewayService[];
  /** The URL of the console's folder. */
  readonly root: URL;
  readonly watch: WatchFunction;
  readonly route: Readable<Route>;
  /** Goes to `path`, such as `inbox/b_1`. Empty members of the query are left out. */
  navigate(path: string, query?: Record<string, string | undefined>, options?: { replace?: boolean }): void;
  /** Returns the relative URL of a path, for links. */
  href(path: string, query?: Record<string, string | undefined>): string;
  readonly language: "en" | "it";
  /** Dates, numbers, and errors in the user's language. */
  readonly format: Format;
  notify(text: string, options?: NoticeOptions): void;
  /** Shows the error of a call that the user has asked for. */
  fail(error: unknown): void;
  /** The texts of the shell: words such as "Cancel", for use in pages. */
  readonly t: Texts<typeof import("./texts/en.js").en>;
}

/** A page, which `pages/NAME/NAME.js` exports as `page`. */
export interface Page {
  /** The first part of the path, which is the NAME of the folder. */
  readonly path: string;
  /** Renders the page once; it follows `context.route` by itself while the page stays the same. */
  render(context: Context): Child;
}
