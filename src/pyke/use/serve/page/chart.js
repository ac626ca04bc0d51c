// The map: what is where, what is seen of it, and how it is drawn.

import {paintDensity, paintDiscs, rangeOf} from "./canvas.js";
import {still} from "./dom.js";
import {Points} from "./gl.js";
import {drawOverlay} from "./overlay.js";
import {channels} from "./theme.js";

const DISCS_UP_TO = 30000;  // without WebGL: more points are drawn as density
const REACH = 12;           // pixels between the pointer and a point that it means
const MOVING = 650;         // milliseconds from one layout to the next
const MOST = 150000, FEWEST = 20000, SLOW = 45, FAST = 24, AT_REST = 180;  // points, milliseconds
const TILT = 0.38, TURN = -1.01;

export class Chart {
  constructor(points, overlay) {
    this.canvas = points;
    this.overlay = overlay;
    this.pen = overlay.getContext("2d");
    this.gl = Points.on(points);
    if (!this.gl) {  // a canvas with a broken WebGL context has no other one
      this.canvas = points.cloneNode();
      points.replaceWith(this.canvas);
      this.plain = this.canvas.getContext("2d");
    }
    this.view = {x: 0, y: 0, scale: 1, tilt: TILT, turn: TURN};
    this.size = {width: 1, height: 1};
    this.count = 0;
    this.dimensions = 2;
    this.groupsOfTerms = new Uint8Array(0);
    this.legend = [{kind: "other"}];
    this.colours = ["#8b94a3"];
    this.hidden = new Set();
    this.labels = [];        // {id, text}
    this.pinned = [];        // labels that come first
    this.marks = [];         // ids with a ring
    this.lines = [];         // {from: [x, y, z], to: [x, y, z], colour, wide, dashed}
    this.shape = null;       // of a selection: points in pixels
    this.insets = () => ({left: 0, right: 0, top: 0, bottom: 0});
    this.onDraw = [];
    this.frameTimes = [];
    this.waiting = false;
    this.part = 1;
    this.most = MOST;        // points that are drawn while the map moves
    this.lastDraw = 0;
    this.measure();
  }

  // -- what is where ------------------------------------------------------------------------------

  // Points with three coordinates each. `move` shows how they get there from where they are.
  setPoints({count, dimensions, ids, coordinates}, {move = false} = {}) {
    const to = new Float32Array(3 * count);
    for (let i = 0; i < count; i++) {
      for (let d = 0; d < dimensions; d++) to[3 * i + d] = coordinates[dimensions * i + d];
    }
    const same = move && !still.matches && this.gl && this.count === count && this.ids?.[count - 1] === ids[count - 1];
    this.from = same ? this.to : to;
    this.to = to;
    this.count = count;
    this.ids = ids;
    this.isAll = ids.length === 0 || (ids[0] === 0 && ids[count - 1] === count - 1);
    this.rows = null;
    if (!this.isAll) this.rows = new Map(Array.from(ids, (id, row) => [id, row]));
    this.flatDimensions = dimensions;
    this.flat = new Float32Array(2 * count);
    this.fillGroups();
    if (this.gl) {
      this.gl.fill("from", this.from);
      this.gl.fill("to", to);
    }
    this.flatten();
    this.spread = this.radius();
    if (same) this.animate(); else this.part = 1;
    this.redraw();
  }

  animate() {
    const began = performance.now();
    const step = now => {
      const time = Math.min(1, (now - began) / MOVING);
      this.part = time * time * (3 - 2 * time);
      this.redraw();
      if (time < 1) requestAnimationFrame(step);
    };
    this.part = 0;
    requestAnimationFrame(step);
  }

  // The group of each term, and the colours of the groups.
  setGroups(groupsOfTerms, legend, colours) {
    this.groupsOfTerms = groupsOfTerms;
    this.legend = legend;
    this.colours = colours;
    this.fillGroups();
    this.redraw();
  }

