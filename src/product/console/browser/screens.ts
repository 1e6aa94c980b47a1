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

function screen(
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
  screen('Make', 'Playground', '/console/playground', () => import('./screens/playground.ts')),
  screen('Make', 'Templates', '/console/templates', () => import('./screens/templates.ts')),
  screen('Make', 'Presets', '/console/presets', () => import('./screens/presets.ts')),
  screen('Work', 'Jobs', '/console/jobs', () => import('./screens/jobs.ts')),
  screen('Work', 'Assets', '/console/assets', () => import('./screens/assets.ts')),
  screen('Work', 'Webhooks', '/console/webhooks', () => import('./screens/webhooks.ts')),
  screen('Account', 'Requests', '/console/requests', () => import('./screens/requests.ts')),
  screen('Account', 'Usage and credits', '/console/usage', () => import('./screens/usage.ts')),
  screen('Operate', 'Operate', '/console/operate', () => import('./screens/operate.ts')),
  screen('Operate', 'Runs', '/console/runs', () => import('./screens/runs.ts')),
];

/** The screen for a path, and the rest of the path below the screen's own path. */
export function screenAt(path: string): { screen: ListedScreen; rest: string } | undefined {
  const screen = SCREENS.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  return screen && { screen, rest: path.slice(screen.path.length + 1) };
}
