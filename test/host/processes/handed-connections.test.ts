// needs: nothing
import t from 'tap';
import { cannotRescueWarning } from '../../../src/host/processes/handed-connections.ts';

t.test(
  'the release of Node is one whose cluster messages were tried; another one is named loudly',
  async (t) => {
    t.equal(cannotRescueWarning('24.21.0'), null);
    t.match(cannotRescueWarning('26.0.0'), /Node 26\.0\.0 .* may hang/);
    t.equal(
      cannotRescueWarning(),
      null,
      'a new release: try lifecycle.test.ts on it, then name it as the known one',
    );
  },
);
