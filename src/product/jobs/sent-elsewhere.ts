import type { FieldHint } from '../../platform/http/errors/violations.ts';

const BY_UPLOAD: FieldHint = {
  says: 'a job works on assets; upload each picture (POST /api/v1/assets/upload takes a url too) and send their ids as assetIds',
  suggest: ['POST /api/v1/assets/upload'],
};
const BY_WEBHOOK: FieldHint = {
  says: 'register the address once (POST /api/v1/webhook-endpoints), and the end of every job is sent to it',
  suggest: ['POST /api/v1/webhook-endpoints'],
};

/** Fields that people send with a job although they belong to another call or service. */
export const MISPLACED_JOB_FIELDS: Record<string, FieldHint> = {
  url: BY_UPLOAD,
  urls: BY_UPLOAD,
  file: BY_UPLOAD,
  files: BY_UPLOAD,
  image: BY_UPLOAD,
  images: BY_UPLOAD,
  webhook: BY_WEBHOOK,
  webhookUrl: BY_WEBHOOK,
  callback: BY_WEBHOOK,
  callbackUrl: BY_WEBHOOK,
  n: { says: 'the number of pictures that generate makes is count', rename: 'count' },
  data: {
    says: 'the rows of a template are items, a list with an object of values for each picture',
    suggest: ['items'],
  },
};
