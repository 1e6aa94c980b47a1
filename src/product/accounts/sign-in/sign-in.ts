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

/** How long wrong passwords of an account are remembered after the first one. */
const WINDOW_MS = 15 * 60_000;
/** The number of wrong passwords without a delay; each further one doubles the delay. */
const FREE_GUESSES = 10;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;
/** How long a network stays familiar after a sign-in: guesses from elsewhere do not delay it. */
const FAMILIAR_MS = 30 * DAY_MS;

/** The delay between two guesses at one account, by the number of wrong ones: 0, then 1, 2, 4 … 60 s. */
export function delayMsAfterWrongGuesses(wrongGuesses: number): number {
  if (wrongGuesses < FREE_GUESSES) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** (wrongGuesses - FREE_GUESSES), MAX_DELAY_MS);
}

/** A password that is about to be verified. */
interface Guess {
  /** Uncounts the guess, because it was right, and remembers its network as familiar. */
  succeeded(): Promise<void>;
  /** Uncounts the guess, because it was not verified. */
  unverified(): Promise<void>;
}

/**
 * Slows down guesses at one account, however many addresses they come from. It never locks an account: a person who has
 * signed in from a network before can sign in there at once. An unknown e-mail address is treated like any other.
 */
class PasswordGuesses {
  readonly #coordination: Coordination;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  /**
   * Begins a guess.
   * @throws ApiError 429 rate_limited, reason sign_in_delay, while the delay after the previous guess lasts.
   */
  async begin(email: string, network: string): Promise<Guess> {
    const account = hashSecret(email);
    const counted = `guesses/${account}`;
    const familiar = `signed-in/${account}/${network}`;
    const { flagged: isFamiliar } = await this.#coordination.admit({ flag: familiar });
    if (!isFamiliar) await this.#countGuess(account, counted);
    const giveBack = async () => {
      if (!isFamiliar) await this.#coordination.giveBackStrike(counted);
    };
    return {
      unverified: giveBack,
      succeeded: async () => {
        await giveBack();
        await this.#coordination.setFlag(familiar, FAMILIAR_MS);
      },
    };
  }

  /** Counts a guess before it is verified, so that concurrent guesses do not all pass the limit. */
  async #countGuess(account: string, counted: string): Promise<void> {
    const { count } = await this.#coordination.strike(counted, WINDOW_MS);
    const delayMs = delayMsAfterWrongGuesses(count - 1);
    if (delayMs === 0) return;
    const turn = await this.#coordination.strike(`guess-turn/${account}`, delayMs);
    if (turn.count === 1) return;
    await this.#coordination.giveBackStrike(counted);
    throw tooEarly(turn.resetMs);
  }
}

function tooEarly(waitMs: number): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many wrong passwords were sent for this account: wait for Retry-After seconds.',
    { details: { reason: 'sign_in_delay' }, retryAfterSeconds: waitMs / 1000 },
  );
}
