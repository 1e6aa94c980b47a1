import type { Fix } from '../../../../../client/errors.ts';
import type { ApiKey, Session } from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html, useState } from '../../html.ts';
import { Button, Field, onSubmitFields, onText } from '../../parts/controls.ts';
import { applyFix } from '../../parts/correcting.ts';
import { idColumn, timeColumn } from '../../parts/lists.ts';
import { askToConfirm, Dialog, toast } from '../../parts/overlays.ts';
import { Empty, ErrorBox } from '../../parts/page.ts';
import { useAction, useLoad } from '../../parts/reading.ts';
import { type Column, Table } from '../../parts/table.ts';
import { Copy, relativeTimeText, Status, Time, timeText } from '../../parts/values.ts';
import { addressOf } from '../../router.ts';
import { signOut, useSession } from '../../session.ts';

/**
 * The API keys of the account: their list, and buttons to create and revoke keys. A person who signed in by an API key
 * cannot see them.
 */
export function Keys() {
  const { kind } = useSession();
  if (kind === 'key') return html`<${SessionNeeded} what="keys" />`;
  return html`<${KeyList} />`;
}

/** Tells a person who signed in by an API key that the list needs a session. */
function SessionNeeded({ what }: { what: string }) {
  const text = `A key can neither list nor make ${what}. Sign out, and sign in with e-mail and password.`;
  return html`<${Empty} title="This takes a session" text=${text} />`;
}

function KeyList() {
  const read = (signal: AbortSignal) => api.request('GET', '/api-keys', { signal });
  const { data, error, isLoading, reload } = useLoad(read, []);
  const [isAdding, setIsAdding] = useState(false);
  const revoking = useAction();
  const revoke = async ({ id, name, hint, lastUsedAt }: ApiKey) => {
    const used =
      lastUsedAt === undefined ? 'It was never used.' : `It was last used ${relativeTimeText(lastUsedAt)}.`;
    const isAgreed = await askToConfirm({
      title: `Revoke ${name || hint}?`,
      text: `${used} Its next call is refused, for good.`,
      act: 'Revoke the key',
      isDangerous: true,
    });
    if (!isAgreed) return;
    const path = { keyId: id };
    const isDone = await revoking.act(() => api.request('DELETE', '/api-keys/{keyId}', { path }));
    if (isDone) toast('The key is revoked.');
    reload();
  };
  const add = html`<${Button} kind="primary" onClick=${() => setIsAdding(true)}>New key<//>`;
  return html`
    <div class="list-head"><span class="quiet">Keys that are not revoked</span>${add}</div>
    <${ErrorBox} error=${revoking.error} />
    <${Table}
      label="API keys"
      columns=${keyColumns(revoke)}
      rows=${data ?? []}
      keyOf=${({ id }: ApiKey) => id}
      ...${{ isLoading, error, reload }}
      empty=${html`<${Empty} title="No keys yet" text="A program calls the interface with a key of its own." action=${add} />`}
    />
    ${isAdding && html`<${NewKey} onClose=${() => setIsAdding(false)} onAdded=${reload} />`}
  `;
}

function keyColumns(revoke: (key: ApiKey) => void): Column<ApiKey>[] {
  return [
    { title: 'Name', of: ({ name }) => name || html`<span class="quiet">without a name</span>` },
    { title: 'Key', isWide: true, width: '11em', of: ({ hint }) => html`<code>${hint}</code>` },
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
      isWide: true,
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
    return html`<${Dialog} title="Keep this key" closes="I have kept it" onClose=${onClose}>
      <p>It is shown only now. Whoever has it makes calls of this account.</p>
      <p class="secret"><${Copy} text=${key} /></p>
    <//>`;
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
  const { kind } = useSession();
  if (kind === 'key') return html`<${SessionNeeded} what="sessions" />`;
  return html`<${SessionList} />`;
}

function SessionList() {
  const read = (signal: AbortSignal) => api.request('GET', '/auth/sessions', { signal });
  const { data, error, isLoading, reload } = useLoad(read, []);
  const ending = useAction();
  const end = async ({ id, isCurrent, createdAt }: Session) => {
    if (isCurrent) return void ending.act(signOut);
    const isAgreed = await askToConfirm({
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
      columns=${sessionColumns(end)}
      rows=${data ?? []}
      keyOf=${({ id }: Session) => id}
      ...${{ isLoading, error, reload }}
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
    timeColumn('createdAt', 'Signed in', { isWide: false }),
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
