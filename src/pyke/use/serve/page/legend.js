// The legend: colours by type, cluster or namespace. Its rows filter the points.

import {ask, numbers} from "./api.js";
import {choice, clean, count, element, make, notice} from "./dom.js";
import {colours, onTheme} from "./theme.js";

export function start(chart, changed) {
  let by = "type", running = null;

  function paint(groups = chart.groupsOfTerms, legend = chart.legend) {
    const palette = colours(legend);
    chart.setGroups(groups, legend, palette);
    element("groups").replaceChildren(...chart.legend.map((group, at) => row(group, at, palette[at])));
  }

  function row(group, at, colour) {
    const dot = make("i"), shown = !chart.hidden.has(at);
    const button = make("button",
      {type: "button", className: "group", role: "checkbox", "aria-checked": String(shown), title: clean(group.name),
        click: () => { if (shown) chart.hidden.add(at); else chart.hidden.delete(at); update(at); }},
      dot, make("span", {text: clean(group.name)}), make("em", {text: count(group.count)}));
    button.style.setProperty("--own", colour);
    const only = make("button", {type: "button", className: "only", text: "only",
      "aria-label": `Only ${clean(group.name)}`, click: () => {
        const alone = chart.hidden.size === chart.legend.length - 1 && shown;
        chart.hidden = new Set(alone ? [] : chart.legend.keys());
        if (!alone) chart.hidden.delete(at);
        update(at);
      }});
    return make("div", {className: "line"}, button, only);
  }

  function update(at) {
    paint();
    element("groups").children[at]?.firstChild.focus();
    chart.redraw();
    changed();
  }

  async function load(value) {
    by = value;
    running?.abort();
    const own = running = new AbortController();
    let done = () => {};
    const waiting = ({stage, part}) => {
      const share = part ? ` ${Math.round(100 * part)} %` : "";
      const what = by === "cluster" ? "clusters" : "groups";
      done = notice(`Finding ${what} … ${stage}${share}`, () => choose("type"));
    };
    try {
      const options = {signal: own.signal, waiting};
      const [legend, groups] = await Promise.all([ask("/api/legend", {by}, options), numbers("/api/groups", {by}, options)]);
      if (own.signal.aborted) return;
      chart.hidden = new Set();
      paint(new Uint8Array(groups), legend.groups);
      changed();
    } catch (error) {
      if (error.name !== "AbortError") { notice(error.message); return; }
    }
    done();
  }

  const choose = choice("by", load);
  choose(by, false);
  element("fold").addEventListener("click", () => {
    const folded = element("groups").hidden = !element("groups").hidden;
    element("fold").setAttribute("aria-expanded", String(!folded));
    element("fold").textContent = folded ? "▴" : "▾";
  });
  onTheme(() => { if (chart.groupsOfTerms.length) paint(); });
  return {load: () => load(by), by: () => by};
}
