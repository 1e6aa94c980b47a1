// needs: service
import { Agent, request } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { startWholeService, until } from '../../support/whole-service.ts';

const ROUNDS = 12;
const FLIP = '/images/transform?op=flip';
const service = await startWholeService(t, { PROCESSES: '2' });
const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c04020' } })
  .png()
  .toBuffer();
let runs = 0;

/** A call over an agent; the primary gives its connections to its processes in turn. */
function call(agent: Agent, path: string, body?: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `ApiKey ${service.key}`,
      ...(body !== undefined && { 'content-type': 'image/png' }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(`${service.url}/api/v1${path}`, { method, headers, agent }, (answer) => {
      let text = '';
      answer.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', reject).end(body);
  });
}

async function flip(agent: Agent): Promise<void> {
  const { status } = await call(agent, FLIP, png);
  if (status !== 200) throw new Error(`A call was answered ${status}.`);
  runs += 1;
}

async function read(agent: Agent, path: string) {
  return JSON.parse((await call(agent, path)).text).data;
}

t.test('whoever asks on the connection of a call finds its run counted', async (t) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  for (let round = 0; round < ROUNDS; round += 1) {
    await flip(agent);
    t.equal((await read(agent, '/account')).processing.used, runs, `/account after ${runs}`);
    await flip(agent);
    t.equal((await read(agent, '/usage')).total.sync, runs, `/usage after ${runs}`);
  }
});

t.test('a usage as of a later instant counts every run, whichever process is asked', async (t) => {
  for (let round = 0; round < ROUNDS; round += 1) await flip(new Agent());
  const answeredAt = new Date().toISOString();
  let usage = await read(new Agent(), '/usage');
  t.ok(usage.asOf < answeredAt, 'the first reading does not promise it yet');
  await until(async () => {
    usage = await read(new Agent(), '/usage');
    return usage.asOf > answeredAt;
  });
  t.equal(usage.total.sync, runs);
  t.equal((await read(new Agent(), '/account')).processing.used, runs);
});
