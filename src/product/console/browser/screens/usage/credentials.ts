import type { Fix } from '../../../../../client/errors.ts';
import type { ApiKey, Session } from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html, useState, type View } from '../../html.ts';
import { Button, Field, onSubmitFields, onText } from '../../parts/controls.ts';
import { applyFix } from '../../parts/correcting.ts';
import { idColumn, timeColumn } from '../../parts/lists.ts';
import { Dialog, SecretDialog, toast } from '../../parts/overlays.ts';
import { Empty, ErrorBox } from '../../parts/page.ts';
import { useAction, useRows } from '../../parts/reading.ts';
import { type Column, Table } from '../../parts/table.ts';
import { relativeTimeText, Status, Time, timeText } from '../../parts/values.ts';
import { addressOf } from '../../router.ts';
import { signOut, useSession } from '../../session.ts';

/** Shows a list that only a session may read, or a notice if the person signed in by an API key. */
function SessionOnly({ what, children }: { what: string; children: View }): View {
  if (useSession().kind !== 'key') return children;
  const text = `A key can neither list nor make ${what}. Sign out, and sign in with e-mail and password.`;
  return html`<${Empty} title="This takes a session" text=${text} />`;
}

/** The API keys of the account: their list, and buttons to create and revoke keys. */
export function Keys() {
  return html`<${SessionOnly} what="keys"><${KeyList} /><//>`;
}

function KeyList() {
  const list = useRows((signal) => api.request('GET', '/api-keys', { signal }));
  const [isAdding, setIsAdding] = useState(false);
  const revoking = useAction();
  const revoke = ({ id, name, hint, lastUsedAt }: ApiKey) => {
    const used =
      lastUsedAt === undefined ? 'It was never used.' : `It was last used ${relativeTimeText(lastUsedAt)}.`;
    const text = `${used} Its next call is refused, for good.`;
    const question = { title: `Revoke ${name || hint}?`, text, act: 'Revoke the key' };
    return revoking.actIfConfirmed(question, async () => {
      await api.request('DELETE', '/api-keys/{keyId}', { path: { keyId: id } }).finally(list.reload);
      toast('The key is revoked.');
    });
  };
  const add = html`<${Button} kind="primary" onClick=${() => setIsAdding(true)}>New key<//>`;
  return html`
    <div class="list-head"><span class="quiet">Keys that are not revoked</span>${add}</div>
    <${ErrorBox} error=${revoking.error} />
    <${Table}
      label="API keys"
      columns=${keyColumns(revoke)}
      keyOf=${({ id }: ApiKey) => id}
      ...${list}
      empty=${html`<${Empty} title="No keys yet" text="A program calls the interface with a key of its own." action=${add} />`}
    />
    ${isAdding && html`<${NewKey} onClose=${() => setIsAdding(false)} onAdded=${list.reload} />`}
  `;
}

function keyColumns(revoke: (key: ApiKey) => void): Column<ApiKey>[] {
  return [
    { title: 'Name', of: ({ name }) => name || html`<span class="quiet">without a name</span>` },
    { title: 'Key', isHiddenWhenNarrow: true, width: '11em', of: ({ hint }) => html`<code>${hint}</code>` },
    {
      title: 'Last used',
      width: '14em',
      of: ({ lastUsedAt }) =>
        lastUsedAt === undefined
          ? html`<span class="quiet">never</span>`
          : html`<${Time} at=${lastUsedAt} />`,
    },
    timeColumn('createdAt', 'Issued'),
    idColumn(),
    {
      title: 'Calls',
      isHiddenWhenNarrow: true,
      width: '6.5em',
      of: ({ id, name, hint }) =>
        html`<a href=${addressOf('/console/requests', { apiKeyId: id })} aria-label=${`Calls of ${name || hint}`}>show</a>`,
    },
    {
      title: 'Revoke',
      width: '7.5em',
      of: (key) =>
        html`<${Button} kind="link" label=${`Revoke ${key.name || key.hint}`} onClick=${() => revoke(key)}>Revoke<//>`,
    },
  ];
}

function NewKey({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const [name, setName] = useState('');
  const [key, setKey] = useState<string>();
  const { act, isActing, error } = useAction();
  const issue = () =>
    act(async () => {
      setKey((await api.request('POST', '/api-keys', { body: { name } })).key);
      onAdded();
    });
  if (key !== undefined)
    return html`<${SecretDialog}
      title="Keep this key"
      text="It is shown only now. Whoever has it makes calls of this account."
      secret=${key}
      onClose=${onClose}
    />`;
  return html`<${Dialog}
    title="New API key"
    closes="Cancel"
    onClose=${onClose}
    actions=${html`<${Button} kind="primary" isBusy=${isActing} onClick=${issue}>Issue<//>`}
  >
    <form onSubmit=${onSubmitFields(issue)}>
      <${Field} label="Name" hint="Where it is used, such as the name of a program.">
        <input maxlength="100" value=${name} onInput=${onText(setName)} />
      <//>
    </form>
    <${ErrorBox} error=${error} onFix=${(fix: readonly Fix[]) => setName(applyFix({ name }, fix).name)} />
  <//>`;
}

/** The sessions of this account, each with a button that ends it. */
export function Sessions() {
  return html`<${SessionOnly} what="sessions"><${SessionList} /><//>`;
}

function SessionList() {
  const list = useRows((signal) => api.request('GET', '/auth/sessions', { signal }));
  const ending = useAction();
  const end = ({ id, isCurrent, createdAt }: Session) => {
    if (isCurrent) return ending.act(signOut);
    const text = `Whoever signed in at ${timeText(createdAt)} has to sign in again.`;
    const question = { title: 'End this session?', text, act: 'End the session' };
    return ending.actIfConfirmed(question, async () => {
      const path = { sessionId: id };
      await api.request('DELETE', '/auth/sessions/{sessionId}', { path }).finally(list.reload);
      toast('The session is over.');
    });
  };
  return html`
    <div class="list-head"><span class="quiet">Sign-ins of the last 12 hours that are not over</span></div>
    <${ErrorBox} error=${ending.error} />
    <${Table}
      label="Sessions"
      columns=${sessionColumns(end)}
      keyOf=${({ id }: Session) => id}
      ...${list}
    />
  `;
}

function sessionColumns(end: (session: Session) => void): Column<Session>[] {
  return [
    {
      title: 'Session',
      of: ({ isCurrent }) =>
        isCurrent
          ? html`<${Status} status="this one" tone="good" />`
          : html`<span class="quiet">another one</span>`,
    },
    timeColumn('createdAt', 'Signed in', { isHiddenWhenNarrow: false }),
    timeColumn('expiresAt', 'Ends by itself'),
    idColumn(),
    {
      title: 'End',
      width: '8em',
      of: (session) =>
        html`<${Button} kind="link" onClick=${() => end(session)}>${session.isCurrent ? 'Sign out' : 'End'}<//>`,
    },
  ];
}
