// needs: service
import sharp from 'sharp';
import t from 'tap';
import { checkListenAddress } from '../../../src/host/processes/free-port.ts';
import { childrenOf, startWholeService, until, type WholeService } from '../../support/whole-service.ts';

const picture = new Uint8Array(
  await sharp({ create: { width: 9, height: 9, channels: 3, background: '#369' } })
    .png()
    .toBuffer(),
);

/** Flips that succeeded, as the metrics count them. */
async function answered({ url }: WholeService): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((one) => /^darkroom_op_duration_seconds_count\{.*"flip"/.test(one));
  return Number(line?.split(' ').at(-1) ?? 0);
}

async function transform({ url, key }: WholeService): Promise<void> {
  const response = await fetch(`${url}/api/v1/images/transform?op=flip`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'image/png' },
    body: picture,
  });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${response.status}`);
}

const isServing = ({ url }: WholeService) =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

t.test(
  'counters include those of processes that have ended: none falls at a replacement or a kill',
  async (t) => {
    const service = await startWholeService(t, { PROCESSES: '2' });
    const first = await childrenOf(service.pid);
    const text = await (await fetch(`${service.url}/metrics`)).text();
    for (const sample of [
      /processes\{role="primary"\} 1\n/,
      /processes\{role="api"\} 2\n/,
      /build_info\{version=/,
    ])
      t.match(text, sample, 'the primary tells of its host');
    for (let call = 0; call < 3; call += 1) await transform(service);
    process.kill(service.pid, 'SIGHUP');
    await until(async () => {
      const children = await childrenOf(service.pid);
      return children.length === 2 && !children.some((pid) => first.includes(pid));
    });
    t.equal(await answered(service), 3, 'a process that drains sends what it counted since the last scrape');
    for (let call = 0; call < 2; call += 1) await transform(service);
    t.equal(await answered(service), 5);
    const [second = 0] = await childrenOf(service.pid);
    process.kill(second, 'SIGKILL');
    await until(async () => {
      const children = await childrenOf(service.pid);
      return children.length === 2 && !children.includes(second) && (await isServing(service));
    });
    t.equal(await answered(service), 5, 'a killed one counts as it was scraped');
    await transform(service);
    t.equal(await answered(service), 6);
  },
);

t.test('calls that wait for the metrics at the same time share what is collected', async (t) => {
  const { url } = await startWholeService(t, { PROCESSES: '2' });
  const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(`${url}/metrics`)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  for (const text of texts) t.match(text, /processes\{role="api"\} 2\n/);
  // The times of the processes differ from one collection to the next.
  const { size } = new Set(texts);
  t.ok(size <= 10, `${size} collections for ${texts.length} calls`);
});

t.test('on METRICS_PORT the primary answers, also while the only process stands still', async (t) => {
  const port = await checkListenAddress('127.0.0.1', 0);
  const service = await startWholeService(t, {
    PROCESSES: '1',
    METRICS_PORT: String(port),
    // A process that stands still is left alone: its own answer would never come.
    HANG_TIMEOUT_MS: '600000',
  });
  await transform(service);
  const scrape = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    return { status: response.status, text: await response.text() };
  };
  const count = /darkroom_op_duration_seconds_count\{.*"flip".*\} 1\n/;
  t.match(await scrape(), { status: 200, text: count });
  const [pid = 0] = await service.children();
  process.kill(pid, 'SIGSTOP');
  t.match(await scrape(), { status: 200, text: count }, 'with its last metrics');
  process.kill(pid, 'SIGCONT');
});
