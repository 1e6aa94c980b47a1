// needs: service
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { startWholeService } from '../../support/whole-service.ts';
import { LOOPBACK, startReceiver, verify } from './receiver.ts';

const ADMIN = join(import.meta.dirname, '../../../src/host/admin.ts');

t.test(
  'an operator lists endpoints, and has the attempts to one handed to a program of his own',
  async (t) => {
    const service = await startWholeService(t, { PROCESSES: '1', RENDER_THREADS: '1', ...LOOPBACK });
    const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
    const admin = (...words: string[]) =>
      spawn(process.execPath, [ADMIN, ...words], { env: { ...environment, DATA_DIR: service.directory } });
    const printedBy = async (...words: string[]) => {
      const lines: string[] = [];
      for await (const line of createInterface({ input: admin(...words).stdout })) lines.push(line);
      return lines.join('\n');
    };
    const call = async (path: string, body?: unknown) => {
      const headers = { authorization: `ApiKey ${service.key}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body ?? {}) };
      const answer = await fetch(`${service.url}/api/v1${path}`, init);
      return ((await answer.json()) as { data: { id: string; secret: string } }).data;
    };
    const [receiver, own] = [await startReceiver(t), await startReceiver(t)];
    const { id, secret } = await call('/webhook-endpoints', { url: receiver.url });

    const { endpoints } = JSON.parse(await printedBy('webhooks', '--json'));
    t.match(endpoints, [{ id, url: receiver.url, enabled: true, consecutiveFailures: 0, queued: 0 }]);
    t.notMatch(JSON.stringify(endpoints), secret, 'without its secret');

    const listener = admin('webhooks', 'listen', '--endpoint', id, '--forward', own.url);
    t.teardown(() => listener.kill());
    const line = once(createInterface({ input: listener.stdout }), 'line');
    // The listener is heard of a moment after it began: tests are sent until one is handed on.
    const heard = own.until(1).then(() => true);
    while (!(await Promise.race([heard, call(`/webhook-endpoints/${id}/test`).then(() => false)])));
    const [handedOn] = own.received;
    const same = receiver.received.find(({ event }) => event.id === handedOn?.event.id);
    t.equal(handedOn?.body, same?.body);
    t.equal(handedOn?.headers['service-signature'], same?.headers['service-signature']);
    t.ok(handedOn && verify(handedOn, secret, Date.now() / 1000));
    const [printed] = await line;
    t.match(printed, /webhook\.test evt_\w+ attempt 1/);

    const wrong = admin('webhooks', 'listen', '--endpoint', 'whe_none');
    const [sentence] = await once(wrong.stderr, 'data');
    t.match(String(sentence), /There is no webhook endpoint whe_none/);
  },
);
