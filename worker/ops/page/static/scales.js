// Where values and times stand on an axis, and which of them are named there.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY, 1826 * DAY];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

export function niceStep(span, wanted) {
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough);
}

export function ticks(low, high, wanted) {
  const step = Math.max(1, niceStep(high - low, wanted));
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(Math.round(at));
  return found;
}

export function timeTicks(low, high, wanted) {
  const step = STEPS.find((one) => (high - low) / one <= wanted) ?? niceStep(high - low, wanted);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push({ at, label: label(new Date(at), step) });
  return found;
}

const two = (number) => String(number).padStart(2, "0");

function label(date, step) {
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  if (step >= 91 * DAY) return `${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  if (step >= DAY) return day;
  if (date.getUTCHours() === 0 && date.getUTCMinutes() === 0 && date.getUTCSeconds() === 0) return day;
  const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
  return step < MINUTE ? `${clock}:${two(date.getUTCSeconds())}` : clock;
}
