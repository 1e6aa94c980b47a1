import type { FastifyInstance, FastifyRequest } from 'fastify';
import { nearestName } from '../../ids/nearest.ts';
import { type CallCorrection, requestLineCorrections } from './corrections.ts';
import { ApiError } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the last segment is a fixed word and never an id, so that a wrong method is 405. */
    fixedWord?: true;
  }
}

/** A call that was probably meant: its text for a message, and the corrections that turn the sent call into it. */
export interface MeantCall {
  call: string;
  corrections: CallCorrection[];
}

/** Finds the calls that a word such as `resize` probably means. Most words mean none. */
export type IntendedCallFinder = (word: string) => readonly MeantCall[];

/** A served path, and the methods of one of its declarations. */
interface ServedRoute {
  url: string;
  matches: RegExp;
  methods: string[];
}

/** A route, and the path that leads to it. */
interface FoundRoute {
  url: string;
  path: string;
}

/**
 * Refuses an unknown path with 404 not_found, and a wrong method with 405 and Allow, both before authentication. It
 * must be called before any route is declared, because it records each route when it is declared.
 */
export function installUnknownRoutes(app: FastifyInstance, findMeantCalls: IntendedCallFinder): void {
  const table = createRouteTable(findMeantCalls);
  const fixedWords = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const methods = [method].flat();
    table.add(url, methods);
    if (config?.fixedWord) fixedWords.set(url, [...(fixedWords.get(url) ?? []), ...methods]);
  });
  app.setNotFoundHandler(refuseUnknownPath);
  // This hook runs before the body is checked, so that a wrong method is reported first.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404 || hasParameters(request)) refuseWrongMethod(request);
    if (request.is404 || hasEmptyLastParameter(request)) refuseUnknownPath(request);
    done();
  });

  /**
   * Refuses a wrong method on a path that ends with a fixed word, such as `/presets/import`. The router has taken this
   * word for an id.
   */
  function refuseWrongMethod(request: FastifyRequest): void {
    const path = pathOf(request);
    const methods = fixedWords.get(path);
    if (methods !== undefined && request.routeOptions.url !== path) throw methodNotAllowed(request, methods);
  }

  function refuseUnknownPath(request: FastifyRequest): never {
    const path = pathOf(request);
    const allowed = request.is404 ? table.methodsOf(path) : [];
    if (allowed.length > 0) throw methodNotAllowed(request, allowed);
    const { says, suggest, corrections } = table.suggestPath(request.method, path);
    const message = `There is nothing at ${path}: GET /openapi.json lists every path.${says}`;
    throw new ApiError('not_found', message, { details: suggest && { suggest }, corrections });
  }

  function methodNotAllowed(request: FastifyRequest, methods: readonly string[]): ApiError {
    const { method } = request;
    const allowed = methods.toSorted();
    const path = pathOf(request);
    const changes = fixedWords.has(path) ? [] : table.changingRoutesBelow(path);
    const others = changes.length === 0 ? '' : ` There are also ${changes.join(', ')}.`;
    const message = `${method} is not a method of this path: use ${allowed.join(' or ')}.${others}`;
    const headers = { allow: allowed.join(', ') };
    const served = suggestedMethodsOf(allowed);
    const calls = served.map((one) => `${one} ${path}`);
    const suggest = [...changes, ...calls];
    const details = { allowed, ...(suggest.length > 0 && { suggest }) };
    const meant = meantMethod(method, served);
    const corrections =
      changes.length > 0 || meant === undefined ? [] : requestLineCorrections({ method: meant });
    return new ApiError('method_not_allowed', message, { details, headers, corrections });
  }
}

/**
 * Methods that are never suggested, because nobody who sends another method means one of them. A program that tries a
 * suggested DELETE loses what it asked for.
 */
const UNSUGGESTED_METHODS = ['HEAD', 'OPTIONS', 'DELETE'];

