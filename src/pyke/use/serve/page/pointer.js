// Mouse, touch and keyboard on the map.

import {ask} from "./api.js";
import {clean, element, make} from "./dom.js";

const names = new Map();  // what the tip shows, by id

export function start(chart, {open, selected}) {
  const {overlay} = chart, tip = element("tip");
  const touching = new Map();
  let tool = "move", path = null, moved = 0, asked = -1, wanted = null;

  async function showTip(id, x, y) {
    asked = id;
    overlay.classList.toggle("over", id >= 0 && tool === "move");
    if (id < 0) { tip.hidden = true; return; }
    if (!names.has(id)) {
      try {
        const {terms: [term]} = await ask("/api/names", {ids: id});
        if (names.size > 5000) names.clear();
        names.set(id, term);
      } catch { return; }
    }
    if (asked !== id) return;
    const term = names.get(id), types = term.types.map(clean).join(", ");
    tip.replaceChildren(make("b", {text: clean(term.name)}), make("span", {text: types || "no type"}));
    tip.hidden = false;
    const {width, height} = chart.size;
    tip.style.left = `${overlay.offsetLeft + Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 16, height - tip.offsetHeight - 8))}px`;
  }

  function hover(x, y) {
    if (!wanted) requestAnimationFrame(() => {
      const [left, top] = wanted;
      wanted = null;
      if (!touching.size) showTip(chart.nearest(left, top), left, top);
    });
    wanted = [x, y];
  }

  function pinch(event) {
    const before = [...touching.values()];
    touching.set(event.pointerId, [event.offsetX, event.offsetY]);
    const after = [...touching.values()];
    const far = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    const middle = ([a, b]) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const [one, other] = [middle(before), middle(after)];
    chart.zoom(far(after) / far(before), ...other);
    chart.move(other[0] - one[0], other[1] - one[1]);
  }

  overlay.addEventListener("pointerdown", event => {
    overlay.setPointerCapture(event.pointerId);
    touching.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = 0;
    showTip(-1);
    if (tool !== "move" && touching.size === 1) path = [[event.offsetX, event.offsetY]];
  });
  overlay.addEventListener("pointermove", event => {
    if (!touching.has(event.pointerId)) { hover(event.offsetX, event.offsetY); return; }
    const [x, y] = touching.get(event.pointerId);
    const [dx, dy] = [event.offsetX - x, event.offsetY - y];
    moved += Math.abs(dx) + Math.abs(dy);
    if (touching.size > 1) { path = null; pinch(event); return; }
    touching.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (path) draw(event.offsetX, event.offsetY);
    else if (chart.flatDimensions === 3 && !event.shiftKey) chart.rotate(dx, dy);
    else chart.move(dx, dy);
  });
  const end = event => {
    touching.delete(event.pointerId);
    if (path) finish();
    else if (moved < 5 && event.type === "pointerup") {
      const id = chart.nearest(event.offsetX, event.offsetY, event.pointerType === "touch" ? 22 : undefined);
      if (id >= 0) open(id);
    }
  };
  overlay.addEventListener("pointerup", end);
  overlay.addEventListener("pointercancel", end);
  overlay.addEventListener("pointerleave", () => showTip(-1));

  function draw(x, y) {
    if (tool === "lasso") path.push([x, y]);
    else {
      const [[left, top]] = path;
      path = [[left, top], [x, top], [x, y], [left, y]];
    }
    chart.shape = path;
    chart.redraw();
  }

  function finish() {
    const shape = path;
    path = chart.shape = null;
    chart.redraw();
    if (shape.length > 2 && moved > 8) selected(chart.inside(shape));
  }

  overlay.addEventListener("wheel", event => {
    event.preventDefault();
    showTip(-1);
    chart.zoom(Math.exp(-event.deltaY / (event.ctrlKey ? 120 : 480)), event.offsetX, event.offsetY);
  }, {passive: false});
  overlay.addEventListener("dblclick", () => chart.seeAll());
  overlay.addEventListener("keydown", event => {
    const turn = chart.flatDimensions === 3 && !event.shiftKey;
    const go = (dx, dy) => (turn ? chart.rotate(dx / 2, dy / 2) : chart.move(dx, dy));
    const keys = {
      ArrowLeft: () => go(60, 0), ArrowRight: () => go(-60, 0), ArrowUp: () => go(0, 60), ArrowDown: () => go(0, -60),
      "+": () => chart.zoom(1.35), "=": () => chart.zoom(1.35), "-": () => chart.zoom(1 / 1.35), 0: () => chart.seeAll(),
      Enter: () => {
        const free = chart.insets(), {width, height} = chart.size;
        const id = chart.nearest((width + free.left - free.right) / 2, (height + free.top - free.bottom) / 2, 200);
        if (id >= 0) open(id);
      },
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  return value => { tool = value; overlay.dataset.tool = value; };
}
