import { type Answer, Pages } from './answers.ts';
import type { Calls } from './schema.ts';
import { type CallOptions, jsonRequestBody, type QueryFields, type Transport } from './transport.ts';

/** The name of a call whose request and response are JSON, such as `GET /jobs/{jobId}`. */
export type CallName = keyof Calls;
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';
export type PathOf<M extends HttpMethod> = CallName extends infer N
  ? N extends `${M} ${infer P}`
    ? P
    : never
  : never;

/** The type of a part of a call, such as its query; `never` if the call does not have the part. */
type PartOf<N extends CallName, K extends string> = Calls[N] extends { [key in K]: infer Part }
  ? Part
  : never;
export type QueryOf<N extends CallName> = PartOf<N, 'query'>;
export type BodyOf<N extends CallName> = PartOf<N, 'body'>;
export type DataOf<N extends CallName> = Calls[N]['data'];
/** The type of the rows that a call returns, if it returns a list. */
export type RowOf<N extends CallName> = DataOf<N> extends (infer Row)[] ? Row : never;

type EmptyObject = Record<never, never>;
/** An object with one part of a call. The part is optional if none of its fields is required. */
type CallPart<K extends string, T> = [T] extends [never]
  ? { [key in K]?: undefined }
  : EmptyObject extends T
    ? { [key in K]?: T }
    : { [key in K]: T };

/** All parts of a call: the parameters of its path, its query and its body. */
export type CallFields<N extends CallName> = CallPart<'path', PartOf<N, 'path'>> &
  CallPart<'query', QueryOf<N>> &
  CallPart<'body', BodyOf<N>>;

/** The arguments of a call. They are optional if none of their fields is required. */
export type CallArguments<T> = EmptyObject extends T ? [fields?: T] : [fields: T];

interface UntypedCallFields {
  path?: Record<string, string> | undefined;
  query?: QueryFields | undefined;
  body?: unknown;
}

export function sendNamedCall<N extends CallName>(
  transport: Transport,
  name: N,
  fields: CallFields<N>,
  options?: CallOptions,
): Promise<Answer<DataOf<N>>> {
  const { path = {}, query, body } = fields as UntypedCallFields;
  const [method = '', template = ''] = name.split(' ');
  const filled = template.replace(/\{(\w+)\}/g, (_, parameter: string) =>
    pathSegment(path[parameter], parameter),
  );
  const call = { method, path: filled, query, ...(body !== undefined && { body: jsonRequestBody(body) }) };
  return transport.json(call, options);
}

/** Makes a call by its name, and returns the `data` from the response. */
export async function readNamedCall<N extends CallName>(
  transport: Transport,
  name: N,
  fields: CallFields<N>,
  options?: CallOptions,
): Promise<DataOf<N>> {
  return (await sendNamedCall(transport, name, fields, options)).data;
}

/** Lists the rows of a call by its name, page by page. */
export function listNamedCall<N extends CallName>(
  transport: Transport,
  name: N,
  fields: CallFields<N>,
  options?: CallOptions,
): Pages<RowOf<N>> {
  const { query } = fields as UntypedCallFields;
  return new Pages((start) => {
    const from = { ...fields, query: { ...query, ...start } } as CallFields<N>;
    return sendNamedCall(transport, name, from, options) as Promise<Answer<RowOf<N>[]>>;
  });
}

/** Encodes one segment of a path. An empty one is refused, because the path would then lead to another endpoint. */
function pathSegment(value: string | undefined, parameter: string): string {
  if (!value) throw new TypeError(`${parameter} is missing.`);
  return encodeURIComponent(value);
}
