
"use strict";
// A map of points: drag to move (or to rotate 3 dimensions), scroll to zoom, hover to see a term.
// Names come from untrusted graphs: they are shown by textContent and fillText, never as HTML.

const DISCS_UP_TO = 30000;  // visible points that are drawn as discs; more are drawn as density
const REACH = 10;           // pixels between the pointer and a point that it selects
const MAX_RESULTS = 12;     // names in the list below the search
const MAX_RINGS = 500;      // around search results
const SECONDS_PER_FRAME = 0.28;
const INK = "#2b2f36";

const element = id => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
const canvas = element("map"), context = canvas.getContext("2d");
const count = data.points, dimensions = data.dimensions, frames = data.frames.length;
const coordinates = new Float32Array(unpacked(data.coordinates).buffer);
const groups = unpacked(data.groups);
const colours = data.legend.map(
  group => [1, 3, 5].map(at => parseInt(group.colour.slice(at, at + 2), 16)));
const shownGroups = new Uint8Array(data.legend.length).fill(1);
const flat = new Float32Array(2 * count);  // points in the plane, before moving and zooming
const [tilt, turn] = data.view.map(degrees => degrees * Math.PI / 180);
const view = {x: 0, y: 0, scale: 1, tilt, turn, frame: frames - 1};
const size = {width: 0, height: 0};  // of the canvas; reading it from the document is slow
let names = null, nameOf = null, found = [], waiting = false, playing = 0;

