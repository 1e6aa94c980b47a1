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
// The screen is loaded while the service is asked who is signed in. If that fails, the frame shows an error.
const { screen } = screenAt(location.pathname) ?? {};
screen?.load().catch(() => undefined);
