import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { invalidParamError } from '../errors/errors.ts';

/** A signal that aborts when the client disconnects before its response. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const end = () => {
    if (reply.raw.writableFinished) return;
    gone.abort(invalidParamError('body', 'The client closed the connection before its answer.'));
  };
  // A client that has already disconnected triggers no further event.
  if (reply.raw.destroyed) end();
  else reply.raw.once('close', end);
  return gone.signal;
}

/**
 * The number of groups of an IPv6 address that identify a network. The owner of one address of a /64 has all of its
 * addresses.
 */
const IPV6_NETWORK_GROUPS = 4;
const IPV6_ADDRESS_GROUPS = 8;
const IPV4_MAPPED_ADDRESS_PATTERN = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const UNTRUSTED_PROXY_WARNING =
  'X-Forwarded-For came with a request, but TRUST_PROXY is not set: all callers of a proxy count as one address, and one of them can lock the others out. Set TRUST_PROXY to the address of the proxy; if there is no proxy, ignore this warning.';

/**
 * The network of an address, for rate windows that count by address: an IPv4 address itself, and the /64 of an IPv6
 * address, such as `2001:db8:0:1::/64`. An IPv4-mapped IPv6 address is the IPv4 address.
 */
export function clientNetworkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mappedIpv4 = IPV4_MAPPED_ADDRESS_PATTERN.exec(address)?.[1];
  if (mappedIpv4 !== undefined) return mappedIpv4;
  if (isIP(address) !== 6) return address;
  return `${ipv6Groups(address).slice(0, IPV6_NETWORK_GROUPS).join(':')}::/64`;
}

/**
 * The eight groups of an IPv6 address, in lower case and without leading zeros. `::` and a dotted end are expanded; a
 * zone is left out.
 */
export function ipv6Groups(address: string): string[] {
  const [bare = ''] = address.split('%');
  const compressed = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = compressed.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: IPV6_ADDRESS_GROUPS - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail];
}

/** Warns once per process if a request seems to come through a proxy although TRUST_PROXY is not set. */
export function warnOfUntrustedProxy(app: FastifyInstance, trustProxy: string): void {
  if (trustProxy !== '') return;
  let hasWarned = false;
  app.addHook('onRequest', (request, _reply, done) => {
    if (!hasWarned && request.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true;
      app.log.warn(UNTRUSTED_PROXY_WARNING);
    }
    done();
  });
}
