/* Shared by the pages of all reports. uPlot is on the page; the numbers are in the element #report. */
'use strict';

const report = JSON.parse(document.getElementById('report').textContent);
const main = document.querySelector('main');
const COLOURS = ['#3a6fd0', '#d9822b', '#2a9d5c', '#b03a8c', '#7a5cd0', '#c33', '#1a9aa8', '#8a7a20'];
const colour = (index) => COLOURS[index % COLOURS.length];

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function add(parent, ...children) {
  parent.append(...children);
  return children[0];
}

/** Cells of a table that are aligned as numbers: a figure with its unit, or the word for none. */
const NUMBER = /^(at least )?[-+−]?[\d.,]+( ?%|\/s)?$|^none$/;
/** Longer texts are sentences, which are wrapped. */
const LONGEST_WORD = 24;

function table(head, rows) {
  const scroll = element('div', undefined, 'scroll');
  const made = add(scroll, element('table'));
  const header = add(made, element('thead')).appendChild(element('tr'));
  const classOf = (text) => (NUMBER.test(text) ? 'number' : text.length > LONGEST_WORD ? 'sentence' : undefined);
  head.forEach((name, column) => {
    const isNumber = rows.some((row) => NUMBER.test(String(row[column])));
    header.append(element('th', name, isNumber ? 'number' : undefined));
  });
  const body = made.appendChild(element('tbody'));
  for (const row of rows) {
    const line = body.appendChild(element('tr'));
    for (const value of row) line.append(element('td', String(value), classOf(String(value))));
  }
  return scroll;
}

/**
 * Draws one plot. `series` is a list of {label, values}; `options.points` marks each value, `options.bands` names
 * ranges of x as {name, from, to}.
 */
function plot(parent, title, xs, series, options = {}) {
  const box = add(parent, element('div'));
  add(box, element('h3', title));
  const ink = getComputedStyle(document.body).color;
  const axis = { stroke: ink, grid: { stroke: '#8883' }, ticks: { stroke: '#8883' } };
  const scales = { x: { time: false, ...options.x }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.15 : 1] } };
  new uPlot(
    {
      width: Math.min(500, box.clientWidth),
      legend: { live: false },
      height: 240,
      scales,
      hooks: { drawClear: [(drawn) => drawBands(drawn, options.bands ?? [], ink)] },
      axes: [{ ...axis, label: options.xLabel ?? 'seconds' }, { ...axis, label: options.yLabel ?? '' }],
      series: [
        { label: options.xLabel ?? 'seconds' },
        ...series.map(({ label }, index) => ({
          label,
          stroke: colour(index),
          width: 1.5,
          points: { show: options.points === true },
        })),
      ],
    },
    [xs, ...series.map(({ values }) => values)],
    box,
  );
}

/** Shades every second band, and writes each band's name at its top. */
function drawBands({ ctx, bbox, valToPos }, bands, ink) {
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  bands.forEach(({ name, from, to }, index) => {
    const [left, right] = [valToPos(from, 'x', true), valToPos(to, 'x', true)];
    ctx.fillStyle = index % 2 === 0 ? '#8881' : '#8883';
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.fillStyle = ink;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.fillText(name, left + 3, bbox.top + 12 * devicePixelRatio);
    ctx.restore();
  });
  ctx.restore();
}
