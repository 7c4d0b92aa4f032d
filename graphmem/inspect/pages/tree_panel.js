// The content of a line, in the panel. Every text is put in as text: nothing out of the graph becomes mark-up.
const Panel = (() => {
  /** An element with its texts and elements inside. */
  function el(name, kind, ...inside) {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    made.append(...inside.map((one) => (one instanceof Node ? one : String(one))));
    return made;
  }

  const plain = (word) => (/^[\w@%+=:,.\/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
  const command = (data, name, id) => `graphmem ${name} ${plain(data.task)} ${plain(id)} --space ${plain(data.space)}`;
  const lines = (...texts) => texts.filter(Boolean).map((text) => el("p", "", text));

  function jump(text, go) {
    const made = el("button", "", text);
    made.type = "button";
    made.addEventListener("click", go);
    return made;
  }

  const where = (isOn, hasFailed) =>
    isOn ? el("p", "path", "on the active path") : hasFailed ? el("p", "failed", "failed, off the path") : el("p", "dim", "left, off the path");

  function request(data, r) {
    const [opened, finished, abandoned] = r.steps;
    return [
      el("h2", "", `Request ${r.n}`),
      ...lines(r.is, `opened in step ${opened}`, finished && `finished in step ${finished}`, abandoned && `abandoned in step ${abandoned}`),
      el("pre", "", r.text),
    ];
  }

  function summary(data, id, goTo) {
    const s = data.summaries[id], failed = s.verdict === "failed" && !s.on;
    const found = [
      el("h2", "", `Summary of ${s.from === s.to ? s.from : `${s.from} to ${s.to}`}`),
      where(s.on, failed),
      el("p", failed ? "failed" : "", `verdict: ${s.verdict}`),
      el("p", "dim", `made in step ${s.step}; ${s.copied ? "its nodes are in the origin" : `${s.size.toLocaleString("en")} nodes`}`),
    ];
    if (s.note) found.push(el("h3", "", "Note"), el("pre", "", s.note));
    found.push(el("h3", "", "Text"), el("pre", "", s.text || ""));
    const inside = data.nodes.flatMap((node, place) => (node.of === id ? [place] : []));
    if (inside.length) found.push(el("h3", "", "Its nodes"), el("p", "", ...inside.slice(0, 60).map((i) => jump(data.nodes[i].n, () => goTo(i)))));
    if (inside.length > 60) found.push(el("p", "dim", `and ${inside.length - 60} more: unfold it`));
    return found;
  }

  function node(data, id, goTo, showSummary) {
    const found = data.nodes[id], failed = Paint.hasFailed(data, found.of);
    const again = found.visits.slice(1);
    const head = [
      el("h2", "", `ℓ ${found.name}`),
      where(found.on, failed),
      ...lines(
        found.copied ? `there from step ${found.step} on` : `observed in step ${found.step}` + (found.r === null ? "" : `, request ${found.r}`),
        found.asked && `its calls were made in step ${found.asked}`,
        again.length && `walked again in step ${again.join(", ")}`,
      ),
    ];
    if (found.of >= 0) {
      const s = data.summaries[found.of];
      head.push(el("p", failed ? "failed" : "", `summary, ${s.verdict}: `, jump(Paint.short(s.text, 60), () => showSummary(found.of))));
      if (s.note) head.push(el("p", failed ? "failed" : "", `note: ${s.note}`));
    }
    for (const call of found.calls) head.push(...callParts(data, call));
    if (found.wrote.length) head.push(el("h3", "", "States written here"), ...found.wrote.map((wrote) => written(data, wrote, goTo)));
    return head;
  }

  function callParts(data, call) {
    const found = [el("h3", "id", call.id), el("p", "", el("strong", "", call.tool)), el("pre", "", call.arguments)];
    if (call.length === null) return [...found, el("p", "dim", "outcome unknown: the call may or may not have run")];
    found.push(el("pre", "", call.text));
    const more = call.length - Array.from(call.text).length;
    if (more > 0) found.push(el("p", "dim", `… ${more.toLocaleString("en")} characters more: `, el("code", "", command(data, "show", call.id))));
    return found;
  }

  function written(data, wrote, goTo) {
    const box = el("div", "state", el("p", "dim", `step ${wrote.step}${wrote.left ? `, left by the revise in step ${wrote.left}` : ""}`));
    box.append(el("p", "", el("strong", "", wrote.words.join("  "))));
    for (const state of wrote.states) {
      box.append(el("p", "", el("strong", "", state.id), ` ${state.kind}${state.in_view ? "" : ", out of view"}`), el("p", "", state.summary));
      box.append(el("pre", "", state.value));
      if (state.length > Array.from(state.value).length) box.append(el("p", "dim", "cut; whole: ", el("code", "", command(data, "show", state.id))));
      if (state.refs.length) box.append(el("p", "dim", "rests on: ", ...state.refs.map((ref) => reference(data, ref, goTo))));
    }
    return box;
  }

  function reference(data, ref, goTo) {
    const number = /^\w+ obs:(\d+)\.\d+$/.exec(ref);
    const at = number ? data.nodes.findIndex((node) => node.n === Number(number[1])) : -1;
    return at < 0 ? el("code", "", `${ref}; `) : jump(ref, () => goTo(at));
  }

  /** Show the content of a line; `actions`: where its buttons lead. */
  function show(panel, data, row, { goTo, showSummary, shut }) {
    const close = jump("×", shut);
    close.className = "shut";
    close.title = "Close (Esc)";
    close.setAttribute("aria-label", "Close");
    const parts = row.kind === "req" ? request(data, data.requests[row.id])
      : row.kind === "sum" ? summary(data, row.id, goTo) : node(data, row.id, goTo, showSummary);
    panel.replaceChildren(close, ...parts);
    panel.hidden = false;
    panel.scrollTop = 0;
  }

  return { show, el };
})();
