import { text } from '../../config/setting.ts';

export const billingSettings = {
  TOP_UP_URL: text({
    description: 'Page that a refusal for want of credits or room on the plan sends its reader to.',
    pattern: /^https?:\/\/\S+$/,
    accepts: 'an http or https address is expected',
    defaultText: 'PUBLIC_URL/docs',
  }),
};
