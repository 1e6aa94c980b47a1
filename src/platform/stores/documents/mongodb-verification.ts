import { type Db, MongoClient, MongoServerError } from 'mongodb';
import { randomText } from '../../ids/ids.ts';
import { databaseOf } from './mongodb.ts';
import { DUPLICATE_KEY_CODE, withStoreErrors } from './mongodb-errors.ts';

const SERVER_CHECK_TIMEOUT_MS = 5_000;

/**
 * Checks over a separate connection whether the server at an address has the guarantees that this service needs.
 * @throws Error with one sentence when it lacks one; StoreUnavailableError when it does not respond.
 */
export async function verifyMongoDB(url: string): Promise<void> {
  const options = {
    serverSelectionTimeoutMS: SERVER_CHECK_TIMEOUT_MS,
    socketTimeoutMS: SERVER_CHECK_TIMEOUT_MS,
  };
  const client = new MongoClient(url, options);
  try {
    await withStoreErrors(() => verifyUniqueIndexes(databaseOf(client, url)));
  } finally {
    await client.close();
  }
}

/**
 * Checks in a temporary collection whether an update that violates a unique index is refused with MongoDB's error code.
 * The limit of running jobs and the uniqueness of resumes depend on it. Servers that only implement MongoDB's protocol
 * may differ: FerretDB 2 has another code.
 * @throws Error with one sentence when the server differs.
 */
export async function verifyUniqueIndexes(database: Db): Promise<void> {
  const testCollection = database.collection<{ _id: string; value: string }>(
    `verification_${randomText(12)}`,
  );
  try {
    await testCollection.createIndex({ value: 1 }, { unique: true });
    await testCollection.insertMany([
      { _id: 'first', value: 'taken' },
      { _id: 'second', value: 'free' },
    ]);
    const code = await testCollection.findOneAndUpdate({ _id: 'second' }, { $set: { value: 'taken' } }).then(
      () => null,
      (error) => {
        if (error instanceof MongoServerError) return error.code;
        throw error;
      },
    );
    if (code === DUPLICATE_KEY_CODE) return;
    const answer = code === null ? 'accepts it' : `answers code ${code} instead of ${DUPLICATE_KEY_CODE}`;
    throw new Error(
      `MONGODB_URL leads to a server that is not MongoDB: asked to update a document against a unique index, it ${answer}. Use MongoDB 6 or later; FerretDB and DocumentDB are not supported.`,
    );
  } finally {
    await testCollection.drop().catch(() => undefined);
  }
}
