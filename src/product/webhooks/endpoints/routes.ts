import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../../platform/http/envelope.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { suggestWord } from '../../../platform/http/errors/violations.ts';
import { declareChangeRoute } from '../../../platform/http/slice.ts';
import type { OutboundRequests } from '../../../platform/outbound/outbound.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { EVENT_TYPES, JOB_EVENT_TYPES, type WebhookEventType } from '../../events/event.ts';
import { endpointNotFoundError } from '../errors.ts';
import {
  NewWebhookEndpointBody,
  WebhookEndpointChangeBody,
  WebhookEndpointData,
  WebhookEndpointParams,
  WebhookEndpointSecretData,
} from '../schema.ts';
import type { EndpointDisabling } from './disabling.ts';
import { newSigningSecret, WEBHOOK_VERIFICATION_TEXT } from './signing.ts';
import { type EndpointsStore, endpointDataOf } from './store.ts';

interface EndpointRoutesOptions {
  endpoints: EndpointsStore;
  disabling: EndpointDisabling;
  outbound: Pick<OutboundRequests, 'checkWebhook'>;
  announceSubscriptionChange: (accountId: string) => Promise<void>;
  gate: CallGate;
  now: () => Date;
}

const ROUTE_INSTALLERS = [
  installListRoute,
  installCreateRoute,
  installReadRoute,
  installChangeRoute,
  installRemoveRoute,
  installRotateRoute,
];

export async function endpointRoutes(app: FastifyInstance, options: EndpointRoutesOptions): Promise<void> {
  for (const route of ROUTE_INSTALLERS) route(app, options);
}

function installListRoute(app: FastifyInstance, { endpoints, gate }: EndpointRoutesOptions): void {
  app.get(
    '/webhook-endpoints',
    {
      schema: {
        summary: 'List webhook endpoints',
        description: 'Newest first, without their secrets. Not paged.',
        response: { 200: envelopeSchemaOf(Type.Array(WebhookEndpointData)) },
      },
    },
    async (request) => {
      const found = await endpoints.list(gate.requireCaller(request).accountId);
      return successEnvelope('Webhook endpoints listed.', found.map(endpointDataOf));
    },
  );
}

