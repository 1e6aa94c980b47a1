// needs: server, browser, alone
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { startServer } from '../support/harness.ts';
import { openReader, samplesIn } from './reader.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A token is about four bytes of English. */
const BYTES_A_TOKEN = 4;
const MAX_TOKENS = 8_000;

const server = await startServer(t);
const { key, photo, asset, directory, shell, commands } = await openReader(t, server);

const textAt = async (path: string) => (await server.call(`/${path}`)).bytes.toString();
const guidelines: string = (await server.call('/agent-guidelines')).json.data.document;
const map = await textAt('/llms.txt');
const { data: ops } = (await server.call('/ops')).json;

t.test('the map and the guidelines together are short', async (t) => {
  const tokens = Math.ceil(Buffer.byteLength(map + guidelines) / BYTES_A_TOKEN);
  t.comment(`${tokens} tokens: ${map.length} + ${guidelines.length} characters`);
  t.ok(tokens < MAX_TOKENS, `${tokens} tokens`);
  t.equal(await textAt('/docs/guidelines.md'), guidelines, 'the same words as a page');
});

t.test('every link of the map leads to a page', async (t) => {
  for (const [, path = ''] of map.matchAll(/\]\((\/[^)]+)\)/g)) {
    const { status, headers } = await server.call(`/${path}`);
    t.equal(status, 200, path);
    if (path.endsWith('.md')) t.match(headers.get('content-type'), /^text\/markdown/);
  }
  for (const { op } of ops) t.equal((await server.call(`//docs/ops/${op}.md`)).status, 200, op);
  for (const path of ['//docs/nothing.md', '//docs/ops/nothing.md', '//docs/constructor.md'])
    t.equal((await server.call(path)).status, 404, path);
});

t.test('every path that the guidelines name is served', async (t) => {
  const { paths } = (await server.call('//openapi.json')).json;
  const known = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const named = [...guidelines.matchAll(/\b(GET|POST|PUT|DELETE) (\/[\w/{}-]+(?:\.\w+)?)/g)];
  t.ok(named.length > 20);
  for (const [, method, path] of named) t.ok(known.includes(`${method} ${path}`), `${method} ${path}`);
});

t.test('every command of the guidelines runs as it stands', async (t) => {
  const commands = samplesIn(guidelines, 'sh');
  t.ok(commands.length >= 7);
  for (const command of commands) await t.resolves(shell(command), command.slice(0, 300));
  t.same((await sharp(join(directory, 'small.jpg')).metadata()).width, 300);
  t.equal((await sharp(join(directory, 'avatar.png')).metadata()).hasAlpha, true);
  t.equal((await sharp(join(directory, 'card.png')).metadata()).format, 'png');
});

for (const page of ['README.md', 'docs/using.md'])
  t.test(`the calls of ${page} run as they stand, but for the address`, async (t) => {
    const calls = samplesIn(await readFile(join(ROOT, page), 'utf8'), 'sh').filter(
      (commands) => commands.startsWith('curl') || commands.includes('\ncurl'),
    );
    t.ok(calls.length >= 1);
    for (const commands of calls)
      await t.resolves(shell(commands.replaceAll('http://127.0.0.1:3000', server.url)));
    const [name, format] = page === 'README.md' ? ['small.webp', 'webp'] : ['small.jpg', 'jpeg'];
    t.equal((await sharp(join(directory, name)).metadata()).format, format);
    t.equal((await sharp(join(directory, 'card.png')).metadata()).format, 'png');
  });

t.test('the configurations of docs/mcp.md can be read, and its commands for a shell run', async (t) => {
  const page = await readFile(join(ROOT, 'docs/mcp.md'), 'utf8');
  const hosts = samplesIn(page, 'json').map((text) => JSON.parse(text));
  t.match(hosts, [
    { servers: { darkroom: { url: /\/mcp$/ } } },
    { mcpServers: { darkroom: { args: [/darkroom\.ts$/, 'mcp'] } } },
  ]);
  const ticket = await server.call('/upload-tickets', { method: 'POST', key, json: {} });
  const blocks = samplesIn(page, 'sh').filter((command) => command.startsWith('curl'));
  const inline = Array.from(page.matchAll(/`(curl [^`\n]+)`/g), ([, command = '']) => command);
  t.ok(blocks.length >= 1 && inline.length >= 1);
  for (const command of [...blocks, ...inline]) {
    const local = command.replaceAll('http://127.0.0.1:3000', server.url);
    await t.resolves(shell(`URL='${ticket.json.data.url}'\n${local}`), command);
  }
  const skill = await readFile(join(directory, '.claude/skills/darkroom/SKILL.md'), 'utf8');
  t.match(skill, /^---\nname: darkroom/);
});

t.test('the README counts the ops of the catalogue', async (t) => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, allOps, pixelOps] = /(\d+) ops \((\d+) of them pixel operations\)/.exec(readme) ?? [];
  const rows: { syncEndpoint?: string }[] = ops;
  t.equal(Number(pixelOps), rows.filter((op) => op.syncEndpoint === '/images/transform').length);
  t.equal(Number(allOps), rows.length);
});

t.test('every op of the guidelines runs by the line that stands there', async (t) => {
  const lines = [...guidelines.matchAll(/^`POST (\S+)(?: (.+))?`$/gm)];
  t.ok(lines.length > 30);
  for (const [, path = '', body] of lines) {
    const sent = body === undefined ? { body: photo, type: 'image/jpeg' } : { json: JSON.parse(body) };
    const { status, json } = await server.call(`/${path}`, { key, ...sent });
    t.equal(status, 200, `${path} ${json?.error?.message ?? ''}`);
  }
});

t.test('every page of an op has a command that runs, and the body of a job that is accepted', async (t) => {
  const lines: string[] = [];
  for (const { op } of ops) {
    const page = await textAt(`/docs/ops/${op}.md`);
    for (const command of samplesIn(page, 'sh')) {
      if (command.startsWith('darkroom ')) lines.push(command);
      else await t.resolves(shell(command), command);
    }
    const [, body] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    if (body === undefined) continue;
    const json = JSON.parse(body.replaceAll(/ast_0{24}|ast_1{24}/g, asset));
    const priced = await server.call('/jobs?dryRun=true', { key, json });

    t.equal(priced.status, 200, `${op}: ${priced.status} ${priced.json.error?.message ?? ''}`);
  }
  t.ok(lines.length > 30, `${lines.length} lines of the command line`);
  await t.resolves(commands(lines), 'each of them runs');
});

t.test(
  'where an agent chooses attention it reads that no faces are found, and where time went',
  async (t) => {
    t.match(guidelines, /attention finds contrast and colour, not faces/);
    for (const name of ['crop', 'resize', 'thumbnail']) {
      const { params } = (await server.call(`/ops/${name}`)).json.data;
      t.match(params.gravity.description, /not faces: for those give a place, or focalX and focalY/, name);
    }
    t.match(guidelines, /each of 10 s .*Server-Timing/);
    const guide = await textAt('/docs/guides/first-picture.md');
    for (const part of ['admit', 'fetch', 'queue', 'decode', 'process', 'encode', 'total'])
      t.match(guide, `\`${part}\``);
    t.match(guide, /10 s \(TRANSFORM_TIMEOUT_MS\).*20 s \(RENDER_TIMEOUT_MS\)/);
  },
);
