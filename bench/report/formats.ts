import type { SuiteRow } from '../suite.ts';
import { escapeHtml } from './pages.ts';

/** A result as other programs read it: one row for each case, and the checks that it passed or failed. */
export interface FlatResult {
  suite: string;
  at: string;
  rows: readonly SuiteRow[];
  checks: readonly ReportCheck[];
  /** The sides of a comparison by their names; absent if there are none. */
  sides?: Record<'a' | 'b', string>;
}

export interface ReportCheck {
  name: string;
  /** A sentence; null if the check passed, or could not be made. */
  failure: string | null;
  /** Why the check could not be made; absent if it was. */
  skipped?: string;
}

/** A sentence with the number of passed checks and, for a comparison, of possible checks. */
export function countsOf(checks: readonly ReportCheck[]): string {
  const made = checks.filter(({ skipped }) => skipped === undefined);
  const failed = made.filter(({ failure }) => failure !== null).length;
  return made.length === checks.length
    ? `${made.length - failed} of ${made.length} checks passed.`
    : `${made.length} of ${checks.length} compared, ${failed} of them failed.`;
}

/** The reasons for which checks could not be made, each with the number of them. */
export function skippedOf(checks: readonly ReportCheck[]): string[] {
  const counts = new Map<string, number>();
  for (const { skipped } of checks)
    if (skipped !== undefined) counts.set(skipped, (counts.get(skipped) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `${count} not compared: ${reason}`);
}

/** The formats of `--formats`, by name: the ending of the file and its text. */
export const FORMATS = {
  csv: { ending: 'csv', write: asCsv },
  junit: { ending: 'xml', write: asJUnit },
  markdown: { ending: 'md', write: asMarkdown },
  prometheus: { ending: 'prom', write: asPrometheus },
} satisfies Record<string, { ending: string; write: (result: FlatResult) => string }>;

export type Format = keyof typeof FORMATS;

function asCsv({ rows: own, sides }: FlatResult): string {
  const names: SuiteRow = sides === undefined ? {} : { 'a is': sides.a, 'b is': sides.b };
  const rows: SuiteRow[] = own.map((row) => ({ ...row, ...names }));
  const columns = columnsOf(rows);
  const cell = (value: SuiteRow[string] | undefined) => {
    const text = String(value ?? '');
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return tableLines([columns.map(cell), ...rows.map((row) => columns.map((name) => cell(row[name])))], ',');
}

/** One test case for each check, as CI systems draw them. */
function asJUnit({ suite, at, checks }: FlatResult): string {
  const failures = checks.filter(({ failure }) => failure !== null).length;
  const skips = checks.filter(({ skipped }) => skipped !== undefined).length;
  const cases = checks.map(({ name, failure, skipped }) => {
    const head = `  <testcase classname="${escapeHtml(suite)}" name="${escapeHtml(name)}"`;
    const within = (ending: string, message: string) =>
      `${head}>\n    <${ending} message="${escapeHtml(message)}"/>\n  </testcase>`;
    if (failure !== null) return within('failure', failure);
    return skipped === undefined ? `${head}/>` : within('skipped', skipped);
  });
  const counts = `tests="${checks.length}" failures="${failures}" skipped="${skips}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escapeHtml(suite)}" timestamp="${at.slice(0, 19)}" ${counts}>`,
    ...cases,
    '</testsuite>\n',
  ].join('\n');
}

function asMarkdown({ suite, at, rows, checks, sides }: FlatResult): string {
  const columns = columnsOf(rows);
  const cell = (value: SuiteRow[string] | undefined) => String(value ?? '').replaceAll('|', '\\|');
  const line = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  const remarks = [...checks.flatMap(({ failure }) => failure ?? []), ...skippedOf(checks)];
  return [
    `## ${suite}`,
    '',
    `${at}: ${countsOf(checks)}`,
    '',
    ...(sides === undefined ? [] : [`A is ${sides.a}, B is ${sides.b}.`, '']),
    ...remarks.map((remark) => `- ${remark}`),
    ...(remarks.length > 0 ? [''] : []),
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((name) => cell(row[name])))),
    '',
  ].join('\n');
}

/** Units in the names of columns, with the base unit that Prometheus has for them and its factor. */
const UNITS: Record<string, { base: string; factor: number }> = {
  ms: { base: 'seconds', factor: 0.001 },
  s: { base: 'seconds', factor: 1 },
  kB: { base: 'bytes', factor: 1_000 },
  MB: { base: 'bytes', factor: 1_048_576 },
  bytes: { base: 'bytes', factor: 1 },
};

/**
 * Each numeric column is a gauge. The texts before the first number name a row and are its labels. Texts after it, such
 * as an error, would make a new series with each run (text exposition format 0.0.4).
 */
function asPrometheus({ suite, rows }: FlatResult): string {
  const columns = columnsOf(rows);
  const isNumeric = (name: string) => rows.some((row) => typeof row[name] === 'number');
  const labels = columns
    .slice(0, columns.findIndex(isNumeric))
    .filter((name) => rows.some((row) => row[name]));
  return columns
    .filter(isNumeric)
    .flatMap((column) => {
      const { name, factor } = gaugeOf(column);
      const samples = rows.flatMap((row) => {
        const value = row[column];
        if (typeof value !== 'number') return [];
        const texts = [
          ['suite', suite],
          ...labels.map((label) => [snakeCase(label), String(row[label] ?? '')]),
        ];
        const pairs = texts.map(([label, text]) => `${label}=${JSON.stringify(text)}`);
        return [`${name}{${pairs.join(',')}} ${Number((value * factor).toPrecision(12))}`];
      });
      return [`# HELP ${name} ${helpOf(column)}`, `# TYPE ${name} gauge`, ...samples];
    })
    .concat('')
    .join('\n');
}

/** The columns of a comparison. A name that ends with `_b` would be read as one in bytes. */
const SIDE_GAUGES: Record<string, { name: string; help: string }> = {
  a: { name: 'first side', help: 'Mean of side A, in the unit of its measure' },
  b: { name: 'second side', help: 'Mean of side B, in the unit of its measure' },
};

/** The name of a column's gauge in base units, and the factor to them. */
function gaugeOf(column: string): { name: string; factor: number } {
  const words = column.replaceAll('/s', ' per second').replaceAll('%', 'percent').split(/\W+/);
  const unit = words.map((word) => UNITS[word]).find((found) => found !== undefined);
  const named = SIDE_GAUGES[column]?.name ?? words.map((word) => UNITS[word]?.base ?? word).join(' ');
  return { name: `darkroom_bench_${snakeCase(named)}`, factor: unit?.factor ?? 1 };
}

function helpOf(column: string): string {
  const percentile = /^(idle )?p\d+$/.test(column) ? `Latency, ${column}, in milliseconds` : null;
  const help = SIDE_GAUGES[column]?.help ?? percentile ?? `The column "${column}" of the result`;
  return `${help}.`.replaceAll('\\', '\\\\');
}

function snakeCase(text: string): string {
  return text.trim().replaceAll(/\W+/g, '_').toLowerCase();
}

function columnsOf(rows: readonly SuiteRow[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

function tableLines(table: readonly string[][], separator: string): string {
  return table.map((line) => `${line.join(separator)}\n`).join('');
}
