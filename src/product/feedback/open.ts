import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import { feedbackRoutes } from './routes.ts';
import { FeedbackStore } from './store.ts';

export interface FeedbackOptions {
  documents: Documents;
  gate: Gate;
  now: () => Date;
}

export async function openFeedback({ documents, gate, now }: FeedbackOptions): Promise<Slice> {
  const store = await FeedbackStore.open(documents);
  return { routes: (app) => feedbackRoutes(app, { store, gate, now }) };
}
