// The implementation has the types that campanile.d.ts declares. The test copies the module without its link to them.
import * as implementation from "./implementation.js";
import type * as declared from "../../Clients/TypeScript/campanile.js";

export const client: typeof declared.Client = implementation.Client;
export const error: typeof declared.CallError = implementation.CallError;
type Names<T> = keyof T;
export const names: Names<typeof declared> extends Names<typeof implementation> ? true : false = true;
export const noOthers: Names<typeof implementation> extends Names<typeof declared> ? true : false = true;
