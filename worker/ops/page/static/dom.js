// Making elements and words. Text goes in as text: nothing here takes markup.

const SVG = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const el = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) => made(document.createElementNS(SVG, tag), attributes, children);

// A table in a region that scrolls by itself. One that stacks sets its cells below each other where it is narrow; what
// they are is said to screen readers, since by then they are laid out as no table.
export function table(caption, columns, rows, { stack = false } = {}) {
  const as = (role) => (stack ? role : null);
  const cell = (content, column) =>
    column.head
      ? el("th", { scope: "row", role: as("rowheader") }, content)
      : el("td", { class: column.number ? "number" : null, role: as("cell") }, content);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: stack ? "stack" : null, role: as("table") },
      el("caption", { class: "hidden" }, caption),
      el("thead", { role: as("rowgroup") }, el("tr", { role: as("row") }, columns.map((column) =>
        el("th", { scope: "col", role: as("columnheader"), class: column.number ? "number" : null }, column.name)))),
      el("tbody", { role: as("rowgroup") }, rows.map((row) =>
        el("tr", { role: as("row") }, row.map((content, place) => cell(content, columns[place])))))));
}

// Where a view is, by its name and what it shows: ids hold any characters, so they are encoded.
export function place(view, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null));
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

// Characters that no screen shows, or that turn its direction, are named instead: an id can't pose as another.
export const shown = (text) =>
  String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

export const link = (text, view, parameters) => el("a", { href: place(view, parameters) }, shown(text));
export const player = (id, pool) => link(id, "player", { id, pool });
export const match = (id) => link(id, "match", { id });

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1, minimumFractionDigits: 1 });

export const count = (number) => (number === null || number === undefined ? "–" : whole.format(number));
export const rate = (number) => (number === null || number === undefined ? "–" : number >= 100 ? whole.format(number) : fine.format(number));
export const signed = (number, format = rate) => `${number < 0 ? "−" : "+"}${format(Math.abs(number))}`;

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return "< 1 ms";
  if (value < 1) return `${value < 0.01 ? fine.format(value * 1000) : whole.format(value * 1000)} ms`;
  if (value < 60) return `${value < 10 && !Number.isInteger(value) ? fine.format(value) : whole.format(value)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor((value % 86400) / 3600)} h`;
}

// Times in UTC, as in logs and on the command line.
export const when = (iso) => (iso ? `${iso.slice(0, 10)} ${iso.slice(11, 19)}` : "never");
export const day = (iso) => (iso ? iso.slice(0, 10) : "never");
export const time = (iso, zone = " UTC") => (iso ? el("time", { datetime: iso, title: `${when(iso)} UTC` }, when(iso) + zone) : "never");
