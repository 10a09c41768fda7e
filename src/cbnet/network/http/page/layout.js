// Positions of routers: distances in the drawing follow the numbers of hops (stress majorization).

/** Return the number of hops between all pairs; routers that are not connected are far apart. */
function hops(names, links) {
  const neighbours = new Map(names.map((name) => [name, []]));
  for (const [a, b] of links) {
    neighbours.get(a).push(b);
    neighbours.get(b).push(a);
  }
  const index = new Map(names.map((name, number) => [name, number]));
  return names.map((start) => {
    const found = new Map([[start, 0]]);
    for (const name of found.keys()) {
      for (const next of neighbours.get(name)) if (!found.has(next)) found.set(next, found.get(name) + 1);
    }
    const far = Math.sqrt(names.length) + 1;
    const row = new Float64Array(names.length).fill(far);
    for (const [name, count] of found) row[index.get(name)] = count;
    return row;
  });
}

/** Return a position {x, y} of each router; `before`: those of an earlier drawing, where it starts from. */
export function layout(names, links, before = new Map()) {
  const count = names.length;
  const distance = hops(names, links);
  const radius = Math.max(1, count / 6);
  const points = names.map((name, number) => {
    const angle = (2 * Math.PI * number) / count - Math.PI / 2;
    return { ...(before.get(name) ?? { x: radius * Math.cos(angle), y: radius * Math.sin(angle) }) };
  });
  const rounds = Math.max(10, Math.min(150, Math.round(6e6 / (count * count + 1))));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < count; i++) {
      let x = 0, y = 0, total = 0;
      for (let j = 0; j < count; j++) {
        if (i === j) continue;
        const wanted = distance[i][j], weight = 1 / (wanted * wanted);
        const dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
        const long = Math.hypot(dx, dy) || 1e-6;
        x += weight * (points[j].x + (wanted * (dx || 1e-6 * (i - j))) / long);
        y += weight * (points[j].y + (wanted * dy) / long);
        total += weight;
      }
      if (total) points[i] = { x: x / total, y: y / total };
    }
  }
  return new Map(names.map((name, number) => [name, (before.size ? points : turned(points))[number]]));
}

/** Return the points with the longer axis level; if there is none, with the first point above the centre. */
function turned(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [cx, cy] = [mean(({ x }) => x), mean(({ y }) => y)];
  const xx = mean(({ x }) => (x - cx) ** 2), yy = mean(({ y }) => (y - cy) ** 2), xy = mean(({ x, y }) => (x - cx) * (y - cy));
  const spread = Math.hypot(xx - yy, 2 * xy);
  const angle = spread > 0.2 * (xx + yy)
    ? -Math.atan2(2 * xy, xx - yy) / 2
    : -Math.PI / 2 - Math.atan2(points[0].y - cy, points[0].x - cx);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return points.map(({ x, y }) => ({ x: (x - cx) * cos - (y - cy) * sin, y: (x - cx) * sin + (y - cy) * cos }));
}

/** Return the positions, moved and stretched a little to fill a rectangle. */
export function fit(points, width, height, margin) {
  const xs = [...points.values()].map((point) => point.x), ys = [...points.values()].map((point) => point.y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [spanX, spanY] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const roomX = Math.max(1, width - 2 * margin), roomY = Math.max(1, height - 2 * margin);
  const [wholeX, wholeY] = [spanX ? roomX / spanX : Infinity, spanY ? roomY / spanY : Infinity];
  const common = Math.min(wholeX, wholeY, 220);
  const [scaleX, scaleY] = [Math.min(wholeX, 1.5 * common), Math.min(wholeY, 1.5 * common)];
  const place = ({ x, y }) => ({
    x: width / 2 + (x - left - spanX / 2) * (spanX ? scaleX : 0),
    y: height / 2 + (y - top - spanY / 2) * (spanY ? scaleY : 0),
  });
  return new Map([...points].map(([name, point]) => [name, place(point)]));
}

/** Move routers that overlap others, or the links of others; `room`: between two centres, and half of it to a link. */
export function spread(points, links, room, width, height, margin) {
  const names = [...points.keys()];
  if (names.length * links.length > 400000) return points;
  const moved = new Map([...points].map(([name, point]) => [name, { ...point }]));
  for (let round = 0; round < 30; round++) {
    for (const [number, name] of names.entries()) {
      const point = moved.get(name);
      for (const other of names.slice(0, number)) push(point, moved.get(other), room, moved.get(other));
      for (const [a, b] of links) {
        if (a !== name && b !== name) push(point, nearest(moved.get(a), moved.get(b), point), room / 2 + 4, null);
      }
      point.x = Math.max(margin, Math.min(width - margin, point.x));
      point.y = Math.max(margin, Math.min(height - margin, point.y));
    }
  }
  return moved;
}

/** Move a point away from another place, up to a distance; `partner` moves the other way. */
function push(point, place, distance, partner) {
  const dx = point.x - place.x, dy = point.y - place.y, long = Math.hypot(dx, dy);
  if (long >= distance) return;
  const step = (distance - long) * 0.4;
  const [ux, uy] = long > 1e-3 ? [dx / long, dy / long] : [1, 0];
  point.x += ux * step;
  point.y += uy * step;
  if (partner) {
    partner.x -= ux * step;
    partner.y -= uy * step;
  }
}

/** Return the point of a line that is nearest to another point. */
function nearest(from, to, point) {
  const dx = to.x - from.x, dy = to.y - from.y, square = dx * dx + dy * dy || 1;
  const part = Math.max(0, Math.min(1, ((point.x - from.x) * dx + (point.y - from.y) * dy) / square));
  return { x: from.x + part * dx, y: from.y + part * dy };
}
