import { type Static, Type } from '@sinclair/typebox';
import { DATE_OR_INSTANT_PATTERN } from '../../platform/http/documented.ts';
import { oneOf } from '../../platform/http/fields.ts';
import { PagingQuery } from '../../platform/http/paging/paging.ts';
import { EVENT_TYPES, JOB_EVENT_TYPES } from '../events/event.ts';

const MAX_URL_CHARACTERS = 2048;
const MAX_DESCRIPTION_CHARACTERS = 500;
export const MAX_ENDPOINTS_PER_ACCOUNT = 10;

const dateTime = (description: string) => Type.String({ format: 'date-time', description });

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

export const NewEndpoint = Type.Object(
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
export type NewEndpoint = Static<typeof NewEndpoint>;

export const EndpointChange = Type.Partial(NewEndpoint, {
  title: 'WebhookEndpointChange',
  additionalProperties: false,
  examples: [{ enabled: false }],
});
export type EndpointChange = Static<typeof EndpointChange>;

const endpoint = {
  id: Type.String({ description: '`whe_…`' }),
  url: Type.String(),
  description: Type.String(),
  events: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  consecutiveFailures: Type.Integer({
    description: 'Deliveries in a row that ran out of retries; the endpoint is disabled at 5.',
  }),
  secretHint: Type.String(),
  disabledAt: Type.Optional(dateTime('When it was disabled for its failures.')),
  disabledReason: Type.Optional(Type.String()),
  createdAt: dateTime('When it was registered.'),
  updatedAt: dateTime('When it was last changed.'),
};
export const Endpoint = Type.Object(endpoint, { title: 'WebhookEndpoint' });
export type Endpoint = Static<typeof Endpoint>;

export const EndpointWithSecret = Type.Object(
  {
    ...endpoint,
    secret: Type.String({ description: 'The key of the signatures, `whsec_…`: shown only once.' }),
  },
  { title: 'WebhookEndpointWithSecret' },
);

const DeliveryStatus = oneOf(['PENDING', 'DELIVERED', 'FAILED'], 'DELIVERED and FAILED are final.');

export const Delivery = Type.Object(
  {
    id: Type.String({ description: '`whd_…`' }),
    eventId: Type.String({ description: 'The same on every attempt: the key to deduplicate by.' }),
    eventType: Type.String(),
    status: DeliveryStatus,
    attempts: Type.Integer(),
    createdAt: dateTime('When it was queued for this endpoint.'),
    nextAttemptAt: Type.Optional(dateTime('While PENDING.')),
    deliveredAt: Type.Optional(dateTime('When a 2xx came back.')),
    responseStatus: Type.Optional(Type.Integer({ description: 'The last status of the receiver.' })),
    error: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
  },
  { title: 'Delivery' },
);
export type Delivery = Static<typeof Delivery>;

export const EndpointParams = Type.Object({ endpointId: Type.String() });
export type EndpointParams = Static<typeof EndpointParams>;

export const DeliveryParams = Type.Object({ endpointId: Type.String(), deliveryId: Type.String() });
export type DeliveryParams = Static<typeof DeliveryParams>;

/** A delivery with what is sent. */
export const DeliveryWithBody = Type.Object(
  {
    ...Delivery.properties,
    body: Type.String({ description: 'The event as JSON text: the same bytes at each attempt.' }),
  },
  { title: 'DeliveryWithBody' },
);
export type DeliveryWithBody = Static<typeof DeliveryWithBody>;

export const DeliveriesQuery = Type.Object({ status: Type.Optional(DeliveryStatus), ...PagingQuery });
export type DeliveriesQuery = Static<typeof DeliveriesQuery>;

/** The most events that one call sends again. */
export const MAX_REDELIVERIES = 1_000;

export const RedeliverBody = Type.Object(
  {
    since: Type.String({
      description: 'Deliveries that were queued at or after: YYYY-MM-DD or an ISO-8601 instant (UTC).',
      documented: DATE_OR_INSTANT_PATTERN,
    }),
  },
  { title: 'RedeliverBody', additionalProperties: false, examples: [{ since: '2026-01-31T12:00:00Z' }] },
);
export type RedeliverBody = Static<typeof RedeliverBody>;

export const Redelivered = Type.Object(
  {
    queued: Type.Integer({ description: 'New deliveries: one for each event.' }),
    left: Type.Integer({ description: `Events beyond the ${MAX_REDELIVERIES} of one call: repeat it.` }),
  },
  { title: 'Redelivered' },
);
