// needs: nothing
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { LoadReport } from '../../bench/report/load-report.ts';
import { serve } from '../support/loopback.ts';

const MAIN = join(import.meta.dirname, '../../bench/main.ts');
const SUITE = `export default {
  name: 'own',
  description: 'Two stages of hours.',
  cases: { calls: { description: 'A call.', prepare: async () => () => ({ method: 'GET', path: '/call' }) } },
  stages: [
    { name: 'first', seconds: 36_000, loop: 'closed', connections: { calls: 2 } },
    { name: 'second', seconds: 36_000, loop: 'closed', connections: { calls: 2 } },
  ],
};`;

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  t.test(`${signal} ends a run with a report of what was measured`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-stop-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'own.ts'), SUITE);
    const keys = new Set<string | undefined>();
    let calls = 0;
    const { url } = await serve(t, (request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url === '/openapi.json')
        return response.end('{"info":{"title":"Darkroom","version":"9.9.9"}}');
      if (request.url === '/api/v1/account') {
        const limits = { requestsPerMinute: 60, syncConcurrency: 64 };
        return response.end(JSON.stringify({ data: { id: request.headers.authorization, limits } }));
      }
      if (request.url === '/call') {
        keys.add(request.headers.authorization);
        calls += 1;
        if (calls === 100) bench.kill(signal);
      }
      response.end('{}');
    });
    await writeFile(join(folder, 'keys'), 'one\ntwo\n');
    const words = ['--suite', join(folder, 'own.ts'), '--url', url, '--keys', join(folder, 'keys')];
    const bench = spawn(process.execPath, [MAIN, ...words, '--out', join(folder, 'out')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    for (const stream of [bench.stdout, bench.stderr])
      stream.on('data', (chunk: Buffer) => {
        printed += chunk.toString('utf8');
      });
    const [code] = await once(bench, 'exit');
    t.equal(code, exitCode, printed);
    t.match(printed, /Darkroom 9\.9\.9, 2 accounts/);
    const [file] = (await readdir(join(folder, 'out'))).filter((name) => name.endsWith('.json'));
    const report = JSON.parse(await readFile(join(folder, 'out', String(file)), 'utf8')) as LoadReport;
    t.match(report, { isStopped: true, instance: { version: '9.9.9', accounts: 2 } });
    t.same(
      report.stages.map(({ name }) => name),
      ['first'],
      'the second stage was not begun',
    );
    t.equal(report.stages[0]?.cases.calls?.sent, calls);
    t.same([...keys].sort(), ['ApiKey one', 'ApiKey two'], 'the keys take turns');
  });
