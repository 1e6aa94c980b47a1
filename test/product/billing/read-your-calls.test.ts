// needs: server
import { Agent, request } from 'node:http';
import sharp from 'sharp';
import t from 'tap';
import { startWholeService } from '../../support/whole-service.ts';

const ROUNDS = 12;
const FLIP = '/images/transform?op=flip';

/** A call on a connection of its own, which the primary gives to its processes in turn. */
function callAfresh(
  url: string,
  key: string,
  path: string,
  body?: Buffer,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `ApiKey ${key}`,
      ...(body !== undefined && { 'content-type': 'image/png' }),
    };
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(`${url}/api/v1${path}`, { method, headers, agent: new Agent() }, (answer) => {
      let text = '';
      answer.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', reject).end(body);
  });
}

t.test('whoever saw an answer finds its run counted, whichever process is asked', async (t) => {
  const { url, key } = await startWholeService(t, { PROCESSES: '3' });
  const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c04020' } })
    .png()
    .toBuffer();
  const runsIn = {
    '/account': (data: { processing: { used: number } }) => data.processing.used,
    '/usage': (data: { total: { sync: number } }) => data.total.sync,
  };
  let runs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [path, read] of Object.entries(runsIn)) {
      t.equal((await callAfresh(url, key, FLIP, png)).status, 200);
      runs += 1;
      const { text } = await callAfresh(url, key, path);
      t.equal(read(JSON.parse(text).data), runs, `${path} after ${runs}`);
    }
  }
});
