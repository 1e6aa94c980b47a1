import { randomText } from '../../ids/ids.ts';
import { type DocumentStore, sortBy } from '../documents/port.ts';
import type { Coordination, IdempotencyBeginning, StoredHttpResponse } from './port.ts';

const TOKEN_CHARACTERS = 16;
const EXPIRY_SWEEP_INTERVAL_MS = 60_000;
const MAX_RECORDS_PER_SWEEP = 100;
/**
 * The most attempts to begin a request. An attempt fails if another request deletes or replaces the record of the key
 * between two queries.
 */
const MAX_BEGIN_ATTEMPTS = 3;

interface IdempotencyRecord {
  /** The idempotency key. */
  _id: string;
  token: string;
  fingerprint: string | null;
  answered: boolean;
  /** The stored response; null without a response, and when the response could not be stored. */
  response: StoredHttpResponse | null;
  /** The instant at which a record without a response frees its key. */
  pendingUntil: string;
  /** The instant at which the record expires. */
  expiresAt: string;
}

/**
 * Stores idempotency records as documents, so that they survive a restart of the embedded store. The unique `_id` lets
 * exactly one of several racing requests begin. The record is on disk before its request runs, so that after a crash
 * the key is still taken, and no retry runs at the same time as the first request.
 */
export function createIdempotencyRecords(
  documents: DocumentStore,
  now: () => number,
): Pick<Coordination, 'beginIdempotent' | 'keepIdempotent' | 'forgetIdempotent' | 'close'> {
  const records = documents.collection<IdempotencyRecord>({
    name: 'idempotency',
    indexes: [{ name: 'expiry', fields: sortBy('expiresAt') }],
  });
  const instantIn = (fromNowMs: number) => new Date(now() + fromNowMs).toISOString();
  let sweepDueMs = 0;
  let sweeping: Promise<void> | null = null;

  function hasEnded({ answered, expiresAt, pendingUntil }: IdempotencyRecord): boolean {
    return (answered ? expiresAt : pendingUntil) <= instantIn(0);
  }

  /** Deletes one small batch of expired records. If there are more, the next request deletes the next batch. */
  function sweepWhenDue(): void {
    if (sweeping !== null || now() < sweepDueMs) return;
    sweepDueMs = now() + EXPIRY_SWEEP_INTERVAL_MS;
    sweeping = sweep()
      .catch(() => undefined)
      .finally(() => {
        sweeping = null;
      });
  }

  async function sweep(): Promise<void> {
    const expired = { expiresAt: { $lte: instantIn(0) } };
    const found = await records.find(expired, { limit: MAX_RECORDS_PER_SWEEP, fields: ['_id'] });
    if (found.length === 0) return;
    await records.deleteMany({ ...expired, _id: { $in: found.map(({ _id }) => _id) } });
    if (found.length === MAX_RECORDS_PER_SWEEP) sweepDueMs = 0;
  }

  return {
    async beginIdempotent(key, fingerprint, pendingMs, keepMs) {
      sweepWhenDue();
      for (let attempt = 0; attempt < MAX_BEGIN_ATTEMPTS; attempt++) {
        const fresh: IdempotencyRecord = {
          _id: key,
          token: randomText(TOKEN_CHARACTERS),
          fingerprint,
          answered: false,
          response: null,
          pendingUntil: instantIn(pendingMs),
          expiresAt: instantIn(keepMs),
        };
        const { duplicates } = await records.insertMany([fresh]);
        if (duplicates.length === 0) return { state: 'new', token: fresh.token };
        const found = await records.findOne({ _id: key });
        if (found === null) continue;
        if (!hasEnded(found)) return beginningOf(found, fingerprint);
        const { matched } = await records.replaceOne({ _id: key, token: found.token }, fresh);
        if (matched === 1) return { state: 'new', token: fresh.token };
      }
      return { state: 'running' };
    },
    async keepIdempotent(key, token, response) {
      await records.updateOne({ _id: key, token }, { $set: { answered: true, response } });
    },
    async forgetIdempotent(key, token) {
      await records.deleteOne({ _id: key, token });
    },
    /** Resolves when no deletion of expired records is running. */
    async close() {
      await sweeping;
    },
  };
}

function beginningOf(record: IdempotencyRecord, fingerprint: string | null): IdempotencyBeginning {
  if (record.fingerprint !== fingerprint) return { state: 'reused' };
  if (!record.answered) return { state: 'running' };
  if (fingerprint === null || record.response === null) return { state: 'reused' };
  return { state: 'replay', response: record.response };
}
