// needs: server, browser
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t from 'tap';
import { CACHE } from '../../bench/services/server.ts';
import { newSigningSecret, signedAttemptHeaders } from '../../src/product/webhooks/endpoints/signing.ts';
import { sharedServer } from '../support/harness.ts';
import { redSquare } from '../support/images.ts';
import { pipInstalled } from '../support/services/pip.ts';

const run = promisify(execFile);
const MAX_RUN_MS = 600_000;
const ROOT = join(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'src/client/python');
const TESTS = ['test_darkroom.py', 'test_tasks.py'].map((name) => join(import.meta.dirname, 'python', name));

t.test('the Python client keeps its promises, and its README runs', async (t) => {
  const otherwise = 'the Python client of the project is NOT tested.';
  const [httpx, pytest] = await Promise.all([
    pipInstalled('httpx', '0.28.1', otherwise),
    pipInstalled('pytest', '8.4.2', otherwise),
  ]);
  if (httpx === null || pytest === null) {
    t.plan(0, 'Python or one of its packages is missing');
    return;
  }
  const server = await sharedServer();
  const { key } = await server.account({ credits: 1_000 });
  const cwd = t.testdir();
  await writeFile(join(cwd, 'red.png'), await redSquare());
  const photo = { create: { width: 1200, height: 900, channels: 3, background: 'red' } } as const;
  await sharp(photo).jpeg().toFile(join(cwd, 'photo.jpg'));
  const body = '{"id":"evt_1","data":{"message":"é"}}';
  const secret = newSigningSecret();
  const signedAt = new Date();
  const event = { eventId: 'evt_1', eventType: 'webhook.test', body, attempts: 0 };
  const headers = signedAttemptHeaders(event, secret, signedAt);
  const env = {
    ...process.env,
    PYTHONPATH: [CLIENT, httpx.folder, pytest.folder].join(delimiter),
    // Compiled modules are kept, and not beside the sources of the client.
    PYTHONPYCACHEPREFIX: join(CACHE, 'python'),
    DARKROOM_URL: server.url,
    DARKROOM_KEY: key,
    RED_PNG: join(cwd, 'red.png'),
    DELIVERY: JSON.stringify({ body, secret, headers, now: signedAt.getTime() / 1000 }),
  };
  const python = (args: readonly string[]) =>
    run(httpx.python, args, { cwd, env, timeout: MAX_RUN_MS }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );

  const tested = await python(['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...TESTS]);
  t.match(tested.stdout, /^\d+ passed/m, tested.stdout);
  t.notMatch(tested.stdout, /failed|error/);

  const readme = await readFile(join(CLIENT, 'README.md'), 'utf8');
  const examples = Array.from(readme.matchAll(/```python\n(.*?)```/gs), ([, code = '']) => code);
  t.equal(examples.length, 3);
  for (const code of examples) t.same((await python(['-c', code])).stderr, '', code);
  const made = { 'small.webp': 800, 'square.jpg': 256, 'card.png': 1200, 'result.jpg': 640 };
  for (const [name, width] of Object.entries(made))
    t.match(await sharp(join(cwd, name)).metadata(), { width }, name);
});
