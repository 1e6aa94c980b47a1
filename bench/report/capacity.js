/* Draws the report of a search for capacity, with the functions of plots.js. */

const SIDES = [
  ['Right answers per second', 'perSecond'],
  ['p50 (ms)', 'p50'],
  ['p99 (ms)', 'p99'],
  ['CPU per answer (ms)', 'cpuMs'],
];

/** For example `at least 20.2/s`. */
function rateOf({ best, isAtLeast }) {
  return best === null ? 'none' : `${isAtLeast ? 'at least ' : ''}${best.perSecond.toFixed(1)}/s`;
}

function summary() {
  const { host, at, url, objective, results } = report;
  add(main, element('h1', `Capacity for ${objective}`));
  const found = results.map((result) => `${result.case} ${rateOf(result)}`).join(', ');
  add(main, element('p', found === '' ? 'Nothing was measured.' : `Right answers: ${found}.`, 'verdict'));
  add(
    main,
    element('p', `${at} · ${url ?? 'started by the bench'} · ${host.cores} cores (${host.cpu}), ${host.memoryMegabytes} MB`, 'note'),
  );
  const head = ['case', 'right answers', 'p50 ms', 'p99 ms', 'CPU ms per answer', 'per CPU second', 'MB of all processes', 'why not more'];
  const rows = results.map((result) => {
    const { best, next } = result;
    const why = next?.broken ?? '';
    if (best === null) return [result.case, 'none', '', '', '', '', '', why];
    const perCpuSecond = best.cpuMs ? (1000 / best.cpuMs).toFixed(1) : '';
    return [result.case, rateOf(result), best.p50 ?? 'none', best.p99 ?? 'none', best.cpuMs ?? '', perCpuSecond, best.megabytes ?? '', why];
  });
  add(main, table(head, rows));
}

function caseSection({ case: name, description, probes }) {
  add(main, element('h2', name));
  add(main, element('p', description));
  const sorted = probes.toSorted((a, b) => a.rate - b.rate);
  const plots = add(main, element('div', undefined, 'plots'));
  // Of the trials of one rate the last one decided. Where the loader was the limit, a point would be the loader's.
  const decided = new Map(probes.filter(({ isLoaderLimit }) => !isLoaderLimit).map((probe) => [probe.rate, probe]));
  const shown = [...decided.values()].toSorted((a, b) => a.sentPerSecond - b.sentPerSecond);
  const rates = shown.map(({ sentPerSecond }) => sentPerSecond);
  for (const [title, measure] of SIDES) {
    const values = shown.map((probe) => probe[measure]);
    if (values.every((value) => value === null)) continue;
    plot(plots, title, rates, [{ label: measure, values }], { xLabel: 'calls per second', points: true });
  }
  const rows = sorted.map(({ sentPerSecond, perSecond, seconds, p50, p99, cpuMs, broken }) => [
    sentPerSecond.toFixed(1),
    perSecond.toFixed(1),
    Math.round(seconds),
    p50 ?? 'none',
    p99 ?? 'none',
    cpuMs ?? '',
    broken ?? 'holds',
  ]);
  add(main, table(['sent/s', 'right/s', 'seconds', 'p50', 'p99', 'CPU ms', 'objective'], rows));
}

summary();
report.results.forEach(caseSection);
