import type { FastifyInstance } from 'fastify';
import { envelopeOf, pageOf, success } from '../../../platform/http/envelope.ts';
import type { Gate } from '../../accounts/gate/gate.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { deliveryNotFound, endpointDisabled, tooManyAttempts } from '../errors.ts';
import { DeliveriesQuery, Delivery, DeliveryParams, EndpointParams } from '../schema.ts';
import { deliveryOf, newRedelivery } from './delivery.ts';
import type { Scheduled } from './schedule.ts';
import type { DeliveriesStore } from './store.ts';
import type { SendTest } from './testing.ts';

interface DeliveryRoutesOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  sendTest: SendTest;
  /** Takes a slot for an attempt of the account. @returns the function that frees it; null when all are taken. */
  takeSlot: (accountId: string) => (() => void) | null;
  attemptsPerAccount: number;
  schedule: (endpoints: readonly Scheduled[]) => Promise<void>;
  gate: Gate;
  now: () => Date;
}

/** The deliveries of an endpoint: its owner lists them, and sends one again or a test. */
export async function deliveryRoutes(
  app: FastifyInstance,
  {
    endpoints,
    deliveries,
    sendTest,
    takeSlot,
    attemptsPerAccount,
    schedule,
    gate,
    now,
  }: DeliveryRoutesOptions,
): Promise<void> {
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
      const { accountId } = gate.callerOf(request);
      const endpoint = await endpoints.read(accountId, request.params.endpointId);
      const leave = takeSlot(accountId);
      if (leave === null) throw tooManyAttempts(attemptsPerAccount);
      try {
        return success('Test event sent.', deliveryOf(await sendTest(endpoint)));
      } finally {
        leave();
      }
    },
  );

  app.get<{ Params: EndpointParams; Querystring: DeliveriesQuery }>(
    '/webhook-endpoints/:endpointId/deliveries',
    {
      schema: {
        summary: 'List the deliveries of an endpoint',
        description: 'Newest first, tests too. Records are kept 14 days.',
        params: EndpointParams,
        querystring: DeliveriesQuery,
        response: { 200: pageOf(Delivery) },
      },
    },
    async (request) => {
      const { accountId } = gate.callerOf(request);
      const { _id } = await endpoints.read(accountId, request.params.endpointId);
      const { rows, meta } = await deliveries.list(accountId, _id, request.query);
      return success('Deliveries listed.', rows.map(deliveryOf), meta);
    },
  );

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
      const { accountId } = gate.callerOf(request);
      const endpoint = await endpoints.read(accountId, request.params.endpointId);
      const sent = await deliveries.find(accountId, endpoint._id, request.params.deliveryId);
      if (sent === null) throw deliveryNotFound();
      if (!endpoint.enabled) throw endpointDisabled();
      const delivery = newRedelivery(sent, endpoint, now());
      await deliveries.insert([delivery]);
      await schedule([delivery]);
      return reply.code(201).send(success('Delivery queued.', deliveryOf(delivery)));
    },
  );
}
