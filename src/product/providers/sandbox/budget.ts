import { ANSWER_MAX_VALUES } from '../../models/least-answer.ts';
import { rejected } from '../provider.ts';

/** The most text of one answer, because a small schema can require more than any memory holds. */
const BYTES_MAX = 256 * 1024;
/** The most keywords that are read for one answer, because references can multiply them without creating a value. */
const KEYWORDS_MAX = 30_000;

/** The remaining cost of one answer. Answers are made on the event loop, so the whole budget is a few milliseconds. */
export interface Budget {
  /** Subtracts a cost. @throws ProviderFault rejected when nothing is left. */
  spend(cost: Partial<Cost>): void;
}

interface Cost {
  values: number;
  bytes: number;
  keywords: number;
}

export function answerBudget(): Budget {
  const left: Cost = { values: ANSWER_MAX_VALUES, bytes: BYTES_MAX, keywords: KEYWORDS_MAX };
  return {
    spend({ values = 0, bytes = 0, keywords = 0 }) {
      left.values -= values;
      left.bytes -= bytes;
      left.keywords -= keywords;
      if (left.values < 0) throw tooLarge(`${ANSWER_MAX_VALUES} values`);
      if (left.bytes < 0) throw tooLarge(`${BYTES_MAX} bytes`);
      if (left.keywords < 0) throw tooLarge(`${KEYWORDS_MAX} keywords to read`);
    },
  };
}

function tooLarge(what: string): Error {
  return rejected(
    `The least answer that fits the schema is larger than the sandbox makes (${what}): ask for shorter lists and fewer properties.`,
  );
}
