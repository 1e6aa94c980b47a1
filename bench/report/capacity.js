/* Draws the report of a search for capacity, with the functions of plots.js. */

const SIDES = [
  ['Right answers per second', 'perSecond'],
  ['p50 (ms)', 'p50'],
  ['p99 (ms)', 'p99'],
  ['CPU per answer (ms)', 'cpuMs'],
];

function summary() {
  const { host, at, url, objective, results } = report;
  add(main, element('h1', `Capacity for ${objective}`));
  add(
    main,
    element('p', `${at} · ${url ?? 'started by the bench'} · ${host.cores} cores (${host.cpu}), ${host.memoryMegabytes} MB`, 'note'),
  );
  const head = ['case', 'highest rate that holds', 'per CPU second', 'p50', 'p99', 'CPU ms per answer', 'MB of all processes'];
  const rows = results.map(({ case: name, best, isAtLeast }) => {
    if (best === null) return [name, 'none', '', '', '', '', ''];
    const rate = `${isAtLeast ? 'at least ' : ''}${best.rate.toFixed(1)}/s`;
    const perCpuSecond = best.cpuMs ? (1000 / best.cpuMs).toFixed(1) : '';
    return [name, rate, perCpuSecond, best.p50 ?? 'none', best.p99 ?? 'none', best.cpuMs ?? '', best.megabytes ?? ''];
  });
  add(main, table(head, rows));
}

function caseSection({ case: name, description, probes }) {
  add(main, element('h2', name));
  add(main, element('p', description));
  const sorted = probes.toSorted((a, b) => a.rate - b.rate);
  const plots = add(main, element('div', undefined, 'plots'));
  // A rate that failed was tried twice; the plots show its second trial.
  const shown = [...new Map(sorted.map((probe) => [probe.rate, probe])).values()];
  const rates = shown.map(({ rate }) => rate);
  for (const [title, measure] of SIDES) {
    const values = shown.map((probe) => probe[measure]);
    if (values.every((value) => value === null)) continue;
    plot(plots, title, rates, [{ label: measure, values }], { xLabel: 'calls per second', points: true });
  }
  const rows = sorted.map(({ rate, perSecond, p50, p99, cpuMs, broken }) => [
    rate.toFixed(1),
    perSecond,
    p50 ?? 'none',
    p99 ?? 'none',
    cpuMs ?? '',
    broken ?? 'holds',
  ]);
  add(main, table(['calls/s', 'right/s', 'p50', 'p99', 'CPU ms', 'objective'], rows));
}

summary();
report.results.forEach(caseSection);
