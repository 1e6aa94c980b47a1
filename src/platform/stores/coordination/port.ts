/**
 * Coordination between processes: rate windows, slots, idempotency, leases and messages. All coordination data may be
 * lost at any time without losing a job, a delivery or credits. Each method is atomic: it is a Lua script on Redis, and
 * one turn of the primary's event loop in the embedded form. Every key expires by itself. Times are milliseconds of the
 * store's own clock.
 *
 * Limits that all processes of a host share, by key and time, are counted here: rate windows, failures, slots. Two
 * kinds of limits are counted elsewhere. Calls that wait for a thread wait in its process
 * (src/imaging/images/admission.ts), which knows when one is free. What an account stores is counted in its documents
 * (src/product/assets/quota.ts, src/platform/named-documents.ts), because these counts must survive a restart.
 */

/** Counts one request against a window. A window starts with its first request and ends after `windowMs`. */
export interface RateWindowRequest {
  key: string;
  limit: number;
  windowMs: number;
  /**
   * The requests to count in advance, which the process will make before the window ends. 0 by default. At most a
   * thousandth of the remaining requests are counted in advance, because requests that are counted but not made are
   * lost.
   */
  ahead?: number;
}

export interface RateWindowAnswer {
  allowed: boolean;
  remaining: number;
  /** The requests that were counted in advance. */
  ahead: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/**
 * Takes one of `limit` slots of `key`. The slot is freed by `releaseSlot`, or by itself after `leaseMs`. `holder`
 * identifies one slot of one process, `<hostId>/<processId>/<n>`. A repeated request of the same holder renews the
 * slot.
 */
export interface LeasedSlotRequest {
  key: string;
  limit: number;
  holder: string;
  leaseMs: number;
}

/**
 * Takes one of `limit` slots that owners share. A free slot is given to the waiting owner with the fewest slots, and
 * among several of them to the one that has waited longest. While another owner has been seen recently, an owner gets
 * at most half of the slots, rounded up. A single owner gets all but one, so that the next owner need not wait for it.
 */
export interface SharedSlotRequest extends LeasedSlotRequest {
  /** The holder, whose last part is the owner: `<hostId>/<processId>/<n>/<owner>`. */
  holder: string;
  /** An owner counts as seen for this time after its request. */
  seenMs: number;
  /**
   * How long a refused owner counts as waiting, at most `seenMs`. The owner repeats its request before this time ends.
   */
  waitMs: number;
}

/** Identifies a slot that is held. */
export type HeldSlotKey = Pick<LeasedSlotRequest, 'key' | 'holder'>;

export interface AdmissionRequest {
  /** Slots to release first, regardless of the result. */
  returned?: readonly HeldSlotKey[];
  /** Refuses the request while this window (see `addStrike`) is full. */
  blocked?: { key: string; limit: number };
  /** Refuses the request while this flag (see `setFlag`) is set, such as after the revocation of a credential. */
  flag?: string;
  rate?: RateWindowRequest;
  /** The slot to take. It is taken only when no other check refused the request. */
  slot?: LeasedSlotRequest;
}

export interface AdmissionAnswer {
  /** Milliseconds until the block ends; 0 when not blocked. A blocked request is not counted. */
  blockedMs: number;
  /** True when the flag is set. A flagged request is not counted. */
  flagged: boolean;
  /** Null when no window was given, or when an earlier check refused. A request over its limit is not counted. */
  rate: RateWindowAnswer | null;
  /** True when the slot was taken, or none was requested; false when an earlier check refused. */
  slot: boolean;
}

/** The stored response to an idempotent request. `body` is exactly the text that was sent. */
export interface StoredHttpResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type IdempotencyBeginning =
  /** The caller must run the request, and then call `keepIdempotent` or `forgetIdempotent` with this token. */
  | { state: 'new'; token: string }
  /** The first request with this key has no response yet. */
  | { state: 'running' }
  /** The response to the same request is stored. */
  | { state: 'replay'; response: StoredHttpResponse }
  /** The key belongs to another request, or its response could not be stored. */
  | { state: 'reused' };

/** A member of a due set with its due time in milliseconds from now. 0 or less is due at once. */
export interface DueMember {
  member: string;
  afterMs: number;
}

export interface DueClaims {
  /** The claimed members. Those that have been due for longest come first. */
  members: string[];
  /**
   * The milliseconds until another member can be claimed: 0 when more are due than were requested, and null when the
   * set is empty.
   */
  nextInMs: number | null;
}

export interface Coordination {
  /**
   * Checks a request in one round trip: the blocked window, the flag, the rate window and the slot. It also releases
   * earlier slots.
   */
  admit(request: AdmissionRequest): Promise<AdmissionAnswer>;
  /** Adds a failure (such as a wrong credential) to its window. Returns the new count and the remaining time. */
  addStrike(key: string, windowMs: number): Promise<{ count: number; resetMs: number }>;
  /** Subtracts one failure from its window, because the credential was right. */
  withdrawStrike(key: string): Promise<void>;
  /** Sets a flag for `lifeMs`, which every later `admit` on this key checks. */
  setFlag(key: string, lifeMs: number): Promise<void>;
  /**
   * Takes a shared slot, or registers the owner as waiting. True when the slot was taken. It is released and renewed
   * like any other slot.
   */
  takeShared(request: SharedSlotRequest): Promise<boolean>;
  /** Releases a slot. It does nothing for a slot that was released before or has expired. */
  releaseSlot(key: string, holder: string): Promise<void>;
  /** Extends a slot that is still held; false when it expired. */
  renewSlot(key: string, holder: string, leaseMs: number): Promise<boolean>;
  /**
   * Releases every slot of holders that begin with `prefix`, such as those of a dead process. It walks all slots and is
   * meant for rare use.
   */
  releaseSlotsByPrefix(prefix: string): Promise<void>;

