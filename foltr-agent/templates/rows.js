// The results. Texts of files are text here, never HTML.
const DAY = 86400000;
const LONGEST_PATH = 4;

const list = document.createElement("ul");
list.id = "list";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "Results");
list.hidden = true;

const rows = new Map();
let order = [];
let selected = null;
let field = null;

const element = (name, className, ...children) => {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
};

const labels = (id) => Array.from(document.querySelectorAll(`#${id} option`)).filter((option) => option.value);

export const begin = (input) => {
  field = input;
  document.getElementById("results").replaceChildren(list);
  const roles = { role: "combobox", "aria-controls": "list", "aria-expanded": "false", "aria-autocomplete": "list" };
  for (const [name, value] of Object.entries(roles)) field.setAttribute(name, value);
  return list;
};

const dayOf = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

export const dateWords = (seconds, now = new Date()) => {
  const then = new Date(seconds * 1000);
  const days = Math.round((dayOf(now) - dayOf(then)) / DAY);
  if (days === 0) return `today ${then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
  if (days === 1) return "yesterday";
  if (days > 1 && days < 7) return `${days} days ago`;
  const year = then.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "long", year });
};

// From the folder that was added on; long ones without their middle.
export const shortPath = (path) => {
  const folders = labels("folder").map((option) => option.value).filter((folder) => path.startsWith(`${folder}/`));
  const longest = folders.sort((a, b) => b.length - a.length)[0];
  const text = longest ? path.slice(longest.lastIndexOf("/") + 1) : path;
  const parts = text.split("/");
  return parts.length > LONGEST_PATH ? [parts[0], "…", ...parts.slice(-2)].join("/") : text;
};

const kindWords = (kind) => labels("kind").find((option) => option.value === kind)?.textContent ?? kind;

// Words of the title that begin as typed ones do.
const marked = (title, words) => {
  const typed = words.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const isTyped = (word) => typed.some((it) => word.toLowerCase().startsWith(it));
  return title.split(/([\p{L}\p{N}]+)/u).map((part, at) => (at % 2 && isTyped(part) ? element("mark", "", part) : part));
};

const contents = (hit, words) => {
  const snippet = hit.snippet.map(({ text, is_match }) => (is_match ? element("mark", "", text) : text));
  const path = element("span", "path", shortPath(hit.path));
  path.title = hit.path;
  const meta = element("p", "meta", path);
  if (hit.part) meta.append(element("span", "", hit.part));
  meta.append(element("span", "", dateWords(hit.changed)));
  if (hit.n_openings) meta.append(element("span", "", hit.n_openings === 1 ? "opened once" : `opened ${hit.n_openings} times`));
  const ask = element("span", "ask", "why?");
  ask.setAttribute("aria-hidden", "true");
  const title = element("p", "title", ...marked(hit.title, words));
  title.dir = "auto";
  const kind = element("span", `tag ${hit.kind}`, kindWords(hit.kind));
  return [kind, element("div", "", title, element("p", "snippet", ...snippet), meta), ask];
};

const row = (hit, words) => {
  let known = rows.get(hit.document);
  if (!known) {
    const made = element("li", "hit");
    made.id = `hit-${hit.document}`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", "false");
    made.dataset.document = hit.document;
    known = { element: made, told: "" };
    rows.set(hit.document, known);
  }
  const told = JSON.stringify([hit, words]);
  if (known.told !== told) {
    known.element.replaceChildren(...contents(hit, words));
    known.told = told;
  }
  known.hit = hit;
  return known.element;
};

// Rows of documents that stay are kept, and only moved where they have another place.
export const show = (hits, words) => {
  order = hits.map((hit) => hit.document);
  hits.forEach((hit, at) => {
    const wanted = row(hit, words);
    if (list.children[at] !== wanted) list.insertBefore(wanted, list.children[at] ?? null);
  });
  for (const document of Array.from(rows.keys())) {
    if (order.includes(document)) continue;
    rows.get(document).element.remove();
    rows.delete(document);
  }
  list.hidden = order.length === 0;
  field.setAttribute("aria-expanded", String(order.length > 0));
  if (selected !== null && !rows.has(selected)) select(null);
};

export const has = (document) => rows.has(document);
export const hit = (document) => rows.get(document)?.hit;
export const chosen = () => selected ?? order[0] ?? null;
export const selection = () => selected;

export const select = (document) => {
  rows.get(selected)?.element.setAttribute("aria-selected", "false");
  selected = document;
  const now = rows.get(selected)?.element;
  if (!now) return field.removeAttribute("aria-activedescendant");
  now.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", now.id);
  now.scrollIntoView({ block: "nearest" });
};

// Above the first one is the field.
export const move = (step) => {
  const at = order.indexOf(selected) + step;
  if (at < 0 || !order.length) return select(null);
  select(order[Math.min(at, order.length - 1)]);
};
