"use strict";
// Makes the page's figures answer: hovering reads a curve, a name in the legend hides or shows its series everywhere, a
// column heading sorts its table. Without this script the page is complete, only silent.
(() => {
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const tip = document.getElementById("tip");
  const hidden = new Set();
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const shown = (value) => value.toFixed(Math.abs(value) >= 1000 ? 1 : Math.abs(value) >= 10 ? 2 : 4);

  // Legend.
  for (const key of all(".key")) {
    key.addEventListener("click", () => {
      const series = Number(key.dataset.series);
      const hide = !hidden.delete(series);
      if (hide) hidden.add(series);
      key.setAttribute("aria-pressed", String(!hide));
      for (const part of all(`.series[data-series="${series}"]`)) part.classList.toggle("off", hide);
      silence();
    });
    key.addEventListener("pointerenter", () => emphasise(document, hidden.has(Number(key.dataset.series)) ? null : Number(key.dataset.series)));
    key.addEventListener("pointerleave", () => emphasise(document, null));
  }

  function emphasise(root, series) {
    for (const part of all(".series", root)) {
      part.classList.toggle("dim", series !== null && Number(part.dataset.series) !== series);
    }
  }

  // Panels of learning curves: numbers has the points of each, line by line, as [x, mean, low, high].
  const isLevel = ([, points]) => points.length === 1;

  // Index of the point whose x is nearest; x grows.
  function nearest(points, x) {
    let low = 0, high = points.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < x) low = middle; else high = middle;
    }
    return x - points[low][0] < points[high][0] - x ? low : high;
  }

  function describe(panel, name, [x, mean, low, high], level) {
    const title = document.createElement("b");
    title.textContent = name;
    const lines = [`${panel.dataset.yLabel}: ${shown(mean)}`];
    if (!level) lines.unshift(`${panel.dataset.xLabel}: ${Number.isInteger(x) ? grouped(x) : shown(x)}`);
    if (high > low) lines.push(`95 % interval ${shown(low)} to ${shown(high)}`);
    tip.replaceChildren(title, ...lines.flatMap((line, idx) => (idx ? [document.createElement("br"), line] : [line])));
    tip.hidden = false;
  }

  function silence(root = document) {
    tip.hidden = true;
    for (const mark of all(".cursor, .spot", root)) mark.setAttribute("visibility", "hidden");
    emphasise(root, null);
  }

  for (const svg of all(".figure svg")) {
    // A title would cover the numbers under the pointer.
    const title = svg.querySelector("title");
    svg.setAttribute("aria-label", svg.closest("details").querySelector("h3").textContent);
    svg.setAttribute("role", "group");
    title.remove();
  }

  all("svg.curves .panel").forEach((panel, idx) => {
    const svg = panel.ownerSVGElement, curves = numbers[idx];
    const [left, top, width, height, xStart, xLow, xHigh, yLow, yHigh] =
      ["left", "top", "width", "height", "xStart", "xLow", "xHigh", "yLow", "yHigh"].map((name) => Number(panel.dataset[name]));
    const isLogarithmic = panel.dataset.xScale === "logarithmic";
    // Left of the start of a logarithmic axis is the place of 0.
    const shareOf = (x) => {
      if (!isLogarithmic) return (x - xLow) / (xHigh - xLow);
      return x === 0 ? 0 : xStart + (1 - xStart) * (Math.log(x / xLow) / Math.log(xHigh / xLow));
    };
    const valueAt = (share) => {
      if (!isLogarithmic) return xLow + share * (xHigh - xLow);
      return share < xStart / 2 ? 0 : xLow * (xHigh / xLow) ** ((share - xStart) / (1 - xStart));
    };
    const add = (name, attributes) => {
      const element = panel.appendChild(document.createElementNS(svg.namespaceURI, name));
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const placed = (x, y) => [
      left + shareOf(x) * width,
      top + (1 - (y - yLow) / (yHigh - yLow)) * height,
    ];
    const pixel = (curve, at) => {
      const [x, y] = placed(curve[1][at][0], curve[1][at][1]);
      return isLevel(curve) ? [left + width / 2, y] : [x, y];
    };
    const names = new Map(all(".series", panel).map((part) => [Number(part.dataset.series), part.dataset.name]));
    const visible = () => curves.filter(([series]) => !hidden.has(series));
    const cursor = add("line", { class: "cursor", y1: top, y2: top + height, visibility: "hidden" });
    const spot = add("circle", { class: "spot", r: 4, visibility: "hidden" });
    add("rect", { class: "field", x: left, y: top, width, height });
    for (const [key, value] of [["tabindex", 0], ["role", "img"], ["aria-label", "curves; arrow keys read them"]]) panel.setAttribute(key, value);
    let current = null;

    function show(curve, at) {
      const [px, py] = pixel(curve, at);
      cursor.setAttribute("x1", px);
      cursor.setAttribute("x2", px);
      spot.setAttribute("cx", px);
      spot.setAttribute("cy", py);
      cursor.setAttribute("visibility", isLevel(curve) ? "hidden" : "visible");
      spot.setAttribute("visibility", "visible");
      emphasise(panel, curve[0]);
      describe(panel, names.get(curve[0]), curve[1][at], isLevel(curve));
      const onScreen = new DOMPoint(px, py).matrixTransform(svg.getScreenCTM()), size = tip.getBoundingClientRect();
      const right = onScreen.x + 14;
      tip.style.left = `${Math.max(4, right + size.width > innerWidth - 4 ? right - size.width - 28 : right)}px`;
      tip.style.top = `${Math.max(4, Math.min(onScreen.y + 12, innerHeight - size.height - 4))}px`;
      current = [curve, at];
    }

    panel.addEventListener("pointermove", (event) => {
      const { x: px, y: py } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const x = valueAt((px - left) / width);
      let best = null, distance = Infinity;
      for (const curve of visible()) {
        const at = nearest(curve[1], x), away = Math.abs(pixel(curve, at)[1] - py);
        if (away < distance) [best, distance] = [[curve, at], away];
      }
      if (best) show(...best);
    });
    panel.addEventListener("pointerleave", () => silence(panel));
    panel.addEventListener("blur", () => silence(panel));
    panel.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const lines = visible();
      if (!steps || !lines.length) return;
      event.preventDefault();
      const [before, at] = current ?? [lines[0], lines[0][1].length - 1];
      const curve = lines[(Math.max(0, lines.indexOf(before)) + steps[0] + lines.length) % lines.length];
      const last = curve[1].length - 1;
      show(curve, Math.max(0, Math.min(last, Math.min(at, last) + steps[1])));
    });
  });

  // Tables.
  for (const button of all("table.sortable th button")) {
    button.addEventListener("click", () => {
      const heading = button.closest("th"), body = heading.closest("table").tBodies[0];
      const column = heading.cellIndex, isNumber = heading.classList.contains("number");
      const before = heading.getAttribute("aria-sort");
      const order = before ? (before === "ascending" ? "descending" : "ascending") : isNumber ? "descending" : "ascending";
      for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order);
      const value = (row) => row.cells[column].dataset.value;
      const compare = (a, b) => (isNumber ? value(a) - value(b) : value(a).localeCompare(value(b), "en", { numeric: true }));
      const sign = order === "ascending" ? 1 : -1;
      for (const row of body.rows) row.classList.remove("first");
      body.append(...Array.from(body.rows).sort((a, b) => sign * compare(a, b)));
    });
  }

  addEventListener("beforeprint", () => all("details.chart").forEach((chart) => (chart.open = true)));
})();
