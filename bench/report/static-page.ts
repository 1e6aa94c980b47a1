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

/** @param rows cells as HTML. */
export function htmlTable(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n');
  const names = head.map((name) => `<th>${name}</th>`).join('');
  return `<div class="scroll"><table><thead><tr>${names}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>`;
}
