import { html, useState, type View } from '../html.ts';
import { readReport } from '../operator.ts';
import type { OperatorRun } from '../operator-schema.ts';
import { Button } from '../parts/controls.ts';
import { Filters } from '../parts/lists.ts';
import { ErrorBox, Page, Progress, Section } from '../parts/page.ts';
import { useLoad } from '../parts/reading.ts';
import { Copy, countText, Time } from '../parts/values.ts';
import { useQuery } from '../router.ts';
import { Curves } from './curves.ts';
import { type CaseFigures, type Figure, isBetter, type RunFigures, readFigures } from './reports.ts';

/** A bench run, with the letter that tables use for it. */
interface LetteredRun {
  letter: string;
  run: OperatorRun;
  figures: RunFigures;
  cases: ReadonlyMap<string, CaseFigures>;
}

const RUN_LETTERS = 'ABCDEF';
export const MAX_COMPARED_RUNS = RUN_LETTERS.length;
const MIN_SHOWN_CHANGE_PERCENT = 0.5;
const MAX_INITIAL_CASES = 60;
/**
 * The maximum number of columns in a table. The bench's own reports have about ten measures; a file with thousands
 * would freeze the page.
 */
const MAX_TABLE_COLUMNS = 40;

/** Compares bench runs: first the differences of their environments, then their figures and curves. */
export function RunComparison({ runs }: { runs: readonly OperatorRun[] }) {
  const { data, error, isLoading, reload } = useLoad(
    (signal) =>
      Promise.all(
        runs.map(async (run, index): Promise<LetteredRun> => {
          const figures = readFigures(await readReport(run.name, signal));
          const cases = new Map(figures.cases.map((one) => [one.name, one]));
          return { letter: RUN_LETTERS[index] ?? '', run, figures, cases };
        }),
      ),
    [runs.map(({ name }) => name)],
  );
  const title = runs.length === 1 ? (runs[0]?.suite ?? 'Run') : `${runs.length} runs`;
  return html`<${Page} title=${title} above=${{ title: 'Runs', path: '/console/runs' }}>
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${isLoading && data === undefined && html`<${Progress} label="Reading the reports" />`}
    ${data !== undefined && html`<${RunHeaders} runs=${data} /><${RunEnvironments} runs=${data} /><${RunFigureTables} runs=${data} />`}
  <//>`;
}

function RunHeaders({ runs }: { runs: readonly LetteredRun[] }) {
  return html`<div class="run-heads">
    ${runs.map(
      ({ letter, run, figures }, index) => html`<section key=${run.name} class=${`card series-${index}`}>
        <h2>${runs.length > 1 && html`<b class="letter">${letter}</b> `}${run.suite} <span class="quiet">${run.kind}</span></h2>
        <p class="quiet"><${Time} at=${run.at} /> ${run.commit !== null && html`<code>${run.commit}</code>`} <code>${run.name}</code></p>
        ${figures.sentences.slice(0, 4).map((sentence) => html`<p key=${sentence}>${sentence}</p>`)}
        ${run.command !== null && html`<p class="command">Repeat it: <${Copy} text=${run.command} /></p>`}
      </section>`,
    )}
  </div>`;
}

/** The differences between machines, versions and settings. Values that are equal in all runs are collapsed. */
function RunEnvironments({ runs }: { runs: readonly LetteredRun[] }) {
  const names = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures.environment)))];
  const rows = names.map((name) => ({
    name,
    values: runs.map(({ figures }) => figures.environment[name] ?? '–'),
  }));
  const differing = rows.filter(({ values }) => new Set(values).size > 1);
  const same = rows.filter(({ values }) => new Set(values).size === 1);
  const tableView = (of: typeof rows, columns: readonly string[]) => html`<${ScrollBox}><table>
    <thead><tr><th scope="col">Name</th>${columns.map((column) => html`<th key=${column} scope="col">${column}</th>`)}</tr></thead>
    <tbody>
      ${of.map(
        ({ name, values }) => html`<tr key=${name}>
          <th scope="row">${name}</th>
          ${columns.map((column, index) => html`<td key=${column}>${values[index]}</td>`)}
        </tr>`,
      )}
    </tbody>
  </table><//>`;
  return html`<${Section} title=${runs.length > 1 ? 'What differs around them' : 'Environment and settings'}>
    ${runs.length > 1 && differing.length === 0 && html`<p>Machine, versions and settings are the same.</p>`}
    ${
      differing.length > 0 &&
      tableView(
        differing,
        runs.map(({ letter }) => letter),
      )
    }
    ${
      same.length > 0 &&
      html`<details open=${runs.length === 1}>
        <summary>${runs.length > 1 ? `${same.length} are the same` : 'As they were'}</summary>
        ${tableView(same, [runs.length > 1 ? 'All' : 'Value'])}
      </details>`
    }
  <//>`;
}

