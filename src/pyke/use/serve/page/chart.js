// The map: what is where, what is seen of it, and how it is drawn.

import {paintDensity, paintDiscs, rangeOf} from "./canvas.js";
import {still} from "./dom.js";
import {Points} from "./gl.js";
import {drawOverlay} from "./overlay.js";
import {channels} from "./theme.js";

const DISCS_UP_TO = 30000;  // without WebGL: more points are drawn as density
const REACH = 12;           // pixels between the pointer and a point that it means
const MOVING = 650;         // milliseconds from one layout to the next
const AT_REST = 90;         // milliseconds without a change until a sample is completed
const TILT = 0.38, TURN = -1.01;

export class Chart {
  constructor(points, overlay) {
    this.canvas = points;
    this.overlay = overlay;
    this.pen = overlay.getContext("2d");
    this.gl = Points.on(points);
    if (!this.gl) this.leaveGl();
    points.addEventListener("webglcontextlost", () => { this.leaveGl(); this.redraw(); });
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
    this.waiting = false;
    this.part = 1;
    this.version = 0;        // of the points and their groups
    this.measure();
  }

  // A canvas that had a WebGL context cannot have another one.
  leaveGl() {
    this.gl = null;
    const other = this.canvas.cloneNode();
    this.canvas.replaceWith(other);
    this.canvas = other;
    this.plain = other.getContext("2d");
  }

  // -- what is where ------------------------------------------------------------------------------

  // Points with three coordinates each. `move` shows how they get there from where they are.
  setPoints({count, dimensions, ids, coordinates}, {move = false} = {}) {
    const to = dimensions === 3 ? coordinates : new Float32Array(3 * count);
    if (dimensions === 2) {
      for (let i = 0; i < count; i++) {
        to[3 * i] = coordinates[2 * i];
        to[3 * i + 1] = coordinates[2 * i + 1];
      }
    }
    const same = move && !still.matches && this.gl && this.count === count && this.ids?.[count - 1] === ids[count - 1];
    this.from = same ? this.to : to;
    this.to = to;
    this.count = count;
    this.ids = ids;
    this.isAll = ids.length === 0 || (ids[0] === 0 && ids[count - 1] === count - 1);
    this.rows = null;
    if (!this.isAll) {
      this.rows = new Int32Array(ids.reduce((most, id) => Math.max(most, id), 0) + 1).fill(-1);
      for (let row = 0; row < count; row++) this.rows[ids[row]] = row;
    }
    this.flatDimensions = dimensions;
    this.fillGroups();
    if (this.gl) {
      this.gl.fill("from", this.from);
      this.gl.fill("to", to);
    }
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
    const same = groupsOfTerms === this.groupsOfTerms && legend === this.legend;
    this.groupsOfTerms = groupsOfTerms;
    this.legend = legend;
    this.colours = colours;
    if (!same) this.fillGroups();
    this.redraw();
  }

  fillGroups() {
    if (!this.ids) return;
    this.groups = new Uint8Array(this.count);  // one group until the groups are known
    if (this.groupsOfTerms.length) {
      for (let i = 0; i < this.count; i++) this.groups[i] = this.groupsOfTerms[this.ids[i]];
    }
    this.version++;
    if (!this.gl) return;
    this.gl.fill("group", this.groups);
    if (this.shuffle?.length !== this.count) this.shuffle = shuffled(this.count);
    this.arrange(null);
  }

  // The order of drawing, of the points in a box or of all. Grey points come first; the others
  // cover each other at random.
  arrange(box) {
    const {to, groups} = this, isGrey = this.legend.map(group => group.kind !== "named");
    const [left, low, right, high] = box ?? [-Infinity, -Infinity, Infinity, Infinity];
    const order = new Uint32Array(this.count);
    let grey = 0, rest = this.count;
    for (const i of this.shuffle) {
      const x = to[3 * i], y = to[3 * i + 1];
      if (x < left || x > right || y < low || y > high) continue;
      if (isGrey[groups[i]]) order[grey++] = i; else order[--rest] = i;
    }
    order.copyWithin(grey, rest);
    this.gl.sort(order.subarray(0, grey + this.count - rest), grey);
    this.arranged = box;
  }

  // Only points near the visible part are drawn when the map is much larger.
  cull() {
    const zoomed = this.view.scale / this.fitted, known = this.arranged;
    if (this.flatDimensions === 3 || this.part < 1 || !(zoomed > (known ? 1.5 : 2))) {
      if (known) this.arrange(null);
      return;
    }
    const [left, low, right, high] = this.box(), [wide, tall] = [(right - left) / 4, (high - low) / 4];
    const isInside = known && left >= known[0] && low >= known[1] && right <= known[2] && high <= known[3];
    if (!isInside || known[2] - known[0] > 16 * wide) this.arrange([left - wide, low - tall, right + wide, high + tall]);
  }

