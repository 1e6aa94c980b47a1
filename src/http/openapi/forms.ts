import { invalidParam } from '../errors.ts';
import { type Node, operationsOf } from './document.ts';

type Content = Record<string, unknown>;

/**
 * The document for generators that take the first of several media types: files go as multipart, and pictures come as pictures.
 * The JSON that may stand for either is left out.
 */
export function multipartForm(document: Node): Node {
  const copy = structuredClone(document);
  for (const [, operation] of operationsOf(copy)) {
    const { requestBody, responses = {} } = operation as {
      requestBody?: { content: Content };
      responses?: Record<string, { content?: Content }>;
    };
    const form = requestBody?.content['multipart/form-data'];
    if (requestBody !== undefined && form !== undefined)
      requestBody.content = { 'multipart/form-data': form };
    for (const response of Object.values(responses)) {
      const pictures = Object.entries(response.content ?? {}).filter(([type]) => type.startsWith('image/'));
      if (pictures.length > 0) response.content = Object.fromEntries(pictures);
    }
  }
  return copy;
}

const COMPONENT = /"#\/components\/(\w+)\/([^"]+)"/g;

/**
 * Some operations alone, and the components that they need.
 * @param ids operationIds, comma-separated.
 * @throws ApiError invalid_param on `ops` for an operation that there is not.
 */
export function onlyOperations(document: Node, ids: string): Node {
  const wanted = ids.split(',').map((id) => id.trim());
  const all = Array.from(operationsOf(document), ([, { operationId }]) => String(operationId));
  const unknown = wanted.filter((id) => !all.includes(id));
  if (unknown.length > 0) {
    throw invalidParam(
      'ops',
      `There is no operation ${unknown.join(', ')}: name operationIds of /openapi.json.`,
      {
        received: unknown,
        allowed: all,
      },
    );
  }
  const paths = Object.entries(document.paths as Record<string, Record<string, Node>>).flatMap(
    ([path, methods]) => {
      const kept = Object.entries(methods).filter(([, { operationId }]) =>
        wanted.includes(String(operationId)),
      );
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)] as const];
    },
  );
  const { webhooks: _, ...rest } = document;
  const part = { ...rest, paths: Object.fromEntries(paths) };
  return { ...part, components: componentsOf(part.paths, document.components as Record<string, Node>) };
}

/** The components that a part of the document refers to, and those that they refer to. */
function componentsOf(part: unknown, all: Record<string, Node>): Node {
  const kept: Record<string, Node> = { securitySchemes: all.securitySchemes as Node };
  const look = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(COMPONENT)) {
      const found = all[kind]?.[name];
      if (found === undefined || kept[kind]?.[name] !== undefined) continue;
      kept[kind] = { ...kept[kind], [name]: found };
      look(found);
    }
  };
  look(part);
  return kept;
}
