import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseVersionedReference } from '../../platform/ids/slugs.ts';
import { decodePercentEncoding } from '../../platform/values/percent-encoding.ts';

/** The formats that an address may end with. */
export const ADDRESS_EXTENSIONS = ['jpg', 'jpeg', 'png', 'webp', 'avif', 'gif', 'tiff', 'auto'] as const;
export type AddressExtension = (typeof ADDRESS_EXTENSIONS)[number];

type AddressSource = { kind: 'asset'; assetId: string } | { kind: 'url'; url: string };

/** The width in the address of a responsive picture, for an <img> with several widths. */
export interface RequestedWidth {
  width: number;
  /** Screen pixels per CSS pixel; null if the address contains no density. */
  dpr: number | null;
}

/** One op in an address. Its texts are already decoded. */
export interface AddressOp {
  op: string;
  parameters: Readonly<Record<string, string | string[]>>;
}

/** The work that makes the picture: a preset in a fixed version, or ops. */
export type AddressWork =
  | { kind: 'preset'; idOrSlug: string; version: number }
  | { kind: 'ops'; text: string; ops: readonly AddressOp[] };

export interface DeliveryAddress {
  keyId: string;
  signature: string;
  /** The text that the signature covers. */
  message: string;
  /** When the address expires, in epoch seconds; null if it never does. */
  expiresAt: number | null;
  work: AddressWork;
  source: AddressSource;
  /** The file extension of the address. Null if it has none: the work then determines the format. */
  extension: AddressExtension | null;
  /** The requested width; null for an address of a single picture. */
  rung: RequestedWidth | null;
}

export const MAX_ADDRESS_OPS = 5;

/** The first part of the path of every delivery address. */
export const ADDRESS_PREFIX = '/d/';

const EXPIRY_PATTERN = /^exp=(\d{1,12})$/;
const ASSET_ID_PATTERN = /^ast_[0-9A-Za-z]+$/;
const URL_SOURCE_PATTERN = /^url:([A-Za-z0-9_-]+)$/;
const PRESET_PATTERN = /^[A-Za-z0-9_-]+@[1-9]\d{0,8}$/;
const RUNG_PATTERN = /^([1-9]\d{0,4})(?:@([1-4](?:\.\d{1,2})?))?\.([a-z]+)$/;
const MAX_DPR = 4;

/**
 * Parses an address: `/d/<key id>/<signature>/<what>/<source>[.<ext>][?exp=<epoch seconds>]`, or one with a width,
 * `/d/<key id>/<signature>/<preset>@<version>/<source>/<width>[@<dpr>].<ext>`.
 * @param url the path and the query as sent.
 * @returns null when it is not an address.
 */
export function parseDeliveryAddress(url: string): DeliveryAddress | null {
  const [path = '', query = ''] = splitOnce(url, '?');
  if (!path.startsWith(ADDRESS_PREFIX)) return null;
  const [keyId, signature, what, from, width, ...rest] = path.slice(ADDRESS_PREFIX.length).split('/');
  if (!keyId || !signature || !what || !from || rest.length > 0) return null;
  const end = expiryText(query);
  if (end === undefined) return null;
  const work = parseWork(what);
  const name = width === undefined ? splitExtension(from) : parseRung(width);
  const source = parseSource(width === undefined ? (name?.stem ?? '') : from);
  if (work === null || name === null || source === null) return null;
  if (name.rung !== null && work.kind !== 'preset') return null;
  const signed = name.rung === null ? `${what}/${from}` : `${what}/${from}/*.${name.extension}`;
  return {
    ...{ keyId, signature, work, source, expiresAt: end === null ? null : Number(end) },
    message: signedMessageOf(signed, end),
    extension: name.extension,
    rung: name.rung,
  };
}

/**
 * The text that the signature covers.
 * @param end the expiry, exactly as the address contains it.
 */
export function signedMessageOf(path: string, end: string | number | null): string {
  return end === null ? path : `${path}?exp=${end}`;
}

