// The panel of one term: names, types, neighbours, triples, predictions.

import {ask} from "./api.js";
import {clean, count, element, iri, make, shortened} from "./dom.js";

const PAGE = 12;
const NEIGHBOURS = 12;

export class Panel {
  constructor({open, close, show, forces, info}) {
    Object.assign(this, {open, close, show, forces, info});
    this.node = element("panel");
    this.predicts = new Set();  // kinds of predictions that a person has asked for
    this.running = null;
    this.node.addEventListener("keydown", event => { if (event.key === "Escape") close(); });
  }

  hide() {
    this.running?.abort();
    this.node.hidden = true;
  }

  async load(id) {
    this.running?.abort();
    const own = this.running = new AbortController(), options = {signal: own.signal};
    try {
      const term = await ask(`/api/terms/${id}`, {limit: PAGE}, options);
      const near = await ask("/api/nearest", {term: id, k: NEIGHBOURS}, options);
      if (own.signal.aborted) return null;
      this.build(term, near.neighbours, options);
      return {term, neighbours: near.neighbours};
    } catch (error) {
      if (error.name !== "AbortError") this.message(error.message);
      return null;
    }
  }

  message(text) {
    this.node.replaceChildren(this.top(make("h2", {text})));
    this.node.hidden = false;
  }

  top(title, ...rest) {
    const close = make("button", {type: "button", className: "icon", text: "×", "aria-label": "Close", click: this.close});
    return make("div", {className: "top"}, make("div", {className: "row"}, title, close), ...rest);
  }

  build(term, neighbours, options) {
    const types = make("div", {className: "chips"}, ...term.types.map(kind => this.link(kind, "chip")));
    const springs = make("button", {type: "button", text: "Springs", "aria-pressed": "false",
      title: "Draw what attracts and repels it", click: () => this.forces(term.id, springs)});
    const actions = make("div", {className: "actions"},
      make("button", {type: "button", className: "main", text: "Show on map", click: () => this.show(term.id)}),
      springs);
    this.node.replaceChildren(
      this.top(make("h2", {text: clean(term.name)}), iri(term.iri), types, actions),
      this.neighbours(neighbours),
      this.triples(term, "out", "Statements", options),
      this.triples(term, "in", "Mentioned by", options),
      this.predictions(term, "types", "Predicted types", options),
      this.predictions(term, "facts", "Predicted facts", options));
    this.node.hidden = false;
    this.node.scrollTop = 0;
    this.node.focus({preventScroll: true});
  }

  link(term, className = "link", letters = Infinity) {
    return make("button", {type: "button", className, text: shortened(clean(term.name), letters), title: clean(term.iri),
      click: () => this.open(term.id)});
  }

  neighbours(found) {
    const far = Math.max(...found.map(one => one.distance), 1e-9);
    const rows = found.map(one => {
      const row = make("button", {type: "button", className: "near", title: clean(one.iri), click: () => this.open(one.id)},
        make("span", {text: clean(one.name)}), make("span", {className: "number", text: one.distance.toFixed(3)}));
      row.style.setProperty("--part", String(100 * (1 - 0.92 * one.distance / far)));
      return make("li", {}, row);
    });
    return this.part("Nearest neighbours", "distance", make("ol", {id: "near"}, ...rows));
  }

  part(title, note, ...children) {
    const heading = make("h3", {text: title}, make("span", {className: "quiet", text: note}));
    return make("section", {className: "part"}, heading, ...children);
  }

  triples(term, side, title, options) {
    const first = term[side], list = make("ul"), rows = list;
    const add = page => rows.append(...page.triples.map(one => this.triple(one)));
    const more = make("button", {type: "button", className: "more link"});
    let shown = 0;
    const count_ = page => {
      shown += page.triples.length;
      more.textContent = `Show more (${count(first.total - shown)})`;
      more.hidden = shown >= first.total;
    };
    more.addEventListener("click", async () => {
      more.disabled = true;
      try {
        const page = await ask(`/api/terms/${term.id}/triples`, {side, offset: shown, limit: 50}, options);
        add(page);
        count_(page);
      } catch (error) {
        if (error.name !== "AbortError") more.textContent = error.message;
      }
      more.disabled = false;
    });
    add(first);
    count_(first);
    const node = this.part(title, count(first.total), list, more);
    node.dataset.side = side;
    node.hidden = first.total === 0;
    return node;
  }

  triple({predicate, term}) {
    const other = term ? this.link(term) : make("span", {className: "literal", text: "a literal (not stored)"});
    return make("li", {className: "triple"}, this.link(predicate), other);
  }

