// Selected terms: a list, and files for other programs.

import {ask} from "./api.js";
import {clean, count, element, make, notice, shortened} from "./dom.js";

const LISTED = 200;
const AT_ONCE = 1000;
const EXPORTED = 100000;

export class Selected {
  constructor(open, changed) {
    Object.assign(this, {open, changed});
    this.node = element("selected");
    this.ids = [];
  }

  hide() {
    this.ids = [];
    this.node.hidden = true;
    this.changed(this.ids);
  }

  async show(ids) {
    this.ids = ids;
    this.changed(ids);
    const list = make("ol");
    const files = ["CSV", "JSON"].map(kind => make("button", {type: "button", text: kind, id: `export-${kind.toLowerCase()}`,
      disabled: !ids.length, "aria-label": `Save as ${kind}`, click: () => this.save(kind)}));
    this.node.replaceChildren(
      make("div", {className: "top"},
        make("div", {className: "row"}, make("h2", {text: `${count(ids.length)} selected`}),
          make("button", {type: "button", className: "icon", text: "×", "aria-label": "Close", click: () => this.hide()})),
        make("div", {className: "actions"}, make("span", {className: "quiet", text: "Save as"}), ...files)),
      make("section", {className: "part"}, list,
        make("p", {className: "quiet", text: ids.length > LISTED ? `The first ${LISTED} are listed; a file has all.` : ""})));
    this.node.hidden = false;
    if (!ids.length) return;
    try {
      const {terms} = await ask("/api/names", {ids: ids.slice(0, LISTED).join(",")});
      if (this.ids !== ids) return;
      list.append(...terms.map(term => make("li", {}, make("button", {type: "button", className: "near",
        title: clean(term.iri), click: () => this.open(term.id)},
        make("span", {text: clean(term.name)}), make("span", {className: "number", text: shortened(term.types.map(clean).join(", "), 28)})))));
    } catch (error) { notice(error.message); }
  }

  async save(kind) {
    const ids = this.ids.slice(0, EXPORTED), terms = [];
    const done = notice(`Collecting ${count(ids.length)} terms …`);
    try {
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        terms.push(...(await ask("/api/names", {ids: ids.slice(at, at + AT_ONCE).join(",")})).terms);
      }
    } catch (error) { notice(error.message); return; }
    const rows = terms.map(({id, iri, label, types}) => ({id, iri, label, types}));
    const text = kind === "JSON" ? JSON.stringify(rows, null, 1) : table(rows);
    const link = make("a", {download: `selection.${kind.toLowerCase()}`,
      href: URL.createObjectURL(new Blob([text], {type: kind === "JSON" ? "application/json" : "text/csv"}))});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    done();
    if (this.ids.length > EXPORTED) notice(`The file has the first ${count(EXPORTED)} terms.`);
  }
}

function table(rows) {
  const quoted = value => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const line = values => values.map(quoted).join(",");
  const lines = rows.map(({id, iri, label, types}) => line([id, iri, label, types.join("; ")]));
  return ["id,iri,label,types", ...lines, ""].join("\r\n");
}
