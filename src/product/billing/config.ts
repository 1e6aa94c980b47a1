import { urlSetting } from '../../platform/setting.ts';

export const billingSettings = {
  TOP_UP_URL: urlSetting({
    description: 'Page that a refusal links to when the credits or the limits of the plan are used up.',
    pattern: /^https?:\/\/\S+$/,
    accepts: 'an http or https address is expected',
    defaultText: 'PUBLIC_URL/docs',
  }),
};
