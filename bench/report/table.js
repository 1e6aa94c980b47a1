/* Draws the rows of a suite that compares with a baseline, with the functions of plots.js. */

/** Width of the bar of a ratio of 1, in pixels. */
const ONE = 60;
const WIDEST = 3;

function suitePage() {
  const { suite, at, cores, node, method, rows, curves = [], missed = [] } = report;
  add(main, element('h1', suite));
  if (missed.length > 0) add(main, element('p', `${missed.length === 1 ? 'One aim was' : `${missed.length} aims were`} missed.`, 'verdict'));
  for (const sentence of missed) add(main, element('p', `Missed: ${sentence}`, 'bad'));
  add(main, element('p', method));
  add(main, element('p', `${at} · ${cores} cores · Node ${node}`, 'note'));
  const plots = add(main, element('div', undefined, 'plots'));
  for (const { title, xLabel, yLabel, points } of curves) {
    const sorted = points.toSorted((a, b) => a.x - b.x);
    const values = sorted.map(({ y }) => y);
    plot(plots, title, sorted.map(({ x }) => x), [{ label: yLabel, values }], { xLabel, yLabel, points: true });
  }
  const columns = Object.keys(rows[0] ?? {});
  const made = add(main, table(columns, rows.map((row) => columns.map((name) => row[name] ?? ''))));
  made.querySelectorAll('tbody tr').forEach((line, index) => {
    columns.forEach((name, column) => {
      const value = rows[index][name];
      if (typeof value !== 'number' || !name.startsWith('ratio')) return;
      const bar = element('span', undefined, 'ratio');
      bar.style.width = `${Math.min(value, WIDEST) * ONE}px`;
      line.children[column].prepend(bar);
    });
  });
}

suitePage();
