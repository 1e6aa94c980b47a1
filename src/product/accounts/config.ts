import { integerSetting, textSetting } from '../../platform/setting.ts';

export const accountsSettings = {
  BOOTSTRAP_EMAIL: textSetting({
    description: 'E-mail of the account made at the first start on an empty store.',
    fallback: 'owner@localhost',
    pattern: /^[^\s@]+@[^\s@]+$/,
    accepts: 'an e-mail address is expected',
  }),
  BOOTSTRAP_PASSWORD: textSetting({
    description: 'Its password; without it, one is generated and printed once.',
    pattern: /^.{8,200}$/,
    accepts: '8 to 200 characters are expected',
    secret: true,
  }),
  BOOTSTRAP_API_KEY: textSetting({
    description: 'Its first API key; without it, one is generated and printed once.',
    pattern: /^drk_[0-9A-Za-z]{32,128}$/,
    accepts: '"drk_" and 32 to 128 letters or digits are expected',
    secret: true,
  }),
  SYNC_CALLS_PER_ACCOUNT: integerSetting({
    description:
      'Synchronous image calls an account may have in flight: transform, render and metadata together.',
    fallback: 4,
    min: 1,
    max: 10_000,
  }),
};
