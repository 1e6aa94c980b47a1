import { isJsonObject } from '../../../../src/platform/values/json.ts';
import type { Answer, CallOptions, TestServer } from '../../../support/harness.ts';
import { asSent, type Call, type Correction, correctedBy, type Values } from '../wrong-calls.ts';

/** Corrects calls like a program that reads the data of a response, and none of its sentences. */

/** A call with all of its parts. Without json, form and text, a POST sends the picture itself. */
export interface WireCall extends Call {
  /** Added to the headers. Without an Authorization, the key of the account is sent. */
  headers?: Record<string, string>;
  text?: string;
  /** The names of the parts that are files. Each of them is the picture. */
  parts?: string[];
  /** The bytes that are sent in place of the picture. */
  bytes?: Uint8Array<ArrayBuffer>;
}

/** The part of the last refusal by which a program corrected its call. */
export type MendedBy = 'accepted' | 'fix' | 'instead' | 'suggest' | 'nothing';

export interface Sender {
  server: TestServer;
  key: string;
  png: Uint8Array<ArrayBuffer>;
  assetId: string;
}

/** The paths of calls that would do more work than this test needs. Such calls are sent as dry runs. */
const DRY_PATHS = ['/api/v1/images/transform', '/api/v1/images/render', '/api/v1/jobs'];
const MAX_ROUNDS = 5;
/** The most suggestions that are tried. Each is tried in every way. */
const MAX_SUGGESTIONS = 3;

export function send(call: WireCall, { server, key, png }: Sender): Promise<Answer> {
  const { method = 'POST', path, query, json, form, text, parts, bytes = png } = asSent(call) as WireCall;
  const isDry = method === 'POST' && DRY_PATHS.includes(path) && !('dryRun' in query);
  const fields = new URLSearchParams({
    ...(query as Record<string, string>),
    ...(isDry && { dryRun: 'true' }),
  });
  const headers = { authorization: `ApiKey ${key}`, ...call.headers };
  if (call.headers?.authorization === '') delete (headers as Partial<typeof headers>).authorization;
  const address = `/${path}${fields.size > 0 ? `?${fields}` : ''}`;
  const options: CallOptions = { method, headers };
  if (method === 'GET') return server.call(address, options);
  if (text !== undefined) options.body = text;
  else if (json !== undefined) options.json = json;
  else if (form !== undefined || parts !== undefined)
    options.body = formOf(form ?? {}, parts ?? ['file'], bytes);
  else if (method === 'POST') Object.assign(options, { body: bytes, type: 'image/png' });
  return server.call(address, options);
}

function formOf(form: Values, parts: readonly string[], bytes: Uint8Array<ArrayBuffer>): FormData {
  const body = new FormData();
  for (const [name, text] of Object.entries(form)) body.append(name, String(text));
  for (const name of parts) body.append(name, new Blob([bytes]), 'a.png');
  return body;
}

/** Sends a call, and corrects it by the data of its refusals until it is accepted. */
export async function mend(call: WireCall, sender: Sender, rounds = MAX_ROUNDS): Promise<MendedBy> {
  const answer = await send(call, sender);
  if (answer.status < 300) return 'accepted';
  if (rounds === 0) return 'nothing';
  for (const [by, corrected] of correctedCalls(call, answer, sender)) {
    const then = await mend(corrected, sender, rounds - 1);
    if (then !== 'nothing') return weakerOf(by, then);
  }
  return 'nothing';
}

const STRENGTH: readonly MendedBy[] = ['accepted', 'fix', 'instead', 'suggest', 'nothing'];

function weakerOf(one: MendedBy, other: MendedBy): MendedBy {
  return STRENGTH.indexOf(one) > STRENGTH.indexOf(other) ? one : other;
}

function correctedCalls(call: WireCall, { json }: Answer, sender: Sender): [MendedBy, WireCall][] {
  const { param, details = {} } = json?.error ?? {};
  const { fix, instead, suggest } = details;
  if (Array.isArray(fix)) return [['fix', withFixes(call, fix, sender)]];
  if (Array.isArray(instead)) return instead.map((part) => ['instead', withAlternative(call, part, sender)]);
  return [suggest ?? []]
    .flat()
    .slice(0, MAX_SUGGESTIONS)
    .flatMap((word: string | number) => suggestedCalls(call, param, word))
    .map((one) => ['suggest', one]);
}

