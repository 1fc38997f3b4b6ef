"use strict";
// Keeps the page up to date. Everything works without it.
(() => {
  const PERIOD = 2000, PATIENCE = 10000;
  const live = document.getElementById("live");
  const lost = document.getElementById("lost");

  // After a form the address is that of the page: loading it anew sends nothing again.
  const path = document.body.dataset.path;
  if (live && location.pathname + location.search !== path) history.replaceState(null, "", path + location.hash);

  const secret = document.getElementById("invitation");
  if (secret && navigator.clipboard) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.className = "main";
    const copied = () => (button.textContent = "Copied");
    const select = () => getSelection().selectAllChildren(secret);
    button.addEventListener("click", () => navigator.clipboard.writeText(secret.textContent).then(copied, select));
    document.getElementById("copy-hint").before(button);
  }

  const keyOf = (node) => (node.dataset && node.dataset.key) || "";
  const isSame = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

  // Changes what differs and keeps every other node: typed text, focus, selection and opened details stay.
  const update = (old, fresh) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    const stays = (name) => name === "open" && old.nodeName === "DETAILS";
    for (const { name } of Array.from(old.attributes)) if (!fresh.hasAttribute(name) && !stays(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    updateChildren(old, fresh);
  };

  const updateChildren = (old, fresh) => {
    const wanted = new Set(Array.from(fresh.childNodes, keyOf));
    for (const child of Array.from(old.childNodes)) if (!wanted.has(keyOf(child))) child.remove();
    let at = old.firstChild;
    for (const child of Array.from(fresh.childNodes)) {
      if (at && isSame(at, child)) {
        update(at, child);
        at = at.nextSibling;
        continue;
      }
      const key = keyOf(child);
      const known = key && Array.from(old.children).find((other) => isSame(other, child));
      if (known) {
        update(known, child);
        old.insertBefore(known, at);
      } else {
        old.insertBefore(document.importNode(child, true), at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };

  let answered = new Date();
  const refresh = async () => {
    const response = await fetch(live.dataset.live, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (response.status === 401) {
      location.assign("/login");
      return;
    }
    if (!response.ok) throw new Error(`status ${response.status}`);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
    if (!fresh) throw new Error("no live part");
    update(live, fresh);
    answered = new Date();
    lost.hidden = true;
  };

  const tick = async () => {
    try {
      if (!document.hidden) await refresh();
    } catch {
      lost.querySelector("span").textContent = answered.toLocaleTimeString();
      lost.hidden = false;
    }
    setTimeout(tick, PERIOD);
  };
  if (live) setTimeout(tick, PERIOD);
})();
