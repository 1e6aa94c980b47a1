import { flagSetting, isSubnet, listSetting } from '../setting.ts';

export const outboundSettings = {
  OUTBOUND_ALLOWED_SUBNETS: listSetting({
    description:
      'Networks (comma-separated CIDRs) that a url or a webhook may reach although they are not public; for tests and private installations.',
    accepts: 'comma-separated CIDRs such as 10.1.0.0/16,fd00::/8 are expected',
    parseOne: (text) => (isSubnet(text) ? text : undefined),
  }),
  OUTBOUND_ALLOW_HTTP: flagSetting({
    description: 'Webhooks may go to plain http and to any port.',
    fallback: false,
  }),
};
