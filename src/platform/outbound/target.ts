import { BlockList, isIP } from 'node:net';
import { ipv6Groups } from '../http/connection/client.ts';
import {
  errorOfAbortedSignal,
  malformedTargetError,
  notPublicError,
  OutboundError,
  targetRefusedError,
} from './errors.ts';

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** Resolves all addresses of a name; rejects when there is none. */
export type ResolveHostName = (hostname: string) => Promise<ResolvedAddress[]>;

/** The rules for the targets of a kind of call. */
export interface TargetRules {
  allowsHttp: boolean;
  /** Whether every port is allowed; otherwise only 443 is. */
  allowsAnyPort: boolean;
}

/** The network rules, as configured by the operator or by tests. */
export interface NetworkRules {
  /** Networks that may be reached although they are not public. */
  allowed: BlockList;
  resolve: ResolveHostName;
  /** The timeout for DNS, TCP and TLS together. */
  connectTimeoutMs: number;
}

/** A URL whose addresses are all allowed. Connections go to these addresses, and its name is not resolved again. */
export interface OutboundTarget {
  url: URL;
  addresses: readonly ResolvedAddress[];
  /**
   * The time on the clock of `performance.now()` at which the connection must be open. Resolving the name takes a part
   * of it.
   */
  connectByMs: number;
}

const HTTPS_PORT = '443';

/**
 * Parses and resolves a URL of a user, and refuses it unless each of its addresses is public or in an allowed network.
 * The WHATWG parser determines the host, and normalizes decimal, octal and hexadecimal addresses.
 * @throws OutboundError `refused`, `dns` or `timeout`; the signal's reason when the caller aborted.
 */
export async function resolveTarget(
  text: string,
  rules: TargetRules,
  network: NetworkRules,
  signal?: AbortSignal,
): Promise<OutboundTarget> {
  const url = parseTargetUrl(text, rules);
  if ('problem' in url)
    throw malformedTargetError(url.problem, await addressIfAllowed(url.meant, rules, network, signal));
  const connectByMs = performance.now() + network.connectTimeoutMs;
  const deadline = AbortSignal.timeout(network.connectTimeoutMs);
  const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const addresses = await rejectOnAbort(resolveAddresses(url, network.resolve), ended);
  if (!addresses.every(({ address }) => isAddressAllowed(address, network.allowed))) {
    // An IP address may be named without revealing anything.
    throw isIP(withoutBrackets(url.hostname)) !== 0
      ? targetRefusedError(`${url.hostname} is not a public address`)
      : notPublicError(url.hostname);
  }
  return { url, addresses, connectByMs };
}

/** Whether this address may be connected to. */
export function isAddressAllowed(address: string, allowed: BlockList): boolean {
  return isPublicAddress(address) || networksContain(allowed, address);
}

/** An address in a form that is not accepted: what is wrong with it, and the address that was probably meant. */
interface MalformedAddress {
  problem: string;
  meant: string | null;
}

/** @throws OutboundError `refused` for an address with a user name or a password. */
function parseTargetUrl(text: string, rules: TargetRules): URL | MalformedAddress {
  const url = URL.parse(text);
  if (url === null) return { problem: 'it is not an absolute URL', meant: plainHttpsUrl(`https://${text}`) };
  if (url.protocol !== 'https:' && !(rules.allowsHttp && url.protocol === 'http:')) {
    const schemes = rules.allowsHttp ? 'http or https' : 'https';
    return {
      problem: `its scheme is not ${schemes}`,
      meant: plainHttpsUrl(text.replace(/^http:/i, 'https:')),
    };
  }
  if (url.username !== '' || url.password !== '')
    throw targetRefusedError('it carries a user name or a password');
  if (!rules.allowsAnyPort && url.port !== '' && url.port !== HTTPS_PORT)
    return { problem: 'its port is not 443', meant: plainHttpsUrl(text) };
  return url;
}

/** The text as an https address on the usual port; null unless it is an https address whose host name has a dot. */
function plainHttpsUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || !url.hostname.includes('.')) return null;
  url.port = '';
  return url.href;
}

/**
 * The address if it is an allowed target, so that no refusal suggests an address that is refused too; otherwise
 * undefined.
 */
async function addressIfAllowed(
  address: string | null,
  rules: TargetRules,
  network: NetworkRules,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (address === null) return undefined;
  return resolveTarget(address, rules, network, signal).then(
    () => address,
    () => undefined,
  );
}

