// A small curve beside a figure, without axes.

import { svg } from "./dom.js";

const WIDE = 160;
const HIGH = 28;

export function spark(values, span) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? WIDE / (values.length - 1) : 0;
  const points = values.map((value, place) => `${(place * step).toFixed(1)},${(HIGH - 1 - (value / most) * (HIGH - 3)).toFixed(1)}`);
  return svg("svg", { class: "spark", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": `The last ${span}` },
    points.length > 1 && [
      svg("polygon", { class: "area", points: `0,${HIGH} ${points.join(" ")} ${WIDE},${HIGH}` }),
      svg("polyline", { class: "line", points: points.join(" ") }),
    ]);
}
