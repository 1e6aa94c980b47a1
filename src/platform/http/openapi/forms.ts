import { didYouMeanHint } from '../../ids/nearest.ts';
import { invalidParamError } from '../errors/errors.ts';
import { type BYTES_SCHEMA, type DocumentNode, operationsOf } from './document.ts';

type MediaTypes = Record<string, { schema: unknown }>;

/** Bytes as OpenAPI 3.0 describes them, which old and new generators understand. */
const BINARY_SCHEMA = { type: 'string', format: 'binary' };

/**
 * The document for generators that use the first of several media types, or know only OpenAPI 3.0: files are sent as
 * multipart, and pictures are returned as bytes. JSON alternatives and unused components are left out. The default
 * response is left out too, because such generators take it for the response of a success.
 */
export function multipartDocument(document: DocumentNode): DocumentNode {
  const copy = structuredClone(document);
  for (const { operation } of operationsOf(copy)) {
    const { requestBody, responses } = operation as {
      requestBody?: { content: MediaTypes };
      responses: Record<string, { content?: MediaTypes }>;
    };
    const form = requestBody?.content['multipart/form-data'];
    if (requestBody !== undefined && form !== undefined)
      requestBody.content = { 'multipart/form-data': form };
    for (const response of Object.values(responses)) {
      if (Object.values(response.content ?? {}).some(({ schema }) => isBytesSchema(schema)))
        response.content = { 'application/octet-stream': { schema: BINARY_SCHEMA } };
    }
    const { default: failure, ...others } = responses;
    operation.responses = { ...others, '5XX': failure };
  }
  const { components, ...rest } = withBinarySchemas(copy) as DocumentNode;
  return { ...rest, components: referencedComponents(rest, components as Record<string, DocumentNode>) };
}

/** A part of the document with bytes in the form of OpenAPI 3.0. */
function withBinarySchemas(value: unknown): unknown {
  if (isBytesSchema(value)) {
    const { contentMediaType: _, ...rest } = value;
    return { ...BINARY_SCHEMA, ...rest };
  }
  if (Array.isArray(value)) return value.map(withBinarySchemas);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withBinarySchemas(entry)]));
}

/** Whether a schema describes bytes in the form of OpenAPI 3.1. */
function isBytesSchema(value: unknown): value is typeof BYTES_SCHEMA {
  return typeof value === 'object' && value !== null && 'contentMediaType' in value;
}

const COMPONENT_REFERENCE_PATTERN = /"#\/components\/(\w+)\/([^"]+)"/g;

/**
 * A document with only some operations and their components.
 * @param ids operationIds, comma-separated.
 * @throws ApiError invalid_param on `ops` when it names no operation, or one that does not exist.
 */
export function documentWithOperations(document: DocumentNode, ids: string): DocumentNode {
  const requested = ids
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
  const operations = operationsOf(document);
  const all = operations.map(({ operation }) => String(operation.operationId));
  if (requested.length === 0) {
    const message = 'ops is empty: name operationIds, such as ops=createJob,getJob, or leave it out.';
    throw invalidParamError('ops', message, { received: ids, allowed: all });
  }
  const unknown = requested.filter((id) => !all.includes(id));
  if (unknown.length > 0) {
    const hint = didYouMeanHint(unknown[0] ?? '', all);
    const message = `ops names no operation with ${unknown.join(', ')}: send operationIds of /openapi.json, such as ops=createJob,getJob.${hint}`;
    throw invalidParamError('ops', message, { received: unknown, allowed: all });
  }
  const paths: Record<string, DocumentNode> = {};
  for (const { path, method, operation } of operations) {
    if (requested.includes(String(operation.operationId)))
      paths[path] = { ...paths[path], [method]: operation };
  }
  const { webhooks: _, ...rest } = document;
  const part = { ...rest, paths };
  return {
    ...part,
    components: referencedComponents(part, document.components as Record<string, DocumentNode>),
  };
}

/** The components that the operations of a document refer to, directly or through other components. */
function referencedComponents(
  { paths, webhooks }: DocumentNode,
  all: Record<string, DocumentNode>,
): DocumentNode {
  const kept: Record<string, DocumentNode> = { securitySchemes: all.securitySchemes as DocumentNode };
  const collect = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(COMPONENT_REFERENCE_PATTERN)) {
      const found = all[kind]?.[name];
      if (found === undefined || kept[kind]?.[name] !== undefined) continue;
      kept[kind] = { ...kept[kind], [name]: found };
      collect(found);
    }
  };
  collect({ paths, webhooks });
  return kept;
}
