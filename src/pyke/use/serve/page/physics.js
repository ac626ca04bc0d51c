// The simulation: its film with live curves, and the springs and repellers of one term.

import {ask, numbers} from "./api.js";
import {clean, element, make, notice, still} from "./dom.js";
import {onTheme, style, theme} from "./theme.js";

const SECONDS_PER_FRAME = 0.3;
const CURVES = [
  {key: "energy", name: "energy E", light: "#b3560f", dark: "#ffa168"},
  {key: "objective", name: "objective J", light: "#3247c2", dark: "#93a4ff"},
  {key: "displacement", name: "displacement", light: "#0b7a66", dark: "#48d3b7"},
];
const PULL = {light: "#0b7a66", dark: "#48d3b7"}, PUSH = {light: "#c22f49", dark: "#ff7d90"};

export class Physics {
  constructor(chart, state, {leave}) {
    Object.assign(this, {chart, state, leave});
    this.film = null;
    this.frame = 0;
    this.playing = 0;
    this.pressed = null;
    element("physics").addEventListener("click", () => (state.film ? this.stop() : this.start()));
    element("film-close").addEventListener("click", () => this.stop());
    element("play").addEventListener("click", () => (this.isPlaying() ? this.pause() : this.play()));
    element("frame").addEventListener("input", () => { this.pause(); this.show(Number(element("frame").value)); });
    onTheme(() => this.draw());
    addEventListener("resize", () => this.draw());
  }

  // -- the film -----------------------------------------------------------------------------------

  async start() {
    const {state} = this;
    state.film = true;
    element("physics").setAttribute("aria-pressed", "true");
    element("film").hidden = false;
    element("play").disabled = element("frame").disabled = true;
    const dimensions = state.dimensions, note = element("film-note");
    this.running?.abort();
    const {signal} = this.running = new AbortController();
    const waiting = ({stage, part}) => {
      const share = part ? ` ${Math.round(100 * part)} %` : "";
      note.textContent = `Running the simulation again … ${stage}${share}`;
    };
    note.textContent = "Running the simulation again …";
    try {
      const buffer = await numbers("/api/film", {dimensions}, {waiting, signal});
      const [frames, points] = new Uint32Array(buffer, 0, 2);
      this.film = {
        dimensions, iterations: new Uint32Array(buffer, 12, frames), ids: new Uint32Array(buffer, 12 + 4 * frames, points),
        coordinates: new Float32Array(buffer, 12 + 4 * (frames + points)), frames, points,
      };
    } catch (error) {
      if (error.name !== "AbortError") note.textContent = error.message;
      return;
    }
    note.textContent = `${this.film.points.toLocaleString("en")} terms, on the principal components of the end.`;
    element("play").disabled = element("frame").disabled = false;
    element("frame").max = this.film.frames - 1;
    this.chart.labels = [];
    this.chart.lines = [];
    this.show(this.film.frames - 1);
    this.chart.seeAll();
    this.show(0);
    document.documentElement.dataset.film = "ready";
    if (!still.matches) this.play();
  }

  stop() {
    this.running?.abort();
    this.pause();
    this.state.film = false;
    this.film = null;
    element("film").hidden = true;
    element("physics").setAttribute("aria-pressed", "false");
    delete document.documentElement.dataset.film;
    this.leave();
  }

  isPlaying() { return element("play").textContent === "Pause"; }

