/**
 * Coordination: speed and fairness. Rate windows, slots, idempotency, leases, messages between processes.
 * All of it may be lost at any moment without losing a job, a delivery or money.
 * Each method is one atomic step: on Redis one Lua script, embedded one turn of the primary.
 * Every key ends by itself. Times are the store's own clock in milliseconds.
 *
 * Whatever is limited for all processes of a host by a key and a time is counted here: rate windows, failures, slots.
 * Two limits are counted elsewhere, each for a reason. What waits for the threads of one process waits in that process
 * (src/imaging/pixels/admission.ts): only it knows when one is free. What an account keeps is counted in its documents
 * (src/product/assets/quota/asset-quota.ts, src/platform/stores/documents/named-slots.ts): that count must not be lost
 * with a restart.
 */

/** Counts one request against a window; windows start at the first request and turn after `windowMs`. */
export interface RateQuestion {
  key: string;
  limit: number;
  windowMs: number;
  /**
   * Requests to count in advance, which the process will make before the window turns: 0 by default, and at most a
   * thousandth of what is left. So what is counted and not made stays small beside the limit, and near its end is
   * nothing.
   */
  ahead?: number;
}

export interface RateAnswer {
  allowed: boolean;
  remaining: number;
  /** Counted ahead. */
  ahead: number;
  /** Milliseconds until the window turns. */
  resetMs: number;
}

/**
 * Takes one of `limit` slots under `key`. The slot comes back by release, or by itself after `leaseMs`.
 * `holder` names one slot of one process, `<hostId>/<processId>/<n>`; asking again under it keeps the slot.
 */
export interface SlotQuestion {
  key: string;
  limit: number;
  holder: string;
  leaseMs: number;
}

/**
 * Takes one of `limit` slots that owners share. A free slot goes to the owner that holds the fewest of those that wait,
 * and of several such to the one that waits for longest; and an owner that holds half of the slots, rounded up, gets no
 * more while another one was seen. So nobody is passed over for ever, and who is alone has all of them.
 */
export interface SharedSlotQuestion extends SlotQuestion {
  /** Ends with the owner: `<hostId>/<processId>/<n>/<owner>`. */
  holder: string;
  /** An owner is seen for this long after it asked. */
  seenMs: number;
  /** An owner that was refused waits for this long, and asks again before that is over. At most `seenMs`. */
  waitMs: number;
}

/** A slot that is held. */
export type HeldSlot = Pick<SlotQuestion, 'key' | 'holder'>;

export interface AdmitQuestion {
  /** Slots that come back before anything is looked at, whatever the answer. */
  returned?: readonly HeldSlot[];
  /** Refuses everything while this window (see `strike`) is full. */
  blocked?: { key: string; limit: number };
  /** Refuses everything while this mark (see `mark`) stands: a credential that was revoked moments ago. */
  marked?: string;
  rate?: RateQuestion;
  /** Asked only when none of the others refused. */
  slot?: SlotQuestion;
}

export interface AdmitAnswer {
  /** Milliseconds until the block ends; 0 when not blocked. A blocked request is not counted. */
  blockedMs: number;
  /** True when the mark stands. A marked request is not counted either. */
  marked: boolean;
  /** Null when not asked, or not reached: a request over its limit is not counted either. */
  rate: RateAnswer | null;
  /** True when the slot was taken (or none was asked for); false when anything before it refused. */
  slot: boolean;
}

/** A kept answer of an idempotent request. `body` is the text that was sent, verbatim. */
export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type IdempotencyAnswer =
  /** The caller runs the request, then calls `keep` or `forget` with this token. */
  | { state: 'new'; token: string }
  /** The first request under this key has not answered. */
  | { state: 'running' }
  /** The same request was answered. */
  | { state: 'replay'; response: StoredResponse }
  /** The key means another request, or its answer could not be kept. */
  | { state: 'reused' };

/** A member of a due set, and when it is due: milliseconds from now, 0 or less for at once. */
export interface Due {
  member: string;
  afterMs: number;
}