/** An address without the brackets that a URL puts around IPv6. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

async function resolveAddresses({ hostname }: URL, resolve: ResolveHostName): Promise<ResolvedAddress[]> {
  const literal = withoutBrackets(hostname);
  const version = isIP(literal);
  if (version !== 0) return [{ address: literal, family: version === 6 ? 6 : 4 }];
  const unresolved = (cause?: unknown) =>
    new OutboundError('dns', `DNS: ${hostname} does not resolve`, { cause, isAboutName: true });
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw unresolved(error);
  });
  if (addresses.length === 0) throw unresolved();
  return addresses;
}

/** Rejects when the signal aborts. The look-up itself cannot be aborted, so its result is ignored then. */
function rejectOnAbort<T>(lookup: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(errorOfAbortedSignal(signal, 'to resolve its name'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([lookup, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/**
 * IANA's special-purpose registries (RFC 6890 and its updates), with multicast. The parts of a range that the registry
 * marks as globally reachable are in GLOBALLY_REACHABLE_NETWORKS. IPv6 needs only the ranges inside 2000::/3: nothing
 * outside it is allocated to the public internet, which also covers ::/96 (IPv4-compatible, RFC 4291), ::ffff:0:0/96
 * (IPv4-mapped), ::ffff:0:0:0/96 (translated, RFC 7915), 64:ff9b::/96 and 64:ff9b:1::/48 (NAT64, RFC 6052 and 8215),
 * 100::/64 (discard, RFC 6666), 5f00::/16 (SRv6, RFC 9602), fc00::/7, fe80::/10, fec0::/10 and ff00::/8.
 */
const SPECIAL_PURPOSE_NETWORKS = blockListOf([
  '0.0.0.0/8', // this network, RFC 791
  '10.0.0.0/8', // private, RFC 1918
  '100.64.0.0/10', // shared by carriers, RFC 6598
  '127.0.0.0/8', // loopback, RFC 1122
  '169.254.0.0/16', // link-local, RFC 3927; clouds answer metadata here
  '172.16.0.0/12', // private, RFC 1918
  '192.0.0.0/24', // protocol assignments, RFC 6890
  '192.0.2.0/24', // documentation, RFC 5737
  '192.88.99.0/24', // 6to4 relays, RFC 7526
  '192.168.0.0/16', // private, RFC 1918
  '198.18.0.0/15', // benchmarking, RFC 2544
  '198.51.100.0/24', // documentation, RFC 5737
  '203.0.113.0/24', // documentation, RFC 5737
  '224.0.0.0/4', // multicast, RFC 5771
  '240.0.0.0/4', // reserved and broadcast, RFC 1112 and 919
  '2001::/23', // protocol assignments with Teredo, benchmarking and ORCHID, RFC 2928, 4380, 5180, 4843
  '2001:db8::/32', // documentation, RFC 3849
  '2002::/16', // 6to4, which carries an IPv4 address, RFC 3056
  '3fff::/20', // documentation, RFC 9637
]);

const GLOBALLY_REACHABLE_NETWORKS = blockListOf([
  '192.0.0.9/32', // port control anycast, RFC 7723
  '192.0.0.10/32', // TURN anycast, RFC 8155
  '2001:1::1/128', // port control anycast, RFC 7723
  '2001:1::2/128', // TURN anycast, RFC 8155
  '2001:1::3/128', // service registration anycast, RFC 9665
  '2001:3::/32', // AMT, RFC 7450
  '2001:4:112::/48', // AS112, RFC 7535
  '2001:20::/28', // ORCHIDv2, RFC 7343
  '2001:30::/28', // drone identification, RFC 9374
]);

const GLOBAL_UNICAST_V6 = blockListOf(['2000::/3']);

/**
 * Matches an interface identifier of ISATAP (RFC 5214): `0:5efe` or `200:5efe` and an IPv4 address, under any prefix.
 */
const ISATAP_INTERFACE_ID_PATTERN = /^[0-9a-f:]*:(?:0|200):5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/;

/**
 * Whether an IP address in text belongs to the public internet. Text that is not an address, or has a zone, does not.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return false;
  if (
    version === 6 &&
    (!networksContain(GLOBAL_UNICAST_V6, address) ||
      ISATAP_INTERFACE_ID_PATTERN.test(ipv6Groups(address).join(':')))
  )
    return false;
  return (
    !networksContain(SPECIAL_PURPOSE_NETWORKS, address) ||
    networksContain(GLOBALLY_REACHABLE_NETWORKS, address)
  );
}

/** A set of networks from valid CIDRs. */
export function blockListOf(cidrs: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    networks.addSubnet(address, Number(prefix), addressFamilyOf(address));
  }
  return networks;
}

/** Whether an IP address in text is in one of the networks. An IPv4-mapped address counts as the IPv4 address. */
function networksContain(networks: BlockList, address: string): boolean {
  return networks.check(address, addressFamilyOf(address));
}

function addressFamilyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
