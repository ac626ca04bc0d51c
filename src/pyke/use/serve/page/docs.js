// The description of the API, from openapi.json.

function make(tag, text = "", ...children) {
  const node = document.createElement(tag);
  node.textContent = text;
  node.append(...children);
  return node;
}

function values(schema) {
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `${schema.items.type}s, separated by commas`;
  if (schema.type === "integer") return `${schema.minimum} to ${schema.maximum}`;
  return `text, up to ${schema.maxLength} characters`;
}

function table(parameters) {
  const heads = ["parameter", "values", "default", "meaning"].map(text => make("th", text));
  const rows = parameters.map(one => make("tr", "",
    make("td", one.name), make("td", values(one.schema)),
    make("td", one.required ? "required" : String(one.schema.default ?? "")),
    make("td", one.description)));
  return make("table", "", make("thead", "", make("tr", "", ...heads)), make("tbody", "", ...rows));
}

const description = await (await fetch("/api/openapi.json")).json();
document.getElementById("about").textContent = description.info.description;
for (const [path, {get}] of Object.entries(description.paths)) {
  const parts = [make("h2", `GET ${path}`), make("p", get.summary)];
  if (get.parameters.length) parts.push(table(get.parameters));
  const answer = get.responses["200"];
  if ("application/octet-stream" in answer.content) parts.push(make("p", answer.description));
  document.getElementById("paths").append(...parts);
}
document.documentElement.dataset.ready = "yes";
