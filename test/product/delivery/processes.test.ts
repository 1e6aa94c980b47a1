// needs: server
import { readdir, readFile, readlink } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { serve } from '../../support/loopback.ts';
import { startWholeService, until } from '../../support/whole-service.ts';
import { type SigningKey, signed, twoHalves } from './delivering.ts';

const service = await startWholeService(t, { PROCESSES: '2', OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
const authorization = `ApiKey ${service.key}`;
const post = async (path: string, json: object) => {
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(json),
  });
  return ((await answer.json()) as { data: SigningKey }).data;
};
const key = await post('/signing-keys', { name: 'Shop' });

/** A source that answers when it is let: it shows when a process has begun to make its picture. */
const source = { waiting: [] as Array<{ port: number; response: ServerResponse }>, isOpen: false };
const picture = await twoHalves();
const { url: sourceUrl } = await serve(t, ({ socket }, response) => {
  source.waiting.push({ port: socket.remotePort ?? 0, response });
  if (source.isOpen) openSource();
});
function openSource(): void {
  source.isOpen = true;
  for (const { response } of source.waiting.splice(0))
    response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
}

const ofSource = (name: string) => {
  const path = `resize:width=50/url:${Buffer.from(`${sourceUrl}/${name}.png`).toString('base64url')}.webp`;
  return `${service.url}${signed(key, path, path)}`;
};
/** A call on a connection of its own, so that both processes get some. */
const ask = async (url: string) => {
  const answer = await fetch(url, { headers: { connection: 'close' } });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
};
const metric = async (sample: string) => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return Number(line?.split(' ').at(-1) ?? 0);
};
const runs = async () => {
  const answer = await fetch(`${service.url}/api/v1/account`, { headers: { authorization } });
  const { data } = (await answer.json()) as { data: { processing: { used: number } } };
  return data.processing.used;
};
const made = () => metric('darkroom_delivery_pictures_total{from="made"}');
const tasks = () => metric('darkroom_pool_work_total{pool="image",work="call",kind="branch",outcome="done"}');

t.test('a hundred equal requests over all processes are one task and one run', async (t) => {
  const before = { tasks: await tasks(), made: await made() };
  const asked = Promise.all(Array.from({ length: 100 }, () => ask(ofSource('equal'))));
  await until(() => source.waiting.length > 0);
  openSource();
  const answers = await asked;
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size, 1);
  t.match(await sharp(answers[0]?.bytes).metadata(), { width: 50, format: 'webp' });
  t.equal((await made()) - before.made, 1);
  t.equal((await tasks()) - before.tasks, 1);
  await until(async () => (await runs()) === 1);
});

t.test('a process that is killed while it makes a picture holds the others up for a moment', async (t) => {
  source.isOpen = false;
  const asked = Promise.allSettled(Array.from({ length: 40 }, () => ask(ofSource('killed'))));
  await until(() => source.waiting.length > 0);
  const pids = await service.children();
  const maker = await ownerOf(source.waiting[0]?.port ?? 0, pids);
  t.ok(pids.includes(maker));
  source.waiting.length = 0;
  process.kill(maker, 'SIGKILL');
  await until(() => source.waiting.length > 0);
  openSource();
  const answers = await asked;
  const good = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  t.ok(good.length > 0, 'those of the other process');
  t.same(new Set(good.map(({ status }) => status)), new Set([200]));
  t.equal(new Set(good.map(({ bytes }) => bytes.toString('base64'))).size, 1);
  t.same((await ask(ofSource('killed'))).bytes, good[0]?.bytes);
});

/** The process that has a connection from this port of loopback. */
async function ownerOf(port: number, pids: readonly number[]): Promise<number> {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  const inode = rows.find((row) => row[1] === local)?.[9];
  for (const pid of pids) {
    const files = await readdir(`/proc/${pid}/fd`);
    const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')));
    if (links.includes(`socket:[${inode}]`)) return pid;
  }
  return 0;
}
