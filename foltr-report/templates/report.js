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

  // Panels.
  const [left, top, width, height] = numbers.field;
  const placed = (panel, x, y) => [
    left + ((x - panel.x[0]) / (panel.x[1] - panel.x[0])) * width,
    top + (1 - (y - panel.y[0]) / (panel.y[1] - panel.y[0])) * height,
  ];
  const isLevel = (curve) => curve.x.length === 1;

  // Index of the point whose x is nearest; x grows.
  function nearest(values, x) {
    let low = 0, high = values.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (values[middle] < x) low = middle; else high = middle;
    }
    return x - values[low] < values[high] - x ? low : high;
  }

  function show(svg, curve, at) {
    const panel = numbers.panels[svg.dataset.panel];
    const x = isLevel(curve) ? (panel.x[0] + panel.x[1]) / 2 : curve.x[at];
    const [px, py] = placed(panel, x, curve.mean[at]);
    const cursor = svg.querySelector(".cursor"), spot = svg.querySelector(".spot");
    for (const [name, value] of [["x1", px], ["x2", px], ["y1", top], ["y2", top + height]]) cursor.setAttribute(name, value);
    spot.setAttribute("cx", px);
    spot.setAttribute("cy", py);
    cursor.setAttribute("visibility", isLevel(curve) ? "hidden" : "visible");
    spot.setAttribute("visibility", "visible");
    emphasise(svg, curve.series);
    tell(panel, curve, at);
    const frame = svg.getBoundingClientRect(), scale = frame.width / numbers.width, size = tip.getBoundingClientRect();
    const right = frame.left + px * scale + 14;
    tip.style.left = `${Math.max(4, right + size.width > innerWidth - 4 ? right - size.width - 28 : right)}px`;
    tip.style.top = `${Math.max(4, Math.min(frame.top + py * scale + 12, innerHeight - size.height - 4))}px`;
    svg.at = [curve, at];
  }

  function tell(panel, curve, at) {
    const name = document.createElement("b");
    name.textContent = numbers.series[curve.series];
    const lines = [];
    if (!isLevel(curve)) {
      lines.push(`round ${grouped(curve.round[at])}`);
      if (panel.x_label === "interactions") lines[0] += `, ${grouped(curve.x[at])} interactions`;
    }
    lines.push(`mean ${shown(curve.mean[at])} (n = ${curve.n[at]})`);
    if (curve.high[at] > curve.low[at]) lines.push(`95 % interval ${shown(curve.low[at])} to ${shown(curve.high[at])}`);
    tip.replaceChildren(name, ...lines.flatMap((line, idx) => (idx ? [document.createElement("br"), line] : [line])));
    tip.hidden = false;
  }

  function silence(svg) {
    tip.hidden = true;
    for (const mark of all(".cursor, .spot", svg ?? document)) mark.setAttribute("visibility", "hidden");
    emphasise(svg ?? document, null);
  }

  const visible = (svg) => numbers.panels[svg.dataset.panel].curves.filter((curve) => !hidden.has(curve.series));

  for (const svg of all("svg.panel")) {
    svg.addEventListener("pointermove", (event) => {
      const panel = numbers.panels[svg.dataset.panel];
      const frame = svg.getBoundingClientRect(), scale = numbers.width / frame.width;
      const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
      const x = panel.x[0] + ((px - left) / width) * (panel.x[1] - panel.x[0]);
      let best = null, distance = Infinity;
      for (const curve of visible(svg)) {
        const at = nearest(curve.x, x);
        const away = Math.abs(placed(panel, curve.x[at], curve.mean[at])[1] - py);
        if (away < distance) [best, distance] = [[curve, at], away];
      }
      if (best) show(svg, ...best);
    });
    svg.addEventListener("pointerleave", () => silence(svg));
    svg.addEventListener("blur", () => silence(svg));
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const curves = visible(svg);
      if (!steps || !curves.length) return;
      event.preventDefault();
      const [before, at] = svg.at ?? [curves[0], curves[0].x.length - 1];
      const place = Math.max(0, curves.indexOf(before));
      const curve = curves[(place + steps[0] + curves.length) % curves.length];
      show(svg, curve, Math.max(0, Math.min(curve.x.length - 1, Math.min(at, curve.x.length - 1) + steps[1])));
    });
  }

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