function unpacked(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// -- coordinates ---------------------------------------------------------------------------------

function flatten() {
  const first = Math.floor(view.frame), part = view.frame - first;
  const a = first * count * dimensions, b = Math.min(first + 1, frames - 1) * count * dimensions;
  const at = i => coordinates[a + i] + part * (coordinates[b + i] - coordinates[a + i]);
  if (dimensions === 2) {
    for (let i = 0; i < 2 * count; i++) flat[i] = at(i);
    return;
  }
  const sinTurn = Math.sin(view.turn), cosTurn = Math.cos(view.turn);
  const sinTilt = Math.sin(view.tilt), cosTilt = Math.cos(view.tilt);
  for (let i = 0; i < count; i++) {
    const x = at(3 * i), y = at(3 * i + 1), z = at(3 * i + 2);
    flat[2 * i] = -sinTurn * x + cosTurn * y;
    flat[2 * i + 1] = -cosTurn * sinTilt * x - sinTurn * sinTilt * y + cosTilt * z;
  }
}

function bounds(coordinate) {
  return rangeOf(Float32Array.from({length: count}, (_, i) => flat[2 * i + coordinate]));
}

function measure() {
  size.width = canvas.clientWidth;
  size.height = canvas.clientHeight;
}

function seeAll() {
  const panel = document.querySelector("aside").getBoundingClientRect();
  const beside = panel.width < size.width / 2;  // otherwise the panel is below
  const width = size.width - (beside ? panel.width + 24 : 0);
  const height = size.height - (beside ? 0 : panel.height);
  const [left, right] = bounds(0), [low, high] = bounds(1);
  const scale = 0.92 * Math.min(width / (right - left), height / (high - low));
  view.scale = Number.isFinite(scale) ? scale : 1;  // infinite if all points are equal
  view.x = (left + right) / 2 + (size.width - width) / 2 / view.scale;
  view.y = (low + high) / 2 - (size.height - height) / 2 / view.scale;
}

const across = i => (flat[2 * i] - view.x) * view.scale + size.width / 2;
const down = i => size.height / 2 - (flat[2 * i + 1] - view.y) * view.scale;
const isShown = i => shownGroups[groups[i]] === 1;

// -- drawing -------------------------------------------------------------------------------------

function redraw() {
  if (!waiting) { waiting = true; requestAnimationFrame(draw); }
}

function draw() {
  waiting = false;
  const ratio = Math.min(devicePixelRatio || 1, 2), {width, height} = size;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  let visible = 0;
  for (let i = 0; i < count; i++) {
    const x = across(i), y = down(i);
    if (isShown(i) && x >= 0 && x < width && y >= 0 && y < height) visible++;
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  const points = {count, across, down, isShown, groups, colours};
  if (visible > DISCS_UP_TO) paintDensity(context, ratio, points);
  else paintDiscs(context, ratio, visible, points);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawRings();
  const labels = data.labels.filter(([i]) => isShown(i));
  const placed = labels.map(([i, text]) => [across(i), down(i), text]);
  writeLabels(context, placed, size, INK, "rgb(255 255 255 / .85)");
  document.documentElement.dataset.drawn = visible > DISCS_UP_TO ? "density" : "discs";
}

function drawRings() {
  context.strokeStyle = INK;
  context.lineWidth = 1.8;
  for (const i of [...data.highlighted, ...found.slice(0, MAX_RINGS)]) {
    if (!isShown(i)) continue;
    context.beginPath();
    context.arc(across(i), down(i), 8, 0, 7);
    context.stroke();
  }
}

// -- names ---------------------------------------------------------------------------------------

function nearest(x, y) {
  let best = -1, min = REACH * REACH;
  for (let i = 0; i < count; i++) {
    const square = (across(i) - x) ** 2 + (down(i) - y) ** 2;
    if (square < min && isShown(i)) { min = square; best = i; }
  }
  return best;
}

function showTip(i, x, y) {
  const tip = element("tip");
  tip.hidden = i < 0;
  if (i < 0) return;
  const name = names === null ? -1 : nameOf[i];
  const types = name < 0 ? "" : names.types[name].map(type => names.classes[type]).join(", ");
  const lines = name < 0 ? ["The page does not contain this term."] : [
    names.labels[name] || names.terms[name], names.labels[name] ? names.terms[name] : "",
    types || "no type",
  ];
  tip.replaceChildren(...lines.filter(line => line).map(line => {
    const row = document.createElement("div");
    row.textContent = line;
    return row;
  }));
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8))}px`;
}

async function readNames() {
  const packed = new Blob([unpacked(data.names)]).stream();
  const stream = packed.pipeThrough(new DecompressionStream("gzip"));
  names = JSON.parse(await new Response(stream).text());
  const named = data.named === null ? null : new Int32Array(unpacked(data.named).buffer);
  nameOf = new Int32Array(count).fill(-1);
  names.points = named || Int32Array.from({length: count}, (_, i) => i);
  names.points.forEach((point, at) => { nameOf[point] = at; });
  names.search = names.terms.map((term, at) => `${term}\n${names.labels[at] || ""}`.toLowerCase());
  element("search").disabled = false;
  document.documentElement.dataset.ready = "yes";
}

function search() {
  const wanted = element("search").value.trim().toLowerCase();
  const hits = [];
  if (wanted) names.search.forEach((text, at) => { if (text.includes(wanted)) hits.push(at); });
  const isLabel = at => (names.labels[at] || "").toLowerCase().includes(wanted);
  hits.sort((a, b) => isLabel(b) - isLabel(a) || a - b);
  found = hits.map(at => names.points[at]);
  const rings = hits.length > MAX_RINGS ? `, the first ${MAX_RINGS} ringed` : "";
  element("count").textContent = wanted ? `${hits.length.toLocaleString("en")} found${rings}` : "";
  element("found").replaceChildren(...hits.slice(0, MAX_RESULTS).map(at => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.textContent = names.labels[at] || names.terms[at];
    button.title = names.terms[at];
    button.addEventListener("click", () => goTo(names.points[at]));
    item.append(button);
    return item;
  }));
  redraw();
}

function goTo(i) {
  view.x = flat[2 * i];
  view.y = flat[2 * i + 1];
  found = [i];
  redraw();
  showTip(i, size.width / 2, size.height / 2);
}

// -- mouse and keyboard --------------------------------------------------------------------------

function zoom(factor, x = size.width / 2, y = size.height / 2) {
  const right = (x - size.width / 2) / view.scale, up = (size.height / 2 - y) / view.scale;
  view.scale *= factor;
  view.x += right * (1 - 1 / factor);
  view.y += up * (1 - 1 / factor);
  showTip(-1);
  redraw();
}

function drag(event) {
  if (dimensions === 3 && !event.shiftKey) {
    view.turn -= event.movementX / 200;
    view.tilt = Math.max(-1.57, Math.min(1.57, view.tilt + event.movementY / 200));
    flatten();
  } else {
    view.x -= event.movementX / view.scale;
    view.y += event.movementY / view.scale;
  }
  redraw();
}

function press(event) {
  const step = 60 / view.scale;
  const keys = {
    ArrowLeft: () => { view.x -= step; }, ArrowRight: () => { view.x += step; },
    ArrowUp: () => { view.y += step; }, ArrowDown: () => { view.y -= step; },
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: seeAll,
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
  redraw();
}

canvas.addEventListener("pointerdown", event => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener("pointermove", event => {
  if (event.buttons & 1) {
    showTip(-1);
    drag(event);
  } else showTip(nearest(event.clientX, event.clientY), event.clientX, event.clientY);
});
canvas.addEventListener("pointerleave", () => showTip(-1));
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 500), event.clientX, event.clientY);
}, {passive: false});
canvas.addEventListener("dblclick", () => { seeAll(); redraw(); });
canvas.addEventListener("keydown", press);
element("search").addEventListener("input", search);
addEventListener("resize", () => { measure(); redraw(); });

data.legend.forEach((group, number) => {
  const row = document.createElement("label"), box = document.createElement("input");
  const [dot, name, amount] = ["span", "span", "span"].map(tag => document.createElement(tag));
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    shownGroups[number] = box.checked ? 1 : 0;
    showTip(-1);
    redraw();
  });
  dot.className = "dot";
  dot.style.background = group.colour;
  name.textContent = name.title = group.name;
  amount.textContent = group.count.toLocaleString("en");
  row.append(box, dot, name, amount);
  element("legend").append(row);
});

// -- animation -----------------------------------------------------------------------------------

function showFrame(frame) {
  view.frame = frame;
  element("frame").value = frame;
  element("when").textContent = data.frames[Math.round(frame)];
  flatten();
  redraw();
}

function play(began) {
  const mine = ++playing;
  element("play").textContent = "Pause";
  const step = now => {
    if (mine !== playing) return;
    const frame = Math.min(frames - 1, (now - began) / 1000 / SECONDS_PER_FRAME);
    showFrame(Math.max(0, frame));
    if (frame < frames - 1) requestAnimationFrame(step); else pause();
  };
  requestAnimationFrame(step);
}

function pause() {
  playing++;
  element("play").textContent = "Play";
}

if (frames > 1) {
  element("player").hidden = false;
  element("frame").max = frames - 1;
  element("frame").addEventListener("input", () => {
    pause();
    showFrame(Number(element("frame").value));
  });
  element("play").addEventListener("click", () => {
    if (element("play").textContent === "Pause") { pause(); return; }
    play(performance.now() - (view.frame < frames - 1 ? view.frame * SECONDS_PER_FRAME * 1000 : 0));
  });
}

measure();
showFrame(frames - 1);
seeAll();
readNames();
