import type { SuiteResult } from '../suite.ts';
import { escaped } from './escaped.ts';

/** A result as one HTML page: its table, and a bar for each ratio. It needs no other files. */
export function page(
  result: SuiteResult & { suite: string; at: string; cores: number; node: string },
): string {
  const columns = Object.keys(result.rows[0] ?? {});
  const head = columns.map((name) => `<th>${escaped(name)}</th>`).join('');
  const body = result.rows.map(
    (row) => `<tr>${columns.map((name) => `<td>${cell(name, row[name])}</td>`).join('')}</tr>`,
  );
  return `<!doctype html>
<meta charset="utf-8">
<title>${escaped(result.suite)}</title>
<style>
  body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; }
  table { border-collapse: collapse; }
  th, td { padding: 0.3rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }
  th:first-child, td:first-child { text-align: left; }
  .bar { display: inline-block; height: 0.8em; background: #4a7bd0; margin-right: 0.5em; }
</style>
<h1>${escaped(result.suite)}</h1>
<p>${escaped(result.method)}</p>
<p>${escaped(result.at)} · ${result.cores} cores · Node ${escaped(result.node)}</p>
<table><thead><tr>${head}</tr></thead><tbody>
${body.join('\n')}
</tbody></table>
`;
}

function cell(name: string, value: string | number | undefined): string {
  if (typeof value !== 'number' || !name.startsWith('ratio')) return escaped(String(value ?? ''));
  return `<span class="bar" style="width:${Math.round(Math.min(value, 3) * 60)}px"></span>${value}`;
}
