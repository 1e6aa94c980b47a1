import { integerSetting, pathSetting, textSetting, urlSetting } from '../setting.ts';

/** The database of the documents if MONGODB_URL names none. */
export const DEFAULT_DATABASE = 'darkroom';

export const storesSettings = {
  DATA_DIR: pathSetting({
    description: 'Directory of the embedded stores and of objects kept as files.',
    fallback: './data',
  }),
  STORAGE_RESERVE_MEGABYTES: integerSetting({
    description:
      'Space on the disk of DATA_DIR (at most a tenth of it) kept free: uploads, jobs, presets and templates are refused there, so that deletes and the database go on.',
    fallback: 256,
    min: 0,
    max: 1_048_576,
  }),
  MONGODB_URL: textSetting({
    description: `Stores documents on MongoDB 6 or later instead of the embedded store. The database is the one in the address, or otherwise ${DEFAULT_DATABASE}. It requires REDIS_URL. FerretDB and DocumentDB are refused.`,
    pattern: /^mongodb(\+srv)?:\/\/[^\s/?]+/,
    accepts: 'a mongodb:// or mongodb+srv:// address is expected',
    secret: true,
  }),
  REDIS_URL: urlSetting({
    description: 'Coordinates by Redis instead of the embedded store. It requires MONGODB_URL.',
    pattern: /^rediss?:\/\/(?:[^?]*@)?[^/?]*(?:\/\d*)?(?:\?.*)?$/,
    accepts:
      'a redis:// or rediss:// address is expected, with no path or the number of a database as its path, and with its password percent-encoded',
    secret: true,
  }),
  REDIS_PREFIX: textSetting({
    description:
      'Begins the names of all keys and channels on Redis. Deployments that share one Redis need different prefixes, or different database numbers in REDIS_URL; the start refuses a prefix that another deployment uses. All hosts of one deployment use the same.',
    fallback: 'darkroom',
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    accepts: '1 to 64 letters, digits, dots, hyphens and underscores are expected',
  }),
  S3_BUCKET: textSetting({
    description: 'Bucket for objects; without it, they are files under DATA_DIR.',
    pattern: /^(?:[a-z0-9][\w.-]{2,254}|arn:[\w.:/-]+)$/i,
    accepts: 'the name of a bucket, or the ARN of an access point, is expected',
  }),
  S3_ENDPOINT: urlSetting({
    description: 'Address of an S3-compatible service other than AWS.',
    pattern: /^https?:\/\/[^\s?#]+$/,
    accepts: 'an http or https address is expected',
  }),
  S3_REGION: textSetting({
    description: 'Region of the bucket.',
    fallback: 'us-east-1',
    pattern: /^[\w-]+$/,
    accepts: 'letters, digits, hyphens and underscores are expected',
  }),
};
