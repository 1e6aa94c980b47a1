import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { escaped } from './escaped.ts';

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
<title>${escaped(title)}</title>
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
