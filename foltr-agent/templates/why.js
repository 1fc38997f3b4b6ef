// Why a document is where it is: what each feature has added to its score.
import { call } from "./call.js";

const MOST = 8;
// Smaller shares are zero as they are printed.
const LEAST = 0.005;
const panel = document.getElementById("why");
const button = document.getElementById("ask-why");
let turn = 0;

export const isOpen = () => !panel.hidden;

export const close = () => {
  turn += 1;
  panel.hidden = true;
  document.body.classList.remove("with-why");
  button.setAttribute("aria-expanded", "false");
};

const place = ({ rank_by_score, rank_shown }) =>
  rank_by_score === rank_shown
    ? `Place ${rank_shown}, where its score puts it.`
    : `Place ${rank_by_score} by its score, shown at place ${rank_shown}: chance moved it a little, so that a better order can be found.`;

const bar = (share, largest) => {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.textContent = share.feature;
  const number = document.createElement("span");
  number.className = "number";
  number.textContent = `${share.share < 0 ? "−" : "+"}${Math.abs(share.share).toFixed(2)}`;
  const rail = document.createElement("span");
  rail.className = "bar";
  rail.setAttribute("aria-hidden", "true");
  const fill = document.createElement("span");
  fill.className = share.share < 0 ? "against" : "";
  fill.style.width = `${Math.max(2, (100 * Math.abs(share.share)) / largest)}%`;
  rail.append(fill);
  item.append(words, number, rail);
  return item;
};

const soft = (words) => {
  const item = document.createElement("li");
  item.className = "soft";
  item.textContent = words;
  return item;
};

const show = (why) => {
  document.getElementById("why-place").textContent = place(why);
  const largest = Math.max(...why.shares.map((it) => Math.abs(it.share)), 1e-9);
  const told = why.shares.filter((it) => Math.abs(it.share) >= LEAST).slice(0, MOST);
  const items = told.map((share) => bar(share, largest));
  const more = why.shares.length - told.length;
  if (items.length && more) items.push(soft(`and ${more} smaller one${more === 1 ? "" : "s"}`));
  if (!items.length) items.push(soft("Nothing sets it apart from the other results."));
  document.getElementById("shares").replaceChildren(...items);
};

// Throws where the list is over.
export const open = async (list, hit) => {
  turn += 1;
  const mine = turn;
  const why = await call(`why?list=${list}&document=${hit.document}`);
  if (mine !== turn) return;
  document.getElementById("why-document").textContent = hit.title;
  show(why);
  panel.hidden = false;
  document.body.classList.add("with-why");
  button.setAttribute("aria-expanded", "true");
};
