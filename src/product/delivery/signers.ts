import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { ACCOUNT_CHANGED_CHANNEL } from '../accounts/revocations.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { isSignatureOf } from './address.ts';
import type { SigningKeysStore } from './keys.ts';

const REVOKED = 'delivery/revoked';
const MAX_SIGNERS = 10_000;
const MAX_UNKNOWN = 10_000;
/** How long any process of any host may use a key before it is read again. */
const KEEP_MS = 500;
/** How long an unknown key is not looked up again. No caller knows an id before its key exists. */
const UNKNOWN_MS = 30_000;

const KEY_ID = /^sgk_[0-9A-Za-z]{24}$/;
/** The account id that is looked up for unknown keys, so that they cost the same. */
const NO_ACCOUNT = 'acc_none';

/** The signer of an address: a key, and the facts that a call of its account needs. */
export interface SigningAccount {
  keyId: string;
  accountId: string;
  plan: string;
  secret: string;
}

/** The signature of an address, and the signed text. */
interface SignedMessage {
  keyId: string;
  signature: string;
  /** What was signed. */
  message: string;
  /** Epoch seconds from which the address is refused; null for never. */
  expiresAt: number | null;
}

/** A key as it was last read from the store. */
interface Look {
  signer: SigningAccount;
  atMs: number;
}

interface SignersOptions {
  keys: Pick<SigningKeysStore, 'findAnyKey'>;
  accounts: Pick<AccountsStore, 'findStanding'>;
  coordination: Pick<Coordination, 'subscribe' | 'publish'>;
  now: () => Date;
}

/**
 * The signers of addresses. A key is read again after half a second, and at once when its revocation or a change of its
 * account is announced. Keys that do not exist cost the same reads and the same HMAC as others.
 */
export class SigningKeyCache {
  readonly #options: SignersOptions;
  /** The last valid reading of each key, however old. It proves that the key's id is not invented. */
  readonly #looks = new LRUCache<string, Look>({ max: MAX_SIGNERS });
  readonly #unknown: LRUCache<string, true>;
  readonly #running = new Map<string, Promise<SigningAccount | null>>();
  /** The secret that is used for unknown keys, so that they cost the same as others. */
  readonly #decoy = randomBytes(32).toString('base64url');
  #unsubscribe: Array<() => void> = [];

  private constructor(options: SignersOptions) {
    this.#options = options;
    const perf = { now: () => options.now().getTime() };
    this.#unknown = new LRUCache({ max: MAX_UNKNOWN, ttl: UNKNOWN_MS, ttlResolution: 0, perf });
  }

  static async open(options: SignersOptions): Promise<SigningKeyCache> {
    const { coordination } = options;
    const signers = new SigningKeyCache(options);
    signers.#unsubscribe = [
      await coordination.subscribe(REVOKED, (keyId) => signers.#forget(keyId)),
      await coordination.subscribe(ACCOUNT_CHANGED_CHANNEL, (accountId) => signers.#forgetAccount(accountId)),
    ];
    return signers;
  }

  /**
   * The signer of an address. Null when the signature is wrong, the address has expired, or the account is suspended or
   * deleted.
   * @param looksUp whether a key that this process has never seen is looked up in the store.
   */
  async verify(
    { keyId, signature, message, expiresAt }: SignedMessage,
    { looksUp }: { looksUp: boolean },
  ): Promise<SigningAccount | null> {
    const signer = await this.#find(keyId, looksUp);
    const isRight = isSignatureOf(signature, signer?.secret ?? this.#decoy, message);
    return isRight && !this.isOver(expiresAt) ? signer : null;
  }

  /** The signer of a key that was valid at most half a second ago. It is the same object while nothing has changed. */
  current(keyId: string): SigningAccount | undefined {
    return this.#freshLook(keyId)?.signer;
  }

  isOver(expiresAt: number | null): boolean {
    return expiresAt !== null && expiresAt * 1000 <= this.#options.now().getTime();
  }

  /** Announces to every process that a key was revoked. */
  async revoked(keyId: string): Promise<void> {
    this.#forget(keyId);
    await this.#options.coordination.publish(REVOKED, keyId);
  }

  close(): void {
    for (const end of this.#unsubscribe) end();
  }

  #forget(keyId: string): void {
    this.#looks.delete(keyId);
    // A read that began before the change must not be kept.
    this.#running.delete(keyId);
  }

  #forgetAccount(accountId: string): void {
    for (const [keyId, { signer }] of this.#looks.entries())
      if (signer.accountId === accountId) this.#forget(keyId);
    this.#running.clear();
  }

  #freshLook(keyId: string): Look | undefined {
    const look = this.#looks.get(keyId);
    const ageMs = this.#options.now().getTime() - (look?.atMs ?? 0);
    return ageMs >= 0 && ageMs < KEEP_MS ? look : undefined;
  }

  #find(keyId: string, looksUp: boolean): Promise<SigningAccount | null> | SigningAccount | null {
    const look = this.#freshLook(keyId);
    if (look !== undefined) return look.signer;
    if (!KEY_ID.test(keyId) || this.#unknown.has(keyId)) return null;
    if (!looksUp && !this.#looks.has(keyId)) return null;
    const running = this.#running.get(keyId);
    if (running !== undefined) return running;
    const atMs = this.#options.now().getTime();
    const found = this.#look(keyId).then(
      (signer) => {
        // A read from before a change of the key or its account is not kept.
        if (this.#running.get(keyId) === found) this.#keep(keyId, signer, atMs);
        return signer;
      },
      (error: unknown) => {
        if (this.#running.get(keyId) === found) this.#running.delete(keyId);
        throw error;
      },
    );
    this.#running.set(keyId, found);
    return found;
  }

  #keep(keyId: string, signer: SigningAccount | null, atMs: number): void {
    this.#running.delete(keyId);
    const last = this.#looks.get(keyId)?.signer;
    if (signer === null) this.#looks.delete(keyId);
    else this.#looks.set(keyId, { signer: last?.plan === signer.plan ? last : signer, atMs });
  }

  async #look(keyId: string): Promise<SigningAccount | null> {
    const { keys, accounts } = this.#options;
    const key = await keys.findAnyKey(keyId);
    const standing = await accounts.findStanding(key?.accountId ?? NO_ACCOUNT);
    if (key === null) this.#unknown.set(keyId, true);
    if (key === null || standing === null || standing.isSuspended) return null;
    return { keyId, accountId: key.accountId, plan: standing.plan, secret: key.secret };
  }
}
