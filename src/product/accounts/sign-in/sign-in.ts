import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGoneSignal } from '../../../platform/http/connection/client-gone.ts';
import { clientNetworkOf } from '../../../platform/http/connection/client-network.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { accountSuspendedError } from '../authentication.ts';
import type { CallGate } from '../gate/gate.ts';
import type { SignInBody } from '../schema.ts';
import type { AccountDocument, AccountsStore } from '../store.ts';
import { PasswordGuesses } from './guesses.ts';
import { passwordMatches } from './passwords.ts';
import { SignInQueue } from './queue.ts';

/**
 * Limits of the sign-in queue. A derivation takes 128 MB, 0.3 s and a thread of libuv, so sign-ins have a queue of
 * their own and do not delay image work. Every sign-in is answered within 5 s: it waits at most 4 s, and a derivation
 * takes less than the rest.
 */
const QUEUE = { atOnce: 2, mostWaiting: 32, mostOfNetwork: 8, mostWaitMs: 4_000 };

/**
 * Verifies an e-mail address and a password. A guess is counted for its network and its account before it is verified,
 * and is uncounted if it was right. So of concurrent guesses, no more are verified than may be wrong.
 * @returns the account.
 * @throws ApiError 401 unauthorized, 403 forbidden for a suspended account, 429 rate_limited.
 */
export function createSignIn(store: AccountsStore, gate: CallGate, coordination: Coordination) {
  const queue = new SignInQueue(QUEUE);
  const guesses = new PasswordGuesses(coordination);

  async function verified(
    { email, password }: SignInBody,
    network: string,
    signal: AbortSignal,
  ): Promise<AccountDocument | null> {
    const release = await queue.enter(network, signal);
    try {
      const account = await store.findByEmail(email.toLowerCase());
      const matches = await passwordMatches(password, account?.passwordHash ?? null);
      return matches ? account : null;
    } finally {
      release();
    }
  }

  return async (
    request: FastifyRequest<{ Body: SignInBody }>,
    reply: FastifyReply,
  ): Promise<AccountDocument> => {
    const network = clientNetworkOf(request.ip);
    const strike = await gate.strikeFirst(request);
    // A guess that arrives during the delay stays counted for its network.
    const guess = await guesses.begin(request.body.email.toLowerCase(), network);
    const account = await verified(request.body, network, clientGoneSignal(reply)).catch(async (error) => {
      await Promise.all([strike.giveBack(), guess.unverified()]);
      throw error;
    });
    if (account === null) throw strike.failed(wrongPassword());
    await Promise.all([strike.giveBack(), guess.succeeded()]);
    if (account.suspendedAt != null) throw accountSuspendedError();
    return account;
  };
}

/**
 * The error for an unknown e-mail address and for a wrong password. Both take the same work, so that callers cannot
 * tell them apart.
 */
function wrongPassword(): ApiError {
  return new ApiError('unauthorized', 'The e-mail or the password is wrong: check both and sign in again.');
}
