import { type Static, Type } from '@sinclair/typebox';
import { componentSchema } from '../../platform/http/fields.ts';

const UNLIMITED_DESCRIPTION = '-1 when unlimited.';

export const AccountLimits = componentSchema('AccountLimits', {
  syncConcurrency: Type.Integer({ description: 'Synchronous image calls in flight.' }),
  jobWaits: Type.Integer({ description: 'Job waits open at once.' }),
  requestsPerMinute: Type.Integer(),
  runningJobsPerType: Type.Integer({ description: 'The next ones wait.' }),
});
export type AccountLimits = Static<typeof AccountLimits>;

export const AccountCredits = componentSchema('Credits', {
  balance: Type.Integer({ format: 'int64' }),
  held: Type.Integer({ format: 'int64', description: 'Reserved for work that has not ended.' }),
  available: Type.Integer({ format: 'int64', description: 'balance - held.' }),
});
export type AccountCredits = Static<typeof AccountCredits>;

/** The addresses that webhooks of this deployment may have, besides https on port 443 of public hosts. */
export const WebhookTargets = componentSchema('WebhookTargets', {
  plainHttp: Type.Boolean({ description: 'Whether endpoints may be plain http, and have any port.' }),
  loopback: Type.Boolean({ description: 'Whether endpoints may be on the host of the service.' }),
  privateNetworks: Type.Boolean({
    description: 'Whether the operator allows some networks that are not public.',
  }),
});
export type WebhookTargets = Static<typeof WebhookTargets>;

/** An account as the API shows it to its owner. */
export const Account = componentSchema('Account', {
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  plan: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  credits: AccountCredits,
  processing: Type.Object({
    limit: Type.Integer({ format: 'int64', description: UNLIMITED_DESCRIPTION }),
    used: Type.Integer({
      format: 'int64',
      description:
        'Runs of this period, those past the limit too. Without a limit, synchronous calls of the last second may be missing.',
    }),
    left: Type.Integer({ format: 'int64', description: UNLIMITED_DESCRIPTION }),
    periodStart: Type.String({ format: 'date-time', description: 'First instant of the month, UTC.' }),
    periodEnd: Type.String({ format: 'date-time', description: 'First instant of the next month.' }),
  }),
  assets: Type.Object({ limit: Type.Integer(), stored: Type.Integer(), left: Type.Integer() }),
  limits: AccountLimits,
  webhooks: WebhookTargets,
});
export type Account = Static<typeof Account>;

export const ApiKey = componentSchema('ApiKey', {
  id: Type.String(),
  name: Type.String(),
  hint: Type.String({ description: 'The prefix and the last 4 characters.' }),
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Exact to a minute.' })),
});
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = Type.Composite(
  [ApiKey, Type.Object({ key: Type.String({ description: 'Shown once.' }) })],
  { title: 'NewApiKey' },
);

export const NewApiKeyBody = Type.Object(
  { name: Type.Optional(Type.String({ maxLength: 100 })) },
  { title: 'NewApiKeyBody', additionalProperties: false, examples: [{ name: 'Uploads' }] },
);
export type NewApiKeyBody = Static<typeof NewApiKeyBody>;

export const SignInBody = Type.Object(
  { email: Type.String({ maxLength: 320 }), password: Type.String({ maxLength: 1000 }) },
  {
    title: 'SignInBody',
    additionalProperties: false,
    examples: [{ email: 'owner@localhost', password: 'the one that the first start printed' }],
  },
);
export type SignInBody = Static<typeof SignInBody>;

export const ApiKeyParams = Type.Object({ keyId: Type.String() });
export type ApiKeyParams = Static<typeof ApiKeyParams>;

export const SignInLinkBody = Type.Object(
  { token: Type.String({ maxLength: 100, description: 'What stands behind # in the link.' }) },
  {
    title: 'LinkBody',
    additionalProperties: false,
    examples: [{ token: 'lnk_0000000000000000000000000000000000000000' }],
  },
);
export type SignInLinkBody = Static<typeof SignInLinkBody>;

/** The response to a sign-in whose token was sent as a cookie. */
export const CookieSignInResult = componentSchema('CookieSession', {
  expiresAt: Type.String({ format: 'date-time' }),
  account: Account,
});

export const SignInResult = componentSchema('SignedIn', {
  token: Type.String({ description: 'For `Authorization: Bearer`; shown once.' }),
  ...CookieSignInResult.properties,
});

export const ConsoleSession = componentSchema('Session', {
  id: Type.String(),
  createdAt: Type.String({ format: 'date-time', description: 'When it was signed in.' }),
  expiresAt: Type.String({ format: 'date-time' }),
  isCurrent: Type.Boolean({ description: 'Whether it makes this call.' }),
});

export const SessionParams = Type.Object({ sessionId: Type.String() });
export type SessionParams = Static<typeof SessionParams>;
