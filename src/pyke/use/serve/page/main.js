// The explorer: loads the map, and connects its parts.

import {ask, points} from "./api.js";
import {Chart} from "./chart.js";
import {choice, clean, count, element, notice, shortened} from "./dom.js";
import * as legends from "./legend.js";
import {Compare} from "./compare.js";
import {Panel} from "./panel.js";
import {Physics} from "./physics.js";
import * as pointer from "./pointer.js";
import * as search from "./search.js";
import {Selected} from "./select.js";
import * as theme from "./theme.js";

const LABEL_DELAY = 140;  // milliseconds after a movement until labels are asked for
const DETAIL_DELAY = 350;
const FIRST = 20000;      // points of the first picture; the others follow

theme.start();
const chart = new Chart(element("points"), element("overlay"));
const state = {layout: "components", dimensions: 2, shown: {layout: "components", dimensions: 2}, info: null, loading: null, detail: false};

chart.insets = () => {
  const narrow = innerWidth <= 720, place = id => {
    const box = element(id).getBoundingClientRect();
    return box.width ? box : null;
  };
  const panel = place("panel") ?? place("selected"), tools = place("tools"), film = place("film");
  if (narrow) {
    const lowest = Math.min(...[panel, film, place("legend"), tools].filter(Boolean).map(box => box.top), innerHeight);
    return {left: 8, right: 8, top: place("head").bottom, bottom: innerHeight - lowest};
  }
  if (compare.twin) return {left: 12, right: 12, top: innerWidth > 1180 ? tools.bottom : 14, bottom: innerWidth > 1180 ? 14 : innerHeight - tools.top};
  return {
    left: place("head").right, right: panel ? innerWidth - panel.left : 14, top: innerWidth > 1180 ? tools.bottom : 14,
    bottom: film ? innerHeight - film.top : innerWidth > 1180 ? 14 : innerHeight - tools.top,
  };
};

// -- the map -------------------------------------------------------------------------------------

async function loadPoints({move = false} = {}) {
  state.loading?.abort();
  const own = state.loading = new AbortController();
  const {layout, dimensions} = state;
  let done = () => {};
  const waiting = ({stage, part}) => {
    const share = part ? ` ${Math.round(100 * part)} %` : "";
    done = notice(`Arranging the map … ${stage}${share}`);
  };
  try {
    const load = limit => points("/api/points", {layout, dimensions, limit}, {signal: own.signal, waiting});
    const isFirst = !chart.count;
    const all = () => load(state.info?.limits.points);
    let found = await (isFirst ? load(FIRST) : all());
    if (own.signal.aborted) return;
    state.detail = false;
    state.shown = {layout, dimensions};
    chart.setPoints(found, {move});
    chart.seeAll();
    if (isFirst && found.count === FIRST) {
      found = await all();
      if (own.signal.aborted) return;
      chart.setPoints(found);
    }
    chart.labels = [];
    askLabels();
    reselect();
  } catch (error) {
    if (error.name !== "AbortError") { notice(error.message); return; }
  }
  done();
}

let labelTimer = 0, labelling = null, shownBox = "";
function askLabels() {
  clearTimeout(labelTimer);
  state.labelling = true;
  labelTimer = setTimeout(async () => {
    labelling?.abort();
    const own = labelling = new AbortController();
    const {layout, dimensions} = state.shown, flat = dimensions === 2 && !state.film;
    const box = flat ? chart.box().map(number => number.toPrecision(7)).join(",") : undefined;
    const hide = [...chart.hidden].join(",") || undefined;
    const key = [box, hide, layout, dimensions, legend.by()].join(" ");
    if (key === shownBox || state.film) { state.labelling = false; return; }
    try {
      const found = await ask("/api/labels", {layout, dimensions, box, by: legend.by(), hide}, {signal: own.signal});
      state.labelling = false;
      if (state.film) return;
      shownBox = key;
      chart.labels = found.labels.map(({id, text}) => ({id, text: shortened(clean(text))}));
      chart.redraw();
    } catch { /* the labels of another place are asked for already */ }
    if (flat && state.info?.terms > state.info?.limits.points) askDetail(box);
  }, LABEL_DELAY);
}

// Levels of detail: a map with very many points shows a sample, and all points of a small part.
let detailTimer = 0;
function askDetail(box) {
  clearTimeout(detailTimer);
  detailTimer = setTimeout(async () => {
    const zoomed = chart.view.scale > 1.5 * chart.fitted;
    if (!zoomed && !state.detail) return;
    try {
      const limit = state.info.limits.points;
      const parameters = {...state.shown, box: zoomed ? box : undefined, limit};
      chart.setPoints(await points("/api/points", parameters));
      state.detail = zoomed;
    } catch (error) { notice(error.message); }
  }, DETAIL_DELAY);
}

