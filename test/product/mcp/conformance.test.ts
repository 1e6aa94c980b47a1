// needs: server
import { execFile } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { serve } from '../../support/loopback.ts';
import { npmInstalled } from '../../support/services/npm.ts';
import type { Revision } from './client.ts';

/**
 * The official suite of the protocol, against /mcp. Its other scenarios call tools, prompts and resources that only its
 * demonstration server has, or sessions, which this service does not have.
 */
const SCENARIOS: Record<Revision, readonly string[]> = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  '2026-07-28': [
    'server-stateless',
    'tools-list',
    'caching',
    'http-header-validation',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
    'input-required-result-unsupported-methods',
  ],
};

/** Checks within these scenarios that need what a server of tools alone does not have. */
const OF_OTHER_SERVERS: Readonly<Record<string, readonly string[]>> = {
  'tools of the demonstration server': [
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ],
  subscriptions: ['sep-2575-server-sends-subscription-ack', 'sep-2575-server-tags-subscription-id'],
  'prompts and resources': [
    'sep-2549-prompts-list-caching-hints',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
};
const EXPECTED = Object.values(OF_OTHER_SERVERS).flat();
const MAX_RUN_MS = 60_000;

const run = promisify(execFile);
const modules = await npmInstalled({ '@modelcontextprotocol/conformance': '0.2.0-alpha.12' });

/** The suite sends no credential: a proxy adds the key, and passes everything else on as it is. */
let target = '';
let key = '';
const proxy = await serve(t, (incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
  const { url = '/', method } = incoming;
  const forwarded = httpRequest(new URL(url, target), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  forwarded.on('error', () => outgoing.destroy());
  incoming.pipe(forwarded);
});
const server = await startServer(t, { settings: { REQUESTS_PER_MINUTE: '100000', CORS_ORIGINS: proxy.url } });
({ key } = await server.account());
target = server.url;

for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
  for (const scenario of scenarios) {
    t.test(
      `${scenario} of ${revision}`,
      { skip: modules === null && 'the suite cannot be had' },
      async (t) => {
        const suite = join(modules ?? '', '@modelcontextprotocol/conformance/dist/index.js');
        const named = ['--scenario', scenario, '--spec-version', revision];
        const options = { cwd: t.testdir(), timeout: MAX_RUN_MS };
        const said = await run(
          process.execPath,
          [suite, 'server', '--url', `${proxy.url}/mcp`, ...named],
          options,
        ).catch((error: { stdout: string }) => error);
        const text = stripVTControlCharacters(said.stdout);
        const results = [...text.matchAll(/\[([a-z0-9-]+) *\] (SUCCESS|FAILURE) ([^\n]*)/g)];
        t.ok(
          results.some(([, , result]) => result === 'SUCCESS'),
          text.slice(0, 400),
        );
        for (const [, id = '', result, words = ''] of results)
          t.ok(result === 'SUCCESS' || EXPECTED.includes(id), `${id}: ${words}`);
      },
    );
  }
}
