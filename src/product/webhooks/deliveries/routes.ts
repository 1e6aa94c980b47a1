import type { FastifyInstance } from 'fastify';
import {
  envelopeSchemaOf,
  pageSchemaOf,
  sendCreated,
  successEnvelope,
} from '../../../platform/http/envelope.ts';
import { requireDateOrInstant } from '../../../platform/http/fields.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import type { EndpointDocument, EndpointsStore } from '../endpoints/store.ts';
import { deliveryNotFoundError, endpointDisabledError, tooManyAttemptsError } from '../errors.ts';
import {
  MAX_REDELIVERIES_PER_CALL,
  RedeliverFailedBody,
  RedeliverFailedResult,
  WebhookDeliveriesQuery,
  WebhookDelivery,
  WebhookDeliveryParams,
  WebhookDeliveryWithBody,
  WebhookEndpointParams,
} from '../schema.ts';
import type { AttemptDelivery } from './attempt.ts';
import { scheduleEndpointsNow } from './schedule.ts';
import type { AttemptSlots } from './slots.ts';
import {
  type DeliveriesStore,
  type DeliveryDocument,
  deliveryDataOf,
  newRedelivery,
  newTestDelivery,
} from './store.ts';

interface DeliveriesRoutesOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  coordination: Coordination;
  attempt: AttemptDelivery;
  slots: AttemptSlots;
  attemptsPerAccount: number;
  gate: CallGate;
  now: () => Date;
}

const ROUTE_INSTALLERS = [
  installTestRoute,
  installListRoute,
  installReadRoute,
  installRedeliverFailedRoute,
  installRedeliverRoute,
];

/** The routes for the deliveries of an endpoint: list them, send one again, or send a test event. */
export async function deliveryRoutes(app: FastifyInstance, options: DeliveriesRoutesOptions): Promise<void> {
  for (const route of ROUTE_INSTALLERS) route(app, options);
}

function installTestRoute(app: FastifyInstance, options: DeliveriesRoutesOptions): void {
  const { endpoints, slots, attemptsPerAccount, gate } = options;
  app.post<{ Params: WebhookEndpointParams }>(
    '/webhook-endpoints/:endpointId/test',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send a test event',
        description:
          'One webhook.test attempt at once, never retried, on a disabled endpoint too. Answers its record.',
        params: WebhookEndpointParams,
        response: { 200: envelopeSchemaOf(WebhookDelivery) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      const release = slots.takeAccountSlot(accountId);
      if (release === null) throw tooManyAttemptsError(attemptsPerAccount);
      try {
        const data = deliveryDataOf(await attemptTestDelivery(endpoint, options));
        return successEnvelope('Test event sent.', data);
      } finally {
        release();
      }
    },
  );
}

