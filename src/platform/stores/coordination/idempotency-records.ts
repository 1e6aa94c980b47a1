import { randomText } from '../../names/ids.ts';
import { type Collection, type Documents, order } from '../documents/port.ts';
import type { IdempotencyAnswer, StoredResponse } from './port.ts';

const TOKEN_CHARACTERS = 16;
const SWEEP_EVERY_MS = 60_000;
const SWEEP_BATCH = 100;
/** The most attempts to begin, because a key can change its owner between two queries. */
const BEGIN_ATTEMPTS = 3;

interface IdempotencyRecord {
  /** The idempotency key. */
  _id: string;
  token: string;
  fingerprint: string | null;
  answered: boolean;
  /** Null without a response, and when the response could not be stored. */
  response: StoredResponse | null;
  /** When a record without a response releases its key. */
  pendingUntil: string;
  /** When the record expires. */
  expiresAt: string;
}

/**
 * Stores idempotency records as documents, where they survive a restart of the embedded store. The unique `_id` lets
 * exactly one of several racing requests begin. The record is on disk before its request runs, so that after a crash
 * the key is still held, and no retry runs beside the first request.
 */
export class IdempotencyRecords {
  readonly #records: Collection<IdempotencyRecord>;
  readonly #now: () => number;
  #sweepDueMs = 0;
  #sweeping: Promise<void> | null = null;

  static async open(documents: Documents, now: () => number): Promise<IdempotencyRecords> {
    const records = await documents.collection<IdempotencyRecord>({
      name: 'idempotency',
      indexes: [{ name: 'expiry', fields: order('expiresAt') }],
    });
    return new IdempotencyRecords(records, now);
  }

  private constructor(records: Collection<IdempotencyRecord>, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  async begin(
    key: string,
    fingerprint: string | null,
    pendingMs: number,
    keepMs: number,
  ): Promise<IdempotencyAnswer> {
    this.#sweepWhenDue();
    for (let attempt = 0; attempt < BEGIN_ATTEMPTS; attempt++) {
      const fresh: IdempotencyRecord = {
        _id: key,
        token: randomText(TOKEN_CHARACTERS),
        fingerprint,
        answered: false,
        response: null,
        pendingUntil: this.#instant(pendingMs),
        expiresAt: this.#instant(keepMs),
      };
      if (await this.#insert(fresh)) return { state: 'new', token: fresh.token };
      const found = await this.#records.findOne({ _id: key });
      if (found === null) continue;
      if (!this.#ended(found)) return answerOf(found, fingerprint);
      const { matched } = await this.#records.replaceOne({ _id: key, token: found.token }, fresh);
      if (matched === 1) return { state: 'new', token: fresh.token };
    }
    return { state: 'running' };
  }

  async keep(key: string, token: string, response: StoredResponse | null): Promise<void> {
    await this.#records.updateOne({ _id: key, token }, { $set: { answered: true, response } });
  }

  async forget(key: string, token: string): Promise<void> {
    await this.#records.deleteOne({ _id: key, token });
  }

  /** Resolves when no operation is running. */
  async close(): Promise<void> {
    await this.#sweeping;
  }

  async #insert(record: IdempotencyRecord): Promise<boolean> {
    const { duplicates } = await this.#records.insertMany([record]);
    return duplicates.length === 0;
  }

  #ended(record: IdempotencyRecord): boolean {
    return (record.answered ? record.expiresAt : record.pendingUntil) <= this.#instant(0);
  }

  /** Deletes one small batch of expired records; if there are more, the next batch is deleted at the next beginning. */
  #sweepWhenDue(): void {
    if (this.#sweeping !== null || this.#now() < this.#sweepDueMs) return;
    this.#sweepDueMs = this.#now() + SWEEP_EVERY_MS;
    this.#sweeping = this.#sweep()
      .catch(() => undefined)
      .finally(() => {
        this.#sweeping = null;
      });
  }

  async #sweep(): Promise<void> {
    const expired = { expiresAt: { $lte: this.#instant(0) } };
    const found = await this.#records.find(expired, { limit: SWEEP_BATCH, fields: ['_id'] });
    if (found.length === 0) return;
    await this.#records.deleteMany({ ...expired, _id: { $in: found.map(({ _id }) => _id) } });
    if (found.length === SWEEP_BATCH) this.#sweepDueMs = 0;
  }

  #instant(fromNowMs: number): string {
    return new Date(this.#now() + fromNowMs).toISOString();
  }
}

function answerOf(record: IdempotencyRecord, fingerprint: string | null): IdempotencyAnswer {
  if (record.fingerprint !== fingerprint) return { state: 'reused' };
  if (!record.answered) return { state: 'running' };
  if (fingerprint === null || record.response === null) return { state: 'reused' };
  return { state: 'replay', response: record.response };
}