function suggestedMethodsOf(methods: readonly string[]): string[] {
  return methods.filter((name) => !UNSUGGESTED_METHODS.includes(name));
}

/** The methods that change a resource without deleting it, in the order of preference. */
const CHANGING_METHODS = ['PUT', 'PATCH', 'POST'];

/**
 * The method that was certainly meant when a wrong one was sent: the only method of the path, or, if the wrong one
 * changes a resource, the preferred method of the path that does.
 */
function meantMethod(sent: string, methods: readonly string[]): string | undefined {
  if (methods.length === 1) return methods[0];
  const changing = CHANGING_METHODS.find((name) => methods.includes(name));
  return CHANGING_METHODS.includes(sent) ? changing : undefined;
}

/**
 * A path must have at least this number of parts, split at `/`, for its routes to be listed. `/api/v1/images` has four,
 * of which the first is empty. A shorter path has too many routes below it.
 */
const MIN_LISTED_PATH_PARTS = 4;

/** The table of served routes, for errors about calls that match none of them. */
function createRouteTable(findMeantCalls: IntendedCallFinder) {
  const routes: ServedRoute[] = [];

  /** The method to recommend for a path: the preferred one, if the path has it. */
  function recommendedMethod(url: string, preferred: string): string | undefined {
    const methods = routes.filter((route) => route.url === url).flatMap((route) => route.methods);
    if (methods.includes(preferred)) return preferred;
    return suggestedMethodsOf(methods)[0];
  }

  /** The call of a route. It has no corrections if a part of its path is not known. */
  function routeCall(preferred: string, { url, path }: FoundRoute): MeantCall {
    const method = recommendedMethod(url, preferred) ?? preferred;
    const isPathKnown = !path.includes(':');
    return {
      call: `${method} ${openApiPathOf(url)}`,
      corrections: isPathKnown
        ? requestLineCorrections({ ...(method !== preferred && { method }), path })
        : [],
    };
  }

  /** The route of the first of these paths that is served; undefined if none is. */
  function servedRouteOf(paths: readonly string[]): FoundRoute | undefined {
    for (const path of paths) {
      const route = routes.find(({ matches }) => matches.test(path));
      if (route !== undefined) return { url: route.url, path };
    }
    return undefined;
  }

  /** The routes below a path. The key is the rest of a route's path, and the value is its whole path. */
  function routesBelow(path: string): Map<string, string> {
    const found = new Map<string, string>();
    const { length } = path.split('/');
    if (length < MIN_LISTED_PATH_PARTS) return found;
    for (const { url } of routes) {
      const parts = url.split('/');
      const rest = parts.slice(length).join('/');
      if (rest === '' || rest.startsWith(':') || rest.includes('*')) continue;
      if (pathPatternOf(parts.slice(0, length).join('/')).test(path)) found.set(rest, url);
    }
    return found;
  }

  return {
    add(url: string, methods: string[]): void {
      routes.push({ url, matches: pathPatternOf(url), methods });
    },
    methodsOf(path: string): string[] {
      return [
        ...new Set(routes.filter(({ matches }) => matches.test(path)).flatMap(({ methods }) => methods)),
      ];
    },
    /**
     * Suggests the path that was probably meant. This is the path without a trailing slash, with a missing `/api/v1`,
     * or with a similar spelling of its last segment. If there are no paths on its level, the whole path is compared.
     * If no path is similar, the calls that the last segment names are suggested, or the existing paths of the same
     * level.
     * @returns the end of a message, and the calls of which one was probably meant.
     */
    suggestPath(method: string, path: string): PathSuggestion {
      const tail = withoutTrailingSlashes(path).replace(/^\/(api\/)?(v\d+\/)?/, '/');
      const lastSlash = path.lastIndexOf('/');
      const parent = path.slice(0, lastSlash);
      const word = path.slice(lastSlash + 1);
      const siblings = routesBelow(parent);
      const urls = routes.map(({ url }) => url).filter((url) => !url.includes('*'));
      const served = servedRouteOf([tail, `/api/v1${tail}`, `/api/v1/images${tail}`]);
      const calls = served === undefined ? findMeantCalls(word) : [routeCall(method, served)];
      if (calls.length > 0) return pathSuggestionOf(calls);
      const sibling = nearestName(word, [...siblings.keys()]);
      const nearUrl = siblings.size > 0 ? siblings.get(sibling ?? '') : nearestUrl(tail, urls);
      const found = nearUrl === undefined ? urlsWithWordsOf(tail, urls) : [nearUrl];
      if (found.length > 0)
        return pathSuggestionOf(
          found.map((url) =>
            routeCall(method, { url, path: sibling === undefined ? url : `${parent}/${sibling}` }),
          ),
        );
      if (siblings.size === 0) return { says: '' };
      const names = [...siblings.keys()].map(openApiPathOf);
      const suggest = names.map((name) => `${parent}/${name}`);
      return { says: ` Below ${parent} there are ${names.join(', ')}.`, suggest };
    },
    /** Routes below a path that change its resource, such as the cancellation of a job. */
    changingRoutesBelow(path: string): string[] {
      return [...routesBelow(path)].flatMap(([rest, url]) => {
        const method = recommendedMethod(url, 'POST');
        return method === undefined || method === 'GET' ? [] : [`${method} ${path}/${openApiPathOf(rest)}`];
      });
    },
  };
}

