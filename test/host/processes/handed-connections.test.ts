// needs: nothing
import t from 'tap';
import { cannotRescue } from '../../../src/host/processes/handed-connections.ts';

t.test(
  'the release of Node is one whose cluster messages were tried; another one is named loudly',
  async (t) => {
    t.equal(cannotRescue('24.21.0'), null);
    t.match(cannotRescue('26.0.0'), /Node 26\.0\.0 .* may hang/);
    t.equal(
      cannotRescue(),
      null,
      'a new release: try lifecycle.test.ts on it, then name it as the known one',
    );
  },
);
