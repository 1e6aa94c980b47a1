import { ERROR_CODES, type ErrorCode } from '../../platform/http/errors/errors.ts';
import {
  type DocumentationPage,
  headingBlock,
  jsonSampleBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  tableBlock,
} from '../../platform/pages/page.ts';
import { parseBlocks, parsePage } from '../../platform/pages/parse.ts';
import { readMarkdownFile } from './markdown-files.ts';

/** What errors.md says about one code. */
interface ErrorSection {
  code: ErrorCode;
  /** When the service sends this code, in one sentence. */
  meaning: string;
  /** The message, the param and the details of an error with this code, as JSON. */
  example: string;
  /** What the caller should do, in one sentence. */
  remedy: string;
  /** The possible causes as a list, each with its remedy. A cause with a `details.reason` begins with that reason. */
  causes: string;
}

/** The file begins with the page of all errors. A section for each code follows. */
const [OVERVIEW = '', ...SECTIONS] = readMarkdownFile('errors.md').split(/^## /m);
const ERROR_SECTIONS: readonly ErrorSection[] = SECTIONS.map(parseSection);

function parseSection(section: string): ErrorSection {
  const [code = '', meaning = '', sample = '', remedy = '', causes = ''] = section.trim().split('\n\n');
  return {
    code: code as ErrorCode,
    meaning: meaning.replaceAll('\n', ' '),
    example: sample.replaceAll(/^```.*$/gm, ''),
    remedy: remedy.replaceAll('\n', ' '),
    causes,
  };
}

/** The date of failures in the examples. */
const EXAMPLE_INSTANT = '2026-01-31T12:00:00.000Z';

export function errorsPage(): DocumentationPage {
  const { blocks, ...page } = parsePage(OVERVIEW);
  const rows = ERROR_SECTIONS.map(({ code, remedy }) => {
    const { status, retryable } = ERROR_CODES[code];
    return [[pageLink(code, `/docs/errors/${code}`)], [String(status)], [retryable ? 'yes' : 'no'], [remedy]];
  });
  return { ...page, blocks: [...blocks, tableBlock(['code', 'HTTP', 'retryable', 'what to do'], rows)] };
}

/** The page of each code, in the order of the HTTP statuses. */
export const ERROR_PAGES: Readonly<Record<string, DocumentationPage>> = Object.fromEntries(
  ERROR_SECTIONS.map((section) => [section.code, errorPage(section)]),
);

function errorPage({ code, meaning, example, remedy, causes }: ErrorSection): DocumentationPage {
  const { status, retryable } = ERROR_CODES[code];
  const { message, ...rest } = JSON.parse(example) as { message: string };
  const error = {
    ...{ code, message, retryable, ...rest },
    requestId: '0a1b2c3d-1111-4222-8333-444455556666',
    docUrl: `/docs/errors/${code}`,
  };
  return {
    title: code,
    lead: meaning,
    blocks: [
      listBlock(
        `HTTP status: ${status}`,
        retryable
          ? 'Retryable: yes. Make the same call again after Retry-After seconds, with the same Idempotency-Key.'
          : 'Retryable: no. The same call fails again until it is changed.',
      ),
      jsonSampleBlock('Answer', { success: false, error, timestamp: EXAMPLE_INSTANT }),
      headingBlock('How to fix it'),
      paragraphBlock(remedy),
      ...parseBlocks(causes),
      paragraphBlock('All codes are in ', pageLink('the page of errors', '/docs/errors'), '.'),
    ],
  };
}
