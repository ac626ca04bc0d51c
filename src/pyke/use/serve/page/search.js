// Search with completion: a combobox.

import {ask} from "./api.js";
import {clean, count, element, make} from "./dom.js";

export function start(open) {
  const input = element("search"), list = element("found"), note = element("matches");
  let terms = [], at = -1, running = null;

  function mark(next) {
    at = next;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", number === at));
    const chosen = list.children[at];
    if (chosen) chosen.scrollIntoView({block: "nearest"});
    input.setAttribute("aria-activedescendant", chosen ? chosen.id : "");
  }

  function show(found) {
    terms = found;
    list.replaceChildren(...terms.map((term, number) => make("li",
      {id: `found-${number}`, role: "option", "aria-selected": "false",
        click: () => choose(number)},
      make("b", {text: clean(term.name)}),
      make("span", {text: [term.types.map(clean).join(", "), clean(term.iri)].filter(Boolean).join(" · ")}))));
    list.hidden = !terms.length;
    input.setAttribute("aria-expanded", String(terms.length > 0));
    mark(terms.length ? 0 : -1);
  }

  function choose(number) {
    const term = terms[number];
    if (!term) return;
    close();
    open(term.id);
  }

  function close() {
    running?.abort();
    show([]);
    note.textContent = "";
  }

  async function complete() {
    running?.abort();
    const own = running = new AbortController(), text = input.value.trim();
    if (!text) { close(); return; }
    try {
      const waiting = () => { note.textContent = "Preparing the search …"; };
      const found = await ask("/api/search", {q: text, limit: 12}, {signal: own.signal, waiting});
      if (own.signal.aborted) return;
      show(found.terms);
      const more = found.matches > found.terms.length ? `${count(found.matches)} terms match` : "";
      note.textContent = found.terms.length ? more : "No term matches";
    } catch (error) {
      if (error.name !== "AbortError") note.textContent = error.message;
    }
  }

  input.addEventListener("input", complete);
  input.addEventListener("focus", () => { if (input.value.trim() && list.hidden) complete(); });
  input.addEventListener("keydown", event => {
    const steps = {ArrowDown: 1, ArrowUp: -1};
    if (steps[event.key] && terms.length) {
      event.preventDefault();
      mark((at + steps[event.key] + terms.length) % terms.length);
    } else if (event.key === "Enter") choose(at);
    else if (event.key === "Escape") { input.value = ""; close(); }
  });
  document.addEventListener("pointerdown", event => {
    if (!event.target.closest?.("#head")) close();
  });
}
