import { type Static, Type } from '@sinclair/typebox';
import { DATE_OR_INSTANT_SCHEMA, instantField, oneOfField } from '../../platform/http/fields.ts';
import { PagingQuery } from '../../platform/http/lists.ts';
import { EVENT_TYPES, JOB_EVENT_TYPES } from '../events/event.ts';

const MAX_URL_CHARACTERS = 2048;
const MAX_DESCRIPTION_CHARACTERS = 500;
export const MAX_ENDPOINTS_PER_ACCOUNT = 10;

const url = Type.String({
  maxLength: MAX_URL_CHARACTERS,
  description: 'https on port 443, on a host whose every address is public.',
  documented: { pattern: '^[hH][tT][tT][pP][sS]://[^/@?#]' },
});
const description = Type.String({ maxLength: MAX_DESCRIPTION_CHARACTERS });
const events = Type.Array(Type.String(), {
  documented: { minItems: 1, items: { type: 'string', enum: [...EVENT_TYPES] } },
  description: `Any of ${EVENT_TYPES.join(', ')}; ${JOB_EVENT_TYPES.join(' and ')} when it is not sent.`,
});
const enabled = Type.Boolean({
  description: 'A disabled endpoint gets nothing, and no event of that time later.',
});

export const NewWebhookEndpointBody = Type.Object(
  {
    url,
    description: Type.Optional(description),
    events: Type.Optional(events),
    enabled: Type.Optional(enabled),
  },
  {
    title: 'NewWebhookEndpoint',
    additionalProperties: false,
    examples: [{ url: 'https://example.com/webhooks', events: ['job.completed', 'job.failed'] }],
  },
);
export type NewWebhookEndpointBody = Static<typeof NewWebhookEndpointBody>;

export const WebhookEndpointChangeBody = Type.Partial(NewWebhookEndpointBody, {
  title: 'WebhookEndpointChange',
  additionalProperties: false,
  examples: [{ enabled: false }],
});
export type WebhookEndpointChangeBody = Static<typeof WebhookEndpointChangeBody>;

const endpointFields = {
  id: Type.String({ description: '`whe_…`' }),
  url: Type.String(),
  description: Type.String(),
  events: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  consecutiveFailures: Type.Integer({
    description: 'Deliveries in a row that ran out of retries; the endpoint is disabled at 5.',
  }),
  secretHint: Type.String(),
  disabledAt: Type.Optional(instantField('When it was disabled for its failures.')),
  disabledReason: Type.Optional(Type.String()),
  createdAt: instantField('When it was registered.'),
  updatedAt: instantField('When it was last changed.'),
};
export const WebhookEndpointData = Type.Object(endpointFields, { title: 'WebhookEndpoint' });
export type WebhookEndpointData = Static<typeof WebhookEndpointData>;

export const WebhookEndpointSecretData = Type.Object(
  {
    ...endpointFields,
    secret: Type.String({ description: 'The key of the signatures, `whsec_…`: shown only once.' }),
  },
  { title: 'WebhookEndpointWithSecret' },
);

const DeliveryStatus = oneOfField(['PENDING', 'DELIVERED', 'FAILED'], 'DELIVERED and FAILED are final.');

export const WebhookDelivery = Type.Object(
  {
    id: Type.String({ description: '`whd_…`' }),
    eventId: Type.String({ description: 'The same on every attempt: the key to deduplicate by.' }),
    eventType: Type.String(),
    status: DeliveryStatus,
    attempts: Type.Integer(),
    createdAt: instantField('When it was queued for this endpoint.'),
    nextAttemptAt: Type.Optional(instantField('While PENDING.')),
    deliveredAt: Type.Optional(instantField('When a 2xx came back.')),
    responseStatus: Type.Optional(Type.Integer({ description: 'The last status of the receiver.' })),
    error: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
  },
  { title: 'Delivery' },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WebhookEndpointParams = Type.Object({ endpointId: Type.String() });
export type WebhookEndpointParams = Static<typeof WebhookEndpointParams>;

export const WebhookDeliveryParams = Type.Object({ endpointId: Type.String(), deliveryId: Type.String() });
export type WebhookDeliveryParams = Static<typeof WebhookDeliveryParams>;

/** A delivery with the body that is sent. */
export const WebhookDeliveryWithBody = Type.Object(
  {
    ...WebhookDelivery.properties,
    body: Type.String({ description: 'The event as JSON text: the same bytes at each attempt.' }),
  },
  { title: 'DeliveryWithBody' },
);

export const WebhookDeliveriesQuery = Type.Object({ status: Type.Optional(DeliveryStatus), ...PagingQuery });
export type WebhookDeliveriesQuery = Static<typeof WebhookDeliveriesQuery>;

/** The maximum number of events that one call sends again. */
export const MAX_REDELIVERIES_PER_CALL = 1_000;

export const RedeliverFailedBody = Type.Object(
  {
    since: Type.String({
      description: 'Deliveries that were queued at or after: YYYY-MM-DD or an ISO-8601 instant (UTC).',
      documented: DATE_OR_INSTANT_SCHEMA,
    }),
  },
  { title: 'RedeliverBody', additionalProperties: false, examples: [{ since: '2026-01-31T12:00:00Z' }] },
);
export type RedeliverFailedBody = Static<typeof RedeliverFailedBody>;

export const RedeliverFailedResult = Type.Object(
  {
    queued: Type.Integer({ description: 'New deliveries: one for each event.' }),
    left: Type.Integer({
      description: `Events beyond the ${MAX_REDELIVERIES_PER_CALL} of one call: repeat it.`,
    }),
  },
  { title: 'Redelivered' },
);
