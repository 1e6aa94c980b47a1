import type { RenderTask } from './protocol.ts';

/**
 * Decides what a page may load: `data:` and the assets of its task. There are several barriers, because each has gaps
 * (request interception does not see a `<link rel=prefetch>`, a content policy does not see a DNS hint): no script ·
 * content policy on the document · every request intercepted · network emulated as offline · no name or address
 * resolves · a proxy that does not exist.
 */

/** A name reserved by RFC 2606. It never resolves, so a request that bypasses the interception reaches no server. */
const PAGE_ORIGIN = 'http://page.darkroom.invalid';
const ASSET_REFERENCE = /asset:\/\/(ast_[0-9A-Za-z]+)/g;

/** How a request of a page is answered. */
type RequestDecision =
  /** The empty document that drawings are written into. */
  | { kind: 'shell' }
  | { kind: 'asset'; data: Uint8Array; contentType: string }
  /** A navigation to any other page. Its response is 204, which leaves the page unchanged. */
  | { kind: 'stay' }
  | { kind: 'block' };

/** The requests that a page is allowed at this moment. */
export interface AllowedPageRequests {
  /** The URL of the empty document that is being opened. It is served once. */
  shellUrl: string | undefined;
  /**
   * The number of the drawing. The URLs of its assets contain this number, so that no cache serves an asset to the next
   * drawing.
   */
  drawing: number;
  assets: RenderTask['assets'];
}

/**
 * The URL of the empty document with this number. Each number is used once, so a page cannot request its own document.
 */
export function emptyDocumentUrl(number: number): string {
  return `${PAGE_ORIGIN}/${number}`;
}

/**
 * Replaces each reference to an asset of the task by a URL of the page's own origin, because browsers cannot fetch
 * `asset://`.
 */
export function withAssetUrls(html: string, { drawing, assets }: AllowedPageRequests): string {
  return html.replace(ASSET_REFERENCE, (reference, assetId: string) =>
    Object.hasOwn(assets, assetId) ? `${assetsUrl(drawing)}${assetId}` : reference,
  );
}

export function decideRequest(
  request: { url: string; resourceType: string },
  allowance: AllowedPageRequests,
): RequestDecision {
  if (request.resourceType === 'Document') {
    return request.url === allowance.shellUrl ? { kind: 'shell' } : { kind: 'stay' };
  }
  const prefix = assetsUrl(allowance.drawing);
  const assetId = request.url.startsWith(prefix) ? request.url.slice(prefix.length) : '';
  const asset = Object.hasOwn(allowance.assets, assetId) ? allowance.assets[assetId] : undefined;
  return asset === undefined ? { kind: 'block' } : { kind: 'asset', ...asset };
}

/**
 * Whether a document has effects that outlive its content: a policy, a refresh, a colour scheme, the link colours of a
 * body. Its page is then emptied before the next drawing. All other content disappears when the next document is
 * written.
 */
export function hasLastingEffects(html: string): boolean {
  return /http-equiv|<meta(?!\s+(?:charset|name=["']?viewport))|\b[av]?link\s*=/i.test(html);
}

/**
 * The headers of the empty document. Its content policy applies before the first byte of a drawing is written, and
 * nothing in a page can loosen it. A document in a `data:` URL, framed or embedded, inherits the policy and the
 * sandbox, and runs in the process of its page.
 */
export const EMPTY_DOCUMENT_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `img-src data: ${PAGE_ORIGIN}/assets/`,
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

/**
 * The headers of an asset. They allow every origin, because a sandboxed page has a separate origin and fetches masks
 * with CORS.
 */
export function assetHeaders(contentType: string): Record<string, string> {
  return {
    'Content-Type': contentType,
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
  };
}

/** Flags that cut the browser off from the network, and switch off its background services. */
export const RESTRICTING_BROWSER_FLAGS = [
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
  return `${PAGE_ORIGIN}/assets/${drawing}/`;
}
