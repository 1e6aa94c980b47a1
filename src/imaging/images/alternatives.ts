import type { Pass } from '../../../workers/protocol.ts';
import { encodeOf, framesOf } from './estimates/following.ts';
import { fewerFrames } from './fewer-frames.ts';
import type { Header } from './header/header.ts';

/** An alternative to a call that takes too long: other parameters, or a job, which has a minute. */
type Alternative = { parameters: Record<string, unknown> } | { job: Record<string, unknown> };

/** Alternatives to a call that takes too long. */
export interface Alternatives {
  /** For a program. */
  calls: Alternative[];
  /** For a person: words that follow on "try". */
  words: string;
}

/** What is known of the call. */
interface CallForms {
  /** The field of the call for a parameter of the pass. */
  paramOf?: ((passParam: string) => string) | undefined;
  /** The body of a job that does the same; absent if there is none. */
  asJob?: Record<string, unknown> | undefined;
}

/** What takes less time than a pass over such a file, or may take longer. */
export function alternativesTo(
  header: Header,
  pass: Pass | null,
  { paramOf = (passParam) => passParam, asJob }: CallForms,
): Alternatives {
  const calls: Alternative[] = [];
  const words: string[] = [];
  const suggest = (name: string, value: unknown, text: string) => {
    words.push(text);
    if (paramOf(name) === name) calls.push({ parameters: { [name]: value } });
  };
  if (pass !== null && (encodeOf(header, pass).effort ?? 1) > 0) suggest('effort', 0, 'effort=0');
  const frames = pass === null ? 1 : framesOf(header, pass);
  if (pass !== null && frames > 1) {
    const halfOfThem = (header.width * header.height * frames) / 2;
    for (const { parameters } of fewerFrames(header, pass, halfOfThem))
      for (const [name, value] of Object.entries(parameters)) suggest(name, value, `${name}=${value}`);
  } else words.push('an image that is smaller by a fifth or more');
  if (asJob !== undefined) {
    words.push('a job, which has 60 s (POST /api/v1/jobs, with the id of the uploaded image in assetIds)');
    calls.push({ job: asJob });
  }
  return { calls, words: words.join(', or ') };
}
