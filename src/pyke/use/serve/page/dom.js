// Elements of the page. Texts come from untrusted graphs: they are always textContent, never HTML.

export const element = id => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "text") node.textContent = value;
    else if (name === "click") node.addEventListener("click", value);
    else if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// Lowest and highest control characters are shown as a mark; marks that reverse text are removed.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
export const clean = text => String(text).replace(HIDDEN, "\u00b7");

// A text for few pixels, cut after a word if there is one.
export function shortened(text, letters = 34) {
  if (text.length <= letters) return text;
  const kept = text.slice(0, letters - 1), words = text[letters - 1] === " " ? kept : kept.replace(/\s+\S*$/u, "");
  return `${(words.length > letters / 2 ? words : kept).replace(/[\s,;:(]+$/u, "")}…`;
}

export const count = number => number.toLocaleString("en");

// Only http and https lead somewhere; other IRIs, such as javascript:…, are text.
export function iri(text) {
  if (!/^https?:\/\/[^\s<>"]+$/i.test(text)) return make("span", {className: "iri", text: clean(text)});
  return make("a", {
    className: "iri", href: text, text: clean(text), target: "_blank", rel: "noopener noreferrer",
  });
}

// A group of buttons of which one is chosen; arrow keys move between them.
export function choice(id, changed) {
  const buttons = [...element(id).querySelectorAll("button")];
  const choose = (value, tell = true) => {
    for (const button of buttons) {
      const chosen = button.value === String(value);
      button.setAttribute("aria-checked", chosen);
      button.tabIndex = chosen ? 0 : -1;
    }
    if (tell) changed(String(value));
  };
  buttons.forEach((button, at) => {
    button.addEventListener("click", () => choose(button.value));
    button.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (!step) return;
      event.preventDefault();
      const next = buttons[(at + step + buttons.length) % buttons.length];
      next.focus();
      choose(next.value);
    });
  });
  return choose;
}

let noticed = 0;
export function notice(text, cancel = null) {
  const mine = ++noticed, node = element("notice");
  const stop = cancel && (node.querySelector("button") ?? make("button", {type: "button", className: "link", text: "Cancel"}));
  if (stop) stop.onclick = cancel;
  if (!stop || !node.contains(stop)) node.replaceChildren(make("span"), ...(stop ? [stop] : []));
  node.firstChild.textContent = text;
  node.hidden = !text;
  return () => { if (mine === noticed) node.hidden = true; };
}

export const still = matchMedia("(prefers-reduced-motion: reduce)");
