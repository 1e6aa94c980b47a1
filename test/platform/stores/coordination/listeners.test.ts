// needs: nothing
import t from 'tap';
import { ChannelListeners } from '../../../../src/platform/stores/coordination/messages.ts';

t.test('a listener that throws is logged, and the others hear the message', async (t) => {
  const logged: object[] = [];
  const listeners = new ChannelListeners({ error: (context) => logged.push(context) });
  const heard: string[] = [];
  const fault = new ReferenceError('not yet');
  listeners.add('wake', () => {
    throw fault;
  });
  listeners.add('wake', (message) => heard.push(message));
  t.equal(listeners.deliver('wake', 'job'), true);
  t.same(heard, ['job']);
  t.same(logged, [{ err: fault, channel: 'wake' }]);
});
