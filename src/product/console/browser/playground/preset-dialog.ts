import type { BodyOf } from '../../../../client/calls.ts';
import { html, useState } from '../html.ts';
import { Button } from '../parts/button.ts';
import { Dialog } from '../parts/dialog.ts';
import { errorAt, Field } from '../parts/form.ts';
import { submits, takesText } from '../parts/handlers.ts';
import { useAct } from '../parts/reading.ts';
import { ErrorBox } from '../parts/states.ts';
import { toast } from '../parts/toast.ts';
import { navigate } from '../router.ts';
import { api } from '../session.ts';
import type { WorkStep } from './work.ts';

/** Saves steps as a preset, which every call can then name. */
export function PresetDialog({ steps, onClose }: { steps: readonly WorkStep[]; onClose: () => void }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const { act, isActing, error } = useAct();
  const save = () =>
    act(async () => {
      const preset = { name, description, steps: steps as BodyOf<'POST /presets'>['steps'] };
      const { slug } = await api.presets.create(preset);
      toast(html`The preset <strong>${slug}</strong> is saved.`, { undo: () => api.presets.delete(slug) });
      onClose();
      navigate(`/console/presets/${slug}`);
    });
  return html`<${Dialog}
    title="Save as a preset"
    closes="Cancel"
    onClose=${onClose}
    actions=${html`<${Button} kind="primary" isBusy=${isActing} isDisabled=${name.trim() === ''} onClick=${save}>Save<//>`}
  >
    <form class="form" onSubmit=${submits(save)}>
      <${Field} label="Name" error=${errorAt(error, 'name')} hint="Calls name it by a short form of this.">
        <input value=${name} maxlength="200" onInput=${takesText(setName)} />
      <//>
      <${Field} label="Description">
        <input value=${description} onInput=${takesText(setDescription)} />
      <//>
      <button type="submit" class="unseen" tabindex="-1" aria-hidden="true">Save</button>
    </form>
    ${errorAt(error, 'name') === undefined && html`<${ErrorBox} error=${error} />`}
  <//>`;
}
