// needs: server, browser
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import standardwebhooks from 'standardwebhooks';
import t from 'tap';
import { verifyWebhook } from '../../src/client/index.ts';
import { sharedServer } from '../support/harness.ts';
import { serve } from '../support/loopback.ts';
import { until } from '../support/whole-service.ts';
import { MAIN, runner } from './cli-harness.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const environment = { DARKROOM_URL: server.url, DARKROOM_KEY: key };

t.test('a template or a page becomes a picture', async (t) => {
  const cwd = t.testdir();
  const darkroom = runner(cwd, environment);
  writeFileSync(join(cwd, 'page.html'), '<body style="margin:0;background:{{ color }}">{{ title }}</body>');
  writeFileSync(join(cwd, 'row.json'), JSON.stringify({ color: '#f00', title: '' }));
  const size = ['--width', '20', '--height', '10'];
  const page = ['render', '--html', 'page.html', ...size, '--data', 'row.json', '--set', 'color=#00f'];
  t.match(await darkroom([...page, '-o', 'page.webp']), { code: 0, rows: [{ width: 20, format: 'webp' }] });
  const piped = await darkroom([...page.slice(0, -4), '--data', '-'], '{"color": "#00f"}');
  t.match(await sharp(piped.stdout).metadata(), { width: 20, format: 'png' });
  for (const picture of [join(cwd, 'page.webp'), piped.stdout]) {
    const { data } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    t.ok((data[2] ?? 0) > 240 && (data[0] ?? 255) < 16, 'it is blue');
  }
  t.match(await darkroom(['render', '--template', 'social-card', '--set', 'titel=Hello', '-o', 'card.png']), {
    code: 0,
    stderr: /unknown_variable: titel/,
  });
  t.match(await darkroom(['render', '-o', 'x.png']), { code: 2, stderr: /--template and --html/ });
  t.match(await darkroom([...page, '--set', 'color', '-o', 'x.png']), { code: 2, stderr: /NAME=VALUE/ });
  t.match(await darkroom(['render', '--template', 'unknown', '-o', 'x.png']), {
    code: 3,
    stderr: /No template/,
  });
});

t.test('images are read, and compared with each other', async (t) => {
  const cwd = join(import.meta.dirname, '../../docs/gallery/sources');
  const darkroom = runner(cwd, environment);
  const facts = await darkroom(['metadata', 'logo.png', 'macaws.jpg', '--palette', '2']);
  t.match(facts, {
    code: 0,
    rows: [{ input: 'logo.png' }, { input: 'macaws.jpg', image: { format: 'jpeg' } }],
  });
  t.equal(facts.rows[1]?.image.palette.length, 2);
  t.match(await darkroom(['read-text', 'receipt.png']), { code: 0, rows: [{ text: /[A-Z]/ }] });
  t.match(await darkroom(['read-codes', 'receipt.png']), { code: 0, rows: [{ codes: [] }] });
  t.match(await darkroom(['compare', 'macaws.jpg', 'macaws.jpg']), { code: 0, rows: [{ ssim: 1 }] });
  t.match(await darkroom(['compare', 'macaws.jpg']), { code: 2, stderr: /two images/ });
  t.match(await darkroom(['read-text', 'receipt.png', '--language', 'xx']), { code: 3, stderr: /language/ });
});

t.test('listen forwards the end of each job, signed as the service signs', async (t) => {
  const got: Array<{ headers: Record<string, string>; body: string }> = [];
  const receiver = await serve(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    got.push({ headers: request.headers as Record<string, string>, body });
    response.writeHead(204).end();
  });
  const before = await server.call('/jobs?wait=30', { key, json: { op: 'generate', prompt: 'Before' } });
  t.equal(before.json.data.status, 'COMPLETED');
  const cwd = t.testdir();
  const args = ['listen', '--forward-to', `${receiver.url}/hook`];
  const env = { ...process.env, ...environment, DARKROOM_CONFIG: join(cwd, 'none.json') };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  t.teardown(() => child.kill('SIGKILL'));
  let [printed, said] = ['', ''];
  child.stdout.on('data', (text) => (printed += text));
  child.stderr.on('data', (text) => (said += text));
  await until(() => said.includes('whsec_'));
  const [secret = ''] = /whsec_\S+/.exec(said) ?? [];
  const prompts = ['A lighthouse', '[sandbox:reject] A lighthouse'];
  const jobs = await Promise.all(
    prompts.map((prompt) => server.call('/jobs', { key, json: { op: 'generate', prompt } })),
  );
  await until(() => got.length >= 2);
  const heard = await Promise.all(got.map((delivery) => verifyWebhook({ ...delivery, secret })));
  t.same(heard.map(({ type }) => type).sort(), ['job.completed', 'job.failed']);
  t.same(
    heard.map(({ data }) => (data as { jobId: string }).jobId).sort(),
    jobs.map(({ json }) => json.data.id).sort(),
  );
  for (const { body, headers } of got) new standardwebhooks.Webhook(secret).verify(body, headers);
  const { json } = await server.call(`/jobs/${jobs[1]?.json.data.id}`, { key });
  t.match(
    heard.find(({ type }) => type === 'job.failed'),
    { data: { status: 'FAILED', errorCode: json.data.errorCode, failedItems: 1, creditsCharged: 0 } },
  );
  child.kill('SIGTERM');
  const [code] = await once(child, 'close');
  t.equal(code, 0);
  t.equal(printed.trim().split('\n').length, 2, 'one line per event');
  t.match(JSON.parse(printed.split('\n')[0] ?? ''), { event: { type: /^job\./ }, status: 204 });
});
