// What is drawn over the points: lines, rings, labels, and the outline of a selection.

import {writeLabels} from "./canvas.js";
import {style} from "./theme.js";

const AREA_PER_LABEL = 24000;  // square pixels
const RINGS = 60;              // more marks than this are dots

export function drawOverlay(chart) {
  drawLines(chart);
  drawMarks(chart);
  if (chart.part === 1) drawLabels(chart);
  drawShape(chart);
}

function drawLines(chart) {
  const {pen} = chart;
  for (const {from, to, colour, wide = 1, dashed = false, alpha = 0.6} of chart.lines) {
    const [a, b] = [chart.pixel(from), chart.pixel(to)];
    pen.globalAlpha = alpha;
    pen.strokeStyle = colour;
    pen.lineWidth = wide;
    pen.setLineDash(dashed ? [4, 4] : []);
    pen.beginPath();
    pen.moveTo(...a);
    pen.lineTo(...b);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(...b, 2.5, 0, 7);
    pen.fill();
  }
}

function drawMarks(chart) {
  const {pen} = chart;
  if (chart.marks.length > RINGS) { drawDots(chart); return; }
  chart.marks.forEach((id, at) => {
    const row = chart.row(id);
    if (row < 0) return;
    const [x, y] = [chart.across(row), chart.down(row)];
    for (const [colour, wide] of [[style("--halo"), 5], [style("--ink"), 2.2]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.beginPath();
      pen.arc(x, y, at ? 6 : 9, 0, 7);
      pen.stroke();
    }
  });
}

function drawDots(chart) {
  const {pen} = chart;
  pen.fillStyle = style("--ink");
  for (const id of chart.marks) {
    const row = chart.row(id);
    if (row >= 0) pen.fillRect(chart.across(row) - 1.5, chart.down(row) - 1.5, 3, 3);
  }
}

function drawLabels(chart) {
  const placed = [], {left, right, top, bottom} = chart.insets(), {width, height} = chart.size;
  const most = (width - left - right) * (height - top - bottom) / AREA_PER_LABEL;
  const first = new Set(chart.pinned.map(one => one.id)), rings = new Set(chart.marks.slice(0, RINGS));
  const labels = [...chart.pinned, ...chart.labels.filter(one => !first.has(one.id))];
  for (const {id, text} of labels) {
    const row = chart.row(id);
    if (placed.length >= most + chart.pinned.length || row < 0 || !chart.isShown(row)) continue;
    const [x, y] = [chart.across(row), chart.down(row)];
    if (x > left && x < width - right && y > top && y < height - bottom) placed.push([x, y, text, rings.has(id) ? 12 : undefined]);
  }
  const free = {width: width - right, height: height - bottom};
  writeLabels(chart.pen, placed, free, style("--ink"), style("--halo"));
}

function drawShape(chart) {
  if (!chart.shape?.length) return;
  const {pen} = chart;
  pen.beginPath();
  chart.shape.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.closePath();
  pen.globalAlpha = 0.12;
  pen.fillStyle = style("--accent");
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = style("--accent");
  pen.lineWidth = 1.6;
  pen.stroke();
}
