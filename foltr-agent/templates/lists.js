// The list in sight: when it counts as seen, and when it is over.
import { call, tell } from "./call.js";

const LOOK = 500;
let list = null;
let timer = 0;

export const current = () => list;

// Takes the place of the one before, which the agent has ended.
export const show = (next) => {
  clearTimeout(timer);
  list = next;
  if (list !== null) timer = setTimeout(() => call("seen", { list }).catch(() => {}), LOOK);
};

export const leave = (one) => {
  if (one !== null) tell("left", { list: one });
};

export const end = () => {
  const ended = list;
  show(null);
  leave(ended);
};
