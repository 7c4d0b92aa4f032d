// The page itself: what is open, picked and in view, and what keys, mouse and buttons do to it.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const tree = Rows.model(data);
  const canvas = byId("tree"), stripCanvas = byId("strip"), stage = byId("stage"), panel = byId("panel");
  const c = canvas.getContext("2d"), stripC = stripCanvas.getContext("2d");
  const state = { data, rows: [], at: null, view: { x: 0, y: 0, scale: 1 }, picked: -1, hits: new Map(), colour: Paint.colours(), width: 0, height: 0 };
  const SCALES = [0.25, 3], READABLE = 0.6;
  let open = Rows.folds(), found = [], hit = -1, ratio = 1, image = null, isAsked = false;

  function redraw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      if (!image) image = Paint.strip(state.height, state);
      Paint.draw(c, ratio, state.width, state.height, state);
      Paint.frame(stripC, ratio, state.height, image, state);
    });
  }

  /** The lines again, after something was folded; the picked line, and where it is on the screen, stay. */
  function layOut() {
    const row = state.rows[state.picked], offset = row ? state.picked * Paint.HIGH - state.view.y : 0;
    Object.assign(state, Rows.rows(tree, open));
    if (row) {
      state.picked = state.rows.findIndex((other) => other.kind === row.kind && other.id === row.id);
      if (state.picked < 0 && row.kind === "node") state.picked = state.at[row.id];
      if (state.picked >= 0) state.view.y = state.picked * Paint.HIGH - offset;
    }
    markHits();
    keep();
  }

  function markHits() {
    state.hits = new Map(found.map((one) => [rowOf(one), true]));
    image = null;
    redraw();
  }

  const rowOf = (one) => (one.kind === "node" ? state.at[one.id] : state.rows.findIndex((row) => row.kind === "sum" && row.id === one.id));

  /** The view stays where there is something to see. */
  function keep() {
    const { view } = state, high = state.rows.length * Paint.HIGH, shown = state.height / view.scale;
    view.y = high < shown ? -(Math.min(shown - high, 40)) / 2 : Math.max(-20, Math.min(view.y, high - shown + 40));
    view.x = Math.max(-40, view.x);
    redraw();
  }

  function zoom(by, x, y) {
    const { view } = state, before = view.scale;
    view.scale = Math.min(SCALES[1], Math.max(SCALES[0], before * by));
    view.x += x / before - x / view.scale;
    view.y += y / before - y / view.scale;
    keep();
  }

  /** The active path in view: all of it while it can be read, else its end. */
  function fit() {
    const onPath = state.rows.flatMap((row, i) => (row.on ? [i] : []));
    const first = onPath[0] || 0, last = onPath[onPath.length - 1] || 0;
    const scale = state.height / ((last - first + 2) * Paint.HIGH);
    state.view.scale = Math.max(READABLE, Math.min(1, scale));
    state.view.x = 0;
    if (scale >= READABLE) state.view.y = first * Paint.HIGH - 10;
    else { state.view.scale = 1; show(cursorRow(), 0.75); }
    keep();
  }

  const cursorRow = () => state.at[data.cursor];

  function show(i, share) {
    state.view.y = i * Paint.HIGH - (state.height / state.view.scale) * share;
    keep();
  }

  function pick(i, isOpened) {
    if (!state.rows.length) return;
    state.picked = Math.max(0, Math.min(i, state.rows.length - 1));
    const row = state.rows[state.picked], top = state.picked * Paint.HIGH, { view } = state;
    const below = top + Paint.HIGH * 2 - state.height / view.scale;
    view.y = Math.min(top - Paint.HIGH, Math.max(view.y, below));
    const x = Paint.LEFT + row.lane * Paint.LANE;
    if (x < view.x + 20 || x > view.x + (state.width / view.scale) * 0.6) view.x = Math.max(0, x - 120 / view.scale);
    byId("told").textContent = `${Paint.standing(data, row)}, ${Paint.words(data, row).map((word) => word[0]).join("")}`;
    if (row.kind !== "more" && (isOpened || !panel.hidden)) Panel.show(panel, data, row, { goTo, showSummary, shut });
    keep();
  }

  function shut() {
    panel.hidden = true;
    canvas.focus();
  }

  function goTo(node) {
    Rows.reveal(tree, open, node);
    layOut();
    pick(state.at[node], true);
    show(state.picked, 0.4);
  }

  function showSummary(id) {
    const i = rowOf({ kind: "sum", id });
    if (i >= 0) { pick(i, true); show(i, 0.4); }
  }

  /** Fold or unfold the picked line; `want`: true unfolds, false folds, undefined does the other. */
  function fold(want) {
    const row = state.rows[state.picked];
    if (!row) return;
    if (want === false && !(row.folds && !row.shut)) return pick(row.up, false);
    if (!row.folds || (want === true && !row.shut)) return want === true ? pick(state.picked + 1, false) : undefined;
    if (row.kind === "sum") Rows.flip(open.sums, row.id);
    else Rows.flip(open.flipped, row.id);
    layOut();
  }

  function search() {
    found = Rows.search(tree, byId("words").value);
    hit = -1;
    markHits();
    tellHits();
  }

  function tellHits() {
    const asked = byId("words").value.trim();
    byId("hits").textContent = !asked ? "" : hit < 0 ? `${found.length} found` : `${hit + 1} of ${found.length}`;
  }

  function step(by) {
    if (!found.length) return;
    hit = (hit + by + found.length + (hit < 0 && by < 0 ? 1 : 0)) % found.length;
    const one = found[hit];
    if (one.kind === "node") goTo(one.id);
    else revealSummary(one.id);
    tellHits();
  }

  function revealSummary(id) {
    const inside = data.nodes.findIndex((node) => node.of === id), at = inside < 0 ? data.summaries[id].also : inside;
    const wasOpen = open.sums.has(id);
    if (at >= 0) Rows.reveal(tree, open, at);
    if (!wasOpen) open.sums.delete(id);
    layOut();
    showSummary(id);
  }

  function lineAt(event) {
    const box = canvas.getBoundingClientRect(), { view } = state;
    const i = Math.floor((view.y + (event.clientY - box.top) / view.scale) / Paint.HIGH);
    return { i, x: view.x + (event.clientX - box.left) / view.scale, row: state.rows[i] };
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: false, from: { ...state.view } };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const x = event.clientX - drag.x, y = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    drag.moved = true;
    canvas.classList.add("dragged");
    state.view.x = drag.from.x - x / state.view.scale;
    state.view.y = drag.from.y - y / state.view.scale;
    keep();
  });
  canvas.addEventListener("pointerup", (event) => {
    canvas.classList.remove("dragged");
    const wasDrag = drag && drag.moved;
    drag = null;
    if (wasDrag) return;
    const { row, i, x } = lineAt(event);
    if (!row) return;
    const isOnFold = row.folds && x < Paint.LEFT + row.lane * Paint.LANE + 32;
    pick(i, !isOnFold && row.kind !== "more");
    if (row.kind === "more" || isOnFold) fold();
  });
  canvas.addEventListener("dblclick", (event) => {
    const { row, x } = lineAt(event);
    if (row && row.kind === "sum" && x >= Paint.LEFT + row.lane * Paint.LANE + 32) fold();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect(), high = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) { state.view.y += ((event.deltaY || event.deltaX) * high) / state.view.scale; keep(); }
    else zoom(Math.exp(-event.deltaY * high * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  function stripTo(event) {
    if (event.type === "pointerdown") stripCanvas.setPointerCapture(event.pointerId);
    if (!event.buttons) return;
    const each = Math.min(Paint.HIGH, state.height / state.rows.length);
    show((event.clientY - stripCanvas.getBoundingClientRect().top) / each, 0.5);
  }
  stripCanvas.addEventListener("pointerdown", stripTo);
  stripCanvas.addEventListener("pointermove", stripTo);

  function refold(opened) {
    open = opened;
    layOut();
  }

  const middle = (by) => zoom(by, state.width / 3, state.height / 2);
  const screen = () => Math.max(1, Math.floor(state.height / state.view.scale / Paint.HIGH) - 2);
  const keys = {
    ArrowUp: () => pick(state.picked < 0 ? cursorRow() : state.picked - 1, false), k: () => keys.ArrowUp(),
    ArrowDown: () => pick(state.picked < 0 ? cursorRow() : state.picked + 1, false), j: () => keys.ArrowDown(),
    ArrowLeft: () => fold(false), ArrowRight: () => fold(true), " ": () => fold(),
    Enter: () => pick(state.picked < 0 ? cursorRow() : state.picked, true),
    PageUp: () => pick(state.picked - screen(), false), PageDown: () => pick(state.picked + screen(), false),
    Home: () => pick(0, false), End: () => pick(state.rows.length - 1, false), c: () => goHome(),
    "+": () => middle(1.2), "=": () => middle(1.2), "-": () => middle(1 / 1.2), 0: fit,
    e: () => refold(Rows.unfolded(tree)), f: () => refold(Rows.folds()),
    n: () => step(1), N: () => step(-1), "/": () => byId("words").focus(), Escape: shut, "?": () => byId("keys").showModal(),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  panel.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(); });

  function goHome() {
    pick(cursorRow(), false);
    show(cursorRow(), 0.75);
  }

  let waiting = 0;
  byId("words").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
  byId("words").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); step(-1); }
    if (event.key === "Escape") canvas.focus();
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    if (hit < 0) search();
    step(1);
  });
  byId("previous").addEventListener("click", () => step(-1));
  byId("fit").addEventListener("click", fit);
  byId("home").addEventListener("click", goHome);
  byId("unfold").addEventListener("click", () => keys.e());
  byId("fold").addEventListener("click", () => keys.f());
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("close").addEventListener("click", () => byId("keys").close());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { state.colour = Paint.colours(); image = null; legend(); redraw(); });

  function legend() {
    const row = (kind, more) => ({ kind, on: false, shut: true, folds: false, ...more });
    const shown = [["path", row("node"), "", "on the active path"], ["path", row("sum"), "passed", "summary that passed"],
      ["path", row("sum"), "unchecked", "unchecked"], ["failed", row("sum"), "failed", "failed branch"], ["failed", row("node"), "", "failed"],
      ["left", row("node"), "", "left"], ["left", row("req"), "", "request"], ["left", row("more"), "", "folded"]];
    byId("legend").replaceChildren(...shown.map(([tone, one, said, text]) => {
      const small = document.createElement("canvas"), by = Paint.size(small, 24, 24), pen = small.getContext("2d");
      pen.scale(by, by);
      Paint.mark(pen, state.colour, 12, 12, one, tone, said);
      return Panel.el("span", "", small, text);
    }));
  }

  function resize() {
    const box = stage.getBoundingClientRect();
    state.width = box.width - Paint.STRIP;
    state.height = box.height;
    ratio = Paint.size(canvas, state.width, box.height);
    Paint.size(stripCanvas, Paint.STRIP, box.height);
    image = null;
    keep();
  }

  const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const failed = data.summaries.filter((_, id) => Paint.hasFailed(data, id)).length;
  byId("title").textContent = data.task;
  byId("counts").textContent = `space ${data.space} · step ${data.last} · ${many(data.requests.length, "request")} · ` +
    `${many(data.nodes.length - 1, "node")}, ${(data.nodes.filter((node) => node.on).length - 1).toLocaleString("en")} on the path · ${many(failed, "failed branch").replace("branchs", "branches")}` +
    (data.origin ? ` · forked from ${data.origin}` : "");
  legend();
  Object.assign(state, Rows.rows(tree, open));
  new ResizeObserver(resize).observe(stage);
  resize();
  fit();
  canvas.focus({ preventScroll: true });
})();
