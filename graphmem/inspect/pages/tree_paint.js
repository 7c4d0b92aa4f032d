// Draws the lines that are in view, and nothing else. A mark has a shape of its own for each standing, not only a colour.
const Paint = (() => {
  const HIGH = 30, LANE = 24, LEFT = 26, STRIP = 16;
  const SMALLEST = 0.45; // below this scale words cannot be read, and are not drawn
  const FONT = "13px system-ui, sans-serif", BOLD = "600 13px system-ui, sans-serif";
  const WORDS = 220;

  const short = (text, most = WORDS) => {
    const line = (text || "").slice(0, most * 2).replace(/\s+/g, " ").trim();
    return line.length > most ? line.slice(0, most - 1) + "…" : line;
  };

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["back", "text", "dim", "line", "bar", "pick", "path", "failed", "left", "asked", "hit"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  }

  const hasFailed = (data, id) => id >= 0 && data.summaries[id].verdict === "failed" && !data.summaries[id].on;

  /** How a line stands: on the path, in a failed branch, or left. */
  function standing(data, row) {
    if (row.on) return "path";
    const owner = row.kind === "sum" ? row.id : row.kind === "node" ? data.nodes[row.id].of : -1;
    return hasFailed(data, owner) ? "failed" : "left";
  }

  /** The words of a line: pairs of a text and what it is drawn with. */
  function words(data, row) {
    if (row.kind === "req") {
      const r = data.requests[row.id];
      return [[`request ${r.n} `, "asked", true], [`(${r.is}) `, "dim"], [short(r.text), "text"]];
    }
    if (row.kind === "more") return [[row.shut ? `${row.count.toLocaleString("en")} more below` : "below", "dim"]];
    const from = row.from === null || row.from === undefined ? [] : [[`from ${row.from}: `, "dim"]];
    return from.concat(row.kind === "sum" ? summaryWords(data, row) : nodeWords(data, data.nodes[row.id]));
  }

  function summaryWords(data, row) {
    const s = data.summaries[row.id], tone = hasFailed(data, row.id) ? "failed" : row.on ? "path" : "dim";
    const found = [[`${s.from === s.to ? s.from : `${s.from}–${s.to}`} `, "text", true], [`${s.verdict} `, tone, tone === "failed"]];
    if (s.note) found.push([`“${short(s.note, 120)}” `, s.on ? "dim" : "failed"]);
    found.push([short(s.text, 120), "text"]);
    const more = s.copied ? "in the origin" : s.size === 1 ? "1 node" : `${s.size.toLocaleString("en")} nodes`;
    found.push([`  ${more}`, "dim"]);
    if (row.shut) found.push(["  " + short(row.nodes.slice(0, 40).flatMap((i) => wordsWritten(data.nodes[i])).join(" "), 90), "dim"]);
    return found;
  }

  const wordsWritten = (node) => node.wrote.flatMap((wrote) => wrote.words);

  function nodeWords(data, node) {
    const [, number, rest] = /^(\d+)\s*(.*)$/s.exec(node.name) || [null, String(node.n), node.name];
    const found = [[`${number} `, "text", true], [short(rest), "text"]];
    const stays = node.wrote.filter((w) => !node.on || w.left === null).flatMap((w) => w.words);
    if (stays.length) found.push(["  " + short(stays.join(" "), 120), "dim"]);
    if (node.visits.length > 1) found.push([`  walked ${node.visits.length} times`, "dim"]);
    if (data.nodes[data.cursor] === node) found.push(["  ← the cursor", "path", true]);
    return found;
  }

  function size(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    return ratio;
  }

  const xOf = (row) => LEFT + row.lane * LANE;
  const yOf = (i) => i * HIGH + HIGH / 2;

  /** `from` and `to`: the lines in view. */
  function inView(view, height, count) {
    const from = Math.max(0, Math.floor(view.y / HIGH));
    return { from, to: Math.min(count - 1, Math.ceil((view.y + height / view.scale) / HIGH)) };
  }

  function draw(c, ratio, width, height, state) {
    const { view, rows, colour } = state;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colour.back;
    c.fillRect(0, 0, width, height);
    const k = ratio * view.scale;
    c.setTransform(k, 0, 0, k, -view.x * k, -view.y * k);
    const { from, to } = inView(view, height, rows.length);
    backgrounds(c, state, from, to, width);
    through(c, state, to);
    for (let i = from; i <= to; i++) edge(c, state, rows[i].up, i);
    for (let i = from; i <= to; i++) {
      mark(c, colour, xOf(rows[i]), yOf(i), rows[i], standing(state.data, rows[i]), verdict(state.data, rows[i]));
      if (view.scale >= SMALLEST) label(c, state, i);
    }
    return to - from + 1;
  }

  function backgrounds(c, { view, rows, colour, picked, hits }, from, to, width) {
    for (let i = from; i <= to; i++) {
      if (i === picked) { c.fillStyle = colour.pick; c.fillRect(view.x, i * HIGH, width / view.scale, HIGH); }
      if (hits.has(i)) { c.fillStyle = colour.hit; c.fillRect(xOf(rows[i]) - 12, i * HIGH + 3, 3, HIGH - 6); }
    }
  }

  /** Edges that pass the last line in view: those of the lines that its chain, and the ones around it, leave. */
  function through(c, state, to) {
    for (let i = to; i >= 0; i = state.rows[i].host) {
      if (state.rows[i].next > to) edge(c, state, i, state.rows[i].next);
      if (state.rows[i].leaves > to) edge(c, state, i, state.rows[i].leaves);
    }
  }

  function edge(c, { data, rows, colour, view, height }, up, i) {
    if (up < 0) return;
    const tone = standing(data, rows[i]), x = xOf(rows[up]), y = yOf(i), turn = xOf(rows[i]);
    const top = Math.max(yOf(up), view.y - HIGH); // what is far above the view is not stroked: a dash costs by its length
    c.beginPath();
    c.setLineDash(tone === "failed" ? [5, 4] : []);
    c.strokeStyle = colour[tone];
    c.lineWidth = tone === "path" ? 3.5 : 1.5;
    c.moveTo(x, top);
    if (turn === x) c.lineTo(x, Math.min(y, view.y + height / view.scale + HIGH));
    else { c.lineTo(x, y - HIGH / 2); c.quadraticCurveTo(x, y, turn, y); }
    c.stroke();
    c.setLineDash([]);
  }

  const verdict = (data, row) => (row.kind === "sum" ? data.summaries[row.id].verdict : null);

  function mark(c, colour, x, y, row, tone, said) {
    c.lineWidth = 2;
    c.strokeStyle = colour[tone];
    c.fillStyle = tone === "path" ? colour.path : colour.back;
    c.beginPath();
    if (row.kind === "req") flag(c, colour, x, y);
    else if (row.kind === "more") { c.strokeStyle = colour.dim; triangle(c, x, y, row.shut); }
    else if (row.kind === "node" && tone === "failed") cross(c, x, y, 4.5);
    else if (row.kind === "node") c.arc(x, y, 5.5, 0, 7);
    else if (tone === "failed") diamond(c, x, y);
    else c.roundRect(x - 7.5, y - 7.5, 15, 15, 3);
    c.fill();
    c.stroke();
    if (row.kind === "sum") inside(c, tone === "path" ? colour.back : colour[tone], x, y, said);
  }

  function flag(c, colour, x, y) {
    c.strokeStyle = colour.asked;
    c.fillStyle = colour.back;
    c.moveTo(x - 7, y - 6); c.lineTo(x + 3, y - 6); c.lineTo(x + 8, y); c.lineTo(x + 3, y + 6); c.lineTo(x - 7, y + 6);
    c.closePath();
  }

  function diamond(c, x, y) {
    c.moveTo(x, y - 10); c.lineTo(x + 10, y); c.lineTo(x, y + 10); c.lineTo(x - 10, y);
    c.closePath();
  }

  function cross(c, x, y, r) {
    c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r);
  }

  function triangle(c, x, y, isShut) {
    if (isShut) { c.moveTo(x - 4, y - 5); c.lineTo(x + 5, y); c.lineTo(x - 4, y + 5); }
    else { c.moveTo(x - 5, y - 4); c.lineTo(x, y + 5); c.lineTo(x + 5, y - 4); }
    c.closePath();
  }

  /** Inside a summary: a tick where it passed, a cross where it failed. */
  function inside(c, colour, x, y, said) {
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.beginPath();
    if (said === "failed") cross(c, x, y, 3.5);
    if (said === "passed") { c.moveTo(x - 4, y); c.lineTo(x - 1, y + 3.5); c.lineTo(x + 4.5, y - 3.5); }
    c.stroke();
  }

  function label(c, { data, rows, colour, view, width }, i) {
    let x = xOf(rows[i]) + 17;
    const end = view.x + width / view.scale;
    c.textBaseline = "middle";
    if (rows[i].kind === "sum" && rows[i].folds) {
      c.font = FONT; c.fillStyle = colour.dim;
      c.fillText(rows[i].shut ? "▸" : "▾", x, yOf(i));
      x += 14;
    }
    for (const [text, tone, isBold] of words(data, rows[i])) {
      if (x > end) return;
      c.font = isBold ? BOLD : FONT;
      c.fillStyle = colour[tone];
      c.fillText(text, x, yOf(i) + 0.5);
      x += c.measureText(text).width;
    }
  }

  /** The whole tree in a strip: failed branches, hits, the path; drawn once, the window over it on every frame. */
  function strip(height, state) {
    const canvas = document.createElement("canvas");
    const ratio = size(canvas, STRIP, height), c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    c.fillStyle = state.colour.bar;
    c.fillRect(0, 0, STRIP, height);
    const each = Math.min(HIGH, height / state.rows.length);
    state.rows.forEach((row, i) => {
      const tone = standing(state.data, row), y = i * each, high = Math.max(1, Math.min(each, 3));
      c.fillStyle = state.colour[tone];
      if (tone === "path") c.fillRect(2, y, 3, Math.max(1, each));
      else c.fillRect(tone === "failed" ? 7 : 10, y, tone === "failed" ? 7 : 3, high);
      if (state.hits.has(i)) { c.fillStyle = state.colour.hit; c.fillRect(0, y - 1, STRIP, 3); }
    });
    return canvas;
  }

  function frame(c, ratio, height, image, state) {
    const each = Math.min(HIGH, height / state.rows.length) / HIGH;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(image, 0, 0);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.strokeStyle = state.colour.text;
    c.strokeRect(0.5, state.view.y * each + 0.5, STRIP - 1, Math.max(8, (height / state.view.scale) * each));
  }

  return { HIGH, LANE, LEFT, STRIP, colours, standing, words, size, draw, strip, frame, mark, short, hasFailed };
})();
