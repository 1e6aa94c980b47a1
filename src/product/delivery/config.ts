import { integerSetting } from '../../platform/setting.ts';

export const deliverySettings = {
  DELIVERY_CACHE_MEGABYTES: integerSetting({
    description:
      'Space for delivered pictures, so that each is made once: under DATA_DIR, or in the bucket if S3_BUCKET is set. Those that were not asked for longest go first. 0 keeps none.',
    fallback: 1_024,
    min: 0,
    max: 1_048_576,
  }),
};
