import { join, resolve } from 'node:path';
import type { StoresSettings } from './open.ts';

/** The addresses of the stores, as text for an operator: without users, passwords and options. */
export interface StoreAddresses {
  documents: string;
  objects: string;
  coordination: string;
}

export function storeAddressesOf(settings: StoresSettings): StoreAddresses {
  const { DATA_DIR, MONGODB_URL, REDIS_URL, REDIS_PREFIX, S3_BUCKET, S3_ENDPOINT } = settings;
  const directory = resolve(DATA_DIR);
  return {
    documents: MONGODB_URL === '' ? `embedded in ${directory}` : addressOf(MONGODB_URL),
    objects:
      S3_BUCKET === ''
        ? `files in ${join(directory, 'objects')}`
        : `bucket ${S3_BUCKET} of ${S3_ENDPOINT === '' ? 'AWS' : addressOf(S3_ENDPOINT)}`,
    coordination:
      REDIS_URL === '' ? `embedded in ${directory}` : `${addressOf(REDIS_URL)}, prefix ${REDIS_PREFIX}`,
  };
}

/**
 * The address without user and options: `mongodb://user:pass@a,b:27017/name?replicaSet=rs0` becomes
 * `mongodb://a,b:27017/name`.
 */
function addressOf(url: string): string {
  const [, scheme = '', hosts = '', path = ''] =
    /^([a-z+]+:\/\/)(?:[^?]*@)?([^/?]*)(\/[^?]*)?/.exec(url) ?? [];
  return `${scheme}${hosts}${path}`;
}
