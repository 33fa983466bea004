"use strict";
// Elements, numbers and colors. All text becomes text nodes, so that the name of a run can't be markup.

const errors = [];
window.addEventListener("error", (event) => {
  errors.push(event.message);
  document.documentElement.dataset.errors = errors.length;
});

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// A number with three to four digits: "12,345", "0.0312", "3.2e-7".
function format(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9))
    return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  if (Number.isInteger(value) || size >= 10000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

function percent(value) {
  return isNumber(value) ? (100 * value).toFixed(1) + " %" : "–";
}

function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  const whole = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
  if (seconds < 60) return format(Number(seconds.toPrecision(3))) + " s";
  if (whole < 3600) return Math.floor(whole / 60) + ":" + two(whole % 60) + " min";
  return Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60) + " h";
}

// The lowest and highest number of several lists. It doesn't spread the lists, because they may be long.
function extent(...lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const value of list)
      if (isNumber(value)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
  return low <= high ? [low, high] : null;
}

// About `count` round numbers from low to high: multiples of 1, 2 or 5 times a power of ten.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((each) => each * power >= rough * 0.999) ?? 10);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Powers of ten, and 2 and 5 times these if there are few.
function logTicks(low, high) {
  const found = [], first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const parts = last - first <= 2 ? [1, 2, 5] : [1], skip = Math.ceil((last - first) / 6);
  for (let power = first; power <= last; ++power)
    for (const part of parts) {
      const tick = Number((part * 10 ** power).toPrecision(3));
      if (tick >= low * 0.999 && tick <= high * 1.001 && (power - first) % Math.max(skip, 1) === 0) found.push(tick);
    }
  return found;
}

// [red, green, blue] of a custom property of the form "#rrggbb".
function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

const runColour = (index) => `var(--run${index % 8})`;

// Runs after the eighth repeat the colors with dashed lines.
const runDash = (index) => (index < 8 ? undefined : "5 3");

function runKey(index) {
  return html("span", {class: index < 8 ? "key" : "key dashed", style: `border-color:${runColour(index)}`});
}

function runName(name) {
  return html("span", {class: "name", title: name}, name);
}
