import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { AccountsStore } from '../../accounts/store.ts';
import { noSuchPicture } from '../errors.ts';
import { isSignatureOf } from './signing.ts';
import type { SigningKeysStore } from './store.ts';

const REVOKED = 'delivery/revoked';
const MAX_SIGNERS = 10_000;
/** How long a key may be used without another look at it, by every process of every host. */
const KEEP_MS = 500;

const KEY_ID = /^sgk_[0-9A-Za-z]{24}$/;

/** Who signed an address: a key, with what a call of its account needs. */
export interface Signer {
  keyId: string;
  accountId: string;
  plan: string;
  secret: string;
}

/** What an address says of its own truth. */
interface Claim {
  keyId: string;
  signature: string;
  /** What was signed. */
  message: string;
  /** Epoch seconds from which it is not answered; null for no end. */
  expiresAt: number | null;
}

interface SignersOptions {
  keys: SigningKeysStore;
  accounts: Pick<AccountsStore, 'findStanding'>;
  coordination: Coordination;
  now: () => Date;
}

/**
 * The signers of addresses. A key is looked up again after half a second, and at once when its revocation is announced.
 */
export class Signers {
  readonly #options: SignersOptions;
  readonly #found = new LRUCache<string, Promise<Signer | null>>({
    max: MAX_SIGNERS,
    ttl: KEEP_MS,
    // Otherwise the cache starts a timer per millisecond to save readings of the clock.
    ttlResolution: 0,
  });
  /** The secret of keys that do not exist, so that they cost what others do. */
  readonly #decoy = randomBytes(32).toString('base64url');
  #unsubscribe: () => void = () => {};

  private constructor(options: SignersOptions) {
    this.#options = options;
  }

  static async open(options: SignersOptions): Promise<Signers> {
    const signers = new Signers(options);
    signers.#unsubscribe = await options.coordination.subscribe(REVOKED, (keyId) => {
      signers.#found.delete(keyId);
    });
    return signers;
  }

  /**
   * Who signed an address.
   * @throws ApiError 404 when nobody did, it has expired, or the account is suspended or gone.
   */
  async verify({ keyId, signature, message, expiresAt }: Claim): Promise<Signer> {
    const signer = await this.#find(keyId);
    const isRight = isSignatureOf(signature, signer?.secret ?? this.#decoy, message);
    const isOver = expiresAt !== null && expiresAt * 1000 <= this.#options.now().getTime();
    if (signer === null || !isRight || isOver) throw noSuchPicture();
    return signer;
  }

  /** Announces to every process that a key was revoked. */
  async revoked(keyId: string): Promise<void> {
    this.#found.delete(keyId);
    await this.#options.coordination.publish(REVOKED, keyId);
  }

  close(): void {
    this.#unsubscribe();
  }

  #find(keyId: string): Promise<Signer | null> {
    if (!KEY_ID.test(keyId)) return Promise.resolve(null);
    const known = this.#found.get(keyId);
    if (known !== undefined) return known;
    const found = this.#read(keyId);
    this.#found.set(keyId, found);
    // A failure of the store is not kept.
    found.catch(() => this.#found.delete(keyId));
    return found;
  }

  async #read(keyId: string): Promise<Signer | null> {
    const { keys, accounts } = this.#options;
    const key = await keys.findAnyKey(keyId);
    const standing = key && (await accounts.findStanding(key.accountId));
    if (key === null || standing === null || standing.isSuspended) return null;
    return { keyId, accountId: key.accountId, plan: standing.plan, secret: key.secret };
  }
}
