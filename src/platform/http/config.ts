import { isIP } from 'node:net';
import {
  choiceSetting,
  integerSetting,
  isSubnet,
  type Setting,
  textSetting,
  urlSetting,
} from '../setting.ts';

export const httpSettings = {
  HOST: textSetting({
    description: 'Address to listen on.',
    fallback: '127.0.0.1',
    pattern: /^[\w.:%-]+$/,
    accepts: 'an IP address or a host name is expected',
  }),
  PORT: portSetting('Port to listen on; 0 takes a free one.', 3000),
  PUBLIC_URL: urlSetting({
    description: 'Base of the links that the service gives out, without a slash at the end.',
    pattern: /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*[^\s?#/])?$/,
    accepts:
      'an http or https address without credentials, without a query and without a slash at its end is expected',
    defaultText: 'http://HOST:PORT',
  }),
  CORS_ORIGINS: listedTextSetting({
    description:
      'Origins (comma-separated, such as https://app.example.com, or *) whose pages may call the interface with a key. Without it, pages read only signed links and public resources, which are open to every origin.',
    accepts:
      '* or a comma-separated list of origins as browsers send them is expected (in lower case, without a slash at their ends, without a usual port, and without spaces)',
    isOne: (text) => text === '*' || isOrigin(text),
  }),
  LOG_LEVEL: choiceSetting({
    description: 'Least severe log line that is written.',
    fallback: 'info',
    values: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
  }),
  TRUST_PROXY: listedTextSetting({
    description:
      'Proxies (comma-separated addresses or CIDRs) whose X-Forwarded-For names the client; without it, no proxy is trusted.',
    accepts:
      'comma-separated addresses or CIDRs (10.0.0.0/8), or loopback, linklocal and uniquelocal, are expected, but not a network that trusts everybody (/0)',
    isOne: isNetwork,
  }),
  REQUESTS_PER_MINUTE: perMinuteSetting(
    'Requests an account (or an address without a credential) may make in 60 s on this host.',
    600,
  ),
  FAILED_AUTHENTICATIONS_PER_MINUTE: perMinuteSetting(
    'Wrong credentials (signed addresses of pictures among them) from one address in 60 s, after which every request from it is refused, but for right addresses of pictures.',
    60,
  ),
  METRICS_PORT: portSetting(
    'Separate port for /metrics on HOST, served by the primary, so that it answers while a process hangs; 0 serves it on PORT beside the API.',
    0,
  ),
  METRICS_TOKEN: textSetting({
    description:
      'Token that /metrics asks for, as "Authorization: Bearer TOKEN"; without it, everybody may read it.',
    pattern: /^[\x21-\x7e]{16,256}$/,
    accepts: '16 to 256 printable characters without spaces are expected',
    secret: true,
  }),
  HEADERS_TIMEOUT_MS: timeoutSetting('Time a client has to send its request headers.', 10_000, 600_000),
  BODY_TIMEOUT_MS: timeoutSetting('Time a client has to send a whole request.', 60_000),
  STALL_TIMEOUT_MS: timeoutSetting(
    'A connection on which no byte moves in either direction for this time is closed.',
    120_000,
  ),
  IDLE_TIMEOUT_MS: timeoutSetting('Time a connection may stay open between two requests.', 75_000),
};

/** A setting that is comma-separated texts, and remains one text. */
function listedTextSetting(options: {
  description: string;
  accepts: string;
  isOne: (text: string) => boolean;
}): Setting<string> {
  const { description, accepts, isOne } = options;
  const parse = (value: string) => (value.split(',').every(isOne) ? value : undefined);
  return { description, accepts, defaultText: 'none', fallback: '', parse };
}

function portSetting(description: string, fallback: number) {
  return integerSetting({ description, fallback, min: 0, max: 65_535 });
}

function timeoutSetting(description: string, fallback: number, max = 3_600_000) {
  return integerSetting({ description, fallback, min: 100, max });
}

function perMinuteSetting(description: string, fallback: number) {
  return integerSetting({ description, fallback, min: 1, max: 1_000_000 });
}

/** Whether a text is an origin as browsers send it. All other texts would never be equal to a sent one. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];

/** Whether a text is an IP address, a CIDR other than that of all addresses, or the name of a network. */
function isNetwork(given: string): boolean {
  const text = given.trim();
  return NAMED_NETWORKS.includes(text) || isIP(text) !== 0 || (isSubnet(text) && !/\/0+$/.test(text));
}