  fillGroups() {
    if (!this.ids) return;
    this.groups = new Uint8Array(this.count);  // one group until the groups are known
    if (this.groupsOfTerms.length) {
      for (let i = 0; i < this.count; i++) this.groups[i] = this.groupsOfTerms[this.ids[i]];
    }
    if (!this.gl) return;
    this.gl.fill("group", this.groups);
    // Grey points first; the others in the order of a shuffle, so that no group covers another.
    const order = new Uint32Array(this.count);
    let grey = 0;
    const isGrey = this.legend.map(group => group.kind !== "named");
    for (let i = 0; i < this.count; i++) if (isGrey[this.groups[i]]) order[grey++] = i;
    let rest = grey, seed = 1;
    for (let i = 0; i < this.count; i++) if (!isGrey[this.groups[i]]) order[rest++] = i;
    for (let i = this.count - 1; i > grey; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = grey + seed % (i - grey + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    this.gl.sort(order);
  }

  row(id) { return this.isAll ? (id < this.count ? id : -1) : this.rows.get(id) ?? -1; }
  isShown(i) { return !this.hidden.has(this.groups?.[i]); }

  axes() {
    if (this.flatDimensions === 2) return {right: [1, 0, 0], up: [0, 1, 0], front: [0, 0, 1]};
    const {turn, tilt} = this.view;
    const [sinTurn, cosTurn, sinTilt, cosTilt] = [Math.sin(turn), Math.cos(turn), Math.sin(tilt), Math.cos(tilt)];
    return {
      right: [-sinTurn, cosTurn, 0],
      up: [-cosTurn * sinTilt, -sinTurn * sinTilt, cosTilt],
      front: [cosTurn * cosTilt, sinTurn * cosTilt, sinTilt],
    };
  }

  flatten() {
    const {right, up} = this.axes(), {to, flat} = this;
    for (let i = 0, j = 0, k = 0; i < this.count; i++, j += 2, k += 3) {
      flat[j] = to[k] * right[0] + to[k + 1] * right[1] + to[k + 2] * right[2];
      flat[j + 1] = to[k] * up[0] + to[k + 1] * up[1] + to[k + 2] * up[2];
    }
  }

  radius() {
    if (this.flatDimensions === 2) return 0;
    let most = 0;
    for (let i = 0; i < this.to.length; i += 97) most = Math.max(most, Math.abs(this.to[i]));
    return most;
  }

  // -- what is seen -------------------------------------------------------------------------------

  measure() {
    this.size = {width: this.overlay.clientWidth || 1, height: this.overlay.clientHeight || 1};
  }

  seeAll() {
    if (!this.count) return;
    const free = this.insets(), {width, height} = this.size;
    const step = Math.ceil(this.count / 50000);  // a part of many points shows where they are
    const part = coordinate => {
      const values = new Float32Array(Math.ceil(this.count / step));
      for (let i = 0; i < values.length; i++) values[i] = this.flat[2 * i * step + coordinate];
      return rangeOf(values);
    };
    const [left, right] = part(0), [low, high] = part(1);
    const wide = Math.max(80, width - free.left - free.right);
    const tall = Math.max(80, height - free.top - free.bottom);
    const scale = 0.9 * Math.min(wide / (right - left), tall / (high - low));
    this.view.scale = this.fitted = Number.isFinite(scale) && scale > 0 ? scale : 1;
    this.view.x = (left + right) / 2 + (free.right - free.left) / 2 / this.view.scale;
    this.view.y = (low + high) / 2 + (free.top - free.bottom) / 2 / this.view.scale;
    this.redraw();
  }

  // Some places, not closer than they can be told apart.
  see(places) {
    const {right, up} = this.axes(), free = this.insets(), {width, height} = this.size;
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + (a[2] ?? 0) * b[2];
    const xs = places.map(place => dot(place, right)), ys = places.map(place => dot(place, up));
    const [left, far, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const fit = 0.7 * Math.min((width - free.left - free.right) / (far - left), (height - free.top - free.bottom) / (high - low));
    this.view.scale = Math.min(Number.isFinite(fit) ? fit : Infinity, 12 * this.fitted);
    this.view.x = (left + far) / 2 + (free.right - free.left) / 2 / this.view.scale;
    this.view.y = (low + high) / 2 + (free.top - free.bottom) / 2 / this.view.scale;
    this.redraw();
  }

  box() {
    const {x, y, scale} = this.view, {width, height} = this.size;
    return [x - width / 2 / scale, y - height / 2 / scale, x + width / 2 / scale, y + height / 2 / scale];
  }

  across(i) { return (this.flat[2 * i] - this.view.x) * this.view.scale + this.size.width / 2; }
  down(i) { return this.size.height / 2 - (this.flat[2 * i + 1] - this.view.y) * this.view.scale; }

  pixel(place) {
    const {right, up} = this.axes();
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + (a[2] ?? 0) * b[2];
    return [
      (dot(place, right) - this.view.x) * this.view.scale + this.size.width / 2,
      this.size.height / 2 - (dot(place, up) - this.view.y) * this.view.scale,
    ];
  }

  place(id) {
    const row = this.row(id);
    return row < 0 ? null : Array.from(this.to.subarray(3 * row, 3 * row + 3));
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const right = (x - this.size.width / 2) / this.view.scale;
    const higher = (this.size.height / 2 - y) / this.view.scale;
    this.view.scale *= factor;
    this.view.x += right * (1 - 1 / factor);
    this.view.y += higher * (1 - 1 / factor);
    this.redraw();
  }

  move(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.redraw();
  }

  rotate(dx, dy) {
    this.view.turn -= dx / 200;
    this.view.tilt = Math.max(-1.57, Math.min(1.57, this.view.tilt + dy / 200));
    this.flatten();
    this.redraw();
  }

  goTo(id, closer = true) {
    const row = this.row(id);
    if (row < 0) return false;
    const free = this.insets();
    if (closer) this.view.scale = Math.max(this.view.scale, 4 * this.fitted);
    this.view.x = this.flat[2 * row] + (free.right - free.left) / 2 / this.view.scale;
    this.view.y = this.flat[2 * row + 1] + (free.top - free.bottom) / 2 / this.view.scale;
    this.redraw();
    return true;
  }

  nearest(x, y, reach = REACH) {
    const {flat, view, size} = this, square = reach * reach;
    const left = (x - size.width / 2) / view.scale + view.x, top = (size.height / 2 - y) / view.scale + view.y;
    let best = -1, min = square / view.scale / view.scale;
    for (let i = 0, j = 0; i < this.count; i++, j += 2) {
      const dx = flat[j] - left, dy = flat[j + 1] - top, far = dx * dx + dy * dy;
      if (far < min && this.isShown(i)) { min = far; best = i; }
    }
    return best < 0 ? -1 : this.ids[best];
  }

  inside(shape) {
    const found = [], {width, height} = this.size;
    const xs = shape.map(point => point[0]), ys = shape.map(point => point[1]);
    const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = [Math.min(...ys), Math.max(...ys)];
    if (!width || !height) return found;
    for (let i = 0; i < this.count; i++) {
      const x = this.across(i), y = this.down(i);
      if (x < left || x > right || y < low || y > high || !this.isShown(i)) continue;
      let odd = false;
      for (let a = 0, b = shape.length - 1; a < shape.length; b = a++) {
        const [xa, ya] = shape[a], [xb, yb] = shape[b];
        if (ya > y !== yb > y && x < (xb - xa) * (y - ya) / (yb - ya) + xa) odd = !odd;
      }
      if (odd) found.push(this.ids[i]);
    }
    return found;
  }

  // -- drawing ------------------------------------------------------------------------------------

  redraw() {
    if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => this.draw()); }
  }

  pointSize() {
    const zoomed = this.view.scale / (this.fitted || this.view.scale);
    const base = Math.max(1.6, Math.min(7, 560 / Math.sqrt(this.count + 1)));
    return Math.min(11, base * Math.max(0.8, zoomed ** 0.42));
  }

  alpha() {
    const zoomed = Math.max(1, this.view.scale / (this.fitted || this.view.scale));
    const crowd = this.count / zoomed ** 1.2;
    return Math.max(0.38, Math.min(0.9, 1.4 - 0.17 * Math.log10(crowd + 10)));
  }

  draw() {
    this.waiting = false;
    const began = performance.now();
    this.adapt(began);
    const ratio = Math.min(devicePixelRatio || 1, 2), {width, height} = this.size;
    const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.gl) this.drawWithGl(ratio, wide, tall);
    else this.drawPlainly(ratio, wide, tall);
    if (this.overlay.width !== wide || this.overlay.height !== tall) {
      this.overlay.width = wide;
      this.overlay.height = tall;
    }
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, width, height);
    drawOverlay(this);
    for (const listener of this.onDraw) listener();
    this.frameTimes.push(performance.now() - began);
    if (this.frameTimes.length > 1000) this.frameTimes.splice(0, 500);
    document.documentElement.dataset.drawn = this.gl ? "webgl" : "canvas";
  }

  // While the map moves, a slow computer draws a part of the points; the others follow at rest.
  adapt(now) {
    const view = JSON.stringify(this.view), gap = now - this.lastDraw;
    this.moving = view !== this.lastView;
    if (this.moving && gap > SLOW && gap < 1000) this.most = Math.max(FEWEST, 0.6 * Math.min(this.most, this.count));
    else if (this.moving && gap < FAST) this.most = Math.min(1.25 * this.most, 1e7);
    [this.lastView, this.lastDraw] = [view, now];
    clearTimeout(this.rest);
    if (this.moving && this.most < this.count) this.rest = setTimeout(() => this.redraw(), AT_REST);
  }

  drawWithGl(ratio, width, height) {
    const alpha = this.alpha(), colours = new Float32Array(64 * 4);
    this.colours.forEach((colour, at) => {
      const [red, green, blue] = channels(colour), grey = this.legend[at].kind !== "named";
      const seen = this.hidden.has(at) ? 0 : alpha * (grey ? 0.75 : 1);
      colours.set([red / 255, green / 255, blue / 255, seen], 4 * at);
    });
    this.gl.draw({
      width, height, colours, part: this.part, size: ratio * this.pointSize(), reach: this.spread ?? 0,
      most: this.moving ? this.most : Infinity, axes: this.axes(), centre: [this.view.x, this.view.y],
      scale: [2 * this.view.scale * ratio / width, 2 * this.view.scale * ratio / height],
    });
  }

  // Without WebGL: the code of the single-file map.
  drawPlainly(ratio, width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    if (!this.groups) return;
    const points = {
      count: this.count, across: i => this.across(i), down: i => this.down(i),
      isShown: i => this.isShown(i), groups: this.groups, colours: this.colours.map(channels),
    };
    let visible = 0;
    for (let i = 0; i < this.count; i++) {
      const x = points.across(i), y = points.down(i);
      if (x >= 0 && x < this.size.width && y >= 0 && y < this.size.height && points.isShown(i)) visible++;
    }
    if (visible > DISCS_UP_TO) paintDensity(this.plain, ratio, points);
    else paintDiscs(this.plain, ratio, visible, points);
  }
}
