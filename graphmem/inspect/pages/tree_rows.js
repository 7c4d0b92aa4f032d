"use strict";
// What the tree is and which lines it has: no drawing, no page. Every walk is a loop, so that no tree is too deep.
const Rows = (() => {
  const SMALL = 4; // a branch of so few nodes is never folded at first

  /** The tree with what follows from it: children, the child with which a chain goes on, sizes, chains. */
  function model(data) {
    const count = data.nodes.length;
    const kids = data.nodes.map(() => []);
    const size = new Int32Array(count).fill(1);
    for (let i = 1; i < count; i++) kids[data.nodes[i].up].push(i);
    for (let i = count - 1; i > 0; i--) size[data.nodes[i].up] += size[i];
    const onward = new Int32Array(count).fill(-1);
    for (let i = 0; i < count; i++) if (i !== data.cursor) onward[i] = chosen(data.nodes, kids[i]);
    const chain = new Int32Array(count); // the first node of the chain that a node is in
    for (let i = 1; i < count; i++) chain[i] = onward[data.nodes[i].up] === i ? chain[data.nodes[i].up] : i;
    return { data, kids, size, onward, chain, besides: besides(data) };
  }

  function chosen(nodes, kids) {
    let best = -1;
    for (const kid of kids) if (best < 0 || !nodes[best].on) best = kid;
    return best;
  }

  /** By node: summaries whose nodes stand under another one, and requests that no node stands for. */
  function besides(data) {
    const found = new Map();
    const put = (at, what) => found.set(at, [...(found.get(at) || []), what]);
    data.summaries.forEach((s, id) => { if (s.also >= 0) put(s.also, { kind: "sum", id, step: s.step }); });
    const told = new Set(data.nodes.map((node) => node.r));
    data.requests.forEach((r, id) => { if (!told.has(r.n)) put(r.at, { kind: "req", id, step: r.steps[0] }); });
    return found;
  }

  /** What is unfolded: summaries by their place; branches, by their first node, that are not as at first. */
  const folds = () => ({ sums: new Set(), flipped: new Set() });

  const isOpen = (tree, open, start) => open.flipped.has(start) !== tree.size[start] <= SMALL;

  /** The lines from above, each with its lane, the line before it (`up`) and the line its chain leaves (`host`). */
  function rows(tree, open) {
    const { data } = tree;
    const found = [], chains = [chainAt(0, 0, -1, null)];
    const at = new Int32Array(data.nodes.length).fill(-1);
    const request = new Map(data.requests.map((r, id) => [r.n, id]));
    const put = (chain, row) => {
      const up = chain.last < 0 ? chain.host : chain.last;
      found.push({ ...row, lane: chain.lane, up, host: chain.host, next: -1, leaves: -1 });
      chain.last = found.length - 1;
      if (up >= 0) found[up][up === chain.host ? "leaves" : "next"] = chain.last;
    };
    for (const what of tree.besides.get(-1) || []) put(chains[0], { kind: "req", id: what.id, on: true });
    data.summaries.forEach((s, id) => { if (s.copied) put(chains[0], { kind: "sum", id, nodes: [], on: s.on === 1, shut: false }); });
    while (chains.length) {
      const chain = chains[chains.length - 1];
      const branch = chain.waiting.shift();
      if (branch) chains.push(branchChain(chain, branch, put));
      else if (chain.node < 0) chains.pop();
      else advance(tree, open, chain, put, at, request);
    }
    return { rows: found, at };
  }

  const chainAt = (node, lane, host, asked) => ({ node, lane, host, asked, start: node, last: -1, owner: -1, waiting: [], from: null });

  function branchChain(chain, branch, put) {
    const below = chainAt(branch.kind === "node" ? branch.id : -1, chain.lane + 1, chain.anchor, chain.asked);
    below.from = branch.from;
    if (branch.kind !== "node") put(below, { nodes: [], on: false, shut: false, ...branch });
    return below;
  }

  /** One more item of a chain: a request that begins, a summary with its nodes, or a node; then what leaves it. */
  function advance(tree, open, chain, put, at, request) {
    const { nodes } = tree.data;
    const first = chain.node, node = nodes[first];
    if (node.r !== null && node.r !== chain.asked) {
      if (request.has(node.r)) put(chain, { kind: "req", id: request.get(node.r), on: node.on === 1 });
      chain.asked = node.r;
    }
    const owned = run(tree, first, node.of >= 0 && !open.sums.has(node.of)), from = chain.start === first ? chain.from : null;
    if (node.of >= 0 && chain.owner !== node.of) {
      put(chain, { kind: "sum", id: node.of, nodes: owned, on: node.on === 1, shut: !open.sums.has(node.of), folds: true, from });
    }
    if (node.of < 0 || open.sums.has(node.of)) put(chain, { kind: "node", id: first, nodes: owned, on: node.on === 1, from });
    chain.owner = node.of;
    chain.anchor = chain.last;
    for (const one of owned) at[one] = chain.last;
    const last = owned[owned.length - 1];
    chain.node = tree.onward[last];
    const rest = tree.size[chain.start] - owned.length;
    if (chain.lane > 0 && chain.start === first && rest > 0 && tree.size[first] > SMALL) {
      const isOpened = isOpen(tree, open, first);
      put(chain, { kind: "more", id: first, count: rest, on: false, shut: !isOpened, folds: true });
      if (!isOpened) { chain.node = -1; return; }
    }
    chain.waiting = leaving(tree, owned);
  }

  function run(tree, first, isFolded) {
    const owned = [first], owner = tree.data.nodes[first].of;
    for (let next = tree.onward[first]; isFolded && next >= 0 && tree.data.nodes[next].of === owner; next = tree.onward[next]) {
      owned.push(next);
    }
    return owned;
  }

  /** What leaves an item, oldest first; `from`: the ℓ that it leaves, where that is not the last one of the item. */
  function leaving(tree, owned) {
    const found = [];
    for (const one of owned) {
      const from = one === owned[owned.length - 1] ? null : tree.data.nodes[one].n;
      for (const kid of tree.kids[one]) {
        if (kid !== tree.onward[one]) found.push({ kind: "node", id: kid, step: tree.data.nodes[kid].step, from });
      }
      for (const what of tree.besides.get(one) || []) found.push({ ...what, from });
    }
    return found.sort((a, b) => a.step - b.step);
  }

  /** Unfold whatever hides a node. */
  function reveal(tree, open, node) {
    if (tree.data.nodes[node].of >= 0) open.sums.add(tree.data.nodes[node].of);
    for (let start = tree.chain[node]; start > 0; start = tree.chain[tree.data.nodes[start].up]) {
      if (!isOpen(tree, open, start)) flip(open.flipped, start);
    }
  }

  function flip(set, item) {
    if (!set.delete(item)) set.add(item);
  }

  /** Everything unfolded. */
  function unfolded(tree) {
    const open = folds();
    tree.data.summaries.forEach((_, id) => open.sums.add(id));
    for (let i = 1; i < tree.chain.length; i++) if (tree.chain[i] === i && tree.size[i] > SMALL) open.flipped.add(i);
    return open;
  }

  /** Nodes and summaries that a question finds, in their order. A number is an ℓ; `tool:` and `state:` narrow. */
  function search(tree, question) {
    const asked = question.trim().toLowerCase();
    if (!asked) return [];
    const { nodes, summaries } = tree.data;
    const fits = tester(asked);
    const found = [];
    nodes.forEach((node, id) => { if (fits.node(node)) found.push({ kind: "node", id, step: node.step }); });
    summaries.forEach((sum, id) => { if (fits.sum(sum)) found.push({ kind: "sum", id, step: sum.step }); });
    return found.sort((a, b) => a.step - b.step);
  }

  function tester(asked) {
    const never = () => false;
    if (/^(ℓ\s*)?\d+$/.test(asked)) {
      const number = Number(asked.replace(/^\D+/, ""));
      return { node: (node) => node.n === number, sum: never };
    }
    const [, kind, words] = /^(?:(tool|state):)?\s*(.*)$/s.exec(asked);
    if (kind === "tool") return { node: (node) => node.calls.some((c) => c.tool.toLowerCase().includes(words)), sum: never };
    if (kind === "state") return { node: (node) => node.wrote.some((w) => w.words.some((id) => id.toLowerCase().slice(1).includes(words))), sum: never };
    const has = (text) => text !== null && text.toLowerCase().includes(asked);
    return { node: (node) => texts(node).some(has), sum: (sum) => [sum.text, sum.note, sum.verdict].some(has) };
  }

  function texts(node) {
    const found = [node.name];
    for (const call of node.calls) found.push(call.id, call.tool, call.arguments, call.text);
    for (const wrote of node.wrote) {
      found.push(...wrote.words);
      for (const state of wrote.states) found.push(state.summary, state.value);
    }
    return found;
  }

  return { model, folds, rows, reveal, flip, unfolded, search, isOpen };
})();
if (typeof module !== "undefined") module.exports = Rows;
