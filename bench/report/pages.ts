import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * A report as ONE HTML page that needs no network: it contains uPlot, the numbers, and the script that draws them. The
 * numbers are the JSON of the report itself.
 * @param script name of the script in this folder that draws the report.
 */
export function plottedPage({
  title,
  report,
  script,
}: {
  title: string;
  report: object;
  script: string;
}): string {
  const require = createRequire(import.meta.url);
  const uplot = join(require.resolve('uplot/package.json'), '../dist');
  const text = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${text(uplot, 'uPlot.min.css')}
${text(import.meta.dirname, 'page.css')}</style>
<main></main>
<script type="application/json" id="report">${asScriptText(JSON.stringify(report))}</script>
<script>${text(uplot, 'uPlot.iife.min.js')}</script>
<script>${text(import.meta.dirname, 'plots.js')}
${text(import.meta.dirname, script)}</script>
</html>
`;
}

/** JSON for a script element. It is escaped so that no text in it ends the element. */
function asScriptText(json: string): string {
  return json.replaceAll('<', '\\u003c');
}

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
<title>${escapeHtml(title)}</title>
<style>${css}</style>
<main>
${body}
</main>
<script type="application/json" id="report">${JSON.stringify(report).replaceAll('<', '\\u003c')}</script>
</html>
`;
}

/** Matches cells that are aligned as numbers: a figure with or without its interval, two figures, or `none`. */
const NUMBER_PATTERN = /^-?[\d.]+( ?%|\/s)?( \([^)]*\))?$|^\S+ → \S+$|^none$/;

/**
 * A table as HTML.
 * @param rows cells as HTML.
 */
export function htmlTable(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const isNumber = (column: number) => rows.some((row) => NUMBER_PATTERN.test(row[column] ?? ''));
  const names = head.map((name, column) => `<th${isNumber(column) ? ' class="number"' : ''}>${name}</th>`);
  const cellOf = (cell: string) => `<td${NUMBER_PATTERN.test(cell) ? ' class="number"' : ''}>${cell}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`).join('\n');
  return `<div class="scroll"><table><thead><tr>${names.join('')}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>`;
}

/** Text escaped for the HTML or XML of a report, also in an attribute with double quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