  // Predictions need a second embedding: they are computed when someone asks for them.
  predictions(term, kind, title, options) {
    const body = make("div");
    const section = this.part(title, "", body);
    section.dataset.kind = kind;
    const offer = () => body.replaceChildren(
      make("button", {type: "button", className: "link", text: `Predict ${kind}`, click: start}),
      make("p", {className: "quiet", text: this.price(kind)}));
    const start = async () => {
      this.predicts.add(kind);
      const began = performance.now(), own = new AbortController();
      const bar = make("progress"), text = make("p", {className: "quiet", text: "Asking …"});
      const cancel = make("button", {type: "button", className: "link", text: "Cancel", click: () => {
        own.abort();
        this.predicts.delete(kind);
        offer();
        body.firstChild.focus();
      }});
      body.replaceChildren(text, bar, cancel);
      const waiting = ({stage, part}) => {
        const seconds = Math.round((performance.now() - began) / 1000);
        text.textContent = `Computing once for all terms, ${seconds} s … ${stage}`;
        if (part === null) bar.removeAttribute("value"); else bar.value = part;
      };
      try {
        const signal = AbortSignal.any([options.signal, own.signal]);
        const found = await ask(`/api/${kind}`, {term: term.id}, {signal, waiting});
        body.replaceChildren(...(kind === "types" ? this.types(found) : this.facts(found)));
      } catch (error) {
        if (error.name !== "AbortError") body.replaceChildren(make("p", {className: "quiet", text: error.message}));
      }
    };
    if (this.predicts.has(kind)) start(); else offer();
    return section;
  }

  // What predictions of a kind will need.
  price(kind) {
    const costs = this.info()?.costs;
    if (!costs) return "";
    const memory = `${(Math.ceil(costs[kind] / 1e8) / 10).toFixed(1)} GB of memory`;
    const times = kind === "types" ? "two to four" : "four to eight";
    const long = costs.seconds > 5 ? ` and ${times} times the ${Math.round(costs.seconds)} s of the embedding` : "";
    return `Needs about ${memory}${long}, once for all terms.`;
  }

  types(found) {
    if (!found.types.length) {
      return [make("p", {className: "quiet", text: "No typed neighbour has anything in common with this term."})];
    }
    const likely = found.types.filter((one, at) => at === 0 || one.confidence >= 0.01);
    const rows = likely.slice(0, 6).map(one => this.guess(
      this.link(one), one.confidence, one.stated, `${one.votes} of ${found.voters_asked} neighbours have it`));
    const note = found.status === "measured" ? [] : [make("p", {className: "quiet",
      text: "This term is unlike all typed subjects: its confidence was not measured."})];
    return [...note, ...rows, this.why(found)];
  }

  facts(found) {
    if (!found.facts.length) {
      return [make("p", {className: "quiet", text: "It lacks no predicate that most similar entities have."})];
    }
    return found.facts.flatMap(one => [
      make("p", {className: "quiet"}, this.link(one.predicate),
        document.createTextNode(` · ${Math.round(100 * one.likelihood)} % of similar entities have it`)),
      ...one.objects.slice(0, 3).map(object => this.guess(
        this.link(object), object.confidence, object.stated,
        `${object.votes} of ${one.voters_asked} neighbours have it`)),
      this.why(one)]);
  }

  guess(name, confidence, stated, votes) {
    const meter = make("meter", {min: 0, max: 1, value: confidence, "aria-label": "confidence"});
    const badge = stated ? make("span", {className: "badge", text: "stated"}) : null;
    return make("div", {className: "guess"},
      make("div", {className: "row"}, make("b", {}, name), badge, meter,
        make("span", {className: "number", text: `${Math.round(100 * confidence)} %`})),
      make("span", {className: "quiet", text: votes}));
  }

  why({voters, shared}) {
    const common = shared.slice(0, 6).map(one => {
      const [predicate, other] = [this.link(one.predicate), one.other ? this.link(one.other, "link", 44) : null];
      const parts = one.is_subject ? ["it ", predicate, " ", other ?? "…"] : [other ?? "…", " ", predicate, " it"];
      return make("li", {}, ...parts, make("span", {className: "number",
        text: ` · ${one.voters} neighbours, ${count(one.terms)} terms`}));
    });
    const nearest = voters.slice(0, 6).map(one => make("li", {}, this.link(one),
      make("span", {className: "number", text: ` · ${one.distance.toFixed(3)} · ${one.types.map(clean).join(", ")}`})));
    return make("details", {}, make("summary", {text: "Why?"}),
      make("p", {className: "quiet", text: "Statements like these are about it and its neighbours:"}), make("ul", {}, ...common),
      make("p", {className: "quiet", text: "The nearest neighbours that vote, with distance and type:"}), make("ul", {}, ...nearest));
  }
}
