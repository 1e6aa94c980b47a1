import { type FunctionComponent, html } from './html.ts';
import { type LazyComponent, lazyComponent, Placeholder } from './parts/page.ts';
import type { ScreenProps } from './router.ts';

/** A screen that the menu lists. */
export interface ListedScreen {
  /**
   * The group in the menu. Screens in `Operate` are for the operator only. All other screens are for everybody who is
   * signed in.
   */
  group: 'Make' | 'Work' | 'Account' | 'Operate';
  title: string;
  /** The path of the screen. The paths of its subpages begin with it. */
  path: string;
  Screen: LazyComponent<ScreenProps>;
}

function declareScreen(
  group: ListedScreen['group'],
  title: string,
  path: string,
  load: () => Promise<{ default: FunctionComponent<ScreenProps> }>,
): ListedScreen {
  const Screen = lazyComponent(
    async () => (await load()).default,
    () => html`<${Placeholder} />`,
  );
  return { group, title, path, Screen };
}

/** Every screen, in the order of the menu. The first one is the start page of the console. */
export const SCREENS: readonly ListedScreen[] = [
  declareScreen('Make', 'Playground', '/console/playground', () => import('./screens/playground.ts')),
  declareScreen('Make', 'Templates', '/console/templates', () => import('./screens/templates.ts')),
  declareScreen('Make', 'Presets', '/console/presets', () => import('./screens/presets.ts')),
  declareScreen('Work', 'Jobs', '/console/jobs', () => import('./screens/jobs.ts')),
  declareScreen('Work', 'Assets', '/console/assets', () => import('./screens/assets.ts')),
  declareScreen('Work', 'Webhooks', '/console/webhooks', () => import('./screens/webhooks.ts')),
  declareScreen('Account', 'Requests', '/console/requests', () => import('./screens/requests.ts')),
  declareScreen('Account', 'Usage and credits', '/console/usage', () => import('./screens/usage.ts')),
  declareScreen('Operate', 'Operate', '/console/operate', () => import('./screens/operate.ts')),
  declareScreen('Operate', 'Runs', '/console/runs', () => import('./screens/runs.ts')),
];

/** The screen for a path, and the rest of the path below the screen's own path. */
export function screenAt(path: string): { screen: ListedScreen; rest: string } | undefined {
  const screen = SCREENS.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  return screen && { screen, rest: path.slice(screen.path.length + 1) };
}
