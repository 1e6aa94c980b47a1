import { createHash } from 'node:crypto';
import { randomText } from '../../platform/ids/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/values/units.ts';

const LINK_LIFE_MS = 10 * MINUTE_MS;
export const OPERATOR_SESSION_LIFE_MS = 12 * HOUR_MS;
const SECRET_CHARACTERS = 40;

/**
 * The operator's sessions and one-time links. Coordination keeps a hash of each until it expires, so that every process
 * of every host knows them. They are not stored as documents.
 */
export class OperatorSessions {
  readonly #coordination: Coordination;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  /** Makes a secret that opens one session within ten minutes. */
  async newLink(): Promise<string> {
    const link = `opl_${randomText(SECRET_CHARACTERS)}`;
    await this.#coordination.setFlag(keyOf('link', link), LINK_LIFE_MS);
    return link;
  }

  /**
   * Uses up a link.
   * @returns whether the link was valid and unused.
   */
  async useLink(link: string): Promise<boolean> {
    const { flagged } = await this.#coordination.admit({ flag: keyOf('link', link) });
    if (!flagged) return false;
    // Two concurrent uses may both read an unused flag. Of a counter, only one use is the first.
    const { count } = await this.#coordination.strike(keyOf('link-use', link), LINK_LIFE_MS);
    return count === 1;
  }

  /** The secret of a new session. */
  async begin(): Promise<string> {
    const session = `ops_${randomText(SECRET_CHARACTERS)}`;
    await this.#coordination.setFlag(keyOf('session', session), OPERATOR_SESSION_LIFE_MS);
    return session;
  }

  async isOpen(session: string): Promise<boolean> {
    const { flagged } = await this.#coordination.admit({ flag: keyOf('session', session) });
    return flagged;
  }

  async end(session: string): Promise<void> {
    if (await this.isOpen(session)) await this.#coordination.setFlag(keyOf('session', session), 1);
  }
}

function keyOf(kind: string, secret: string): string {
  return `operator/${kind}/${createHash('sha256').update(secret).digest('base64url')}`;
}
