import type { ReadResourceResult, Resource, ResourceTemplateType } from '@modelcontextprotocol/server';
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { DarkroomError } from '../../client/errors.ts';
import type { Transport } from '../../client/transport.ts';
import { likelyNames, meantWordHint } from '../../platform/ids/nearest.ts';
import { OP_NAMES } from '../catalogue/index.ts';
import { GUIDE_PAGES } from '../reference/guides/index.ts';

/** The URI scheme of documentation pages. When the user requests a page, the MCP host passes it to the model. */
const URI_PREFIX = 'darkroom://';
const mimeType = 'text/markdown';
const PAGE_URI_PATTERN = /^darkroom:\/\/(\/docs\/(?:(?:guides|ops)\/)?[a-z_-]+\.md)$/;

export const MCP_RESOURCES: readonly Resource[] = [
  {
    uri: `${URI_PREFIX}/docs/guidelines.md`,
    name: 'guidelines',
    title: 'The interface on one page',
    description: 'Every op and every call over HTTP, for an agent with a shell.',
    mimeType,
  },
  {
    uri: `${URI_PREFIX}/docs/errors.md`,
    name: 'errors',
    title: 'Errors',
    description: 'What to do about each code.',
    mimeType,
  },
  ...Object.entries(GUIDE_PAGES).map(([name, { title, lead }]) => {
    return { uri: `${URI_PREFIX}/docs/guides/${name}.md`, name, title, description: lead, mimeType };
  }),
];

export const MCP_RESOURCE_TEMPLATES: readonly ResourceTemplateType[] = [
  {
    uriTemplate: `${URI_PREFIX}/docs/ops/{op}.md`,
    name: 'op',
    title: 'An op',
    description: 'What it does, its parameters with their bounds, and calls of it.',
    mimeType,
  },
];

/**
 * Reads a page of the documentation.
 * @throws ResourceNotFoundError
 */
export async function readMcpResource(uri: string, service: Transport): Promise<ReadResourceResult> {
  const [, path] = PAGE_URI_PATTERN.exec(uri) ?? [];
  if (path === undefined) throw unknownResourceError(uri);
  try {
    const page = await service.bytes({ method: 'GET', root: '', path, accept: mimeType });
    return { contents: [{ uri, mimeType, text: await page.text() }] };
  } catch (error) {
    throw error instanceof DarkroomError && error.code === 'not_found' ? unknownResourceError(uri) : error;
  }
}

/** The most characters of an unknown URI that the error repeats. */
const MAX_REPEATED_URI_CHARACTERS = 200;

/** The error for a resource that does not exist, with the addresses that were probably meant. */
function unknownResourceError(sent: string): ResourceNotFoundError {
  const uri = sent.slice(0, MAX_REPEATED_URI_CHARACTERS).toWellFormed();
  const name = uri.replace(/^.*\//, '').replace(/\.\w+$/, '');
  const pages = new Map(MCP_RESOURCES.map((page) => [page.name, page.uri]));
  const ops = new Map(OP_NAMES.map((op): [string, string] => [op, `${URI_PREFIX}/docs/ops/${op}.md`]));
  const uriByName = new Map([...ops, ...pages]);
  const suggest = likelyNames(name, [...uriByName.keys()]).map((likely) => uriByName.get(likely));
  const error = new ResourceNotFoundError(
    uri,
    `Resource not found: ${uri}.${meantWordHint(suggest.map(String))}`,
  );
  Object.assign(error.data as object, { suggest });
  return error;
}