function RunFigureTables({ runs }: { runs: readonly LetteredRun[] }) {
  const cases = runs.flatMap(({ figures }) => figures.cases);
  const measures = [...new Set(cases.flatMap((one) => Object.keys(one.measures)))];
  const names = [...new Set(cases.map(({ name }) => name))];
  const curved = [...new Set(cases.filter(({ curve = [] }) => curve.length > 0).map(({ name }) => name))];
  const [{ measure, at }, change] = useQuery({ measure: measures[0] ?? '', at: '' });
  const shownCase = curved.includes(at) ? at : curved[0];
  const isAlone = runs.length === 1;
  return html`
    <${Section} title="Figures">
      ${!isAlone && html`<${Filters} fields=${[{ name: 'measure', label: 'Measure', kind: 'choice', choices: measures }]} values=${{ measure }} onChange=${change} />`}
      <${CaseTable} ...${isAlone ? measureTableOf(cases, measures) : compareMeasure(runs, names, measure)} />
    <//>
    ${
      shownCase !== undefined &&
      html`<${Section} title="Percentiles">
        <${Filters} fields=${[{ name: 'at', label: 'Case', kind: 'choice', choices: curved }]} values=${{ at: shownCase }} onChange=${change} />
        <${Curves}
          curves=${runs.flatMap(({ letter, run, cases }) => {
            const points = cases.get(shownCase)?.curve ?? [];
            if (points.length === 0) return [];
            return [{ label: isAlone ? shownCase : `${letter} ${run.commit ?? ''}`, points }];
          })}
        />
      <//>`
    }
  `;
}

/** A table that scrolls sideways if it is wider than the window. */
function ScrollBox({ children }: { children?: View }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table">${children}</div>`;
}

interface CaseTableProps {
  columns: readonly string[];
  rows: readonly { name: string; cells: readonly View[] }[];
}

/**
 * The figures of the cases. Only the first cases are shown until the user requests all, because a report may have any
 * number.
 */
function CaseTable({ columns, rows }: CaseTableProps) {
  const [isOpen, setIsOpen] = useState(false);
  const shown = isOpen ? rows : rows.slice(0, MAX_INITIAL_CASES);
  return html`<${ScrollBox}><table class="figures">
      <thead>
        <tr><th scope="col">Case</th>${columns.map((one) => html`<th key=${one} scope="col" class="number">${one}</th>`)}</tr>
      </thead>
      <tbody>
        ${shown.map(
          ({ name, cells }) => html`<tr key=${name}>
            <th scope="row">${name}</th>
            ${cells.map((cell, index) => html`<td key=${index} class="number">${cell}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table><//>
    ${shown.length < rows.length && html`<${Button} onClick=${() => setIsOpen(true)}>All ${rows.length} cases<//>`}`;
}

/** One measure of every case: a column per run, and the change from the first run to the last. */
function compareMeasure(
  runs: readonly LetteredRun[],
  names: readonly string[],
  measure: string,
): CaseTableProps {
  const rows = names
    .map((name) => ({ name, values: runs.map(({ cases }) => cases.get(name)?.measures[measure] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null))
    .map(({ name, values }) => ({
      name,
      cells: [...values.map(figureText), changeView(measure, values[0], values.at(-1))],
    }));
  const change = `${runs[0]?.letter} to ${runs.at(-1)?.letter}`;
  return { columns: [...runs.map(({ letter }) => letter), change], rows };
}

function measureTableOf(cases: readonly CaseFigures[], measures: readonly string[]): CaseTableProps {
  const columns = measures.slice(0, MAX_TABLE_COLUMNS);
  const rows = cases.map(({ name, measures: own }) => ({
    name,
    cells: columns.map((one) => figureText(own[one])),
  }));
  return { columns, rows };
}

function figureText(value: Figure | undefined): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'number' ? countText(Number(value.toPrecision(4))) : value;
}

function changeView(measure: string, before: Figure | undefined, after: Figure | undefined) {
  if (typeof before !== 'number' || typeof after !== 'number' || before === 0) return '–';
  const percent = (after / before - 1) * 100;
  const text = `${percent > 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`;
  if (Math.abs(percent) < MIN_SHOWN_CHANGE_PERCENT) return html`<span class="quiet">${text}</span>`;
  return html`<span class=${`change ${isBetter(measure, before, after) ? 'good' : 'bad'}`}>${text}</span>`;
}
