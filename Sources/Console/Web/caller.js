// The rights of the one who uses the console, by the gateway's rules. The gateway checks every call itself.

/** @import { Caller } from "./types.d.ts" */

/** @param {{ principal?: string | undefined, scopes?: string[] | undefined, expireTime?: string | undefined }} caller @returns {Caller} */
export function createCaller({ principal = "", scopes = [], expireTime }) {
  const granted = new Set(scopes);
  /** @param {string} scope */
  const may = (scope) => {
    const [service, right] = scope.split(":");
    if (granted.has("admin") || granted.has(scope) || granted.has(service) && scope !== "admin") return true;
    if (scopes.length === 0) return right === "read" || right === "write" || right === "publish";
    return right === "publish" && granted.has(`${service}:write`);
  };
  return { principal, user: principal.startsWith("user/") ? principal.slice(5) : "", scopes, expireTime, may };
}
