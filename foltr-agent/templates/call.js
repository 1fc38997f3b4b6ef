// Calls of the agent.
const base = document.body.dataset.base;
const PATIENCE = 15000;

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const call = async (name, body) => {
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const options = body === undefined ? {} : post;
  const response = await fetch(`${base}api/${name}`, { ...options, signal: AbortSignal.timeout(PATIENCE) });
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error);
  return answer;
};

// Arrives also while the page goes away, and is not answered.
export const tell = (name, body) =>
  navigator.sendBeacon(`${base}api/${name}`, new Blob([JSON.stringify(body)], { type: "application/json" }));
