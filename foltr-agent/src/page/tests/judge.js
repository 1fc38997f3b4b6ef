// Looks at a page as a reader would; its value is what is wrong.
(() => {
  const faults = [];
  const check = (holds, fault) => { if (!holds) faults.push(fault); };
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const told = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;
  const seen = (element) => element.getClientRects().length > 0 && !element.closest(".unseen, option") && getComputedStyle(element).opacity !== "0";
  all("details").forEach((details) => (details.open = true));

  check(document.documentElement.scrollWidth <= innerWidth, `page of ${document.documentElement.scrollWidth} in a window of ${innerWidth}`);
  for (const element of all("h1,h2,h3,p,dd,dt,td,th,summary,li,button,input,select,label,svg,code,section").filter(seen)) {
    const box = element.getBoundingClientRect();
    check(box.left >= -0.5 && box.right <= innerWidth + 0.5, `outside the window of ${innerWidth}: ${told(element)}`);
  }
  for (const region of all(".scroll")) check(region.scrollWidth <= region.clientWidth, `scrolls sideways: ${told(region)}`);
  for (const element of all("button:not(.title),summary,select,input:not([type=radio]),a.button").filter(seen)) {
    check(element.getBoundingClientRect().height >= 24, `too small to hit: ${told(element)}`);
  }
  for (const input of all("input:not([type=hidden]),select").filter(seen)) check(input.labels.length === 1, `no label: ${input.id}`);
  const ids = all("[id]").map((element) => element.id);
  check(new Set(ids).size === ids.length, "an id is there twice");
  check(all("main").length === 1 && all("header").length === 1 && all("nav[aria-label]").length === 1, "landmarks");
  check(all("h1").length === 1, `${all("h1").length} first headings`);
  check(document.documentElement.lang === "en" && document.title, "no language or title");
  for (const image of all("img")) check(image.hasAttribute("alt"), "an image without a text");
  check(all("[style]").every((element) => element.closest(".bar")), "a style of its own");

  const light = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\)$/.test(colour) && element.parentElement ? paper(element.parentElement) : colour;
  };
  const contrast = (colour, element) => {
    const inks = [light(colour), light(paper(element))].sort((a, b) => b - a);
    return (inks[0] + 0.05) / (inks[1] + 0.05);
  };
  for (const element of all("h1,h2,h3,p,td,th,dt,dd,a,button,label,summary,code,li,span,mark,kbd,legend,select,input").filter(seen).filter((element) => element.textContent.trim() || element.value)) {
    const found = contrast(getComputedStyle(element).color, element);
    check(found >= 4.5, `contrast ${found.toFixed(1)}: ${told(element)}`);
  }
  const field = document.getElementById("words");
  if (field) {
    const found = contrast(getComputedStyle(field, "::placeholder").color, field);
    check(found >= 4.5, `contrast ${found.toFixed(1)} of the placeholder`);
  }
  const isHandler = ({ name }) => name.startsWith("on");
  check(!all("*").some((element) => Array.from(element.attributes).some(isHandler)), "a text has become a handler");
  check(window.hostile === undefined, "a text was run as a script");
  return faults;
})();