/** The call after all corrections of `details.fix`. */
function withFixes(call: WireCall, fix: readonly Correction[], { key }: Sender): WireCall {
  let sent = structuredClone(call);
  for (const correction of fix) sent = corrected(sent, correction, key);
  return sent;
}

function corrected({ text, ...call }: WireCall, correction: Correction, key: string): WireCall {
  const { param, in: place, rename, replace, decode } = correction;
  const sent = text === undefined ? call : { ...call, text };
  if (place === 'request') return { ...sent, [param]: replace };
  if (place === 'header') {
    const value = String(replace).replace('<API_KEY>', key);
    const headers = { ...sent.headers, [param.toLowerCase()]: value };
    const isJson = value === 'application/json' && text !== undefined;
    return isJson ? { ...call, headers, json: jsonOrEmpty(text) } : { ...sent, headers };
  }
  if (place === 'part')
    return { ...sent, parts: (sent.parts ?? []).map((name) => (name === param ? String(rename) : name)) };
  if (decode !== undefined) return decoded(sent, param, decode);
  if (param === 'body' && isJsonObject(replace)) return { ...call, json: replace };
  const hasBody = sent.json !== undefined || sent.form !== undefined;
  const whole = place === 'body' && !hasBody ? { ...sent, json: {} } : sent;
  return { ...whole, ...correctedBy(asSent(whole), [correction]) };
}

function jsonOrEmpty(text: string): Values {
  return text.startsWith('{') ? JSON.parse(text) : {};
}

function decoded({ json, text, ...call }: WireCall, param: string, decode: string): WireCall {
  const { [param]: value = text, ...fields } = json ?? {};
  const base64 = decode === 'data-url' ? String(value).split(',')[1] : String(value);
  const bytes = new Uint8Array(Buffer.from(base64 ?? '', 'base64'));
  return json === undefined ? { ...call, headers: {}, bytes } : { ...call, form: fields, bytes };
}

/** The call with one entry of `details.instead`. */
function withAlternative(call: WireCall, part: Values, { assetId }: Sender): WireCall {
  const { job, parameters, body, ...fields } = part;
  if (isJsonObject(job)) {
    const { json: _, form: __, ...others } = call;
    return { ...others, path: '/api/v1/jobs', query: {}, json: { assetIds: [assetId], ...job } };
  }
  if (isJsonObject(body)) {
    const { text: _, ...others } = call;
    return { ...others, json: body };
  }
  const { op: _, parameters: sent, ...json } = call.json ?? { assetId };
  if (isJsonObject(parameters)) {
    if (call.json === undefined) return { ...call, query: { ...call.query, ...parameters } };
    return { ...call, json: { ...call.json, parameters: { ...(sent as Values), ...parameters } } };
  }
  const { outputs: ___, ...work } = json;
  return { ...call, query: {}, json: { ...work, ...fields } };
}

/** The calls that a suggested word may mean: another call, another value, another name, or the call without a field. */
function suggestedCalls(call: WireCall, name: string | undefined, word: string | number): WireCall[] {
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/[^ ?]*)/.exec(String(word)) ?? [];
  if (path !== undefined) return [{ ...call, path, ...(method && { method }) }];
  if (/^\/api\//.test(String(word))) return [{ ...call, path: String(word) }];
  if (name === undefined) return [];
  // An error names a parameter of an op without its path, wherever the parameter was sent.
  const isWithin = isJsonObject(call.json?.parameters) && name in call.json.parameters;
  const param = isWithin ? `parameters.${name}` : name;
  const rename = param.replace(/[^.]*$/, String(word));
  const changes: Correction[] = [
    { param, replace: word },
    { param, rename },
    { param, remove: true },
    { param, add: word },
  ];
  return changes.flatMap((change) => {
    try {
      return [{ ...call, ...correctedBy(asSent(call), [change]) }];
    } catch {
      return [];
    }
  });
}
