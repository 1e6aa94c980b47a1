import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { type KnownStep, randomSteps, segmentsOf } from '../../product/jobs/chain-runs.ts';
import type { Answer, Client } from './client.ts';

const PICTURES = 4;
const MAX_ITEMS = 8;
/** A resume comes at random: the job may run still, have ended well, or be resumed already. */
const REFUSED_RESUMES = ['invalid_state', 'job_not_resumable'];
const TEMPLATE = { name: 'Card', html: '<b>{{ title }}</b>', width: 40, height: 20 };

export interface Workload {
  /** The segments of each job, which a client knows without asking, by the collection of the job. */
  orders: Map<string, KnownStep[][]>;
  /** Jobs that were answered for. */
  accepted: Set<string>;
  /** Assets that were uploaded. */
  uploads: number;
  /** Calls until it is over: submits, cancels and resumes at random. */
  run(over: AbortSignal): Promise<void>;
}

interface Order {
  body: object;
  segments: KnownStep[][];
}

const pass: KnownStep = { body: { op: 'resize' }, credits: 0, rejects: [] };
const model = (credits: number, rejects: readonly number[] = []): KnownStep => {
  return { body: { op: 'edit' }, credits, rejects };
};

/**
 * A seeded mix of jobs: passes, edits and pictures by the sandbox with refused and put off items, chains and renders.
 * @param random whole numbers below another.
 */
export async function startWorkload(
  client: Client,
  random: (below: number) => number,
  { renders }: { renders: boolean },
): Promise<Workload> {
  const orders: Workload['orders'] = new Map();
  const accepted: Workload['accepted'] = new Set();
  const assetIds = await Promise.all(Array.from({ length: PICTURES }, (_, index) => upload(client, index)));
  const idempotencyKey = randomUUID();
  const { json: template } = await client('/templates', { json: TEMPLATE, idempotencyKey });
  const some = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  const inputs = (count: number) => Array.from({ length: count }, () => some(assetIds));

  function promptFor(items: number): { prompt: string; rejects: number[] } {
    const rejects = random(2) === 0 ? [random(items)] : [];
    const directives = [
      ...rejects.map((item) => `[sandbox:reject@${item}]`),
      ...(random(3) === 0 ? ['[sandbox:fail=1]'] : []),
      ...(random(3) === 0 ? [`[sandbox:wait=${random(1_500)}]`] : []),
    ];
    return { prompt: `Warm ${directives.join(' ')}`, rejects };
  }

  const kinds: Array<(items: number) => Order> = [
    (items) => ({
      body: { op: 'resize', parameters: { width: 5 + random(20) }, assetIds: inputs(items) },
      segments: [[pass]],
    }),
    (items) => {
      const { prompt, rejects } = promptFor(items);
      const body = { op: 'edit', model: 'sandbox-image', prompt, assetIds: inputs(items) };
      return { body, segments: [[model(12, rejects)]] };
    },
    (items) => {
      const { prompt, rejects } = promptFor(items);
      const body = { op: 'generate', model: 'sandbox-image', prompt, count: items };
      return { body, segments: [[model(12, rejects)]] };
    },
    (items) => {
      const steps = randomSteps(random, items);
      const body = { steps: steps.map(({ body }) => body), assetIds: inputs(items) };
      return { body, segments: segmentsOf(steps) };
    },
    ...(renders
      ? [
          (items: number): Order => ({
            body: {
              op: 'render_template',
              templateId: template.data.id,
              items: Array.from({ length: items }, (_, title) => ({ title })),
            },
            segments: [[pass]],
          }),
        ]
      : []),
  ];

  async function submit(): Promise<void> {
    const { body, segments } = some(kinds)(1 + random(MAX_ITEMS));
    const collection = `order ${orders.size}`;
    orders.set(collection, segments);
    const call = { json: { ...body, collection }, idempotencyKey: randomUUID(), mayStayOpen: true };
    recordAnswer(await client('/jobs', call));
  }

  /**
   * Records an answered job as accepted. A call that stayed open may have made a job or not. A long round may spend all
   * its credits.
   */
  function recordAnswer({ status, json }: Answer): void {
    if (status < 300) accepted.add(json.data.id);
    else if (!['request_in_progress', 'insufficient_credit'].includes(json.error.code))
      throw new Error(`A call was refused: ${status} ${JSON.stringify(json)}`);
  }

  async function cancel(): Promise<void> {
    const id = some([...accepted]);
    if (id !== undefined) await client(`/jobs/${id}/cancel`, { method: 'POST' });
  }

  async function resume(): Promise<void> {
    const id = some([...accepted]);
    if (id === undefined) return;
    const call = { method: 'POST', idempotencyKey: randomUUID(), mayStayOpen: true };
    const answer = await client(`/jobs/${id}/resume`, call);
    if (!REFUSED_RESUMES.includes(answer.json.error?.code)) recordAnswer(answer);
  }

  return {
    orders,
    accepted,
    uploads: assetIds.length,
    async run(over) {
      while (!over.aborted) {
        await some([submit, submit, submit, cancel, resume, resume])();
        await pause(random(300));
      }
    },
  };
}

/** Uploads a small picture. @returns its id. */
export async function upload(client: Client, index: number): Promise<string> {
  const background = { r: 60 * index, g: 90, b: 200 };
  const body = new Uint8Array(
    await sharp({ create: { width: 32, height: 24, channels: 3, background } })
      .png()
      .toBuffer(),
  );
  const call = { body, type: 'image/png', idempotencyKey: randomUUID() };
  const { json } = await client('/assets/upload', call);
  return json.data.id;
}
