import { Frame } from './frame.ts';
import { h, render } from './html.ts';
import { startKeys } from './parts/keys.ts';
import { startRouter } from './router.ts';
import { screenAt } from './screens.ts';
import { startSession } from './session.ts';

startRouter();
startKeys();
render(h(Frame, {}), document.body);
startSession();
// The screen comes while the service is asked who is signed in; if it does not, the frame says so.
screenAt(location.pathname)
  ?.screen.load()
  .catch(() => undefined);