function installListRoute(
  app: FastifyInstance,
  { endpoints, deliveries, gate }: DeliveriesRoutesOptions,
): void {
  app.get<{ Params: WebhookEndpointParams; Querystring: WebhookDeliveriesQuery }>(
    '/webhook-endpoints/:endpointId/deliveries',
    {
      schema: {
        summary: 'List deliveries',
        description: 'Newest first, tests too. Records are kept 14 days.',
        params: WebhookEndpointParams,
        querystring: WebhookDeliveriesQuery,
        response: { 200: pageSchemaOf(WebhookDelivery) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      const { rows, meta } = await deliveries.list(accountId, _id, request.query);
      return successEnvelope('Deliveries listed.', rows.map(deliveryDataOf), meta);
    },
  );
}

function installReadRoute(
  app: FastifyInstance,
  { endpoints, deliveries, gate }: DeliveriesRoutesOptions,
): void {
  app.get<{ Params: WebhookDeliveryParams }>(
    '/webhook-endpoints/:endpointId/deliveries/:deliveryId',
    {
      schema: {
        summary: 'Read a delivery',
        description: 'With the body that is sent.',
        params: WebhookDeliveryParams,
        response: { 200: envelopeSchemaOf(WebhookDeliveryWithBody) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      const delivery = await deliveries.find(accountId, _id, request.params.deliveryId);
      if (delivery === null) throw deliveryNotFoundError();
      return successEnvelope('Delivery read.', { ...deliveryDataOf(delivery), body: delivery.body });
    },
  );
}

function installRedeliverFailedRoute(app: FastifyInstance, options: DeliveriesRoutesOptions): void {
  const { endpoints, gate } = options;
  app.post<{ Params: WebhookEndpointParams; Body: RedeliverFailedBody }>(
    '/webhook-endpoints/:endpointId/redeliver',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send failed events again',
        description:
          'A new delivery of each event whose last one failed, tests excepted, oldest first, with one attempt that is never retried.',
        params: WebhookEndpointParams,
        body: RedeliverFailedBody,
        response: { 200: envelopeSchemaOf(RedeliverFailedResult) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const since = requireDateOrInstant('since', request.body.since);
      const endpoint = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      if (!endpoint.enabled) throw endpointDisabledError();
      const counts = await redeliverFailedEvents(endpoint, since, options);
      return successEnvelope(`${counts.queued} deliveries queued.`, counts);
    },
  );
}

function installRedeliverRoute(
  app: FastifyInstance,
  { endpoints, deliveries, coordination, gate, now }: DeliveriesRoutesOptions,
): void {
  app.post<{ Params: WebhookDeliveryParams }>(
    '/webhook-endpoints/:endpointId/deliveries/:deliveryId/redeliver',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Send an event again',
        description: 'A new record of the same event, with one attempt that is never retried.',
        params: WebhookDeliveryParams,
        response: { 201: envelopeSchemaOf(WebhookDelivery) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      const sent = await deliveries.find(accountId, endpoint._id, request.params.deliveryId);
      if (sent === null) throw deliveryNotFoundError();
      if (!endpoint.enabled) throw endpointDisabledError();
      const delivery = newRedelivery(sent, endpoint, now());
      await deliveries.insert([delivery]);
      await scheduleEndpointsNow(coordination, [delivery]);
      const data = deliveryDataOf(delivery);
      return sendCreated(reply, `/webhook-endpoints/${endpoint._id}/deliveries`, 'Delivery queued.', data);
    },
  );
}

/**
 * Makes the single attempt of a test event at once, independently of the endpoint's queue.
 * @returns the record of the delivery.
 */
async function attemptTestDelivery(
  endpoint: EndpointDocument,
  { attempt, deliveries, now }: DeliveriesRoutesOptions,
): Promise<DeliveryDocument> {
  const test = newTestDelivery(endpoint, now());
  const { dueAt, ...record } = await attempt(test, endpoint);
  const ended = { ...test, ...record, attempts: 1 };
  await deliveries.insert([ended]);
  return ended;
}

/** How many records, with their bodies, are copied at a time. */
const REDELIVERY_BATCH_SIZE = 100;

/**
 * Sends an endpoint the events again whose last delivery to it failed, oldest first.
 * @param since only deliveries that were queued at or after this instant count.
 * @returns how many were queued, and how many are left because of the limit per call.
 */
export async function redeliverFailedEvents(
  endpoint: EndpointDocument,
  since: Date,
  { deliveries, coordination, now }: Pick<DeliveriesRoutesOptions, 'deliveries' | 'coordination' | 'now'>,
): Promise<{ queued: number; left: number }> {
  const { accountId, _id: endpointId } = endpoint;
  const failed = await deliveries.findUnreceivedIds(accountId, endpointId, since);
  const ids = failed.slice(0, MAX_REDELIVERIES_PER_CALL);
  for (let at = 0; at < ids.length; at += REDELIVERY_BATCH_SIZE) {
    const batch = await deliveries.findByIds(
      accountId,
      endpointId,
      ids.slice(at, at + REDELIVERY_BATCH_SIZE),
    );
    // The sequence number keeps the order of deliveries that are due at the same instant.
    await deliveries.insert(
      batch.map((sent, index) => ({ ...newRedelivery(sent, endpoint, now()), sequence: at + index })),
    );
    // The endpoint is scheduled after each batch. If the process dies before the next batch, the stored deliveries are
    // sent anyway.
    await scheduleEndpointsNow(coordination, [{ accountId, endpointId }]);
  }
  return { queued: ids.length, left: failed.length - ids.length };
}
