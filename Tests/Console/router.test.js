import assert from "node:assert/strict";
import { formatRoute, parseRoute, recognise, search } from "../../Sources/Console/Web/router.js";

Deno.test("a fragment names a page, parts and a query", () => {
  assert.deepEqual(parseRoute("#/inbox/b_1/n_2?q=disk+full&unread=1"),
    { page: "inbox", parts: ["b_1", "n_2"], query: { q: "disk full", unread: "1" } });
  assert.deepEqual(parseRoute(""), { page: "overview", parts: [], query: {} });
  assert.deepEqual(parseRoute("#/"), { page: "overview", parts: [], query: {} });
  assert.deepEqual(parseRoute("#main"), { page: "overview", parts: [], query: {} });
});

Deno.test("hostile fragments are places like others", () => {
  for (const hash of ["#/%E0%A4%A", "#//evil.example/x", "#//", "#//[", "#/\\\\[", "#/../../x", "#/<script>", "#/\u202e", "#/" + "a/".repeat(5000)]) {
    assert.equal(typeof parseRoute(hash).page, "string", hash);
  }
});

Deno.test("formatting and parsing are inverse", () => {
  for (const parts of [["inbox"], ["inbox", "a/b"], ["trace", "é ?#%"]]) {
    const { page, parts: rest, query } = parseRoute(formatRoute(parts, { q: "a&b=c", none: undefined, empty: "" }));
    assert.deepEqual([[page, ...rest], query], [parts, { q: "a&b=c" }]);
  }
});

Deno.test("ids are recognised by their form", () => {
  assert.equal(recognise(" n_7Zq0xVbN2aLmTe4w ")?.kind, "notification");
  assert.equal(recognise("b_7Zq0xVbN2aLmTe4w")?.page, "inbox");
  assert.equal(recognise("k_7Zq0xVbN2aLm")?.kind, "key");
  assert.deepEqual(recognise("0F8FAD5B-D9CB-469F-A165-70867728950E")?.parts, ["0f8fad5b-d9cb-469f-a165-70867728950e"]);
  for (const text of ["", "n_", "n_a b", "x_7Zq0xVbN2aLm", "0f8fad5b", "n_\u202e1234567"]) assert.equal(recognise(text), undefined, text);
});

Deno.test("a search prefers beginnings, ignores accents, and also finds letters in order", () => {
  const found = (/** @type {string} */ query) => search(["Attività", "Notifiche", "Tracciato", "Panoramica"], (text) => text, query);
  assert.deepEqual(found("attivita"), ["Attività"]);
  assert.equal(found("t")[0], "Tracciato");
  assert.deepEqual(found("pnrm"), ["Panoramica"]);
  assert.equal(found("").length, 4);
  assert.deepEqual(found("zz"), []);
});
