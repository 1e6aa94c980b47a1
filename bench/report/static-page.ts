import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escaped } from './escaped.ts';

/**
 * A report as one HTML page without a script, for the image of the service: it needs no other package. The report
 * itself is in it as JSON.
 * @param body HTML.
 */
export function staticPage({ title, body, report }: { title: string; body: string; report: object }): string {
  const css = readFileSync(join(import.meta.dirname, 'page.css'), 'utf8');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${css}</style>
<main>
${body}
</main>
<script type="application/json" id="report">${JSON.stringify(report).replaceAll('<', '\\u003c')}</script>
</html>
`;
}

/** Cells that are aligned as numbers: a figure, also with its interval, two of them, or the word for none. */
const NUMBER = /^-?[\d.]+( ?%|\/s)?( \([^)]*\))?$|^\S+ → \S+$|^none$/;

/** @param rows cells as HTML. */
export function htmlTable(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const isNumber = (column: number) => rows.some((row) => NUMBER.test(row[column] ?? ''));
  const names = head.map((name, column) => `<th${isNumber(column) ? ' class="number"' : ''}>${name}</th>`);
  const cellOf = (cell: string) => `<td${NUMBER.test(cell) ? ' class="number"' : ''}>${cell}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`).join('\n');
  return `<div class="scroll"><table><thead><tr>${names.join('')}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>`;
}
