import type { RenderTask } from './protocol.ts';

/**
 * What a page may load: `data:` and the assets of its task. The walls stand one behind the other, because none holds
 * alone (request interception does not see a `<link rel=prefetch>`, a content policy does not see a DNS hint):
 * no script · content policy on the document · every request intercepted · network emulated as offline ·
 * no name or address resolves · a proxy that does not exist.
 */

/** Reserved by RFC 2606: it never resolves, so that a request which slips past interception goes nowhere. */
const ORIGIN = 'http://page.darkroom.invalid';
const ASSET_REFERENCE = /asset:\/\/(ast_[0-9A-Za-z]+)/g;

/** What is answered to one request of a page. */
export type Decision =
  /** The empty document that drawings are written into. */
  | { kind: 'shell' }
  | { kind: 'asset'; data: Uint8Array; contentType: string }
  /** Any other navigation: answered 204, which leaves the page as it is. */
  | { kind: 'stay' }
  | { kind: 'block' };

/** What a page is allowed at this moment. */
export interface Allowance {
  /** The shell that is being opened, once. */
  shellUrl: string | undefined;
  /** Number of the drawing: part of its assets' addresses, so that no cache hands an asset on to the next one. */
  drawing: number;
  assets: RenderTask['assets'];
}

/** Address of a page's `number`-th shell. A new one each time: a page cannot ask for the document that it stands in. */
export function shellUrl(number: number): string {
  return `${ORIGIN}/${number}`;
}

/** `asset://` is no scheme a browser fetches: each reference to an asset of the task becomes an address of the page's own origin. */
export function withAssetUrls(html: string, { drawing, assets }: Allowance): string {
  return html.replace(ASSET_REFERENCE, (reference, assetId: string) =>
    Object.hasOwn(assets, assetId) ? `${assetsUrl(drawing)}${assetId}` : reference,
  );
}

export function decide(request: { url: string; resourceType: string }, allowance: Allowance): Decision {
  if (request.resourceType === 'Document') {
    return request.url === allowance.shellUrl ? { kind: 'shell' } : { kind: 'stay' };
  }
  const prefix = assetsUrl(allowance.drawing);
  const assetId = request.url.startsWith(prefix) ? request.url.slice(prefix.length) : '';
  const asset = Object.hasOwn(allowance.assets, assetId) ? allowance.assets[assetId] : undefined;
  return asset === undefined ? { kind: 'block' } : { kind: 'asset', ...asset };
}

/**
 * Whether a document leaves something behind that outlives its content: a policy, a refresh, a colour scheme, the colours of
 * links that a body sets. Its page is emptied before the next drawing; the content itself goes when the next is written.
 */
export function leavesTraces(html: string): boolean {
  return /http-equiv|<meta(?!\s+(?:charset|name=["']?viewport))|\b[av]?link\s*=/i.test(html);
}

/**
 * Headers of the shell. Its policy binds before the first byte is written into it, and nothing in a page loosens it: a
 * document in a `data:` address, framed or embedded, inherits policy and sandbox, and lives in the process of its page.
 */
export const SHELL_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `img-src data: ${ORIGIN}/assets/`,
    "style-src 'unsafe-inline' data:",
    'font-src data:',
    'media-src data:',
    'frame-src data:',
    'object-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    'sandbox',
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-DNS-Prefetch-Control': 'off',
} as const;

/** Headers of an asset. The page is sandboxed into an origin of its own, and masks are fetched with CORS. */
export function assetHeaders(contentType: string): Record<string, string> {
  return {
    'Content-Type': contentType,
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
  };
}

/** The walls that the browser itself is started with. */
export const WALL_FLAGS = [
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--proxy-server=http://proxy.darkroom.invalid:9',
  '--proxy-bypass-list=<-loopback>',
  '--dns-prefetch-disable',
  '--disable-quic',
  '--no-pings',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-component-extensions-with-background-pages',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-3d-apis',
  '--js-flags=--jitless',
] as const;

function assetsUrl(drawing: number): string {
  return `${ORIGIN}/assets/${drawing}/`;
}
