// Two embeddings of the same graph side by side, with one view, and the terms that moved most.

import {ask, points} from "./api.js";
import {Chart} from "./chart.js";
import {clean, count, element, make, notice} from "./dom.js";
import * as pointer from "./pointer.js";
import {style} from "./theme.js";

export class Compare {
  constructor(chart, state, {open, enter, leave}) {
    Object.assign(this, {chart, state, open, enter, leave});
    this.twin = null;
    element("compare").addEventListener("click", () => (this.twin ? this.stop() : this.start()));
  }

  async start() {
    const {chart, state} = this;
    element("compare").setAttribute("aria-pressed", "true");
    let done = () => {};
    const waiting = () => { done = notice("Aligning the two embeddings …"); };
    try {
      await this.enter();
      const [there, moved] = await Promise.all([
        points("/api/compare/points", {dimensions: state.dimensions}, {waiting}), ask("/api/compare", {}, {waiting})]);
      done();
      document.body.classList.add("comparing");
      const stage = element("stage");
      this.nodes = ["points", "overlay"].map(name => make("canvas", {id: `${name}-other`}));
      this.nodes[1].tabIndex = 0;
      this.nodes[1].setAttribute("aria-label", "Map of the other embedding");
      stage.append(...this.nodes, make("div", {id: "divide"}));
      const twin = this.twin = new Chart(...this.nodes);
      twin.view = chart.view;
      twin.insets = chart.insets;
      twin.hidden = chart.hidden;
      twin.setPoints(there);
      twin.setGroups(chart.groupsOfTerms, chart.legend, chart.colours);
      pointer.start(twin, {open: this.open, selected: () => {}});
      this.link(chart, twin);
      this.link(twin, chart);
      chart.measure();
      twin.measure();
      chart.seeAll();
      twin.fitted = chart.fitted;
      this.list(moved);
      document.documentElement.dataset.comparing = "yes";
    } catch (error) { notice(error.message); this.stop(); }
  }

  // A movement of one map moves the other.
  link(one, other) {
    const draw = one.redraw.bind(one);
    one.redraw = () => {
      draw();
      if (!other.waiting && this.twin) {
        if (other === this.twin) this.follow();
        Object.getPrototypeOf(other).redraw.call(other);
      }
    };
  }

  follow() {
    const {chart, twin} = this;
    twin.hidden = chart.hidden;
    twin.marks = chart.marks;
    twin.labels = chart.labels;
    if (twin.colours !== chart.colours) twin.setGroups(chart.groupsOfTerms, chart.legend, chart.colours);
    const own = chart.marks.length ? twin.place(chart.marks[0]) : null;
    twin.lines = own && chart.lines.length ? chart.marks.slice(1).flatMap(id => {
      const to = twin.place(id);
      return to ? [{from: own, to, colour: style("--ink"), wide: 1.3, alpha: 0.45}] : [];
    }) : [];
  }

  list({common, only_here, only_there, error, neighbours, moved}) {
    const most = Math.max(...moved.map(one => one.moved), 1e-9);
    const rows = moved.map(one => {
      const row = make("button", {type: "button", className: "near", title: clean(one.iri), click: () => this.open(one.id)},
        make("span", {text: clean(one.name)}),
        make("span", {className: "number", text: `${one.moved.toFixed(2)} · ${one.kept}/${neighbours}`}));
      row.style.setProperty("--part", String(100 * one.moved / most));
      return make("li", {}, row);
    });
    const node = element("selected");
    node.replaceChildren(
      make("div", {className: "top"}, make("div", {className: "row"}, make("h2", {text: "Moved most"}),
        make("button", {type: "button", className: "icon", text: "×", "aria-label": "Close", click: () => this.stop()})),
      make("p", {className: "quiet", text: `Left: this embedding, right: the other one. ${count(common)} terms in both, ${count(only_here)} only here, `
        + `${count(only_there)} only there. Mean movement ${error.toFixed(2)} of the radius. `
        + `Behind each term: its movement, and how many of its ${neighbours} neighbours it kept.`})),
      make("section", {className: "part"}, make("ol", {}, ...rows)));
    node.hidden = false;
  }

  stop() {
    element("compare").setAttribute("aria-pressed", "false");
    document.body.classList.remove("comparing");
    delete document.documentElement.dataset.comparing;
    this.twin = null;
    delete this.chart.redraw;
    for (const node of this.nodes ?? []) node.remove();
    document.getElementById("divide")?.remove();
    element("selected").hidden = true;
    this.chart.measure();
    this.leave();
  }
}
