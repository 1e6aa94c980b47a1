import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { escaped } from './escaped.ts';
import type { LoadReport } from './load-report.ts';

/**
 * A report as ONE HTML page that needs no network: it contains uPlot, the plots' script and the numbers. The numbers
 * are the JSON of the report itself, and every figure and plot is drawn from them.
 */
export function loadPage(report: LoadReport): string {
  const require = createRequire(import.meta.url);
  const uplot = join(require.resolve('uplot/package.json'), '../dist');
  const script = readFileSync(join(import.meta.dirname, 'plots.js'), 'utf8');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(`${report.suite} ${report.at}`)}</title>
<style>${readFileSync(join(uplot, 'uPlot.min.css'), 'utf8')}
${readFileSync(join(import.meta.dirname, 'page.css'), 'utf8')}</style>
<main></main>
<script type="application/json" id="report">${asScriptText(JSON.stringify(report))}</script>
<script>${readFileSync(join(uplot, 'uPlot.iife.min.js'), 'utf8')}</script>
<script>${script}</script>
</html>
`;
}

/** JSON for a script element. It is escaped so that no text in it ends the element. */
function asScriptText(json: string): string {
  return json.replaceAll('<', '\\u003c');
}
