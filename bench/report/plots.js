/* Draws a report in the browser. uPlot is on the page; the numbers are in the element #report. */
'use strict';

const report = JSON.parse(document.getElementById('report').textContent);
const main = document.querySelector('main');
const COLOURS = ['#3a6fd0', '#d9822b', '#2a9d5c', '#b03a8c', '#7a5cd0', '#c33', '#1a9aa8', '#8a7a20'];
const PARTS = ['admit', 'fetch', 'queue', 'decode', 'process', 'encode'];
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

function table(head, rows) {
  const scroll = element('div', undefined, 'scroll');
  const made = add(scroll, element('table'));
  const header = add(made, element('thead')).appendChild(element('tr'));
  for (const name of head) header.append(element('th', name));
  const body = made.appendChild(element('tbody'));
  for (const row of rows) {
    const line = body.appendChild(element('tr'));
    for (const value of row) line.append(element('td', String(value)));
  }
  return scroll;
}

/** Draws one plot. `series` is a list of {label, values, scale}. */
function plot(parent, title, xs, series, options = {}) {
  const box = add(parent, element('div'));
  add(box, element('h3', title));
  const scales = { x: { time: false, ...options.x }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.05 : 1] } };
  new uPlot(
    {
      width: 500,
      height: 240,
      scales,
      axes: [{ label: options.xLabel ?? 'seconds' }, { label: options.yLabel ?? '' }],
      series: [
        { label: options.xLabel ?? 'seconds' },
        ...series.map(({ label }, index) => ({ label, stroke: colour(index), width: 1.5, points: { show: false } })),
      ],
    },
    [xs, ...series.map(({ values }) => values)],
    box,
  );
}

function head() {
  const { host } = report;
  add(main, element('h1', report.suite));
  add(main, element('p', report.description));
  add(
    main,
    element(
      'p',
      `${report.at} · ${report.url ?? 'started by the bench'} · ${host.cores} cores (${host.cpu}), ${host.memoryMegabytes} MB · ` +
        `Darkroom ${report.instance.version ?? 'of an unknown version'}, loaded by ${host.darkroom}${host.commit ? ` (${host.commit})` : ''} · Node ${host.node} · sharp ${host.sharp}, libvips ${host.libvips}`,
      'note',
    ),
  );
  if (report.isStopped) add(main, element('p', 'Stopped by hand: the figures are of the time until then.', 'bad'));
  for (const sentence of report.brokenThresholds) add(main, element('p', sentence, 'bad'));
}

/** A figure, or the word for one that could not be measured. */
const figure = (value) => value ?? 'none';

function casesTable(stage) {
  const columns = ['case', 'sent', 'right', 'wrong', 'unanswered', 'drained', 'sent late', 'asked/s', 'sent/s', 'right/s'];
  const times = ['mean', 'p50', 'p90', 'p95', 'p99', 'p999', 'max'];
  return table(
    [...columns, 'errors', ...times.map((name) => name.replace('p999', 'p99.9')), 'MB/s'],
    Object.entries(stage.cases).map(([name, result]) => {
      const { sent, right, wrong, unanswered, drained, sentLate, askedPerSecond, errorShare } = result;
      const share = errorShare === null ? 'none' : `${(errorShare * 100).toFixed(2)} %`;
      const rates = [askedPerSecond ?? '', result.offeredPerSecond, result.perSecond];
      const latencies = times.map((time) => figure(result.latencyMs?.[time]));
      const counts = [sent, right, wrong, unanswered, drained, sentLate];
      return [name, ...counts, ...rates, share, ...latencies, (result.bytesPerSecond / 1048576).toFixed(2)];
    }),
  );
}

function errorsTable(stage) {
  const rows = Object.entries(stage.cases).flatMap(([name, { errors }]) =>
    Object.entries(errors).map(([code, count]) => [name, code, count]),
  );
  return rows.length === 0 ? null : table(['case', 'error', 'answers'], rows);
}

function timingBars(parent, stage) {
  const timed = Object.entries(stage.cases).filter(([, { timingMs }]) => Object.keys(timingMs).length > 0);
  if (timed.length === 0) return;
  add(parent, element('h3', 'Where the time of an answer goes (Server-Timing, mean milliseconds)'));
  const key = add(parent, element('p', undefined, 'note'));
  PARTS.forEach((part, index) => {
    const dot = element('span', undefined, 'key');
    dot.style.background = colour(index);
    key.append(dot, part);
  });
  for (const [name, { timingMs }] of timed) {
    const total = PARTS.reduce((sum, part) => sum + (timingMs[part] ?? 0), 0);
    add(parent, element('div', `${name}: ${PARTS.map((part) => `${part} ${timingMs[part] ?? 0}`).join(', ')}`));
    const bar = add(parent, element('div', undefined, 'bar'));
    PARTS.forEach((part, index) => {
      const piece = element('span');
      piece.style.background = colour(index);
      piece.style.width = `${total === 0 ? 0 : ((timingMs[part] ?? 0) / total) * 100}%`;
      bar.append(piece);
    });
  }
}

