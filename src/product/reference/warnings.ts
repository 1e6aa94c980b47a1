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
    lead: 'How the result of a successful call may differ from what was requested.',
    blocks: [
      paragraphBlock(
        'X-Service-Warnings of a response lists them, separated by commas: a code, then `:` and the subject, then `=` and a value that was probably meant. Subjects are percent-encoded. A dry run lists the warnings that are known before the work. Each of several `outputs` has a list of its own, and each item of a job has one in `warnings`.',
      ),
      tableBlock(['warning', 'what happened', 'what to do'], rows),
    ],
  };
}