  /**
   * Begins a request under an idempotency key. A first request without a response holds its key for `pendingMs`. A
   * response is stored until `keepMs` after the beginning. `fingerprint` is null if the body is too large to be
   * compared: once the response to such a request is stored, every repeat of it is `reused`.
   */
  beginIdempotent(
    key: string,
    fingerprint: string | null,
    pendingMs: number,
    keepMs: number,
  ): Promise<IdempotencyBeginning>;
  /**
   * Stores the response for the lifetime of the key; `response` is null when it cannot be stored (too large, or
   * secret).
   */
  keepIdempotent(key: string, token: string, response: StoredHttpResponse | null): Promise<void>;
  /** Frees the key, so that a retry runs. */
  forgetIdempotent(key: string, token: string): Promise<void>;

  /**
   * Takes or renews a named lease, such as that of a periodic task. One owner has it at a time. True if `owner` has it.
   */
  lease(name: string, owner: string, leaseMs: number): Promise<boolean>;
  endLease(name: string, owner: string): Promise<void>;

  /**
   * Schedules members of a due set, each with its due time. The earlier of two times counts. A time that is scheduled
   * while the member is claimed takes effect when the claim ends, so none is lost.
   */
  schedule(key: string, dues: readonly DueMember[]): Promise<void>;
  /**
   * Claims at most `limit` members that are due. A claim ends by itself after `leaseMs`, and its member is due again.
   */
  claimDue(key: string, limit: number, leaseMs: number, holder: string): Promise<DueClaims>;
  /** Extends a claim, and takes it again if the set was lost; false when another holder has the member. */
  renewDue(key: string, member: string, holder: string, leaseMs: number): Promise<boolean>;
  /**
   * Ends a claim, and schedules its member again after `afterMs`. If `afterMs` is null and no other time was scheduled
   * during the claim, the member is removed. Returns the milliseconds until the member is due next; null when it is
   * removed, or claimed by another holder.
   */
  settleDue(key: string, member: string, holder: string, afterMs: number | null): Promise<number | null>;
  /** Ends the claims of holders with this prefix, such as those of a dead process. Their members are due at once. */
  releaseDueByPrefix(key: string, prefix: string): Promise<void>;

  /**
   * Sends a message to every process of every host, including this one. Messages may be lost, so nothing durable
   * depends on them. Returns the number of receiving processes; a process that is starting or ending may not listen.
   */
  publish(channel: string, message: string): Promise<number>;
  /** Subscribes to a channel. Returns a function that ends the subscription. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => void>;

  /** The clock of the store, which all hosts share, in epoch milliseconds. */
  time(): Promise<number>;

  ping(): Promise<void>;
  close(): Promise<void>;
}
