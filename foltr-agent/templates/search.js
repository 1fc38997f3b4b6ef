// Searches while somebody types.
import { call, Refused } from "./call.js";
import * as lists from "./lists.js";
import { onProgress } from "./progress.js";
import * as rows from "./rows.js";
import * as why from "./why.js";

const WAIT = 60;
const DAY = 86400;
const find = (id) => document.getElementById(id);
const field = find("words");
const filters = ["kind", "folder", "days"].map(find);
let timer = 0;
let running = null;
// Answers that were asked for in an earlier turn come too late.
let turn = 0;
let shown = "";

// Empty while nothing is looked for.
const wanted = () =>
  field.value.trim() ? JSON.stringify([field.value.trimStart(), ...filters.map((filter) => filter.value)]) : "";

const query = () => {
  const [kind, folder, days] = filters.map((filter) => filter.value);
  return {
    words: field.value.trimStart(),
    kinds: kind ? [kind] : [],
    folder: folder || null,
    changed_since: days ? Math.floor(Date.now() / 1000) - Number(days) * DAY : null,
    instead_of: lists.current(),
  };
};

const say = (words) => (find("said").textContent = words);
const sayDone = (words) => (find("done").textContent = words);

const told = (error) => (error instanceof Refused ? error.message : "The agent does not answer.");

const matches = ({ n_matches, microseconds }) =>
  `${n_matches.toLocaleString("en")} match${n_matches === 1 ? "" : "es"} in ${(microseconds / 1000).toFixed(1)} ms`;

const nothing = () =>
  filters.some((filter) => filter.value) ? "Nothing has these words here. Fewer filters may find it." : "Nothing has these words.";

const show = (answer, words) => {
  lists.show(answer.list);
  rows.show(answer.hits, words);
  say(answer.hits.length ? matches(answer) : nothing());
  find("ask-why").hidden = answer.hits.length === 0;
  find("start").hidden = true;
  if (!why.isOpen()) return;
  if (answer.hits.length) explain();
  else why.close();
};

const clear = () => {
  turn += 1;
  shown = "";
  lists.end();
  rows.show([], "");
  why.close();
  say("");
  sayDone("");
  find("ask-why").hidden = true;
  find("start").hidden = false;
};

const ask = async () => {
  const [mine, asked, words] = [turn, wanted(), field.value];
  try {
    const answer = await call("search", query());
    if (mine !== turn) {
      lists.leave(answer.list);
    } else {
      shown = asked;
      show(answer, words);
    }
    return true;
  } catch (error) {
    if (mine === turn) say(told(error));
    return false;
  }
};

const catchUp = async () => {
  while (wanted() !== shown) {
    if (!field.value.trim()) return clear();
    if (!(await ask())) return;
  }
};

// One search at a time: each takes the place of the one before.
const search = () => {
  clearTimeout(timer);
  running ??= catchUp().finally(() => (running = null));
  return running;
};

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(search, WAIT);
};

// A list may be over, for example after a long pause. Then the same query makes another one.
const withList = async (document, act) => {
  try {
    return await act(lists.current());
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 410) throw error;
    lists.show(null);
    shown = "";
    await search();
    if (!rows.has(document)) throw error;
    return await act(lists.current());
  }
};

const open = async (document) => {
  if (document === null || lists.current() === null) return;
  const { title } = rows.hit(document);
  try {
    const opened = await withList(document, (list) => call("opened", { list, document, launch: true }));
    sayDone(opened.launched ? `Opened ${title}.` : `${title} was not opened: ${opened.problem}. It is ${opened.path}`);
  } catch (error) {
    sayDone(told(error));
  }
};

const explain = async () => {
  const document = rows.chosen();
  if (document === null) return;
  try {
    await withList(document, (list) => why.open(list, rows.hit(document)));
  } catch (error) {
    sayDone(told(error));
  }
};

const toggleWhy = () => (why.isOpen() ? why.close() : explain());

const select = (step) => {
  rows.move(step);
  if (why.isOpen()) explain();
};

const escape = () => {
  if (why.isOpen()) return why.close();
  if (!field.value) return field.blur();
  field.value = "";
  clear();
};

// Not before what was typed is found.
const enter = async () => {
  await search();
  await open(rows.chosen());
};

const inField = {
  ArrowDown: () => select(1),
  ArrowUp: () => select(-1),
  Enter: enter,
  Escape: escape,
};

const keydown = (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey) return;
  const isTyping = event.target.matches("input, select, textarea");
  let act = null;
  if (event.altKey) act = event.code === "KeyW" ? toggleWhy : null;
  else if (event.target === field) act = inField[event.key];
  else if (event.key === "Escape" && why.isOpen()) act = why.close;
  else if (event.key === "/" && !isTyping) act = () => field.focus();
  else if (event.key === "?" && !isTyping) act = toggleWhy;
  if (!act) return;
  event.preventDefault();
  act();
};

const click = (event) => {
  const row = event.target.closest(".hit");
  if (!row) return;
  const document = Number(row.dataset.document);
  // Marking a text is no click.
  if (String(getSelection())) return;
  rows.select(document);
  if (event.target.closest(".ask")) explain();
  else open(document);
};

const leave = () => {
  turn += 1;
  shown = "";
  lists.end();
};

const begin = () => {
  const plain = find("plain");
  if (plain && Number(plain.dataset.list)) lists.show(Number(plain.dataset.list));
  rows.begin(field).addEventListener("click", click);
  find("go").hidden = true;
  field.form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", soon);
  filters.forEach((filter) => filter.addEventListener("change", search));
  find("ask-why").addEventListener("click", toggleWhy);
  find("close-why").addEventListener("click", why.close);
  addEventListener("keydown", keydown);
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : search()));
  onProgress(({ n_documents }) => {
    field.placeholder = `Search ${n_documents.toLocaleString("en")} document${n_documents === 1 ? "" : "s"}`;
    if (field.value.trim() && lists.current() === null) {
      shown = "";
      search();
    }
  });
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  search();
};
if (field) begin();
