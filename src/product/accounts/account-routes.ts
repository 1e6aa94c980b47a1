import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import type { CallGate } from './gate/gate.ts';
import { Account } from './schema.ts';

interface AccountRoutesOptions {
  gate: CallGate;
  /** Describes an account with its credits, which the billing slice knows. */
  describe: (accountId: string) => Promise<Account>;
}

/** The routes of the account to which the credential belongs. */
export async function accountRoutes(
  app: FastifyInstance,
  { gate, describe }: AccountRoutesOptions,
): Promise<void> {
  app.get(
    '/account',
    {
      schema: {
        summary: 'Read your account',
        description: 'The account of the credential, with its plan.',
        response: { 200: envelopeSchemaOf(Account) },
      },
    },
    async (request) =>
      successEnvelope('Account read.', await describe(gate.requireCaller(request).accountId)),
  );
}
