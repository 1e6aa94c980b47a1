import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { createExpiringCache } from '../../platform/values/expiring-cache.ts';
import { ACCOUNT_CHANGED_CHANNEL } from '../accounts/revocations.ts';
import type { AccountsStore } from '../accounts/store.ts';
import { type DeliveryAddress, isSignatureOf } from './address.ts';
import type { SigningKeysStore } from './keys.ts';

const KEY_REVOKED_CHANNEL = 'delivery/revoked';
const MAX_CACHED_KEYS = 10_000;
const MAX_UNKNOWN_KEYS = 10_000;
/** How long a process uses a cached key before it reads the key again. */
const KEY_CACHE_TTL_MS = 500;
/**
 * How long an unknown key is not looked up again. A key with the same id cannot be created in the meantime, because ids
 * are random.
 */
const UNKNOWN_KEY_CACHE_TTL_MS = 30_000;

const KEY_ID_PATTERN = /^sgk_[0-9A-Za-z]{24}$/;
/**
 * The id of an account that does not exist. It is looked up for an unknown key, so that an unknown key takes the same
 * time as an existing one.
 */
const NO_ACCOUNT_ID = 'acc_none';

/** The account that signed an address, with the key and the plan. */
export interface SigningAccount {
  keyId: string;
  accountId: string;
  plan: string;
  secret: string;
}

/** A key as it was last read from the store. */
interface CachedKey {
  signer: SigningAccount;
  atMs: number;
}

interface SignersOptions {
  keys: Pick<SigningKeysStore, 'findAnyKey'>;
  accounts: Pick<AccountsStore, 'findAccountStatus'>;
  coordination: Pick<Coordination, 'subscribe' | 'publish'>;
  now: () => Date;
}

/**
 * Finds the keys of addresses, and caches them. A key is read again after half a second, and at once when it was
 * revoked or its account changed. Verifying an unknown key takes the same reads and the same HMAC as verifying a known
 * one.
 */
export class SigningKeyCache {
  readonly #options: SignersOptions;
  /**
   * The last result of reading each key, however old. It shows whether a key id exists: even a blocked client may use
   * addresses of existing keys.
   */
  readonly #cachedKeys = new LRUCache<string, CachedKey>({ max: MAX_CACHED_KEYS });
  readonly #unknownKeys: LRUCache<string, true>;
  readonly #runningReads = new Map<string, Promise<SigningAccount | null>>();
  /** The secret that is used for unknown keys, so that verifying them takes the same time. */
  readonly #decoySecret = randomBytes(32).toString('base64url');
  #unsubscribe: Array<() => void> = [];

  private constructor(options: SignersOptions) {
    this.#options = options;
    const nowMs = () => options.now().getTime();
    this.#unknownKeys = createExpiringCache(MAX_UNKNOWN_KEYS, UNKNOWN_KEY_CACHE_TTL_MS, nowMs);
  }

  static async open(options: SignersOptions): Promise<SigningKeyCache> {
    const { coordination } = options;
    const signers = new SigningKeyCache(options);
    signers.#unsubscribe = [
      await coordination.subscribe(KEY_REVOKED_CHANNEL, (keyId) => signers.#forget(keyId)),
      await coordination.subscribe(ACCOUNT_CHANGED_CHANNEL, (accountId) => signers.#forgetAccount(accountId)),
    ];
    return signers;
  }

  /**
   * The signer of an address. Null when the signature is wrong, the address has expired, or the account is suspended or
   * deleted.
   * @param mayReadStore whether the store may be read for a key that this process has never seen. False for a blocked
   * client.
   */
  async verify(
    {
      keyId,
      signature,
      message,
      expiresAt,
    }: Pick<DeliveryAddress, 'keyId' | 'signature' | 'message' | 'expiresAt'>,
    { mayReadStore }: { mayReadStore: boolean },
  ): Promise<SigningAccount | null> {
    const signer = await this.#find(keyId, mayReadStore);
    const isRight = isSignatureOf(signature, signer?.secret ?? this.#decoySecret, message);
    return isRight && !this.hasExpired(expiresAt) ? signer : null;
  }

  /**
   * The signer of a key that was read less than half a second ago. The same object is returned as long as nothing has
   * changed.
   */
  currentSigner(keyId: string): SigningAccount | undefined {
    return this.#freshKey(keyId)?.signer;
  }

  hasExpired(expiresAt: number | null): boolean {
    return expiresAt !== null && expiresAt * 1000 <= this.#options.now().getTime();
  }

  /** Tells every process that a key was revoked. */
  async announceRevocation(keyId: string): Promise<void> {
    this.#forget(keyId);
    await this.#options.coordination.publish(KEY_REVOKED_CHANNEL, keyId);
  }

  close(): void {
    for (const end of this.#unsubscribe) end();
  }

  #forget(keyId: string): void {
    this.#cachedKeys.delete(keyId);
    // A read that is still running began before the change, so its result must not be cached.
    this.#runningReads.delete(keyId);
  }

  #forgetAccount(accountId: string): void {
    for (const [keyId, { signer }] of this.#cachedKeys.entries())
      if (signer.accountId === accountId) this.#forget(keyId);
    this.#runningReads.clear();
  }

  #freshKey(keyId: string): CachedKey | undefined {
    const look = this.#cachedKeys.get(keyId);
    const ageMs = this.#options.now().getTime() - (look?.atMs ?? 0);
    return ageMs >= 0 && ageMs < KEY_CACHE_TTL_MS ? look : undefined;
  }

  #find(keyId: string, mayReadStore: boolean): Promise<SigningAccount | null> | SigningAccount | null {
    const cached = this.#freshKey(keyId);
    if (cached !== undefined) return cached.signer;
    if (!KEY_ID_PATTERN.test(keyId) || this.#unknownKeys.has(keyId)) return null;
    if (!mayReadStore && !this.#cachedKeys.has(keyId)) return null;
    const running = this.#runningReads.get(keyId);
    if (running !== undefined) return running;
    const atMs = this.#options.now().getTime();
    const read = this.#readKey(keyId).then(
      (signer) => {
        // The result is cached only if the key or its account has not changed since the read began.
        if (this.#runningReads.get(keyId) !== read) return signer;
        this.#runningReads.delete(keyId);
        const last = this.#cachedKeys.get(keyId)?.signer;
        if (signer === null) this.#cachedKeys.delete(keyId);
        else this.#cachedKeys.set(keyId, { signer: last?.plan === signer.plan ? last : signer, atMs });
        return signer;
      },
      (error: unknown) => {
        if (this.#runningReads.get(keyId) === read) this.#runningReads.delete(keyId);
        throw error;
      },
    );
    this.#runningReads.set(keyId, read);
    return read;
  }

  async #readKey(keyId: string): Promise<SigningAccount | null> {
    const { keys, accounts } = this.#options;
    const key = await keys.findAnyKey(keyId);
    const standing = await accounts.findAccountStatus(key?.accountId ?? NO_ACCOUNT_ID);
    if (key === null) this.#unknownKeys.set(keyId, true);
    if (key === null || standing === null || standing.isSuspended) return null;
    return { keyId, accountId: key.accountId, plan: standing.plan, secret: key.secret };
  }
}
