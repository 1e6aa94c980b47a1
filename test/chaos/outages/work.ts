import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { KnownStep } from '../../product/jobs/chain-runs.ts';
import type { Client } from '../kills/client.ts';
import { upload, type Workload } from '../kills/work.ts';

const PICTURES = 8;
const BETWEEN_MS = 1_000;
/** Of the items of the large job: those of the chain, and of the edits. Models cost 12 credits per item. */
const MODEL_PART = 1 / 20;

const pass: KnownStep = { body: { op: 'resize' }, credits: 0, rejects: [] };
const model: KnownStep = { body: { op: 'edit' }, credits: 12, rejects: [] };

export interface SteadyWork extends Workload {
  /** Submits a large job of small items, a chain of two segments, and edits by the sandbox. */
  submitBatch(): Promise<void>;
}

/**
 * Work of which no item fails by itself: batches, and small jobs of one to three items, one after another, for as long
 * as it runs.
 * @param random whole numbers below another.
 * @param items of the large job of a batch.
 */
export async function openSteadyWork(
  client: Client,
  random: (below: number) => number,
  items: number,
): Promise<SteadyWork> {
  const orders: Workload['orders'] = new Map();
  const accepted: Workload['accepted'] = new Set();
  const assetIds = await Promise.all(Array.from({ length: PICTURES }, (_, index) => upload(client, index)));
  const inputs = (count: number) =>
    Array.from({ length: count }, () => assetIds[random(assetIds.length)] as string);
  const modelItems = Math.max(4, Math.round(items * MODEL_PART));
  const resize = () => ({ op: 'resize', parameters: { width: 5 + random(20) } });
  const edit = { op: 'edit', model: 'sandbox-image', prompt: 'Warm [sandbox:wait=200]' };

  async function submit(body: object, segments: KnownStep[][]): Promise<void> {
    const collection = `order ${orders.size}`;
    orders.set(collection, segments);
    const json = { ...body, collection };
    const answer = await client('/jobs', { json, idempotencyKey: randomUUID(), mayStayOpen: true });
    // What stayed open may have become a job, or none.
    if (answer.status < 300) accepted.add(answer.json.data.id);
    else if (answer.json.error.code !== 'request_in_progress')
      throw new Error(`A submit was refused: ${answer.status} ${JSON.stringify(answer.json)}`);
  }

  const small = [
    () => submit({ ...resize(), assetIds: inputs(1 + random(3)) }, [[pass]]),
    () => submit({ ...edit, assetIds: inputs(1 + random(3)) }, [[model]]),
  ];
  return {
    async submitBatch() {
      await submit({ ...resize(), assetIds: inputs(items) }, [[pass]]);
      await submit({ steps: [edit, resize()], assetIds: inputs(modelItems) }, [[model], [pass]]);
      await submit({ ...edit, assetIds: inputs(modelItems) }, [[model]]);
    },
    orders,
    accepted,
    // Equal pictures are one asset.
    uploads: new Set(assetIds).size,
    async run(over) {
      while (!over.aborted) {
        await small[random(small.length)]?.();
        await pause(random(BETWEEN_MS));
      }
    },
  };
}
