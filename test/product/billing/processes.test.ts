// needs: documents, mongodb, alone
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { provideDocuments } from '../../../src/platform/stores/documents/remote.ts';
import { PrimaryChannelHost } from '../../../src/platform/stores/embedded/channel.ts';
import { checkLedger, LIMITED, moneyOf, openAccount } from './money.ts';
import type { Order, Report } from './money-process.ts';
import { onEachStore } from './stores.ts';

const PROCESSES = 4;
/** More of them by hand: MONEY_ROUNDS=100. */
const ROUNDS = Number(process.env.MONEY_ROUNDS ?? 6);
const CALLS = 200;
const COVERED = 3;

cluster.setupPrimary({ exec: fileURLToPath(new URL('./money-process.ts', import.meta.url)) });
const host = new PrimaryChannelHost();

/** A process that shares the primary's stores, ready for orders; it ends with the test. */
async function fork(t: Test, environment: Record<string, string>): Promise<Worker> {
  const worker = cluster.fork(environment);
  t.teardown(async () => {
    if (worker.isDead()) return;
    worker.process.kill('SIGKILL');
    await once(worker, 'exit');
  });
  await reportOf(worker);
  return worker;
}

function reportOf(worker: Worker): Promise<Report> {
  return new Promise((resolve) => {
    const listen = ({ report }: { report?: Report }) => {
      if (report === undefined) return;
      worker.off('message', listen);
      resolve(report);
    };
    worker.on('message', listen);
  });
}

async function send(worker: Worker, order: Order): Promise<{ paid: number; refused: number }> {
  const report = reportOf(worker);
  worker.send({ order });
  const answer = await report;
  if ('ready' in answer) throw new Error('A process reported ready twice.');
  return answer;
}

onEachStore(
  t,
  `${CALLS} parallel calls that need money for ${COVERED}: exactly ${COVERED} succeed`,
  async (t, { documents, url }) => {
    provideDocuments(host, documents);
    const environment = url === null ? {} : { MONEY_STORE_URL: url };
    const workers = await Promise.all(Array.from({ length: PROCESSES }, () => fork(t, environment)));
    for (let round = 1; round <= ROUNDS; round += 1) {
      const kind = round % 2 === 0 ? 'run' : 'hold';
      const { store, accountId } = await openAccount(documents, { credits: COVERED, plan: LIMITED.id });
      const order: Order = { accountId, kind, calls: CALLS / PROCESSES };
      const answers = await Promise.all(workers.map((worker) => send(worker, order)));
      const paid = answers.reduce((sum, answer) => sum + answer.paid, 0);
      const refused = answers.reduce((sum, answer) => sum + answer.refused, 0);
      const free = kind === 'run' ? LIMITED.processLimit : 0;
      t.same([paid, refused], [COVERED + free, CALLS - COVERED - free], `round ${round}, ${kind}`);
      await checkLedger(t, store, accountId);
      const spent = kind === 'run' ? { balance: 0, held: 0 } : { balance: COVERED, held: COVERED };
      t.match(await moneyOf(store, accountId), spent);
    }
  },
);

onEachStore(
  t,
  'kill -9 at any write of a movement leaves a ledger that sums',
  async (t, { documents, url }) => {
    provideDocuments(host, documents);
    for (let write = 1; write <= 3; write += 1) {
      for (const moment of ['before', 'after']) {
        const { store, accountId } = await openAccount(documents, { credits: 3 });
        const environment = { MONEY_DIES_AT: String(write), MONEY_DIES: moment };
        const worker = await fork(t, url === null ? environment : { ...environment, MONEY_STORE_URL: url });
        const died = once(worker, 'exit');
        worker.send({ order: { accountId, kind: 'hold', calls: 1 } satisfies Order });
        t.match(await died, [null, 'SIGKILL'], `killed ${moment} write ${write}`);
        const moved = (await moneyOf(store, accountId)).held === 1;
        t.equal((await checkLedger(t, store, accountId)).length, moved ? 2 : 1);
        t.equal(moved, write === 3 || (write === 2 && moment === 'after'));
      }
    }
  },
);
