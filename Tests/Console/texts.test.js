import assert from "node:assert/strict";

// Types check that a language misses no text.
// This checks that no text is empty, unused, or a mistaken copy of the English one.
const web = new URL("../../Sources/Console/Web/", import.meta.url);
// Words that both languages share.
const shared = new Set(["Menu", "Inbox", "UTC", "Bucket", "PIN", "Push", "App", "Token", "No", "apns-id", "Email", "Timer", "Payload", "Lock Screen", "Dynamic Island", "{}"]);

/** @param {any} value @param {string} path @returns {[string, string][]} */
const flatten = (value, path) => typeof value === "object" ? Object.entries(value).flatMap(([key, each]) => flatten(each, `${path}.${key}`))
  : [[path, typeof value === "function" ? value(...Array(value.length + 2).fill(7)) : String(value)]];

/** @param {URL} folder @param {RegExp} wanted @returns {URL[]} */
function files(folder, wanted) {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? files(new URL(`${name}/`, folder), wanted) : wanted.test(name) ? [new URL(name, folder)] : []);
}

const modules = files(web, /^(?!(.*\.)?(en|it)\.js).*\.js$/).map((file) => ({
  name: file.href.slice(web.href.length), text: Deno.readTextFileSync(file).replace(/\/\*[^]*?\*\//g, "") }));

/**
 * Returns the code that may use the texts of a file, each with the variables that hold them there.
 *
 * @param {string} name
 */
function users(name) {
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  if (name === "texts/en.js") return modules.map((module) => ({ ...module, roots: module.name.startsWith("pages/") ? "shell|context\\.t" : "t|context\\.t|texts\\.value\\?" }));
  if (folder === "renderers/") return modules.filter((module) => module.name.startsWith(folder)).map((module) => ({ ...module, roots: "words" }));
  const root = name.endsWith("forms.en.js") ? "f" : "t";
  return modules.filter((module) => module.name.startsWith(folder)).map((module) => ({ ...module, roots: root }));
}

/** Whether code reads a text, or uses an object around it as a whole. @param {string} path Begins with a dot. @param {ReturnType<typeof users>} code */
function isUsed(path, code) {
  const parts = path.slice(1).split(".");
  return parts.some((_, index) => {
    const end = index === parts.length - 1 ? "" : "(?!\\.)";
    return code.some(({ text, roots }) => new RegExp(`(?<![.\\w])(${roots})\\.${parts.slice(0, index + 1).join("\\.")}\\b${end}`).test(text));
  });
}

for (const file of files(web, /(^|\.)en\.js$/)) {
  const name = file.href.slice(web.href.length);
  Deno.test(`texts: ${name}`, async () => {
    const { en } = await import(file.href), { it } = await import(file.href.replace(/en\.js$/, "it.js"));
    const english = new Map(flatten(en, "")), italian = new Map(flatten(it, ""));
    assert.deepEqual([...italian.keys()].sort(), [...english.keys()].sort());
    const copied = [...english].filter(([path, text]) => text !== "" && italian.get(path) === text && text.length > 3 && !shared.has(text));
    for (const [path, text] of italian) assert.equal(text !== "" || english.get(path) === "", true, path);
    assert.ok(copied.length <= english.size / 10, JSON.stringify(copied));
    const code = users(name);
    assert.deepEqual([...english.keys()].filter((path) => !isUsed(path, code)), [], "unused");
  });
}
