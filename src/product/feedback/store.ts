import { type ListPage, type PagingQuery, readListPage } from '../../platform/http/lists.ts';
import { newId } from '../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { Caller } from '../accounts/authentication.ts';
import type { Feedback } from './schema.ts';

/** The part of a report that its caller sends. */
export type FeedbackReport = Pick<Feedback, 'kind' | 'message' | 'op' | 'context'>;

/**
 * A stored report. The context is stored as JSON text, because callers choose its keys, and a store may not accept them
 * as field names.
 */
interface FeedbackDocument {
  _id: string;
  accountId: string;
  kind: Feedback['kind'];
  message: string;
  op: string | null;
  contextJson: string | null;
  apiKeyId: string | null;
  createdAt: string;
}

export const FEEDBACK_COLLECTION: DeclaredCollection = {
  name: 'feedback',
  indexes: [{ name: 'account', fields: sortBy('accountId', '-_id') }],
  onAccountDeletion: 'delete',
};

export class FeedbackStore {
  readonly #reports: DocumentCollection<FeedbackDocument>;

  constructor(documents: DocumentStore) {
    this.#reports = documents.collection(FEEDBACK_COLLECTION);
  }

  async insert({ accountId, apiKeyId }: Caller, report: FeedbackReport, now: Date): Promise<Feedback> {
    const { kind, message, op = null, context } = report;
    const document: FeedbackDocument = {
      _id: newId('fbk', now.getTime()),
      ...{ accountId, kind, message, op },
      contextJson: context === undefined ? null : JSON.stringify(context),
      apiKeyId,
      createdAt: now.toISOString(),
    };
    await this.#reports.insertOne(document);
    return feedbackDataOf(document);
  }

  /** Lists the reports of an account, newest first. */
  async list(accountId: string, query: PagingQuery): Promise<ListPage<Feedback>> {
    const listing = { name: 'feedback', accountId, filters: {}, sort: sortBy('-_id') };
    const { rows, meta } = await readListPage(this.#reports, { accountId }, listing, query);
    return { rows: rows.map(feedbackDataOf), meta };
  }
}

function feedbackDataOf(document: FeedbackDocument): Feedback {
  const { _id: id, accountId: _, contextJson, op, apiKeyId, ...rest } = document;
  const context = contextJson === null ? null : JSON.parse(contextJson);
  return { id, ...rest, ...withoutAbsentFields({ op, context, apiKeyId }) };
}