function installCreateRoute(
  app: FastifyInstance,
  { endpoints, outbound, announceSubscriptionChange, gate, now }: EndpointRoutesOptions,
): void {
  app.post<{ Body: NewWebhookEndpointBody }>(
    '/webhook-endpoints',
    {
      config: {
        idempotency: 'unkept',
        recheck: (_request, { body }) => parseEventTypes((body as NewWebhookEndpointBody).events),
      },
      schema: {
        summary: 'Register a webhook endpoint',
        description: `The response contains the signing secret, only this once. The url is checked now and before every attempt.\n\n${WEBHOOK_VERIFICATION_TEXT}`,
        body: NewWebhookEndpointBody,
        response: { 201: envelopeSchemaOf(WebhookEndpointSecretData) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { url, description = '', enabled = true } = request.body;
      const events = parseEventTypes(request.body.events);
      await outbound.checkWebhook(url);
      const secret = newSigningSecret();
      const fields = { url, description, events, enabled, secret };
      const endpoint = await endpoints.insert(accountId, fields, now());
      await announceSubscriptionChange(accountId);
      const data = { ...endpointDataOf(endpoint), secret };
      return sendCreated(reply, `/webhook-endpoints/${endpoint._id}`, 'Webhook endpoint registered.', data);
    },
  );
}

function installReadRoute(app: FastifyInstance, { endpoints, gate }: EndpointRoutesOptions): void {
  app.get<{ Params: WebhookEndpointParams }>(
    '/webhook-endpoints/:endpointId',
    {
      schema: {
        summary: 'Read a webhook endpoint',
        description: 'Without its secret, with what its deliveries have met.',
        params: WebhookEndpointParams,
        response: { 200: envelopeSchemaOf(WebhookEndpointData) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      return successEnvelope('Webhook endpoint read.', endpointDataOf(endpoint));
    },
  );
}

function installChangeRoute(
  app: FastifyInstance,
  { endpoints, disabling, outbound, announceSubscriptionChange, gate, now }: EndpointRoutesOptions,
): void {
  declareChangeRoute<{ Params: WebhookEndpointParams; Body: WebhookEndpointChangeBody }>(
    app,
    '/webhook-endpoints/:endpointId',
    {
      config: {
        idempotency: 'kept',
        recheck: (_request, { body }) => parseEventTypes((body as WebhookEndpointChangeBody).events),
      },
      schema: {
        summary: 'Change a webhook endpoint',
        description:
          'Fields that are left out keep their values. `enabled: true` clears the failures; `enabled: false` closes what is queued.',
        params: WebhookEndpointParams,
        body: WebhookEndpointChangeBody,
        response: { 200: envelopeSchemaOf(WebhookEndpointData) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { url, description, events, enabled } = request.body;
      const fields = withoutAbsentFields({
        url,
        description,
        events: events && parseEventTypes(events),
        enabled,
      });
      if (url !== undefined) await outbound.checkWebhook(url);
      const endpoint = await endpoints.change(accountId, request.params.endpointId, fields, now());
      if (endpoint === null) throw endpointNotFoundError(request.params.endpointId);
      if (endpoint.enabled) await announceSubscriptionChange(accountId);
      else await disabling.closeQueue(endpoint);
      return successEnvelope('Webhook endpoint changed.', endpointDataOf(endpoint));
    },
  );
}

function installRemoveRoute(
  app: FastifyInstance,
  { endpoints, disabling, gate }: EndpointRoutesOptions,
): void {
  app.delete<{ Params: WebhookEndpointParams }>(
    '/webhook-endpoints/:endpointId',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a webhook endpoint',
        description: 'Queued deliveries are not sent, and the delivery records can no longer be read.',
        params: WebhookEndpointParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const endpoint = await endpoints.requireEndpoint(accountId, request.params.endpointId);
      if (!(await endpoints.remove(accountId, endpoint._id))) throw endpointNotFoundError(endpoint._id);
      await disabling.closeQueue(endpoint);
      return reply.code(204).send();
    },
  );
}

function installRotateRoute(app: FastifyInstance, { endpoints, gate, now }: EndpointRoutesOptions): void {
  app.post<{ Params: WebhookEndpointParams }>(
    '/webhook-endpoints/:endpointId/rotate-secret',
    {
      config: { idempotency: 'unkept' },
      schema: {
        summary: 'Replace the signing secret',
        description:
          'The response contains the new secret, only this once. Every later attempt is signed with it, retries too.',
        params: WebhookEndpointParams,
        response: { 200: envelopeSchemaOf(WebhookEndpointSecretData) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const secret = newSigningSecret();
      const endpoint = await endpoints.replaceSecret(accountId, request.params.endpointId, secret, now());
      if (endpoint === null) throw endpointNotFoundError(request.params.endpointId);
      return successEnvelope('Secret replaced.', { ...endpointDataOf(endpoint), secret });
    },
  );
}

/**
 * The event types to which an endpoint subscribes, without duplicates and in the order of the catalogue. Default: all
 * events of jobs, but none of items.
 * @throws ApiError invalid_param on events: empty, or with an unknown type.
 */
function parseEventTypes(sent: readonly string[] | undefined): WebhookEventType[] {
  if (sent === undefined) return [...JOB_EVENT_TYPES];
  const allowed = EVENT_TYPES;
  if (sent.length === 0) {
    const message = 'events is empty: leave it out for every job-level event.';
    throw invalidParamError('events', message, { allowed }, [{ param: 'events', remove: true }]);
  }
  const matching = [...new Set(sent.flatMap(eventTypesMatching))];
  if (sent.some((type) => type.includes('*')) && matching.length > 0) {
    const message = `events takes no pattern: send ${matching.join(', ')}, or leave it out for every job-level event.`;
    throw invalidParamError('events', message, { allowed }, [{ param: 'events', replace: matching }]);
  }
  const unknown = sent.find((type) => !EVENT_TYPES.some((known) => known === type));
  if (unknown !== undefined) {
    const { hint, corrections, suggest } = suggestWord(unknown, allowed, `events[${sent.indexOf(unknown)}]`);
    const message = `"${unknown}" is not an event: events may hold ${allowed.join(', ')}.${hint}`;
    throw invalidParamError('events', message, { allowed, ...withoutAbsentFields({ suggest }) }, corrections);
  }
  return EVENT_TYPES.filter((type) => sent.includes(type));
}

/**
 * The event types that match a pattern such as `job.*`, because other services accept such patterns. A text without `*`
 * is returned unchanged.
 */
function eventTypesMatching(text: string): string[] {
  const [start = '', end, ...more] = text.split('*');
  if (end === undefined || more.length > 0) return [text];
  return EVENT_TYPES.filter((type) => type.startsWith(start) && type.endsWith(end));
}
