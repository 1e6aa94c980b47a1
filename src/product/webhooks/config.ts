import { integerSetting } from '../../platform/setting.ts';

export const webhooksSettings = {
  WEBHOOK_CONCURRENCY: integerSetting({
    description: 'Webhook attempts in flight on a host, over all endpoints; its processes share them evenly.',
    fallback: 1024,
    min: 1,
    max: 100_000,
  }),
  WEBHOOK_CONCURRENCY_PER_ACCOUNT: integerSetting({
    description:
      'Webhook attempts in flight for one account on a host; its processes share them, at least one each.',
    fallback: 64,
    min: 1,
    max: 100_000,
  }),
};
