// Colours of the page and of the groups, in the light and in the dark.

const LIGHT = [
  "#4055d6", "#e0782f", "#12957d", "#cf3f57", "#8a55cf", "#b88a00", "#2b8fd0", "#6f8f1f",
  "#cf5aa0", "#8a5636", "#2d7a4c", "#5a6b9a",
];
const DARK = [
  "#8d9bff", "#ffa168", "#48d3b7", "#ff7d90", "#c39bff", "#f0cb4a", "#67c3ff", "#b8d65c",
  "#ff9fd3", "#dba581", "#6fd69a", "#a9b9e8",
];
const REST = {light: {other: "#98a1ae", none: "#c8ced7"}, dark: {other: "#667180", none: "#3c4653"}};

let listeners = [];
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = () => document.documentElement.dataset.theme ?? "light";

function set(name) {
  document.documentElement.dataset.theme = name;
  for (const listener of listeners) listener(name);
}

export function start() {
  let kept = null;
  try { kept = localStorage.getItem("pyke-theme"); } catch { /* storage may be forbidden */ }
  set(kept ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", event => set(event.matches ? "dark" : "light"));
}

export function toggle() {
  const next = theme() === "dark" ? "light" : "dark";
  try { localStorage.setItem("pyke-theme", next); } catch { /* as above */ }
  set(next);
}

export const onTheme = listener => listeners.push(listener);

// The colour of each group of a legend.
export function colours(legend) {
  const palette = theme() === "dark" ? DARK : LIGHT, rest = REST[theme()];
  return legend.map((group, at) => (group.kind === "named" ? palette[at % palette.length] : rest[group.kind]));
}

export const channels = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));

export const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
