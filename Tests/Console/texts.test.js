import assert from "node:assert/strict";

// Types check that a language misses no text. This checks that no text is empty or a mistaken copy of the English one.
const web = new URL("../../Sources/Console/Web/", import.meta.url);
// Words that both languages share.
const shared = new Set(["Menu", "Inbox", "UTC", "Bucket", "PIN", "Push", "App", "Token", "No", "apns-id", "Email", "Timer", "Payload", "Lock Screen", "Dynamic Island", "{}"]);

/** @param {any} value @param {string} path @returns {[string, string][]} */
const flatten = (value, path) => typeof value === "object" ? Object.entries(value).flatMap(([key, each]) => flatten(each, `${path}.${key}`))
  : [[path, typeof value === "function" ? value(...Array(value.length + 2).fill(7)) : String(value)]];

/** @param {URL} folder @returns {URL[]} */
function files(folder) {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? files(new URL(`${name}/`, folder)) : /(^|\.)en\.js$/.test(name) ? [new URL(name, folder)] : []);
}

for (const file of files(web)) {
  const name = file.href.slice(web.href.length);
  Deno.test(`texts: ${name}`, async () => {
    const { en } = await import(file.href), { it } = await import(file.href.replace(/en\.js$/, "it.js"));
    const english = new Map(flatten(en, "")), italian = new Map(flatten(it, ""));
    assert.deepEqual([...italian.keys()].sort(), [...english.keys()].sort());
    const copied = [...english].filter(([path, text]) => text !== "" && italian.get(path) === text && text.length > 3 && !shared.has(text));
    for (const [path, text] of italian) assert.equal(text !== "" || english.get(path) === "", true, path);
    assert.ok(copied.length <= english.size / 10, JSON.stringify(copied));
  });
}
