// needs: server, browser
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { chromium } from 'playwright';
import sharp from 'sharp';
import t from 'tap';
import { newSigningSecret, signedAttemptHeaders } from '../../src/product/webhooks/endpoints/signing.ts';
import { findBrowser } from '../../workers/render/executable.ts';
import { startServer } from '../support/harness.ts';
import { serve } from '../support/loopback.ts';
import { until } from '../support/whole-service.ts';
import { clientProject, compile, examplesOf, otherNode, ROOT } from './project.ts';

const MAX_COMPRESSED_BYTES = 12_000;
const WEBHOOKS = 'Webhooks';
const project = await clientProject(t);
const installed = join(project.folder, 'node_modules/darkroom-client');
const { url: origin } = await serve(t, (request, response) => {
  const name = new URL(request.url ?? '/', 'http://page').pathname;
  const isScript = name.endsWith('.js');
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(isScript ? readFileSync(join(installed, name)) : '<!doctype html><title>A page</title>');
});
const server = await startServer(t, { settings: { CORS_ORIGINS: origin } });
const { key } = await server.account({ credits: 1_000 });
const environment = { DARKROOM_URL: server.url, DARKROOM_KEY: key };
const photo = { create: { width: 1200, height: 900, channels: 3, background: 'red' } } as const;
await writeFile(join(project.folder, 'photo.jpg'), await sharp(photo).jpeg().toBuffer());

t.test('the package is small, has no dependency, and holds no source', async (t) => {
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  const own = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  t.match(manifest, { version: own.version, license: own.license, dependencies: undefined });
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
  t.same(
    files.filter((name) => /(?<!\.d)\.ts$|pack\./.test(name)),
    [],
  );
  for (const name of ['LICENSE', 'README.md', 'index.d.ts', 'cli/main.js']) t.ok(files.includes(name), name);
  // What a page loads: every module but those of the command line, without comments, not minified.
  const modules = files.filter((name) => name.endsWith('.js') && !name.startsWith('cli/'));
  const all = Buffer.concat(modules.map((name) => readFileSync(join(installed, name))));
  const sizes = { brotli: brotliCompressSync(all).length, gzip: gzipSync(all, { level: 9 }).length };
  t.ok(sizes.gzip <= MAX_COMPRESSED_BYTES, `${all.length} bytes, compressed ${JSON.stringify(sizes)}`);
});

const EXPECTATIONS = `
import { Darkroom, type DataOf, type ErrorCode, type JobRequest, type OpWork } from 'darkroom-client';
const client = new Darkroom();
const image = new Blob();

export const right: OpWork = { op: 'resize', width: 300, format: 'webp' };
// @ts-expect-error a width is a number
export const wrongWidth: OpWork = { op: 'resize', width: 'wide' };
// @ts-expect-error there is no such op
export const wrongOp: OpWork = { op: 'rezise', width: 300 };
// @ts-expect-error resize has no radius
export const wrongName: OpWork = { op: 'resize', radius: 3 };
// @ts-expect-error a crop of a frame has no such fit
export const wrongFit: OpWork = { op: 'resize', width: 3, fit: 'covered' };

void client.images.transform(image, { op: 'crop', x: 0, y: 0, width: 8, height: 8 });
void client.images.transform({ assetId: 'ast_1' }, { preset: 'avatar@2' });
void client.images.transform(new Uint8Array(), { steps: [{ op: 'grayscale' }] });
// @ts-expect-error a step has its parameters on their own
void client.images.transform(image, { steps: [{ op: 'resize', width: 8 }] });
// @ts-expect-error an op and a preset exclude each other
void client.images.transform(image, { op: 'resize', width: 8, preset: 'avatar' });
// @ts-expect-error a path of the machine is opened by openFile
void client.images.transform('photo.jpg', { op: 'grayscale' });
// @ts-expect-error an upload is not named by an id
void client.assets.upload({ assetId: 'ast_1' });

export const job: JobRequest = { op: 'generate', prompt: 'A lighthouse' };
export async function calls(): Promise<number> {
  const usage = await client.request('GET', '/usage', { query: { groupBy: 'day' } });
  // @ts-expect-error usage is not grouped by week
  await client.request('GET', '/usage', { query: { groupBy: 'week' } });
  // @ts-expect-error there is no such path
  await client.request('GET', '/usages');
  // @ts-expect-error the path needs its id
  await client.request('GET', '/jobs/{jobId}');
  const { status } = await client.request('GET', '/jobs/{jobId}', { path: { jobId: 'job_1' } });
  // @ts-expect-error no job is DONE
  if (status === 'DONE') return 0;
  const estimate: DataOf<'POST /jobs'> = await client.jobs.estimate(job);
  return usage.total.credits + ('credits' in estimate ? estimate.credits : 0);
}

export function advice(code: ErrorCode): string {
  // @ts-expect-error no such code is in the closed set
  return code === 'not_a_code' ? 'never' : code;
}
`;

t.test('its types tell right from wrong, in Node and in a browser', async (t) => {
  await writeFile(join(project.folder, 'expectations.ts'), EXPECTATIONS);
  t.same(await compile(project, ['expectations.ts'], []), { code: 0, stdout: '', stderr: '' });
  t.same(await compile(project, ['expectations.ts'], ['node']), { code: 0, stdout: '', stderr: '' });
  const planted = EXPECTATIONS.replaceAll('// @ts-expect-error', '//');
  await writeFile(join(project.folder, 'planted.ts'), planted);
  const { code, stdout } = await compile(project, ['planted.ts'], []);
  t.not(code, 0);
  t.equal(stdout.match(/error TS/g)?.length, EXPECTATIONS.match(/@ts-expect-error/g)?.length);
});

