import { newId } from '../../../platform/names/ids.ts';
import { bodyOf } from '../../events/event.ts';
import type { EndpointDocument } from '../endpoints/endpoint.ts';
import type { Attempt } from './attempt.ts';
import { type DeliveryDocument, newTest } from './delivery.ts';
import { settlementOf } from './endpoint-worker.ts';
import type { DeliveriesStore } from './store.ts';

interface TestingOptions {
  attempt: Attempt;
  deliveries: DeliveriesStore;
  now: () => Date;
}

/** Makes the only attempt of a webhook.test at once, beside the endpoint's worker. @returns its record. */
export type SendTest = (endpoint: EndpointDocument) => Promise<DeliveryDocument>;

export function createTesting({ attempt, deliveries, now }: TestingOptions): SendTest {
  return async (endpoint) => {
    const queuedAt = now();
    const id = newId('evt', queuedAt.getTime());
    const data = { message: 'A test of this webhook endpoint, sent because its owner asked for it.' };
    const body = bodyOf({ id, type: 'webhook.test', createdAt: queuedAt.toISOString(), data });
    const test = newTest({ id, body }, endpoint, queuedAt);
    const { dueAt, ...result } = settlementOf(test, await attempt(test, endpoint), now());
    const ended = { ...test, ...result, attempts: 1 };
    await deliveries.insert([ended]);
    return ended;
  };
}
