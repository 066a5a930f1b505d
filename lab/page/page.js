// Builds the page from its data. Texts of the data become text nodes, never markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function show(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e6)) {
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  }
  return value.toExponential(2);
}

// Formats half the width of a 95 % interval with two digits.
const margin = (half) => show(Number(half.toPrecision(2)));

// Returns the value of a table cell, which is a value or {value, half, best}, where half is half
// the width of its 95 % interval.
const valueOf = (cell) => (cell !== null && typeof cell === "object" ? cell.value : cell);

function tableCell(cell, column) {
  const made = element("td");
  if (column.text) made.className = column.wrap ? "text wrap" : "text";
  made.append(show(valueOf(cell)));
  if (cell !== null && typeof cell === "object") {
    if (cell.half) made.append(element("span", { class: "half" }, " ± " + margin(cell.half)));
    if (cell.best) made.classList.add("best");
  }
  if (column.verdict) made.classList.add(String(valueOf(cell)).replace(" ", "-"));
  return made;
}

function compare(a, b) {
  const x = valueOf(a), y = valueOf(b);
  // Undefined values come last in both directions.
  if (x === null || y === null) return (x === null) - (y === null);
  const numeric = (v) => typeof v === "number" || (v !== "" && isFinite(v));
  return numeric(x) && numeric(y) ? x - y : String(x).localeCompare(String(y));
}

const tables = [];