  row(id) { return this.isAll ? (id < this.count ? id : -1) : this.rows[id] ?? -1; }
  isShown(i) { return !this.hidden.has(this.groups?.[i]); }

  axes() {
    const {turn, tilt} = this.view, {known} = this;
    if (known?.turn === turn && known.tilt === tilt && known.dimensions === this.flatDimensions) return known.axes;
    const [sinTurn, cosTurn, sinTilt, cosTilt] = [Math.sin(turn), Math.cos(turn), Math.sin(tilt), Math.cos(tilt)];
    const axes = this.flatDimensions === 2 ? {right: [1, 0, 0], up: [0, 1, 0], front: [0, 0, 1]} : {
      right: [-sinTurn, cosTurn, 0],
      up: [-cosTurn * sinTilt, -sinTurn * sinTilt, cosTilt],
      front: [cosTurn * cosTilt, sinTurn * cosTilt, sinTilt],
    };
    this.known = {turn, tilt, dimensions: this.flatDimensions, axes};
    return axes;
  }

  // The coordinate of a point along an axis.
  along(i, [x, y, z]) { return this.to[3 * i] * x + this.to[3 * i + 1] * y + this.to[3 * i + 2] * z; }

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
    const part = axis => {
      const values = new Float32Array(Math.ceil(this.count / step));
      for (let i = 0; i < values.length; i++) values[i] = this.along(i * step, axis);
      return rangeOf(values);
    };
    const axes = this.axes(), [left, right] = part(axes.right), [low, high] = part(axes.up);
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

  across(i) { return (this.along(i, this.axes().right) - this.view.x) * this.view.scale + this.size.width / 2; }
  down(i) { return this.size.height / 2 - (this.along(i, this.axes().up) - this.view.y) * this.view.scale; }

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
    this.redraw();
  }

  goTo(id, closer = true) {
    const row = this.row(id);
    if (row < 0) return false;
    const free = this.insets(), {right, up} = this.axes();
    if (closer) this.view.scale = Math.max(this.view.scale, 4 * this.fitted);
    this.view.x = this.along(row, right) + (free.right - free.left) / 2 / this.view.scale;
    this.view.y = this.along(row, up) + (free.top - free.bottom) / 2 / this.view.scale;
    this.redraw();
    return true;
  }

  nearest(x, y, reach = REACH) {
    const {view, size} = this, {right, up} = this.axes(), square = reach * reach;
    const left = (x - size.width / 2) / view.scale + view.x, top = (size.height / 2 - y) / view.scale + view.y;
    let best = -1, min = square / view.scale / view.scale;
    for (let i = 0; i < this.count; i++) {
      const dx = this.along(i, right) - left, dy = this.along(i, up) - top, far = dx * dx + dy * dy;
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
    if (this.gl?.isBusy) { this.redraw(); return; }
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
    document.documentElement.dataset.drawn = this.gl ? "webgl" : "canvas";
  }

  // A slow computer draws a sample while something changes, and all points at rest. What is drawn
  // over the points changes without them.
  drawWithGl(ratio, width, height) {
    const now = performance.now();
    const seen = JSON.stringify([this.view, this.part, this.version, this.colours, [...this.hidden], width, height]);
    clearTimeout(this.rest);
    if (seen !== this.seen) {
      this.cull();
      this.gl.draw(this.look(ratio, width, height));
      [this.seen, this.changed] = [seen, now];
    } else if (!this.gl.isWhole && now - this.changed >= AT_REST) this.gl.refine();
    if (!this.gl.isWhole) this.rest = setTimeout(() => this.redraw(), Math.max(0, AT_REST + this.changed - now));
  }

  look(ratio, width, height) {
    const alpha = this.alpha(), colours = new Float32Array(64 * 4);
    this.colours.forEach((colour, at) => {
      const [red, green, blue] = channels(colour), grey = this.legend[at].kind !== "named";
      const seen = this.hidden.has(at) ? 0 : alpha * (grey ? 0.75 : 1);
      colours.set([red / 255, green / 255, blue / 255, seen], 4 * at);
    });
    return {
      width, height, colours, part: this.part, size: ratio * this.pointSize(), reach: this.spread ?? 0,
      axes: this.axes(), centre: [this.view.x, this.view.y],
      scale: [2 * this.view.scale * ratio / width, 2 * this.view.scale * ratio / height],
    };
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

// The numbers below a count in a random order, the same each time.
function shuffled(count) {
  const order = Uint32Array.from({length: count}, (_, i) => i);
  for (let i = count - 1, seed = 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor(seed / 2 ** 32 * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
