import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { newId } from '../../../src/platform/ids/ids.ts';
import { documentsOverChannel } from '../../../src/platform/stores/documents/remote.ts';
import { PrimaryChannel } from '../../../src/platform/stores/embedded/channel.ts';
import { RunAllowance } from '../../../src/product/billing/allowance.ts';
import { CreditMovements } from '../../../src/product/billing/movements.ts';
import { BillingStore } from '../../../src/product/billing/store.ts';
import { SyncRunCounter } from '../../../src/product/billing/sync-runs.ts';
import { dyingStore, hold, LIMITED, planOf } from './money.ts';

/** An order of the primary of processes.test.ts: parallel calls that hold credits or run on the plan's monthly runs. */
export interface Order {
  accountId: string;
  kind: 'hold' | 'run';
  calls: number;
}

export type Report = { ready: true } | { paid: number; refused: number };

const { MONEY_STORE_URL, MONEY_DIES_AT, MONEY_DIES } = process.env;
const now = () => new Date();
// The driver is loaded only where it is needed: it takes longer than all else.
const documents = MONEY_STORE_URL
  ? await import('../../../src/platform/stores/documents/mongodb.ts').then(({ connectMongoDocuments }) =>
      connectMongoDocuments(MONEY_STORE_URL),
    )
  : documentsOverChannel(new PrimaryChannel());
const store =
  MONEY_DIES_AT === undefined
    ? new BillingStore(documents)
    : dyingStore(documents, {
        change: Number(MONEY_DIES_AT),
        moment: MONEY_DIES === 'before' ? 'before' : 'after',
        kill: () => {
          process.kill(process.pid, 'SIGKILL');
          return new Promise(() => undefined);
        },
      });
const movements = new CreditMovements(store, now);
const syncRuns = new SyncRunCounter(store, now, () => undefined);
const topUpUrl = () => 'http://localhost/docs';
const allowance = new RunAllowance({ store, movements, syncRuns, plan: planOf, topUpUrl, holder: 'a', now });

async function pays({ accountId, kind }: Order): Promise<boolean> {
  if (kind === 'hold') return (await movements.move(accountId, hold(1, newId('job')))) === 'moved';
  try {
    const run = await allowance.begin({ accountId, plan: LIMITED.id });
    await run.succeed({ op: 'resize', apiKeyId: null });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'insufficient_credit') return false;
    throw error;
  }
}

function send(report: Report): void {
  process.send?.({ report });
}

process.on('message', async (message: { order?: Order }) => {
  const { order } = message;
  if (order === undefined) return;
  const outcomes = await Promise.all(Array.from({ length: order.calls }, () => pays(order)));
  const paid = outcomes.filter(Boolean).length;
  send({ paid, refused: outcomes.length - paid });
});
send({ ready: true });
