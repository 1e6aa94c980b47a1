import { WARNING_CODES, WARNING_TEXTS } from '../../platform/http/hooks/warning-texts.ts';
import { type DocumentationPage, paragraphBlock, tableBlock } from '../../platform/pages/page.ts';

/** The page of all warnings. */
export function warningsPage(): DocumentationPage {
  const rows = WARNING_CODES.map((code) => {
    const { example, meaning, remedy } = WARNING_TEXTS[code];
    return [[`\`${example}\``], [meaning], [remedy]];
  });
  return {
    title: 'Warnings',
    lead: 'What a call that succeeded did otherwise than it was asked to, or did not do.',
    blocks: [
      paragraphBlock(
        'X-Service-Warnings of a response lists them, separated by commas: a code, then `:` and what it is about, and `=` and a value that was probably meant. Names are percent-encoded. A dry run lists those that are known before the work. `outputs` have a list each, as items of jobs have in `warnings`.',
      ),
      tableBlock(['warning', 'what happened', 'what to do'], rows),
    ],
  };
}