// -- one term ------------------------------------------------------------------------------------

function open(id) { location.hash = String(id); }
function close() { location.hash = ""; }

const panel = new Panel({
  open, close,
  show: id => { if (!chart.goTo(id)) notice("The map shows a sample; this term is not in it."); },
  forces: (id, button) => state.physics?.forces(id, button),
  info: () => state.info,
});
const selected = new Selected(open, ids => { chart.marks = ids.slice(0, 20000); chart.redraw(); });

let current = null;
async function route() {
  const id = /^#\d{1,9}$/.test(location.hash) ? Number(location.hash.slice(1)) : -1;
  current = null;
  chart.lines = [];
  state.physics?.release();
  if (id < 0) {
    panel.hide();
    chart.marks = chart.pinned = [];
    chart.redraw();
    return;
  }
  if (!compare.twin) selected.node.hidden = true;
  const loaded = await panel.load(id);
  if (!loaded) return;
  current = loaded;
  document.title = `${clean(loaded.term.name)} · ${state.info?.title ?? "PYKE"}`;
  reselect();
  const row = chart.row(id);
  const free = chart.insets(), {width, height} = chart.size, x = row < 0 ? 0 : chart.across(row), y = row < 0 ? 0 : chart.down(row);
  const seen = x > free.left && x < width - free.right && y > free.top && y < height - free.bottom;
  if (row >= 0 && !seen) chart.goTo(id, false);
}

function reselect() {
  if (!current) return;
  const own = chart.place(current.term.id);
  chart.marks = [current.term.id, ...current.neighbours.map(one => one.id)];
  chart.pinned = [current.term, ...current.neighbours.slice(0, 5)].map(one => ({id: one.id, text: shortened(clean(one.name))}));
  chart.lines = own ? current.neighbours.flatMap(one => {
    const to = chart.place(one.id);
    return to ? [{from: own, to, colour: theme.style("--ink"), wide: 1.3, alpha: 0.45}] : [];
  }) : [];
  chart.redraw();
}

// -- start ---------------------------------------------------------------------------------------

const physics = state.physics = new Physics(chart, state, {
  leave: ({keep = false} = {}) => { if (keep) reselect(); else loadPoints(); },
});
const compare = new Compare(chart, state, {
  open, enter: async () => { if (state.film) physics.stop(); chooseLayout("components", false); state.layout = "components"; await loadPoints(); },
  leave: () => { reselect(); chart.seeAll(); },
});
const legend = legends.start(chart, askLabels);
const useTool = pointer.start(chart, {open, selected: ids => { close(); selected.show(ids); }});
search.start(open);
const chooseLayout = choice("layout", value => {
  if (state.film) physics.stop();
  if (compare.twin) compare.stop();
  state.layout = value;
  loadPoints({move: true});
});
choice("dimensions", value => {
  state.dimensions = Number(value);
  if (compare.twin) compare.stop();
  if (state.film) physics.start(); else loadPoints();
});
const chooseTool = choice("tool", useTool);
element("closer").addEventListener("click", () => chart.zoom(1.5));
element("farther").addEventListener("click", () => chart.zoom(1 / 1.5));
element("all").addEventListener("click", () => chart.seeAll());
element("theme").addEventListener("click", theme.toggle);
theme.onTheme(() => { reselect(); chart.redraw(); });
addEventListener("hashchange", route);
addEventListener("resize", () => { chart.measure(); chart.redraw(); });
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
  const keys = {
    "/": () => element("search").focus(), m: () => chooseTool("move"), b: () => chooseTool("box"), l: () => chooseTool("lasso"),
    p: () => element("physics").click(),
    Escape: () => { close(); selected.hide(); chooseTool("move"); },
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

let last = "";
chart.onDraw.push(() => {
  const now = JSON.stringify(chart.view);
  if (now !== last) { last = now; askLabels(); }
});

async function start() {
  const map = Promise.all([loadPoints(), legend.load()]);
  try {
    state.info = await ask("/api/info");
  } catch (error) { notice(error.message); return; }
  const {title, terms, triples} = state.info;
  element("title").textContent = document.title = clean(title);
  element("compare").hidden = !state.info.compared;
  element("counts").textContent = `${count(terms)} terms · ${count(triples)} triples`;
  await map;
  document.documentElement.dataset.ready = "yes";
  if (!chart.gl) notice("This browser has no WebGL: the map is drawn without it, more slowly.");
  route();
  if (!/[?&]layout=components\b/.test(location.search)) chooseLayout("simulation");
}

if (innerWidth <= 720) element("fold").click();
Object.assign(window, {explorer: {chart, state, panel, selected, theme, physics, compare}});  // for tests and the curious
start();
