// needs: service
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';

const ADMIN = join(import.meta.dirname, '../../../src/host/admin.ts');
const GRANTED = '1000';
const CALLERS = 2;
const CREDITS_OF_AN_EDIT = 12;
/** The copy is taken when so many rounds of calls have begun. */
const ROUNDS_BEFORE_COPY = 3;
const PAGE = 100;
const run = promisify(execFile);

interface Row {
  id: string;
  type: string;
  credits: number;
  balanceAfter: number;
}

async function api(service: WholeService, key: string, path: string, init: RequestInit = {}) {
  const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json', ...init.headers };
  const answer = await fetch(`${service.url}/api/v1${path}`, { ...init, headers });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: answer.status, bytes, json: isJson ? JSON.parse(bytes.toString()) : null };
}

/** An upload, a model's edit of it (which costs credits) and a batch of transforms that nobody waits for. */
async function round(service: WholeService, key: string, number: number): Promise<void> {
  const create = {
    width: 40,
    height: 30,
    channels: 3,
    background: { r: number % 256, g: 80, b: 9 },
  } as const;
  const body = new Uint8Array(await sharp({ create }).png().toBuffer());
  const uploaded = await api(service, key, '/assets/upload', {
    method: 'POST',
    headers: { 'content-type': 'image/png' },
    body,
  });
  const assetIds = [uploaded.json.data.id];
  const submit = (job: object) =>
    api(service, key, '/jobs', { method: 'POST', body: JSON.stringify({ assetIds, ...job }) });
  const edit = await submit({ op: 'edit', prompt: 'Warmer.', model: 'sandbox-image', wait: 30 });
  const batch = await submit({ op: 'resize', parameters: { width: 20 } });
  for (const { status, json } of [uploaded, edit, batch])
    if (status >= 300) throw new Error(JSON.stringify(json));
}

async function pages<T>(service: WholeService, key: string, path: string): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 0; ; page += 1) {
    const { json } = await api(service, key, `${path}?page=${page}&perPage=${PAGE}`);
    rows.push(...json.data);
    if (json.data.length < PAGE) return rows;
  }
}

/** Whatever moment the copy shows: jobs go on and end, the money adds up, and every asset has its bytes. */
async function judge(t: Test, service: WholeService, key: string): Promise<void> {
  await until(async () => {
    const { json } = await api(service, key, '/jobs/counts');
    return json.data.every(({ status }: { status: string }) => ['COMPLETED', 'FAILED'].includes(status));
  });
  const jobs = await pages<{ type: string; status: string }>(service, key, '/jobs');
  const edits = jobs.filter(({ type, status }) => type === 'ai-edit' && status === 'COMPLETED');
  const charged = edits.length * CREDITS_OF_AN_EDIT;
  // A job is charged a moment after it has ended.
  await until(async () => {
    const { json } = await api(service, key, '/credits');
    return json.data.balance === Number(GRANTED) - charged;
  });
  const { json: credits } = await api(service, key, '/credits');
  const ledger = await pages<Row>(service, key, '/credits/ledger');
  const sum = ledger.reduce((total, row) => total + row.credits, 0);
  t.equal(sum, credits.data.balance, 'the ledger sums to the balance');
  t.equal(ledger[0]?.balanceAfter, credits.data.balance);
  const held = credits.data.held / CREDITS_OF_AN_EDIT;
  t.ok(
    Number.isInteger(held) && held <= CALLERS,
    'what is held are submits that were under way: the sweep undoes them',
  );
  t.ok(charged > 0, 'something was charged');
  const assets = await pages<{ id: string; image?: { width: number } }>(service, key, '/assets');
  t.ok(assets.length > 1);
  for (const { id, image } of assets) {
    if (image === undefined) continue;
    const content = await api(service, key, `/assets/${id}/content`);
    t.equal(content.status, 200, `${id} can be read`);
    t.equal((await sharp(content.bytes).metadata()).width, image.width);
  }
}

t.test('a copy made under load is whole: its jobs end and its ledger adds up', async (t) => {
  if (process.env.TEST_STORES === 'cluster') return;
  const service = await startWholeService(t, { PROCESSES: '2' });
  const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
  const admin = (...words: string[]) =>
    run(process.execPath, [ADMIN, ...words], { env: { ...environment, DATA_DIR: service.directory } });
  const made = ['account', 'create', '--email', 'load@example.test', '--plan', 'pro', '--credits', GRANTED];
  const { key } = JSON.parse((await admin(...made, '--json')).stdout);

  let rounds = 0;
  const loading = new AbortController();
  const caller = async () => {
    while (!loading.signal.aborted) {
      rounds += 1;
      await round(service, key, rounds);
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, caller));
  const copy = `${service.directory}-copy`;
  t.teardown(() => rm(copy, { recursive: true, force: true }));
  // However slow the machine is, the copy has money that was moved.
  await until(async () => (await api(service, key, '/credits')).json.data.balance < Number(GRANTED));
  await until(() => rounds >= ROUNDS_BEFORE_COPY);
  await admin('backup', copy);
  loading.abort();
  await callers;
  service.signal('SIGTERM');
  await service.ended;

  const restored = await startWholeService(t, { PROCESSES: '1', DATA_DIR: copy });
  await judge(t, restored, key);
  restored.signal('SIGTERM');
  t.equal(await restored.ended, 0);
});
