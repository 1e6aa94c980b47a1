import type { Row } from '../suite.ts';
import { escaped } from './escaped.ts';

/** A result as other programs read it: one row for each case, and the checks that it passed or failed. */
export interface FlatResult {
  suite: string;
  at: string;
  rows: readonly Row[];
  checks: readonly Check[];
}

export interface Check {
  name: string;
  /** A sentence; null where the check passed. */
  failure: string | null;
}

/** The formats of `--formats`, by name: the ending of the file and its text. */
export const FORMATS = {
  csv: { ending: 'csv', write: asCsv },
  junit: { ending: 'xml', write: asJUnit },
  markdown: { ending: 'md', write: asMarkdown },
  prometheus: { ending: 'prom', write: asPrometheus },
} satisfies Record<string, { ending: string; write: (result: FlatResult) => string }>;

export type Format = keyof typeof FORMATS;

function asCsv({ rows }: FlatResult): string {
  const columns = columnsOf(rows);
  const cell = (value: Row[string] | undefined) => {
    const text = String(value ?? '');
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return lines([columns.map(cell), ...rows.map((row) => columns.map((name) => cell(row[name])))], ',');
}

/** One test case for each check, as CI systems draw them. */
function asJUnit({ suite, at, checks }: FlatResult): string {
  const failures = checks.filter(({ failure }) => failure !== null).length;
  const cases = checks.map(({ name, failure }) => {
    const head = `  <testcase classname="${escaped(suite)}" name="${escaped(name)}"`;
    return failure === null
      ? `${head}/>`
      : `${head}>\n    <failure message="${escaped(failure)}"/>\n  </testcase>`;
  });
  const counts = `tests="${checks.length}" failures="${failures}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escaped(suite)}" timestamp="${at.slice(0, 19)}" ${counts}>`,
    ...cases,
    '</testsuite>\n',
  ].join('\n');
}

function asMarkdown({ suite, at, rows, checks }: FlatResult): string {
  const columns = columnsOf(rows);
  const cell = (value: Row[string] | undefined) => String(value ?? '').replaceAll('|', '\\|');
  const line = (values: readonly string[]) => `| ${values.join(' | ')} |`;
  const failed = checks.filter(({ failure }) => failure !== null);
  return [
    `## ${suite}`,
    '',
    `${at}: ${checks.length - failed.length} of ${checks.length} checks passed.`,
    '',
    ...failed.map(({ failure }) => `- ${failure}`),
    ...(failed.length > 0 ? [''] : []),
    line(columns),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((name) => cell(row[name])))),
    '',
  ].join('\n');
}

/** Columns that name a row; other texts would make a new series with each run. */
const LABELS = ['stage', 'case', 'measure'];

/** Each numeric column is a gauge, with the names of its row as labels (text exposition format 0.0.4). */
function asPrometheus({ suite, rows }: FlatResult): string {
  const gauges = columnsOf(rows).filter((name) => rows.some((row) => typeof row[name] === 'number'));
  return gauges
    .flatMap((column) => {
      const gauge = `darkroom_bench_${nameOf(column)}`;
      const samples = rows.flatMap((row) => {
        const value = row[column];
        if (typeof value !== 'number') return [];
        const names = LABELS.filter((name) => name in row).map((name) => [name, row[name]]);
        const labels = [['suite', suite], ...names].map(([name, text]) => `${name}=${JSON.stringify(text)}`);
        return [`${gauge}{${labels.join(',')}} ${value}`];
      });
      return [`# TYPE ${gauge} gauge`, ...samples];
    })
    .concat('')
    .join('\n');
}

function nameOf(column: string): string {
  return column
    .replaceAll('/s', ' per second')
    .replaceAll('%', 'percent')
    .trim()
    .replaceAll(/\W+/g, '_')
    .toLowerCase();
}

function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

function lines(table: readonly string[][], separator: string): string {
  return table.map((line) => `${line.join(separator)}\n`).join('');
}