export interface DueClaims {
  /** The longest due first. */
  members: string[];
  /**
   * Milliseconds until another one can be claimed: 0 when more are due than were asked for, null when the set is empty.
   */
  nextInMs: number | null;
}

export interface Coordination {
  /** Rate window, blocked window and slot of one request, and the slots of earlier ones that come back, in one trip. */
  admit(question: AdmitQuestion): Promise<AdmitAnswer>;
  /** Counts a failure (a wrong credential) in its window. Answers the count after it and the time left. */
  strike(key: string, windowMs: number): Promise<{ count: number; resetMs: number }>;
  /** Takes one count back within its window: the credential was right after all. */
  giveBackStrike(key: string): Promise<void>;
  /** Sets a mark that stands for `lifeMs`, seen by every `admit` after it. */
  mark(key: string, lifeMs: number): Promise<void>;
  /** Takes a slot, or waits for it; true when it was taken. Given back and renewed like any other. */
  takeShared(question: SharedSlotQuestion): Promise<boolean>;
  /** Gives a slot back. Giving back twice, or a slot that expired, does nothing. */
  releaseSlot(key: string, holder: string): Promise<void>;
  /** Extends a slot that is still held; false when it expired. */
  renewSlot(key: string, holder: string, leaseMs: number): Promise<boolean>;
  /** Gives back every slot of holders that begin with `prefix` (a dead process's). Walks all slots: for rare use. */
  releaseSlotsOf(prefix: string): Promise<void>;

  /**
   * Begins a request under an idempotency key. `fingerprint` is null for a body too large to be fingerprinted:
   * a repeat after its answer is then `reused`. A first request that never answers holds its key for `pendingMs`;
   * an answer is kept until `keepMs` after the beginning.
   */
  beginIdempotent(
    key: string,
    fingerprint: string | null,
    pendingMs: number,
    keepMs: number,
  ): Promise<IdempotencyAnswer>;
  /** Keeps the answer for the key's life; `response` null when it could not be kept (too large, or secret). */
  keepIdempotent(key: string, token: string, response: StoredResponse | null): Promise<void>;
  /** Frees the key, so that a retry runs. */
  forgetIdempotent(key: string, token: string): Promise<void>;

  /**
   * Takes a named lease for one owner at a time (the sweeper). True while held by `owner`, which calls again to renew.
   */
  lease(name: string, owner: string, leaseMs: number): Promise<boolean>;
  endLease(name: string, owner: string): Promise<void>;

  /**
   * Due sets: members, each with the instant when it is due next, and one claim at a time. The earlier of two instants
   * counts. A member that is claimed keeps what is asked for meanwhile until its claim is settled, so no word is lost.
   */
  schedule(key: string, dues: readonly Due[]): Promise<void>;
  /**
   * Claims at most `limit` members that are due. A claim ends by itself after `leaseMs`, and its member is due again.
   */
  claimDue(key: string, limit: number, leaseMs: number, holder: string): Promise<DueClaims>;
  /** Extends a claim, and takes it again where the set was lost; false when another holds the member. */
  renewDue(key: string, member: string, holder: string, leaseMs: number): Promise<boolean>;
  /**
   * Ends a claim. Without a next instant (null), and none asked for meanwhile, the member leaves the set. Answers in
   * how many milliseconds it is due next; null when it is not, or another holds it.
   */
  settleDue(key: string, member: string, holder: string, afterMs: number | null): Promise<number | null>;
  /** Makes everything due at once that holders with this prefix (a dead process) have claimed. */
  releaseDueOf(key: string, prefix: string): Promise<void>;

  /**
   * Sends a message to every process of every host, this one too. Messages may be lost; nothing durable hangs on one.
   * Answers to how many processes it went: one that just starts or ends may not listen.
   */
  publish(channel: string, message: string): Promise<number>;
  /** Returns the end of the subscription. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => void>;

  /** The store's clock, in epoch milliseconds: the one that all hosts share. */
  time(): Promise<number>;

  ping(): Promise<void>;
  close(): Promise<void>;
}