  play() {
    const mine = ++this.playing, last = this.film.frames - 1;
    const began = performance.now() - (this.frame < last ? this.frame : 0) * SECONDS_PER_FRAME * 1000;
    element("play").textContent = "Pause";
    const step = now => {
      if (mine !== this.playing || !this.film) return;
      const frame = Math.min(last, Math.max(0, (now - began) / 1000 / SECONDS_PER_FRAME));
      this.show(frame);
      if (frame < last) requestAnimationFrame(step); else this.pause();
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.playing++;
    element("play").textContent = "Play";
  }

  show(frame) {
    const {film, chart} = this;
    this.frame = frame;
    const {points, dimensions, coordinates, frames} = film, size = points * dimensions;
    const first = Math.floor(frame), part = frame - first, next = Math.min(first + 1, frames - 1);
    const place = new Float32Array(size);
    for (let i = 0; i < size; i++) {
      const from = coordinates[first * size + i];
      place[i] = from + part * (coordinates[next * size + i] - from);
    }
    chart.setPoints({count: points, dimensions, ids: film.ids, coordinates: place});
    element("frame").value = frame;
    element("when").textContent = `iteration ${film.iterations[Math.round(frame)]}`;
    this.draw();
  }

  // -- the curves ---------------------------------------------------------------------------------

  draw() {
    const canvas = element("curves"), history = this.state.info?.history ?? [];
    if (!this.film || !history.length) return;
    const ratio = Math.min(devicePixelRatio || 1, 2), wide = canvas.clientWidth, tall = canvas.clientHeight;
    canvas.width = wide * ratio;
    canvas.height = tall * ratio;
    const pen = canvas.getContext("2d"), last = history.length;
    pen.scale(ratio, ratio);
    const across = iteration => 8 + (wide - 16) * (iteration - 1) / Math.max(1, last - 1);
    const now = Math.max(1, this.film.iterations[Math.round(this.frame)]);
    pen.strokeStyle = style("--line");
    pen.beginPath();
    pen.moveTo(8, tall - 6);
    pen.lineTo(wide - 8, tall - 6);
    pen.stroke();
    for (const curve of CURVES) {
      const values = history.map(one => scaled(one[curve.key], curve.key));
      const low = Math.min(...values), range = Math.max(...values) - low || 1;
      const down = value => tall - 10 - (tall - 20) * (value - low) / range;
      for (const [end, alpha, thick] of [[last, 0.28, 1.4], [now, 1, 2.2]]) {
        pen.globalAlpha = alpha;
        pen.strokeStyle = pen.fillStyle = curve[theme()];
        pen.lineWidth = thick;
        pen.beginPath();
        for (let i = 1; i <= end; i++) pen.lineTo(across(i), down(values[i - 1]));
        pen.stroke();
      }
      pen.beginPath();
      pen.arc(across(now), down(values[now - 1]), 3.6, 0, 7);
      pen.fill();
    }
    element("figures").replaceChildren(...CURVES.map(curve => {
      const dot = make("i");
      dot.style.setProperty("--own", curve[theme()]);
      const value = history[now - 1][curve.key];
      return make("div", {}, dot, make("dt", {text: curve.name}), make("dd", {text: shortNumber(value)}));
    }));
  }

  // -- springs and repellers ----------------------------------------------------------------------

  async forces(id, button) {
    if (this.pressed) { this.release(); return; }
    this.pressed = button;
    button.setAttribute("aria-pressed", "true");
    const {state, chart} = this, old = document.getElementById("forces");
    old?.remove();
    let done = () => {};
    const waiting = ({stage}) => { done = notice(`Finding springs … ${stage}`); };
    this.finding = new AbortController();
    try {
      const {layout, dimensions} = state.shown;
      const found = await ask("/api/forces", {term: id, layout, dimensions}, {waiting, signal: this.finding.signal});
      if (this.pressed !== button) return;
      const own = chart.place(id);
      if (own) {
        chart.lines = this.lines(own, found);
        chart.see([own, ...found.springs.map(one => one.at)]);
      }
      chart.marks = [id];
      button.closest(".top").after(this.list(found));
      chart.redraw();
    } catch (error) {
      if (error.name !== "AbortError") { this.release(); notice(error.message); return; }
    }
    done();
  }

  release() {
    if (!this.pressed) return;
    this.finding.abort();
    this.pressed.setAttribute("aria-pressed", "false");
    this.pressed = null;
    document.getElementById("forces")?.remove();
    this.leave({keep: true});
  }

  lines(own, {springs, repellers}) {
    const strongest = Math.max(...springs.map(one => one.sigma), 1e-9);
    const pulls = springs.map(one => ({
      from: own, to: one.at, colour: PULL[theme()], wide: 0.8 + 1.8 * one.sigma / strongest, alpha: 0.75}));
    const pushes = repellers.map(one => ({from: own, to: one.at, colour: PUSH[theme()], wide: 1.2, dashed: true, alpha: 0.7}));
    return [...pushes, ...pulls];
  }

  list({springs, repellers}) {
    const strongest = Math.max(...springs.map(one => one.sigma), 1e-9);
    const rows = springs.slice(0, 14).map(one => {
      const row = make("div", {className: "near"}, make("span", {text: described(one)}),
        make("span", {className: "number", text: `σ ${one.sigma.toFixed(2)}`}));
      row.style.setProperty("--part", String(100 * one.sigma / strongest));
      return make("li", {}, row);
    });
    const heading = make("h3", {text: "Springs"}, make("span", {className: "quiet",
      text: `${springs.length} pull (solid), ${repellers.length} push (dashed)`}));
    const section = make("section", {className: "part", id: "forces"}, heading, make("ul", {}, ...rows));
    return section;
  }
}

// A context in words: what its members have in common.
function described({term, predicate, other, is_subject, members}) {
  if (term) return clean(term.name);
  if (!predicate) return `a cluster of ${members} terms`;
  const name = clean(predicate.name);
  if (!other) return is_subject ? `${name} …` : `← ${name} …`;
  return is_subject ? `${name} ${clean(other.name)}` : `← ${name} ${clean(other.name)}`;
}

// Displacement falls by orders of magnitude: its curve is logarithmic.
const scaled = (value, key) => (key === "displacement" ? Math.log10(Math.max(value, 1e-9)) : value);

function shortNumber(value) {
  if (Math.abs(value) < 100) return value.toFixed(2);
  return value.toLocaleString("en", {notation: "compact", maximumFractionDigits: 2});
}
