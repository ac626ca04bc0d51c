// Drawing on a canvas: the code that the single-file map and the explorer share.
// `points` has: count, across(i) and down(i) in pixels, isShown(i), groups and colours ([r, g, b]).

const FAR_OUT = 0.002;  // the part of the points on each side that the first view ignores

// The range of a coordinate. Of many points, the few farthest are ignored.
export function rangeOf(values) {
  const count = values.length, sorted = Float32Array.from(values).sort();
  const out = count < 500 ? 0 : Math.floor(count * FAR_OUT), last = count - 1 - out;
  const margin = 0.1 * (sorted[last] - sorted[out]);
  const low = Math.max(sorted[0], sorted[out] - margin);
  return [low, Math.min(sorted[count - 1], sorted[last] + margin)];
}

export function paintDiscs(context, ratio, visible, points) {
  const {width, height} = context.canvas, {across, down, isShown} = points;
  const radius = ratio * Math.max(1.6, Math.min(5, 160 / Math.sqrt(visible + 1)));
  const side = Math.ceil(2 * radius + 2);
  const discs = points.colours.map(colour => {
    const disc = document.createElement("canvas"), pen = disc.getContext("2d");
    disc.width = disc.height = side;
    pen.fillStyle = `rgba(${colour}, .85)`;
    pen.arc(side / 2, side / 2, radius, 0, 7);
    pen.fill();
    return disc;
  });
  for (let i = 0; i < points.count; i++) {
    const x = across(i) * ratio - side / 2, y = down(i) * ratio - side / 2;
    const inside = x > -side && x < width && y > -side && y < height;
    if (isShown(i) && inside) context.drawImage(discs[points.groups[i]], x, y);
  }
}

export function paintDensity(context, ratio, points) {
  const {width, height} = context.canvas, {across, down, isShown, groups, colours} = points;
  const sums = new Float32Array(4 * width * height);  // red, green, blue, points
  let max = 1;
  for (let i = 0; i < points.count; i++) {
    const x = Math.floor(across(i) * ratio), y = Math.floor(down(i) * ratio);
    if (!isShown(i) || x < 0 || x >= width || y < 0 || y >= height) continue;
    const at = 4 * (y * width + x), colour = colours[groups[i]];
    sums[at] += colour[0]; sums[at + 1] += colour[1]; sums[at + 2] += colour[2];
    max = Math.max(max, ++sums[at + 3]);
  }
  const upTo = new Float64Array(max + 1);  // pixels with at most this many points, for the opacity
  for (let at = 3; at < sums.length; at += 4) if (sums[at]) upTo[sums[at]]++;
  for (let points = 1; points <= max; points++) upTo[points] += upTo[points - 1];
  const image = context.createImageData(width, height), pixels = image.data;
  for (let at = 0; at < sums.length; at += 4) {
    const points = sums[at + 3];
    if (!points) continue;
    for (let channel = 0; channel < 3; channel++) {
      pixels[at + channel] = sums[at + channel] / points;
    }
    pixels[at + 3] = 255 * (0.4 + 0.6 * upTo[points] / upTo[max]);
  }
  context.putImageData(image, 0, 0);
}

// Labels beside their points, [x, y, text, gap], the most important first; none covers another.
export function writeLabels(context, labels, {width, height}, ink, halo) {
  const taken = [], high = 14;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const [x, y, text, gap = 7] of labels) {
    const wide = context.measureText(text).width;
    if (x < 0 || x > width || y < 0 || y > height) continue;
    const spots = [
      [x + gap, y], [x - gap - wide, y],
      [x - wide / 2, y - gap - 7], [x - wide / 2, y + gap + 7],
    ];
    const spot = spots.find(([left, middle]) => left >= 0 && left + wide <= width && !taken.some(
      box => left < box[0] + box[2] && box[0] < left + wide && Math.abs(middle - box[1]) < high));
    if (!spot) continue;
    taken.push([...spot, wide]);
    context.lineWidth = 3;
    context.strokeStyle = halo;
    context.strokeText(text, ...spot);
    context.fillStyle = ink;
    context.fillText(text, ...spot);
    context.beginPath();
    context.arc(x, y, 2.2, 0, 7);
    context.fill();
  }
}