t.test('every example of its README has types and runs', async (t) => {
  const examples = await examplesOf('ts');
  t.ok(examples.size >= 8);
  const names: string[] = [];
  for (const [title, code] of examples) {
    const name = `${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}.ts`;
    names.push(name);
    await writeFile(join(project.folder, name), code);
    if (title === WEBHOOKS) continue;
    const said = await project.run(process.execPath, [name], environment);
    t.match(said, { code: 0 }, `${title}: ${said.stderr}`);
  }
  t.same(await compile(project, names, ['node']), { code: 0, stdout: '', stderr: '' });
  const made = { 'small.webp': 320, 'square.jpeg': 256, 'result-0.jpg': 640, 'card.png': 1200 };
  for (const [name, width] of Object.entries(made))
    t.match(await sharp(join(project.folder, name)).metadata(), { width }, name);
});

t.test('the example of webhooks hears a delivery that is signed', async (t) => {
  const secret = newSigningSecret();
  const port = await freePort();
  const receiver = spawn(process.execPath, ['webhooks.ts'], {
    cwd: project.folder,
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => receiver.kill());
  const body = JSON.stringify({ id: 'evt_1', type: 'job.completed', data: { jobId: 'job_1' } });
  const event = { eventId: 'evt_1', eventType: 'job.completed', body, attempts: 0 };
  let printed = '';
  receiver.stdout.on('data', (text) => (printed += text));
  const deliver = async (signingSecret: string) => {
    const headers = signedAttemptHeaders(event, signingSecret, new Date());
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
    return answer.status;
  };
  await until(() => deliver(newSigningSecret()).then(Boolean, () => false));
  t.equal(await deliver(newSigningSecret()), 400);
  t.equal(await deliver(secret), 204);
  await until(() => printed !== '');
  t.equal(printed, 'job_1 is done\n');
});

t.test('every command of its README runs', async (t) => {
  const photos = join(project.folder, 'photos');
  await mkdir(photos);
  for (const name of ['a.jpg', 'b.jpg'])
    await copyFile(join(project.folder, 'photo.jpg'), join(photos, name));
  const [commands = ''] = (await examplesOf('sh')).values();
  const PATH = [join(project.folder, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH];
  const said = await project.run('sh', ['-e', '-c', commands], {
    ...environment,
    PATH: PATH.join(delimiter),
  });
  t.match(said, { code: 0 }, said.stderr);
  const made = {
    'out.webp': 800,
    'thumbnails/a.webp': 256,
    'grey.jpg': 1200,
    'hello.png': 1200,
    'several/photo-small.jpg': 320,
    'marked.jpg': 1200,
    'results/b.jpg': 640,
  };
  for (const [name, width] of Object.entries(made))
    t.match(await sharp(join(project.folder, name)).metadata(), { width }, name);
  t.notOk(existsSync(join(project.folder, 'out.avif')), 'a dry run makes nothing');
});

t.test('a page of another origin uses it', async (t) => {
  const folder = join(tmpdir(), 'darkroom-test-browser');
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', folder);
  const browser = await chromium.launch({ executablePath: path, chromiumSandbox: false });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  const found = await page.evaluate<unknown>(`(async () => {
    const { Darkroom, InvalidParamError } = await import('/index.js');
    const client = new Darkroom(${JSON.stringify({ baseUrl: server.url, key })});
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 32 });
    canvas.getContext('2d').fillRect(0, 0, 64, 32);
    const image = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    const small = await client.images.transform(image, { op: 'resize', width: 16, format: 'webp' });
    const bitmap = await createImageBitmap(await small.blob());
    const raw = await client.images.transform(new Uint8Array(await image.arrayBuffer()), { op: 'grayscale' });
    const outputs = await client.images.outputs(image, [
      { name: 'a', op: 'resize', parameters: { width: 8 } },
      { name: 'b', op: 'flip', parameters: { axis: 'vertical' } },
    ]);
    const asset = await client.assets.upload(new File([image], 'page.png', { type: 'image/png' }));
    const refused = await client.images.transform(image, { op: 'resize' }).catch((error) => error);
    const saved = await raw.save('x').catch((error) => error.message);
    return {
      header: small.width, bitmap: bitmap.width, timing: small.timing.total > 0, raw: raw.height,
      outputs: [...outputs.pictures.keys()], asset: asset.name, id: refused.requestId !== undefined,
      refused: [refused instanceof InvalidParamError, refused.param], saved,
    };
  })()`);
  t.match(found, {
    ...{ header: 16, bitmap: 16, timing: true, raw: 32, outputs: ['a', 'b'], asset: 'page.png', id: true },
    ...{ refused: [true, 'width'], saved: /Node/ },
  });
});

t.test('the oldest Node that it promises runs it', async (t) => {
  const node = await otherNode(20);
  if (node === null) {
    t.plan(0, 'there is no Node 20 on the path');
    return;
  }
  for (const name of ['one-image', 'several-pictures-of-one-image', 'a-job-over-many-images']) {
    await copyFile(join(project.folder, `${name}.ts`), join(project.folder, `${name}.mjs`));
    const said = await project.run(node, [`${name}.mjs`], environment);
    t.match(said, { code: 0 }, `${name}: ${said.stderr}`);
  }
});

/** A port that nobody listens on now. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
