// needs: server
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { call, connected, photo, REVISIONS } from './client.ts';

const COMMAND = [join(import.meta.dirname, '../../../src/host/darkroom.ts'), 'mcp'];
const server = await sharedServer();
const { key } = await server.account();
const directory = t.testdir();
await writeFile(join(directory, 'photo.jpg'), await photo());
await writeFile(join(directory, 'notes.txt'), 'no image');

const { NODE_COMPILE_CACHE } = process.env;
const bare = { HOME: directory, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
const started = (environment: Record<string, string>) =>
  new StdioClientTransport({
    ...{ command: process.execPath, args: COMMAND, cwd: directory, stderr: 'pipe' },
    env: { ...bare, ...environment },
  });

for (const revision of REVISIONS) {
  t.test(`a host starts the tools by one line and names files by their paths (${revision})`, async (t) => {
    const transport = started({ DARKROOM_URL: `${server.url}/`, DARKROOM_KEY: key });
    const client = await connected(t, transport, revision);
    t.equal((await client.listTools()).tools.length, 9);
    const steps = [{ op: 'resize', parameters: { width: 64, format: 'webp' } }];
    const made = await call(client, 'run', { input: 'photo.jpg', steps });
    t.match(made.data, { width: 64, height: 48, format: 'webp' }, made.text);
    const seen = await call(client, 'look', { input: join(directory, 'photo.jpg'), size: 100 });
    t.same([seen.data, seen.pictures.length], [{ width: 100, height: 75 }, 1]);
    t.match((await call(client, 'look', { input: made.data.link })).data, { width: 64 });
    const { meta } = (await server.call('/assets', { key })).json;
    t.equal(meta.total, 1, 'the file was uploaded once');
    const inputs = ['photo.jpg', 'other.jpg'];
    const job = await call(client, 'job', {
      action: 'submit',
      op: 'flip',
      inputs,
      dryRun: true,
    });
    t.match(job.data, { totalItems: 2 }, 'a dry run uploads nothing');
    for (const input of ['nothing.jpg', directory, 'notes.txt']) {
      const refused = await call(client, 'look', { input });
      t.match(refused, { isError: true, data: { error: { param: 'input' } } }, input);
    }
  });
}

t.test('a service that is away is named, and a missing key ends the process with a sentence', async (t) => {
  const transport = started({ DARKROOM_URL: 'http://127.0.0.1:9', DARKROOM_KEY: key });
  const client = await connected(t, transport, '2025-11-25');
  const answer = await call(client, 'ops');
  t.match(answer.data.error, { code: 'provider_unavailable', retryable: true, message: /127\.0\.0\.1:9/ });
  const run = promisify(execFile)(process.execPath, COMMAND, { env: bare });
  await t.rejects(run, { code: 2, stderr: /A key is missing: set DARKROOM_KEY/ });
});
