import type { Session } from '../../../../../client/schema.ts';
import { html } from '../../html.ts';
import { Button } from '../../parts/button.ts';
import { idColumn, timeColumn } from '../../parts/columns.ts';
import { confirmed } from '../../parts/dialog.ts';
import { useAction, useReading } from '../../parts/reading.ts';
import { ErrorBox } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { toast } from '../../parts/toast.ts';
import { Status, timeText } from '../../parts/values.ts';
import { api, signOut, useSession } from '../../session.ts';
import { ForSessions } from './keys.ts';

/** The sessions of this account, each with a button that ends it. */
export function Sessions() {
  const { kind } = useSession();
  if (kind === 'key') return html`<${ForSessions} what="sessions" />`;
  return html`<${List} />`;
}

function List() {
  const { data, error, isLoading, reload } = useReading(
    (signal) => api.request('GET', '/auth/sessions', { signal }),
    [],
  );
  const ending = useAction();
  const end = async ({ id, isCurrent, createdAt }: Session) => {
    if (isCurrent) return void ending.act(signOut);
    const isAgreed = await confirmed({
      title: 'End this session?',
      text: `Whoever signed in at ${timeText(createdAt)} has to sign in again.`,
      act: 'End the session',
      isDangerous: true,
    });
    if (!isAgreed) return;
    const path = { sessionId: id };
    const isDone = await ending.act(() => api.request('DELETE', '/auth/sessions/{sessionId}', { path }));
    if (isDone) toast('The session is over.');
    reload();
  };
  return html`
    <div class="list-head"><span class="quiet">Sign-ins of the last 12 hours that are not over</span></div>
    <${ErrorBox} error=${ending.error} />
    <${Table}
      label="Sessions"
      columns=${columnsOf(end)}
      rows=${data ?? []}
      keyOf=${({ id }: Session) => id}
      ...${{ isLoading, error, reload }}
    />
  `;
}

function columnsOf(end: (session: Session) => void): Column<Session>[] {
  return [
    {
      name: 'which',
      title: 'Session',
      of: ({ isCurrent }) =>
        isCurrent
          ? html`<${Status} status="this one" tone="good" />`
          : html`<span class="quiet">another one</span>`,
    },
    timeColumn('createdAt', 'Signed in', { isWide: false }),
    timeColumn('expiresAt', 'Ends by itself'),
    idColumn(),
    {
      name: 'end',
      title: 'End',
      width: '6.5em',
      of: (session) =>
        html`<${Button} kind="link" onClick=${() => end(session)}>${session.isCurrent ? 'Sign out' : 'End'}<//>`,
    },
  ];
}