function table(section) {
  const body = element("tbody");
  const fill = (rows) => body.replaceChildren(...rows.map((row) =>
    element("tr", {}, ...row.map((cell, i) => tableCell(cell, section.columns[i])))));
  fill(section.rows);
  const heads = section.columns.map((column, i) => {
    const head = element("th", { scope: "col", tabindex: 0 }, column.title);
    if (column.text) head.className = "text";
    const sort = () => {
      const falling = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const missing = (row) => valueOf(row[i]) === null;
      const known = section.rows.filter((row) => !missing(row));
      known.sort((a, b) => (falling ? -1 : 1) * compare(a[i], b[i]));
      fill(known.concat(section.rows.filter(missing)));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    return head;
  });
  const box = element("div", { class: "table" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
  tables.push(box);
  return box;
}

// Shows errors below their values in tables that are wider than the page.
function fitTables() {
  for (const box of tables) {
    box.classList.remove("wide");
    box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  }
}

// The colours can be told apart without colour vision (Okabe & Ito), and the points differ as well.
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c6d31"];
const points = ["circle", "rect", "triangle", "rectRot", "cross", "star", "crossRot", "dash"];
const style = getComputedStyle(document.documentElement);
const variable = (name) => style.getPropertyValue(name).trim();

// Wraps a label at the given number of characters, as charts cut off longer lines.
function wrapped(label, width = 32) {
  const rows = [];
  for (const word of label.split(" ")) {
    const longer = rows.length ? rows[rows.length - 1] + " " + word : word;
    if (rows.length && longer.length <= width) rows[rows.length - 1] = longer; else rows.push(word);
  }
  return rows;
}

// Returns the text of a tick of a linear axis, with as many digits as neighbouring ticks need.
function tickText(value, ticks) {
  if (ticks.length < 2 || show(ticks[0].value) !== show(ticks[1].value)) return show(value);
  const step = Math.abs(ticks[1].value - ticks[0].value);
  return value.toFixed(Math.min(20, Math.max(0, Math.ceil(-Math.log10(step)))));
}

function axis(options) {
  return {
    type: options.log ? "logarithmic" : "linear",
    title: { display: true, text: wrapped(options.title, 40), color: variable("--faint") },
    grid: { color: variable("--line") },
    ticks: { color: variable("--faint"), maxTicksLimit: 8, maxRotation: 0,
             callback: (value, _, ticks) =>
               (!options.log ? tickText(value, ticks) :
                !/^[125]/.test(value.toExponential()) ? "" : show(value)) },
  };
}

const pairs = (x, y) => x.map((at, i) => ({ x: at, y: y[i] }));

// Returns a series and, if it has intervals, the band of its 95 % interval.
function lines(series, i) {
  const colour = colours[i % colours.length];
  const line = { label: series.label, data: pairs(series.x, series.y), borderColor: colour,
                 backgroundColor: colour, borderWidth: 2, tension: 0, group: i,
                 pointStyle: points[i % points.length],
                 pointRadius: series.x.length > 40 ? 0 : 4, pointHitRadius: 8 };
  if (!series.half) return [line];
  const edge = (sign, fill) => ({
    label: "", data: pairs(series.x, series.y.map((y, k) => y + sign * series.half[k])),
    borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: colour + "30", fill, group: i, band: true });
  return [line, edge(-1, false), edge(1, "-1")];
}

function toggle(event, item, legend) {
  const chart = legend.chart, group = chart.data.datasets[item.datasetIndex].group;
  const visible = chart.isDatasetVisible(item.datasetIndex);
  chart.data.datasets.forEach((set, i) => { if (set.group === group) chart.setDatasetVisibility(i, !visible); });
  chart.update();
}

// Includes 0 in the range of the axis if the lines have a single value.
function seenFromZero(series) {
  const [value, ...others] = new Set(series.flatMap((one) => one.y));
  return others.length || !(value > 0) ? {} : { suggestedMin: 0, suggestedMax: 2 * value };
}

function lineChart(section) {
  return {
    type: "line",
    data: { datasets: section.series.flatMap(lines) },
    options: {
      parsing: false, animation: false, responsive: true, maintainAspectRatio: false, spanGaps: false,
      interaction: { mode: "nearest", intersect: false },
      scales: { x: { ...axis(section.x), type: section.x.log ? "logarithmic" : "linear" },
                y: { ...axis(section.y), ...seenFromZero(section.series) } },
      plugins: {
        legend: { display: section.series.length > 1, onClick: toggle,
                  labels: { color: variable("--ink"), usePointStyle: true, boxHeight: 7,
                            filter: (item, shown) => !shown.datasets[item.datasetIndex].band } },
        tooltip: { filter: (item) => !item.dataset.band,
                   callbacks: { title: (items) => (items[0] ? section.x.title + " " + show(items[0].parsed.x) : ""),
                                label: (item) => item.dataset.label + ": " + show(item.parsed.y) } },
      },
    },
  };
}

function barChart(section) {
  const bars = section.bars;
  return {
    type: "bar",
    data: { labels: bars.map((bar) => wrapped(bar.label)),
            datasets: [{ data: bars.map((bar) => bar.value), backgroundColor: colours[0] + "b0", maxBarThickness: 22 }] },
    options: {
      indexAxis: "y", animation: false, responsive: true, maintainAspectRatio: false,
      scales: { x: { ...axis({ title: section.title, log: section.log }),
                     suggestedMax: Math.max(...bars.map((bar) => bar.value + (bar.half || 0))) },
                y: { grid: { display: false }, ticks: { color: variable("--ink"), autoSkip: false } } },
      plugins: { legend: { display: false },
                 tooltip: { callbacks: { label: (item) => {
                   const bar = bars[item.dataIndex];
                   return show(bar.value) + (bar.half ? " ± " + margin(bar.half) : "");
                 } } } },
    },
    plugins: [{  // draws the 95 % intervals
      id: "errors",
      afterDatasetsDraw(chart) {
        const { ctx, scales } = chart;
        ctx.save();
        ctx.strokeStyle = variable("--ink");
        chart.getDatasetMeta(0).data.forEach((bar, i) => {
          if (!bars[i].half) return;
          const [from, to] = [-1, 1].map((s) => scales.x.getPixelForValue(bars[i].value + s * bars[i].half));
          ctx.beginPath();
          ctx.moveTo(from, bar.y); ctx.lineTo(to, bar.y);
          for (const x of [from, to]) { ctx.moveTo(x, bar.y - 4); ctx.lineTo(x, bar.y + 4); }
          ctx.stroke();
        });
        ctx.restore();
      },
    }],
  };
}

const charts = [];

function figure(section) {
  const canvas = element("canvas", { role: "img", "aria-label": section.title });
  const box = element("div", { class: "canvas" }, canvas);
  if (section.bars) {
    const rows = Math.max(1, ...section.bars.map((bar) => wrapped(bar.label).length));
    box.style.height = Math.max(8, 5 + Math.max(1.9, 1.1 * rows) * section.bars.length) + "rem";
  } else {  // leaves room for the legend
    const letters = section.series.reduce((sum, one) => sum + one.label.length + 6, 0);
    box.style.height = 18 + 1.3 * Math.ceil(letters / 50) + "rem";
  }
  const chart = section.bars ? barChart(section) : lineChart(section);
  charts.push(() => new Chart(canvas, chart));
  return element("figure", {}, element("figcaption", {}, section.title), box);
}

function pictures(section) {
  return element("div", { class: "pictures" }, ...section.images.map((image) =>
    element("figure", {}, element("img", { src: image.source, alt: image.title }),
      element("figcaption", {}, image.title))));
}

function facts(named) {
  return element("dl", {}, ...Object.entries(named).map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, show(value)))));
}

const builders = {
  table, pictures,
  facts: (section) => facts(section.facts),
  charts: (section) => element("div", { class: "charts" }, ...section.charts.map(figure)),
};

function build() {
  const main = element("main", {}, element("h1", {}, data.title), element("p", { class: "note" }, data.subtitle));
  const parts = data.parts.filter((part) => part.title);
  if (parts.length > 1) {
    main.append(element("nav", {}, ...parts.map((part) =>
      element("a", { href: "#part" + data.parts.indexOf(part) }, part.title))));
  }
  data.parts.forEach((part, i) => {
    const section = element("section", { id: "part" + i });
    if (part.title) section.append(element("h2", {}, part.title));
    if (part.note) section.append(element("p", { class: "note" }, part.note));
    for (const piece of part.pieces) {
      if (piece.heading) section.append(element("h3", {}, piece.heading));
      section.append(builders[piece.kind](piece));
    }
    main.append(section);
  });
  document.body.replaceChildren(main);
  charts.forEach((draw) => draw());
  fitTables();
  window.addEventListener("resize", fitTables);
}

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
build();
