import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGoneSignal, clientNetworkOf } from '../../../platform/http/connection/client.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import { hashSecret, passwordMatches } from '../accounts.ts';
import { accountSuspendedError } from '../authentication.ts';
import type { CallGate } from '../gate/gate.ts';
import type { SignInBody } from '../schema.ts';
import type { AccountDocument, AccountsStore } from '../store.ts';
import { SignInQueue } from './queue.ts';

/**
 * The limits of the sign-in queue. The check of a password takes 128 MB, 0.3 s and a thread of libuv, so sign-ins have
 * a queue of their own and do not delay image work. Every sign-in is answered within 5 s: it waits for at most 4 s, and
 * the check takes less than the rest.
 */
const SIGN_IN_QUEUE = { maxRunning: 2, maxWaiting: 32, maxWaitingPerNetwork: 8, maxWaitMs: 4_000 };

/**
 * Returns the function that verifies an e-mail address and a password, and returns their account. A guess is counted as
 * wrong for its network and its account before it is verified, and is subtracted from the count if it was right.
 * Concurrent guesses therefore cannot exceed the limit of wrong ones.
 * @throws ApiError (from that function) 401 unauthorized, 403 forbidden for a suspended account, 429 rate_limited.
 */
export function createSignIn(store: AccountsStore, gate: CallGate, coordination: Coordination) {
  const queue = new SignInQueue(SIGN_IN_QUEUE);

  async function verifySignIn(
    { email, password }: SignInBody,
    network: string,
    signal: AbortSignal,
  ): Promise<AccountDocument | null> {
    const release = await queue.enter(network, signal);
    try {
      const account = await store.findByEmail(email.toLowerCase());
      const isPasswordRight = await passwordMatches(password, account?.passwordHash ?? null);
      return isPasswordRight ? account : null;
    } finally {
      release();
    }
  }

  return async (
    request: FastifyRequest<{ Body: SignInBody }>,
    reply: FastifyReply,
  ): Promise<AccountDocument> => {
    const network = clientNetworkOf(request.ip);
    const strike = await gate.precountFailure(request);
    // Even if the guess is refused here because of the delay, it still counts as wrong for its network.
    const guess = await beginGuess(coordination, request.body.email.toLowerCase(), network);
    const account = await verifySignIn(request.body, network, clientGoneSignal(reply)).catch(
      async (error) => {
        await Promise.all([strike.giveBack(), guess.unverified()]);
        throw error;
      },
    );
    if (account === null) throw strike.confirm(wrongPasswordError());
    await Promise.all([strike.giveBack(), guess.succeeded()]);
    if (account.suspendedAt != null) throw accountSuspendedError();
    return account;
  };
}

/**
 * The error for an unknown e-mail address and for a wrong password. Both cases take the same time, so that callers
 * cannot tell them apart.
 */
function wrongPasswordError(): ApiError {
  return new ApiError('unauthorized', 'The e-mail or the password is wrong: check both and sign in again.');
}

/** The window in which wrong passwords of an account are counted, in milliseconds. It begins with the first one. */
const GUESS_WINDOW_MS = 15 * 60_000;
/** The number of wrong guesses that cause no delay. Each further wrong guess doubles the delay of the next one. */
const MAX_UNDELAYED_GUESSES = 10;
const FIRST_GUESS_DELAY_MS = 1_000;
const MAX_GUESS_DELAY_MS = 60_000;
/**
 * How long a network counts as known to an account after a sign-in. Wrong guesses from other networks do not delay
 * sign-ins from a known one.
 */
const KNOWN_NETWORK_TTL_MS = 30 * DAY_MS;

/** The delay before the next guess at an account, by the number of wrong ones: first 0, then 1, 2, 4 … 60 s. */
export function delayMsAfterWrongGuesses(wrongGuesses: number): number {
  if (wrongGuesses < MAX_UNDELAYED_GUESSES) return 0;
  return Math.min(FIRST_GUESS_DELAY_MS * 2 ** (wrongGuesses - MAX_UNDELAYED_GUESSES), MAX_GUESS_DELAY_MS);
}

/**
 * Begins a guess of a password. Guesses at one account are slowed down, no matter how many networks they come from. No
 * account is ever locked: from a network of an earlier sign-in, a person can sign in without delay. Unknown e-mail
 * addresses are treated in the same way.
 * @returns two functions that subtract the guess from the count: `unverified`, if the password could not be verified,
 * and `succeeded`, if it was right. The latter also stores the network as known.
 * @throws ApiError 429 rate_limited, reason sign_in_delay, while the delay after the previous guess lasts.
 */
async function beginGuess(coordination: Coordination, email: string, network: string) {
  const account = hashSecret(email);
  const counted = `guesses/${account}`;
  const familiar = `signed-in/${account}/${network}`;
  const { flagged: isFamiliar } = await coordination.admit({ flag: familiar });
  if (!isFamiliar) await countGuess(coordination, account, counted);
  const giveBack = async () => {
    if (!isFamiliar) await coordination.withdrawStrike(counted);
  };
  return {
    unverified: giveBack,
    succeeded: async () => {
      await giveBack();
      await coordination.setFlag(familiar, KNOWN_NETWORK_TTL_MS);
    },
  };
}

/** Counts a guess before it is verified, so that concurrent guesses do not all pass the limit. */
async function countGuess(coordination: Coordination, account: string, counted: string): Promise<void> {
  const { count } = await coordination.addStrike(counted, GUESS_WINDOW_MS);
  const delayMs = delayMsAfterWrongGuesses(count - 1);
  if (delayMs === 0) return;
  const turn = await coordination.addStrike(`guess-turn/${account}`, delayMs);
  if (turn.count === 1) return;
  await coordination.withdrawStrike(counted);
  throw guessTooEarlyError(turn.resetMs);
}

function guessTooEarlyError(waitMs: number): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many wrong passwords were sent for this account: wait for Retry-After seconds.',
    { details: { reason: 'sign_in_delay' }, retryAfterSeconds: waitMs / 1000 },
  );
}
