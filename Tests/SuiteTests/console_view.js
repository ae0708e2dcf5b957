// Exercises the view layer in a page, and returns what it has seen. Its result is checked by test_console_live.py.
async (base) => {
  const script = document.querySelector("script[type=module]").src.replace("app.js", "");
  const { each, flush, h, show, signal, svg, virtualList, boundary } = await import(script + "view.js");
  const results = {};
  const host = document.createElement("div");
  document.body.append(host);
  const rows = signal([1, 2, 3, 4, 5].map((id) => ({ id, text: "row " + id })));
  let made = 0;
  host.append(h("ul", null, each(rows, ({ id }) => id, (item) => { made++; return h("li", null, () => item.value.text); })));
  const list = host.firstChild, nodes = [...list.children];
  const moves = [];
  new MutationObserver((records) => moves.push(...records)).observe(list, { childList: true });
  rows.value = [rows.value[4], ...rows.value.slice(0, 4)];
  flush();
  await new Promise((resolve) => setTimeout(resolve));
  results.order = list.textContent;
  results.movesOfOne = moves.filter(({ addedNodes }) => addedNodes.length).length;
  results.sameNodes = [...list.children].every((node) => nodes.includes(node));
  rows.value = rows.value.map((row) => row.id === 3 ? { ...row, text: "changed" } : row).filter(({ id }) => id !== 1);
  flush();
  results.changed = list.textContent;
  results.made = made;
  rows.value = [];
  flush();
  results.empty = list.children.length;

  const count = signal(0), isShown = signal(true);
  let shown = 0;
  const part = h("p", null, "n=", count, show(isShown, () => { shown++; return [() => "[", () => count.value, "]"]; }, () => "none"));
  const text = part.childNodes[2];
  count.value = 7;
  flush();
  results.nested = part.textContent;
  results.shownOnce = shown;
  isShown.value = false;
  flush();
  results.hidden = part.textContent;

  const hostile = h("a", { href: "javascript:alert(1)", title: "<b>" }, "<b>text</b>");
  results.hostile = hostile.outerHTML;
  results.attribute = svg("use", { href: "data:text/html,x" }).outerHTML;
  const failing = signal(0), fenced = h("div", null, boundary(() => h("i", null, () => { if (failing.value) throw new Error("planned"); return "fine"; }), (error) => "caught " + error.message));
  results.before = fenced.textContent;
  failing.value = 1;
  flush();
  await Promise.resolve();
  flush();
  results.after = fenced.textContent;

  const many = signal(Array.from({ length: 100000 }, (_, id) => ({ id })));
  let rendered = 0;
  const big = virtualList({ rows: many, rowPx: 30, key: ({ id }) => id, props: { style: { "block-size": "600px" } },
    row: (item, index) => { rendered++; return h("div", { role: "listitem", style: { "block-size": "30px" } }, () => index.value + ":" + item.value.id); } });
  host.append(big);
  const frames = async (n = 3) => { for (let i = 0; i < n; i++) await new Promise(requestAnimationFrame); };
  await frames();
  results.height = big.scrollHeight;
  big.scrollTop = 30 * 50000;
  await frames();
  const visible = () => [...big.querySelectorAll("[role=listitem]")].map((node) => node.textContent);
  results.middle = visible().includes("50000:50000");
  results.nodes = big.querySelectorAll("*").length;
  big.scrollTop = big.scrollHeight;
  await frames();
  results.last = visible().at(-1);
  const top = big.scrollTop;
  many.value = [{ id: "new" }, ...many.value];
  await frames();
  results.kept = big.scrollTop - top;
  results.rendered = rendered;
  results.inOrder = visible().every((row, index, all) => index === 0 || parseInt(row) === parseInt(all[index - 1]) + 1);
  host.remove();
  return results;
}
