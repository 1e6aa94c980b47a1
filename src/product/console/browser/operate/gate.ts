import { html, useEffect, useState, type View } from '../html.ts';
import { openOperatorSession, operatorSessionState } from '../operator.ts';
import { Button } from '../parts/button.ts';
import { Field } from '../parts/form.ts';
import { submits } from '../parts/handlers.ts';
import { Page } from '../parts/page.ts';
import { useAction } from '../parts/reading.ts';
import { ErrorBox, Waiting } from '../parts/states.ts';

const LINK = /^#(opl_\w+)$/;

/**
 * Shows an operator's screen to those with the credential, and asks all others for it. The first call of the screen
 * finds out whether there is a session.
 */
export function OperatorOnly({ title, children }: { title: string; children: () => View }): View {
  const session = operatorSessionState.use();
  const { act, isActing, error } = useAction();
  const [link] = useState(() => LINK.exec(location.hash)?.[1]);
  useEffect(() => {
    if (link === undefined) return;
    // The link works once: nothing keeps it.
    history.replaceState(null, '', location.pathname + location.search);
    void act(() => openOperatorSession({ link })).then(
      (isOpen) => isOpen || operatorSessionState.set('none'),
    );
  }, []);
  if (session === 'open' || (session === 'unknown' && link === undefined)) return children();
  if (session === 'unknown') return html`<${Page} title=${title}><${Waiting} rows=${4} /><//>`;

  const open = (fields: FormData) =>
    act(() => openOperatorSession({ token: String(fields.get('token') ?? '').trim() }));
  return html`<${Page} title=${title} lead="For the person who runs this service.">
    <form class="operator-sign-in card" onSubmit=${submits(open)}>
      <${Field} label="Token of the operator" hint="OPERATOR_TOKEN, as the settings of the service have it.">
        <input name="token" type="password" autocomplete="off" required autofocus />
      <//>
      ${error !== undefined && html`<${ErrorBox} error=${error} />`}
      <${Button} kind="primary" submits isBusy=${isActing}>Open<//>
      <p class="quiet">
        Without a token, <code>npm run admin -- console --operator</code> on the host prints a link that opens these screens
        once.
      </p>
    </form>
  <//>`;
}
