import { isIP } from 'node:net';
import { flagSetting, listSetting } from '../setting.ts';

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

function isSubnet(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const version = isIP(address);
  const longestPrefix = version === 4 ? 32 : 128;
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longestPrefix;
}
