import { type Listing, type Page, type PagingQuery, readPage } from '../../platform/http/lists/paging.ts';
import { newId } from '../../platform/names/ids.ts';
import { present } from '../../platform/names/present.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  order,
} from '../../platform/stores/documents/port.ts';
import type { Report } from './rules.ts';
import type { Feedback } from './schema.ts';

/**
 * A stored report. Its context is kept as JSON text, because the caller chooses its keys, and not every store accepts
 * every key.
 */
export interface FeedbackDocument {
  _id: string;
  accountId: string;
  kind: Feedback['kind'];
  message: string;
  op: string | null;
  contextJson: string | null;
  apiKeyId: string | null;
  createdAt: string;
}

const LISTING: Listing = { name: 'feedback', filters: {}, sort: order('-_id') };

export const FEEDBACK: DeclaredCollection = {
  name: 'feedback',
  indexes: [{ name: 'account', fields: order('accountId', '-_id') }],
  onAccountDeletion: 'delete',
};

/** Who files a report. */
export interface Author {
  accountId: string;
  apiKeyId: string | null;
}

export class FeedbackStore {
  readonly #reports: Collection<FeedbackDocument>;

  private constructor(reports: Collection<FeedbackDocument>) {
    this.#reports = reports;
  }

  static async open(documents: Documents): Promise<FeedbackStore> {
    return new FeedbackStore(await documents.collection(FEEDBACK));
  }

  async insert({ accountId, apiKeyId }: Author, report: Report, now: Date): Promise<Feedback> {
    const document: FeedbackDocument = {
      _id: newId('fbk', now.getTime()),
      accountId,
      kind: report.kind,
      message: report.message,
      op: report.op ?? null,
      contextJson: report.context === undefined ? null : JSON.stringify(report.context),
      apiKeyId,
      createdAt: now.toISOString(),
    };
    await this.#reports.insertOne(document);
    return feedbackOf(document);
  }

  /** Newest first. */
  async list(accountId: string, query: PagingQuery): Promise<Page<Feedback>> {
    const { rows, meta } = await readPage(this.#reports, { accountId }, LISTING, query);
    return { rows: rows.map(feedbackOf), meta };
  }
}

function feedbackOf(document: FeedbackDocument): Feedback {
  const { _id: id, kind, message, op, contextJson, apiKeyId, createdAt } = document;
  return {
    id,
    kind,
    message,
    ...present({ op }),
    ...(contextJson === null ? {} : { context: JSON.parse(contextJson) }),
    ...present({ apiKeyId }),
    createdAt,
  };
}