/** The end of a message, and the calls that were probably meant. If there is only one, its corrections too. */
interface PathSuggestion {
  says: string;
  suggest?: string[];
  corrections?: CallCorrection[];
}

function pathSuggestionOf(calls: readonly MeantCall[]): PathSuggestion {
  const suggest = calls.map(({ call }) => call);
  const [only, ...others] = calls;
  return {
    says: ` Did you mean ${suggest.join(' or ')}?`,
    suggest,
    ...(others.length === 0 && { corrections: only?.corrections ?? [] }),
  };
}

/**
 * The path without slashes at its end. A regular expression would take time in the square of the number of slashes if a
 * character follows them.
 */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/**
 * The served paths whose last segment contains every word of the last segment of the path. Plural endings are ignored,
 * so that `/webhooks` finds `/webhook-endpoints`.
 */
function urlsWithWordsOf(path: string, urls: readonly string[]): string[] {
  const wordsOf = (one: string) =>
    (one.split('/').at(-1) ?? '').split('-').map((word) => word.replace(/s$/, ''));
  const words = wordsOf(path);
  if (words.some((word) => word === '')) return [];
  const found = urls.filter((url) => words.every((word) => wordsOf(url).includes(word)));
  return [...new Set(found)].slice(0, MAX_SUGGESTED_PATHS);
}

const MAX_SUGGESTED_PATHS = 3;

const API_PREFIX = '/api/v1';

/** The served path below /api/v1 that is most similar to a path; undefined if none is similar. */
function nearestUrl(path: string, urls: readonly string[]): string | undefined {
  const paths = urls.filter((url) => url.startsWith(API_PREFIX)).map((url) => url.slice(API_PREFIX.length));
  const found = nearestName(path, paths);
  return found === undefined ? undefined : `${API_PREFIX}${found}`;
}

/** The path of a route as OpenAPI writes it: `/jobs/:jobId` becomes `/jobs/{jobId}`. */
function openApiPathOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

/** Whether the route has a parameter segment. */
function hasParameters({ params }: FastifyRequest): boolean {
  for (const _name in params as object) return true;
  return false;
}

/**
 * Whether the last parameter of an API path is empty. This is the case for the path of a list with a slash at its end.
 */
function hasEmptyLastParameter(request: FastifyRequest): boolean {
  const path = pathOf(request);
  return path.endsWith('/') && path.startsWith('/api/') && hasParameters(request);
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0] ?? '';
}

/** A regular expression for the paths of a route such as `/templates/:id/versions`. */
function pathPatternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('/')}$`);
}
