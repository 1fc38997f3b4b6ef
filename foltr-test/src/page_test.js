"use strict";
// Runs in a copy of the page: looks at it as a reader would, and writes down what is wrong.
(() => {
  void document.body.scrollHeight; // lays the page out
  const milliseconds = performance.now();
  const faults = window.faults;
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const check = (holds, fault) => { if (!holds) faults.push(fault); };
  const told = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;
  const seen = (element) => element.getClientRects().length > 0;

  all("details").forEach((details) => (details.open = true));

  // Nothing is wider than the window, nothing is cut off, nothing lies on something else.
  check(document.documentElement.scrollWidth <= innerWidth, `page of ${document.documentElement.scrollWidth} in a window of ${innerWidth}`);
  for (const element of all("h1,h2,h3,h4,p,dd,dt,td,th,summary,.key,.key span,.scroll,.figure,pre,li").filter(seen)) {
    const box = element.getBoundingClientRect();
    check(box.left >= 0 && box.right <= innerWidth + 0.5, `outside the window: ${told(element)}`);
    check(element.scrollWidth <= element.clientWidth + 1 || getComputedStyle(element).display === "inline", `clipped: ${told(element)}`);
  }
  const overlap = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  const apart = (elements) => {
    const boxes = elements.filter(seen).map((element) => [element, element.getBoundingClientRect()]);
    boxes.forEach(([a, boxA], idx) => boxes.slice(idx + 1).forEach(([b, boxB]) => check(!overlap(boxA, boxB), `overlap: ${told(a)} and ${told(b)}`)));
  };
  for (const svg of all(".figure svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of all("text", svg)) {
      const box = text.getBoundingClientRect();
      check(box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom, `outside its figure: ${told(text)}`);
      check(box.height >= 8, `too small to read: ${told(text)}`);
    }
    apart(all("text", svg));
  }
  for (const row of all("tr")) apart(Array.from(row.children));
  apart(all(".key"));
  apart(all("h1,h2,h3,h4,main p,dl,nav,table,.figure"));

  // Text can be read on its background.
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  for (const element of all("h1,h2,p,td,th,dt,dd,text,.half,a").filter((element) => !element.closest(".note, .cell"))) {
    const style = getComputedStyle(element), ink = light(element.closest("svg") ? style.fill : style.color);
    check((Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) >= 4.5, `contrast: ${told(element)}`);
  }

  // A name in the legend hides its series everywhere, and shows it again.
  const keys = all(".key");
  const parts = (key) => all(`.series[data-series="${key.dataset.series}"]`);
  check(keys.length > 1 && keys.every((key) => key.tagName === "BUTTON" && key.tabIndex === 0), "legend entries are no buttons");
  keys[0].click();
  check(parts(keys[0]).length >= 2 && parts(keys[0]).every((part) => !seen(part)), "a hidden series is still seen");
  check(parts(keys[1]).every(seen), "another series is hidden too");
  check(keys[0].getAttribute("aria-pressed") === "false", "aria-pressed stays");
  keys[0].click();
  check(parts(keys[0]).every(seen) && keys[0].getAttribute("aria-pressed") === "true", "a series does not come back");

  // Pointing at the end of a curve tells that curve's numbers.
  const tip = document.getElementById("tip");
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  all("svg.curves .panel").forEach((panel, idx) => {
    const groups = all(".series", panel);
    for (const group of [groups[0], groups.at(-1)]) {
      const path = group.querySelector(".line");
      const end = path.getPointAtLength(path.getTotalLength()).matrixTransform(panel.getScreenCTM());
      panel.dispatchEvent(new PointerEvent("pointermove", { clientX: end.x, clientY: end.y, bubbles: true }));
      const [, points] = numbers[idx].find(([series]) => series === Number(group.dataset.series));
      const [, mean, low, high] = points.at(-1);
      const wanted = [group.dataset.name, panel.dataset.xLabel, `: ${mean.toFixed(4)}`, `${low.toFixed(4)} to ${high.toFixed(4)}`];
      check(!tip.hidden && wanted.every((words) => tip.textContent.includes(words)), `tip "${tip.textContent}" instead of ${wanted.join(", ")}`);
    }
    const box = tip.getBoundingClientRect();
    check(box.left >= 0 && box.right <= innerWidth, "the tip is outside the window");
    panel.dispatchEvent(new PointerEvent("pointerleave"));
    check(tip.hidden, "the tip stays");
    panel.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true }));
    const before = tip.textContent;
    panel.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true }));
    check(!tip.hidden && tip.textContent !== before, "arrow keys do not move");
    panel.dispatchEvent(new FocusEvent("blur"));
  });

  // A heading sorts, and sorts the other way round.
  for (const table of all("table.sortable")) {
    const heading = table.querySelector("thead th.number"), column = heading.cellIndex;
    const values = () => Array.from(table.tBodies[0].rows, (row) => Number(row.cells[column].dataset.value));
    const sorted = (sign) => values().every((value, idx, list) => !idx || sign * (value - list[idx - 1]) >= 0);
    heading.querySelector("button").click();
    check(sorted(-1) && heading.getAttribute("aria-sort") === "descending", "not sorted downwards");
    heading.querySelector("button").click();
    check(sorted(1) && heading.getAttribute("aria-sort") === "ascending", "not sorted upwards");
  }

  check(window.hostile === undefined, "a label was run as a script");
  const verdict = document.createElement("pre");
  verdict.textContent = `VERDICT[${milliseconds}\n${faults.slice(0, 40).join("\n")}]VERDICT`;
  document.body.append(verdict);
})();
