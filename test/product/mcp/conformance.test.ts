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
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
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

/** Checks within these scenarios that cannot pass, each with its reason. One that passes must not stand here. */
const EXCUSED: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability':
    'It calls test_missing_capability, which samples the model of its client; no tool here asks a client for anything.',
  'sep-2575-missing-capability-http-400':
    'It reads the status of the refusal of that call, which no other tool of this service could be made to answer.',
  'sep-2575-http-server-no-independent-requests-on-stream':
    'It calls test_streaming_elicitation, which asks a person while it works; a tool here answers once and asks nobody.',
  'sep-2575-server-no-log-without-loglevel':
    'It calls test_logging_tool, which logs to its client; the tools here log to the log of the service alone.',
};
const excuses = new Set(Object.keys(EXCUSED));
const failed = new Set<string>();
const MAX_RUN_MS = 600_000;

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
        for (const [, id = '', result, words = ''] of results) {
          if (result === 'FAILURE') failed.add(id);
          t.ok(result === 'SUCCESS' || excuses.has(id), `${id}: ${words}`);
        }
      },
    );
  }
}

t.test(
  'no check is excused that could pass',
  { skip: modules === null && 'the suite cannot be had' },
  (t) => {
    t.same(excuses.difference(failed), new Set());
    t.end();
  },
);
