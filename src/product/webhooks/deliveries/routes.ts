import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../../platform/http/created.ts';
import { envelopeOf, pageOf, success } from '../../../platform/http/envelope.ts';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { readDate, readInstant } from '../../../platform/http/fields.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Gate } from '../../accounts/gate/gate.ts';
import type { EndpointDocument } from '../endpoints/endpoint.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { deliveryNotFound, endpointDisabled, tooManyAttempts } from '../errors.ts';
import {
  DeliveriesQuery,
  Delivery,
  DeliveryParams,
  DeliveryWithBody,
  EndpointParams,
  RedeliverBody,
  Redelivered,
} from '../schema.ts';
import { type Attempt, recordOf } from './attempt.ts';
import { type DeliveryDocument, deliveryOf, newRedelivery, newTestDelivery } from './delivery.ts';
import { redeliverFailed } from './redelivering.ts';
import { scheduleNow } from './schedule.ts';
import type { AttemptSlots } from './slots.ts';
import type { DeliveriesStore } from './store.ts';

interface DeliveriesRoutesOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  coordination: Coordination;
  attempt: Attempt;
  slots: AttemptSlots;
  attemptsPerAccount: number;
  gate: Gate;
  now: () => Date;
}

const ROUTES = [sendTestEvent, list, read, redeliverAllFailed, redeliver];

/** The routes of an endpoint's deliveries: its owner lists them, sends one again, or sends a test. */
export async function deliveryRoutes(app: FastifyInstance, options: DeliveriesRoutesOptions): Promise<void> {
  for (const route of ROUTES) route(app, options);
}

function sendTestEvent(app: FastifyInstance, options: DeliveriesRoutesOptions): void {
  const { endpoints, slots, attemptsPerAccount, gate } = options;
  app.post<{ Params: EndpointParams }>(
    '/webhook-endpoints/:endpointId/test',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send a test event',
        description:
          'One webhook.test attempt at once, never retried, on a disabled endpoint too. Answers its record.',
        params: EndpointParams,
        response: { 200: envelopeOf(Delivery) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.read(accountId, request.params.endpointId);
      const release = slots.takeSlot(accountId);
      if (release === null) throw tooManyAttempts(attemptsPerAccount);
      try {
        return success('Test event sent.', deliveryOf(await sendTest(endpoint, options)));
      } finally {
        release();
      }
    },
  );
}

function list(app: FastifyInstance, { endpoints, deliveries, gate }: DeliveriesRoutesOptions): void {
  app.get<{ Params: EndpointParams; Querystring: DeliveriesQuery }>(
    '/webhook-endpoints/:endpointId/deliveries',
    {
      schema: {
        summary: 'List deliveries',
        description: 'Newest first, tests too. Records are kept 14 days.',
        params: EndpointParams,
        querystring: DeliveriesQuery,
        response: { 200: pageOf(Delivery) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await endpoints.read(accountId, request.params.endpointId);
      const { rows, meta } = await deliveries.list(accountId, _id, request.query);
      return success('Deliveries listed.', rows.map(deliveryOf), meta);
    },
  );
}

function read(app: FastifyInstance, { endpoints, deliveries, gate }: DeliveriesRoutesOptions): void {
  app.get<{ Params: DeliveryParams }>(
    '/webhook-endpoints/:endpointId/deliveries/:deliveryId',
    {
      schema: {
        summary: 'Read a delivery',
        description: 'With the body that is sent.',
        params: DeliveryParams,
        response: { 200: envelopeOf(DeliveryWithBody) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await endpoints.read(accountId, request.params.endpointId);
      const delivery = await deliveries.find(accountId, _id, request.params.deliveryId);
      if (delivery === null) throw deliveryNotFound();
      return success('Delivery read.', { ...deliveryOf(delivery), body: delivery.body });
    },
  );
}

function redeliverAllFailed(
  app: FastifyInstance,
  { endpoints, deliveries, coordination, gate, now }: DeliveriesRoutesOptions,
): void {
  app.post<{ Params: EndpointParams; Body: RedeliverBody }>(
    '/webhook-endpoints/:endpointId/redeliver',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send failed events again',
        description:
          'A new delivery of each event whose last one failed, tests excepted, oldest first, with one attempt that is never retried.',
        params: EndpointParams,
        body: RedeliverBody,
        response: { 200: envelopeOf(Redelivered) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const since = readSince(request.body.since);
      const endpoint = await endpoints.read(accountId, request.params.endpointId);
      if (!endpoint.enabled) throw endpointDisabled();
      const counts = await redeliverFailed(endpoint, since, { deliveries, coordination, now });
      return success(`${counts.queued} deliveries queued.`, counts);
    },
  );
}

function redeliver(
  app: FastifyInstance,
  { endpoints, deliveries, coordination, gate, now }: DeliveriesRoutesOptions,
): void {
  app.post<{ Params: DeliveryParams }>(
    '/webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send an event again',
        description: 'A new record of the same event, with one attempt that is never retried.',
        params: DeliveryParams,
        response: { 201: envelopeOf(Delivery) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.read(accountId, request.params.endpointId);
      const sent = await deliveries.find(accountId, endpoint._id, request.params.deliveryId);
      if (sent === null) throw deliveryNotFound();
      if (!endpoint.enabled) throw endpointDisabled();
      const delivery = newRedelivery(sent, endpoint, now());
      await deliveries.insert([delivery]);
      await scheduleNow(coordination, [delivery]);
      return sendCreated(
        reply,
        `/webhook-endpoints/${endpoint._id}/deliveries`,
        'Delivery queued.',
        deliveryOf(delivery),
      );
    },
  );
}

/**
 * Makes the only attempt of a webhook.test at once, while the endpoint's worker continues.
 * @returns its record.
 */
async function sendTest(
  endpoint: EndpointDocument,
  { attempt, deliveries, now }: DeliveriesRoutesOptions,
): Promise<DeliveryDocument> {
  const test = newTestDelivery(endpoint, now());
  const { dueAt, ...result } = recordOf(test, await attempt(test, endpoint), now());
  const ended = { ...test, ...result, attempts: 1 };
  await deliveries.insert([ended]);
  return ended;
}

/** @throws ApiError invalid_param on since. */
function readSince(sent: string): Date {
  const since = readDate(sent) ?? readInstant(sent, 'Z');
  if (since !== null) return since;
  throw invalidParam('since', 'since must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z).');
}