function stageSection(stage) {
  add(main, element('h2', `${stage.name} (${stage.loop} loop, ${stage.seconds} s)`));
  if (stage.loader.limit !== null) {
    add(main, element('p', `${stage.loader.limit} So the stage has no figures.`, 'bad'));
    return;
  }
  const lag = `The loader used ${Math.round(stage.loader.cpuShare * 100)} % of a core; its event loop was ${stage.loader.lagP99Ms} ms late (p99).`;
  add(main, element('p', `Latencies are milliseconds of right answers. ${lag}`, 'note'));
  add(main, casesTable(stage));
  const errors = errorsTable(stage);
  if (errors) add(main, errors);
  for (const [name, { retries }] of Object.entries(stage.cases)) {
    if (retries === null) continue;
    add(main, element('p', `${name}: ${retries.sent} refused calls came again after Retry-After; ${retries.right} of them were then answered right.`));
  }
  const lateSeconds = [...new Set(Object.values(stage.timeline).flatMap((seconds) => seconds.filter(({ late }) => late > 0).map(({ at }) => at)))];
  if (lateSeconds.length > 0) {
    const list = lateSeconds.sort((a, b) => a - b).join(', ');
    add(main, element('p', `The loader sent calls late in these seconds, so their latencies are partly its own: ${list}.`, 'bad'));
  }
  const plots = add(main, element('div', undefined, 'plots'));
  const longest = Math.max(0, ...Object.values(stage.timeline).map((seconds) => seconds.length));
  const seconds = Array.from({ length: longest }, (_, index) => index + 1);
  // A second without a right answer is a gap in the line of latency.
  const lines = (measures, empty) =>
    Object.entries(stage.timeline).flatMap(([name, timeline]) =>
      measures.map((measure) => ({ label: `${name} ${measure}`, values: seconds.map((at) => timeline[at - 1]?.[measure] ?? empty) })),
    );
  plot(plots, 'Answers per second, when they came', seconds, lines(['right', 'errors'], 0));
  plot(plots, 'Latency, when the call was due (ms)', seconds, lines(['p50', 'p99'], null));
  percentiles(plots, stage);
  timingBars(main, stage);
}

/** Draws the percentile curve over "nines": 1 is 90 %, 2 is 99 %, 3 is 99.9 %. */
function percentiles(parent, stage) {
  const curves = Object.entries(stage.cases).filter(([, { curve }]) => curve.length > 0);
  if (curves.length === 0) return;
  const shares = curves[0][1].curve.map(([share]) => share).filter((share) => share < 1);
  const nines = shares.map((share) => -Math.log10(1 - share));
  const series = curves.map(([label, { curve }]) => ({ label, values: curve.slice(0, nines.length).map(([, ms]) => ms) }));
  plot(parent, 'Percentiles (ms; 1 is 90 %, 2 is 99 %, 3 is 99.9 %)', nines, series, { xLabel: 'nines' });
}

function instanceSection() {
  const { samples } = report;
  if (samples.length === 0) return;
  add(main, element('h2', 'The instance'));
  if (report.memory) {
    const { firstMegabytes, lastMegabytes, mostMegabytes, megabytesPerHour } = report.memory;
    add(main, element('p', `Memory of all processes: ${firstMegabytes} MB at first, ${lastMegabytes} MB at last, ${mostMegabytes} MB at most; ${megabytesPerHour} MB an hour.`));
  }
  const spans = report.spans.map(({ name, from, to }) => `${name} ${Math.round(from)}–${Math.round(to)} s`).join(', ');
  add(main, element('p', `Stages: ${spans}.`, 'note'));
  const plots = add(main, element('div', undefined, 'plots'));
  const seconds = samples.map(({ at }) => at);
  const pids = [...new Set(samples.flatMap(({ processes }) => processes.map(({ pid }) => pid)))];
  const named = new Map(samples.flatMap(({ processes }) => processes.map(({ pid, name }) => [pid, name])));
  const byProcess = (read) =>
    pids.map((pid) => ({
      label: `${named.get(pid)} ${pid}`,
      values: samples.map(({ processes }) => {
        const found = processes.find((one) => one.pid === pid);
        return found === undefined ? null : read(found);
      }),
    }));
  if (pids.length > 0) {
    plot(plots, 'Memory by process (MB)', seconds, byProcess(({ rssBytes }) => rssBytes / 1048576));
    plot(plots, 'CPU by process (share of a core)', seconds, byProcess(({ cpuShare }) => cpuShare));
  }
  const pools = [...new Set(samples.flatMap((sample) => Object.keys(sample.pools)))];
  for (const pool of pools) {
    const series = ['busy', 'queued', 'threads'].map((measure) => ({
      label: measure,
      values: samples.map((sample) => sample.pools[pool]?.[measure] ?? null),
    }));
    plot(plots, `Pool ${pool}`, seconds, series);
  }
}

head();
report.stages.forEach(stageSection);
instanceSection();
