/* Draws the report of a comparison, with the functions of plots.js. */

/** Changes beyond this are drawn at the edge. */
const WIDEST = 0.5;
const WIDTH = 300;

/** The interval of a change as a line with its mean, and the line of no change. */
function interval({ by, low, high, isShown }) {
  const at = (change) => ((Math.max(-WIDEST, Math.min(WIDEST, change)) + WIDEST) / (2 * WIDEST)) * WIDTH;
  const line = (x1, x2, y1, y2, stroke) => `<line x1="${x1}" x2="${x2}" y1="${y1}" y2="${y2}" stroke="${stroke}" stroke-width="2"/>`;
  const stroke = isShown ? 'var(--bad)' : 'var(--accent)';
  const drawn = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  drawn.setAttribute('viewBox', `0 0 ${WIDTH} 16`);
  drawn.setAttribute('preserveAspectRatio', 'none');
  drawn.innerHTML = `${line(at(0), at(0), 0, 16, '#8888')}${line(at(low), at(high), 8, 8, stroke)}<circle cx="${at(by)}" cy="8" r="4" fill="${stroke}"/>`;
  return drawn;
}

function comparison() {
  const { suite, at, host, command, sides, conclusion, method, rows } = report;
  add(main, element('h1', suite));
  add(main, element('p', conclusion, 'verdict'));
  add(main, element('p', `A is ${sides.a}, B is ${sides.b}.`));
  add(main, element('p', method));
  add(main, element('p', `${at} · ${host.cores} cores (${host.cpu}) · Node ${host.node}`, 'note'));
  add(main, element('p', `Command: ${command}`, 'note'));
  for (const stage of new Set(rows.map((row) => row.stage))) {
    add(main, element('h2', stage));
    const of = rows.filter((row) => row.stage === stage);
    const head = ['case', 'measure', 'change', 'A', 'B', `−${WIDEST * 100} % to +${WIDEST * 100} %`];
    const made = add(main, table(head, of.map((row) => [row.case, row.measure, row.conclusion, row.a ?? 'none', row.b ?? 'none', ''])));
    made.querySelectorAll('tbody tr').forEach((line, index) => {
      const { change } = of[index];
      if (change !== null) line.lastElementChild.append(interval(change));
    });
  }
}

comparison();
