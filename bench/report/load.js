/* Draws the report of a suite under load, with the functions of plots.js. */

const PARTS = ['admit', 'fetch', 'queue', 'decode', 'process', 'encode'];

function head() {
  const { host } = report;
  add(main, element('h1', report.suite));
  verdict();
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
  add(main, element('p', `Command: ${report.command}`, 'note'));
  const settings = Object.entries(report.settings).map(([name, value]) => `${name}=${value}`);
  if (settings.length > 0) add(main, element('p', `Settings of the instance: ${settings.join(', ')}`, 'note'));
  add(main, element('p', `Pictures: ${report.pictures.join('; ')}.`, 'note'));
}

/** The result of the run in its first lines: its thresholds, or its right answers, and what has no figures. */
function verdict() {
  const { thresholds, brokenThresholds, stages, isStopped } = report;
  const results = stages.flatMap(({ cases }) => Object.values(cases));
  const sum = (name) => results.reduce((total, result) => total + result[name], 0);
  const limited = stages.filter(({ loader }) => loader.limit !== null).length;
  const broken = brokenThresholds.length;
  add(
    main,
    element(
      'p',
      [
        thresholds.length === 0 ? '' : broken === 0 ? `All ${thresholds.length} thresholds hold.` : `${broken} of ${thresholds.length} thresholds broken.`,
        `${sum('right')} of ${sum('sent')} calls were answered right.`,
        limited === 0 ? '' : `${limited} of ${stages.length} stages have no figures: the loader was the limit.`,
        isStopped ? 'Stopped by hand: the figures are of the time until then.' : '',
      ]
        .filter((sentence) => sentence !== '')
        .join(' '),
      'verdict',
    ),
  );
  for (const sentence of brokenThresholds) add(main, element('p', `Threshold: ${sentence}`, 'bad'));
}

/** A figure, or the word for one that could not be measured. */
const figure = (value) => value ?? 'none';

/** What matters most first: a narrow page shows the left columns. */
function casesTable(stage) {
  const times = ['p50', 'p95', 'p99'];
  const otherTimes = ['mean', 'p90', 'p999', 'max'];
  const counts = ['sent', 'right', 'wrong', 'unanswered', 'drained'];
  const head = ['case', 'right/s', ...times, 'errors', ...otherTimes.map((name) => name.replace('p999', 'p99.9')), 'items/s', 'asked/s', 'sent/s', ...counts, 'sent late', 'MB/s'];
  const rows = Object.entries(stage.cases).map(([name, result]) => {
    const { errorShare, latencyMs, perSecond, itemsPerSecond, askedPerSecond, offeredPerSecond, sentLate, bytesPerSecond } = result;
    const share = errorShare === null ? 'none' : `${(errorShare * 100).toFixed(2)} %`;
    const rates = [itemsPerSecond ?? '', askedPerSecond ?? '', offeredPerSecond];
    const latency = (time) => figure(latencyMs?.[time]);
    return [name, perSecond, ...times.map(latency), share, ...otherTimes.map(latency), ...rates, ...counts.map((count) => result[count]), sentLate, (bytesPerSecond / 1048576).toFixed(2)];
  });
  // A column that is empty in all rows, such as the asked rate of a closed stage, takes no room.
  const used = head.map((_, column) => rows.some((row) => row[column] !== ''));
  const shown = (cells) => cells.filter((_, column) => used[column]);
  return table(shown(head), rows.map(shown));
}

/** CPU time of all processes of the instance per right answer; null where it ran elsewhere. */
function cpuOf({ instanceCpuMs, cases }) {
  const right = Object.values(cases).reduce((sum, result) => sum + result.right, 0);
  return instanceCpuMs === undefined || right === 0 ? null : (instanceCpuMs / right).toFixed(2);
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
  const cpu = cpuOf(stage);
  if (cpu !== null) add(main, element('p', `CPU of the whole instance per right answer: ${cpu} ms.`));
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
  // The last part of a second, and the answers behind the end of the stage, would be drawn as a fall.
  const whole = Math.max(1, Math.floor(stage.seconds + 0.05));
  const longest = Math.min(whole, Math.max(0, ...Object.values(stage.timeline).map((seconds) => seconds.length)));
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
    add(main, element('p', `Memory of all processes: ${firstMegabytes} MB at first, ${lastMegabytes} MB at last, ${mostMegabytes} MB at most${megabytesPerHour === null ? '' : `; ${megabytesPerHour} MB per hour`}.`));
  }
  const bands = report.spans;
  const plots = add(main, element('div', undefined, 'plots'));
  const seconds = samples.map(({ at }) => at);
  // Each API process has a line of its own; processes of another role, such as browsers, are summed.
  const labelOf = ({ pid, name }) => (name === 'API process' ? `${name} ${pid}` : name);
  const labels = [...new Set(samples.flatMap(({ processes }) => processes.map(labelOf)))];
  const byProcess = (read) =>
    labels.map((label) => ({
      label,
      values: samples.map(({ processes }) => {
        const found = processes.filter((one) => labelOf(one) === label);
        return found.length === 0 ? null : found.reduce((sum, one) => sum + read(one), 0);
      }),
    }));
  if (labels.length > 0) {
    plot(plots, 'Memory by process (MB)', seconds, byProcess(({ rssBytes }) => rssBytes / 1048576), { bands });
    plot(plots, 'CPU by process (share of a core)', seconds, byProcess(({ cpuShare }) => cpuShare), { bands });
  }
  const pools = [...new Set(samples.flatMap((sample) => Object.keys(sample.pools)))];
  for (const pool of pools) {
    const series = ['busy', 'queued', 'threads'].map((measure) => ({
      label: measure,
      values: samples.map((sample) => sample.pools[pool]?.[measure] ?? null),
    }));
    plot(plots, `Pool ${pool}`, seconds, series, { bands });
  }
}

head();
report.stages.forEach(stageSection);
instanceSection();
