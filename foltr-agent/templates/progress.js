// How far the agent is with files, and whether it still answers.
import { call } from "./call.js";

const BUSY = 1500;
const CALM = 10000;
const line = document.getElementById("progress");
const count = document.getElementById("n-documents");
const listeners = [];

export const onProgress = (listener) => listeners.push(listener);

const say = (words) => {
  line.textContent = words ?? "";
  line.hidden = !words;
};

const look = async () => {
  try {
    const { agent, indexing, progress } = await call("status");
    say(progress);
    if (count) count.textContent = `${agent.n_documents.toLocaleString("en")} document${agent.n_documents === 1 ? "" : "s"}`;
    listeners.forEach((listener) => listener(agent));
    return indexing.is_running || agent.n_documents === 0 ? BUSY : CALM;
  } catch {
    say("The agent does not answer. If it was started again, this page has a new address.");
    return CALM;
  }
};

const tick = async () => {
  const period = document.hidden ? CALM : await look();
  setTimeout(tick, period);
};
if (line) setTimeout(tick, BUSY);

// What a form has answered is not sent again when the page is loaded anew.
const { base, page } = document.body.dataset;
if (location.pathname.startsWith(`${base}do/`) || location.search) {
  history.replaceState(null, "", location.pathname.startsWith(`${base}do/`) ? base + page : location.pathname);
}
