import type { RenderTask } from '../protocol.ts';

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
  | { kind: 'document' }
  | { kind: 'asset'; data: Uint8Array; contentType: string }
  /** A navigation: answered 204, which leaves the page as it is. */
  | { kind: 'stay' }
  | { kind: 'block' };

/** Address of a page's `number`-th document. A new one each render: a page cannot ask for its own document again. */
export function documentUrl(number: number): string {
  return `${ORIGIN}/${number}`;
}

/** `asset://` is no scheme a browser fetches: each reference to an asset of the task becomes an address of the page's own origin. */
export function withAssetUrls(html: string, assets: RenderTask['assets']): string {
  return html.replace(ASSET_REFERENCE, (reference, assetId: string) =>
    Object.hasOwn(assets, assetId) ? assetUrl(assetId) : reference,
  );
}

/**
 * @param awaitedUrl the document being opened; undefined once it was handed out
 */
export function decide(
  request: { url: string; resourceType: string },
  awaitedUrl: string | undefined,
  assets: RenderTask['assets'],
): Decision {
  if (request.resourceType === 'Document') {
    return request.url === awaitedUrl ? { kind: 'document' } : { kind: 'stay' };
  }
  const assetId = request.url.startsWith(assetUrl('')) ? request.url.slice(assetUrl('').length) : '';
  const asset = Object.hasOwn(assets, assetId) ? assets[assetId] : undefined;
  return asset === undefined ? { kind: 'block' } : { kind: 'asset', ...asset };
}

/** Headers of the document. A policy in a header binds before the first byte is parsed, and nothing in the page loosens it. */
export const DOCUMENT_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `img-src data: ${assetUrl('')}`,
    "style-src 'unsafe-inline' data:",
    'font-src data:',
    'media-src data:',
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

function assetUrl(assetId: string): string {
  return `${ORIGIN}/assets/${assetId}`;
}
