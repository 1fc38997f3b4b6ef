"use strict";
// Looks at a page as a reader would, and reports what is wrong.
(() => {
  const faults = [];
  const check = (holds, fault) => { if (!holds) faults.push(fault); };
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const told = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;
  const seen = (element) => element.getClientRects().length > 0 && !element.closest(".unseen");
  all("details").forEach((details) => (details.open = true));

  check(document.documentElement.scrollWidth <= innerWidth, `page of ${document.documentElement.scrollWidth} in a window of ${innerWidth}`);
  for (const element of all("h1,h2,p,dd,dt,td,th,summary,li,button,input,label,svg,code").filter(seen)) {
    const box = element.getBoundingClientRect();
    check(box.left >= 0 && box.right <= innerWidth + 0.5, `outside the window of ${innerWidth}: ${told(element)}`);
  }
  for (const region of all(".scroll")) check(region.scrollWidth <= region.clientWidth, `scrolls sideways: ${told(region)}`);
  for (const element of all("button,summary,input,a.button").filter(seen)) {
    check(element.getBoundingClientRect().height >= 24, `too small to hit: ${told(element)}`);
  }
  for (const input of all("input:not([type=hidden])").filter(seen)) check(input.labels.length === 1, `no label: ${input.id}`);
  for (const svg of all("main svg[role=img]")) check(svg.querySelector("title") || svg.getAttribute("aria-label"), "a figure without a name");
  const ids = all("[id]").map((element) => element.id);
  check(new Set(ids).size === ids.length, "an id is there twice");

  // Text can be read on its background.
  const light = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\)$/.test(colour) && element.parentElement ? paper(element.parentElement) : colour;
  };
  for (const element of all("h1,h2,p,td,th,dt,dd,a,button,label,summary,code,li,span,time").filter(seen)) {
    const inks = [light(getComputedStyle(element).color), light(paper(element))].sort((a, b) => b - a);
    const contrast = (inks[0] + 0.05) / (inks[1] + 0.05);
    check(contrast >= 4.5, `contrast ${contrast.toFixed(1)}: ${told(element)}`);
  }
  fetch("/test/verdict", { method: "POST", body: `${innerWidth} ${matchMedia("(prefers-color-scheme: dark)").matches}\n${faults.join("\n")}` });
})();