/**
 * The text of the query field `exp`; null if it is absent, undefined if it is invalid. Other query fields are ignored.
 */
function expiryText(query: string): string | null | undefined {
  const [given, ...more] = query.split('&').filter((field) => field === 'exp' || field.startsWith('exp='));
  if (given === undefined) return null;
  return more.length > 0 ? undefined : EXPIRY_PATTERN.exec(given)?.[1];
}

interface SplitFileName {
  stem: string;
  extension: AddressExtension | null;
  rung: RequestedWidth | null;
}

/** Splits `<source>` or `<source>.<ext>`. A source contains no dot. */
function splitExtension(text: string): SplitFileName | null {
  const [stem = '', extension] = splitOnce(text, '.');
  if (extension === undefined) return { stem, extension: null, rung: null };
  return isExtension(extension) ? { stem, extension, rung: null } : null;
}

function parseRung(text: string): SplitFileName | null {
  const [, width, dpr, extension = ''] = RUNG_PATTERN.exec(text) ?? [];
  if (width === undefined || !isExtension(extension) || Number(dpr ?? 1) > MAX_DPR) return null;
  const rung = { width: Number(width), dpr: dpr === undefined ? null : Number(dpr) };
  return { stem: '', extension, rung };
}

function isExtension(text: string): text is AddressExtension {
  return (ADDRESS_EXTENSIONS as readonly string[]).includes(text);
}

function parseSource(text: string): AddressSource | null {
  const decoded = decodePercentEncoding(text);
  if (decoded === null) return null;
  if (ASSET_ID_PATTERN.test(decoded)) return { kind: 'asset', assetId: decoded };
  const [, encoded] = URL_SOURCE_PATTERN.exec(decoded) ?? [];
  if (encoded === undefined) return null;
  const url = Buffer.from(encoded, 'base64url').toString();
  return /^https?:\/\//i.test(url) ? { kind: 'url', url } : null;
}

/** Parses the work in an address: `<preset>@<version>`, or ops `<op>[:<name>=<value>,…]` joined by `;`. */
function parseWork(what: string): AddressWork | null {
  const text = decodePercentEncoding(what) ?? '';
  if (PRESET_PATTERN.test(text)) {
    const { idOrSlug, version = 0 } = parseVersionedReference(text) ?? { idOrSlug: '' };
    return { kind: 'preset', idOrSlug, version };
  }
  const ops = what.split(';').map(parseOp);
  const read = ops.filter((op) => op !== null);
  return read.length === ops.length && ops.length <= MAX_ADDRESS_OPS
    ? { kind: 'ops', text: what, ops: read }
    : null;
}

function parseOp(text: string): AddressOp | null {
  const [name = '', list] = splitOnce(text, ':');
  const op = decodePercentEncoding(name);
  if (op === null || op === '') return null;
  const parameters: Record<string, string | string[]> = Object.create(null);
  for (const pair of list === undefined || list === '' ? [] : list.split(',')) {
    const [key, value] = splitOnce(pair, '=').map(decodePercentEncoding);
    if (!key || value === undefined || value === null) return null;
    const before = parameters[key];
    parameters[key] = before === undefined ? value : [before, value].flat();
  }
  return { op, parameters };
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The length of a signature: 192 bits of the HMAC in base64url. */
const SIGNATURE_CHARACTERS = 32;

/**
 * The signature of a message: the first 32 characters of the base64url of its HMAC-SHA256. The HMAC key is the text of
 * the secret, exactly as it was returned to the account.
 */
export function signatureOf(secret: string, message: string): string {
  return createHmac('sha256', secret).update(message).digest('base64url').slice(0, SIGNATURE_CHARACTERS);
}

/** Whether a signature belongs to the message. The comparison takes constant time. */
export function isSignatureOf(signature: string, secret: string, message: string): boolean {
  const expected = Buffer.from(signatureOf(secret, message));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
