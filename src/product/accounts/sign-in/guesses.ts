import { ApiError } from '../../../platform/http/errors.ts';
import { DAY_MS } from '../../../platform/names/units.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { secretHash } from '../keys.ts';

/** Wrong passwords of an account are remembered for so long after the first. */
const WINDOW_MS = 15 * 60_000;
/** So many wrong passwords cost no time; each one more doubles it. */
const FREE_GUESSES = 10;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** Where somebody signed in, the guesses of others delay nobody for so long. */
const FAMILIAR_MS = 30 * DAY_MS;

/** The time between two guesses at one account, by the number of wrong ones: 0, then 1, 2, 4 … 60 s. */
export function delayMsAfter(wrongGuesses: number): number {
  if (wrongGuesses < FREE_GUESSES) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** (wrongGuesses - FREE_GUESSES), LONGEST_DELAY_MS);
}

/** A password that is about to be judged. */
export interface Guess {
  /** It was right: it does not count, and its network is known from now on. */
  succeeded(): Promise<void>;
  /** It was not judged: it does not count. */
  unjudged(): Promise<void>;
}

/**
 * Slows guesses at one account down, from however many addresses they come. It never locks: a person who signed in from
 * a network before signs in there at once. An e-mail that nobody has is treated like any other.
 */
export interface Guesses {
  /** @throws ApiError 429 rate_limited, reason sign_in_delay, while the time since the guess before is not over. */
  begin(email: string, network: string): Promise<Guess>;
}

export function createGuesses(coordination: Coordination): Guesses {
  return {
    async begin(email, network) {
      const account = secretHash(email);
      const counted = `guesses/${account}`;
      const familiar = `signed-in/${account}/${network}`;
      const { marked: isFamiliar } = await coordination.admit({ marked: familiar });
      if (!isFamiliar) await takeTurn(account, counted);
      const giveBack = async () => {
        if (!isFamiliar) await coordination.giveBackStrike(counted);
      };
      return {
        unjudged: giveBack,
        async succeeded() {
          await giveBack();
          await coordination.mark(familiar, FAMILIAR_MS);
        },
      };
    },
  };

  /** Counted before it is judged, so that guesses which come together do not pass together. */
  async function takeTurn(account: string, counted: string): Promise<void> {
    const { count } = await coordination.strike(counted, WINDOW_MS);
    const delayMs = delayMsAfter(count - 1);
    if (delayMs === 0) return;
    const turn = await coordination.strike(`guess-turn/${account}`, delayMs);
    if (turn.count === 1) return;
    await coordination.giveBackStrike(counted);
    throw tooEarly(turn.resetMs);
  }
}

function tooEarly(leftMs: number): ApiError {
  return new ApiError(
    'rate_limited',
    'Too many wrong passwords were sent for this account: wait for Retry-After seconds.',
    { details: { reason: 'sign_in_delay' }, retryAfterSeconds: leftMs / 1000 },
  );
}
