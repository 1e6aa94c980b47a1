import { type FunctionComponent, html } from './html.ts';
import { type LazyComponent, lazyComponent, Placeholder } from './parts/page.ts';
import type { ScreenProps } from './router.ts';

/** A screen that the menu lists. */
export interface ListedScreen {
  /** The path of the screen. The paths of its subpages begin with it. */
  path: string;
  title: string;
  group: 'Make' | 'Work' | 'Account' | 'Operate';
  /** Who sees the screen. Absent: everybody who is signed in. */
  for?: 'operator';
  Screen: LazyComponent<ScreenProps>;
}

const lazyScreen = (load: () => Promise<FunctionComponent<ScreenProps>>) =>
  lazyComponent(load, () => html`<${Placeholder} />`);

/** Every screen, in the order of the menu. The first one is the start page of the console. */
export const SCREENS: readonly ListedScreen[] = [
  {
    path: '/console/playground',
    title: 'Playground',
    group: 'Make',
    Screen: lazyScreen(async () => (await import('./screens/playground.ts')).PlaygroundScreen),
  },
  {
    path: '/console/templates',
    title: 'Templates',
    group: 'Make',
    Screen: lazyScreen(async () => (await import('./screens/templates.ts')).TemplatesScreen),
  },
  {
    path: '/console/presets',
    title: 'Presets',
    group: 'Make',
    Screen: lazyScreen(async () => (await import('./screens/presets.ts')).PresetsScreen),
  },
  {
    path: '/console/jobs',
    title: 'Jobs',
    group: 'Work',
    Screen: lazyScreen(async () => (await import('./screens/jobs.ts')).JobsScreen),
  },
  {
    path: '/console/assets',
    title: 'Assets',
    group: 'Work',
    Screen: lazyScreen(async () => (await import('./screens/assets.ts')).AssetsScreen),
  },
  {
    path: '/console/webhooks',
    title: 'Webhooks',
    group: 'Work',
    Screen: lazyScreen(async () => (await import('./screens/webhooks.ts')).WebhooksScreen),
  },
  {
    path: '/console/requests',
    title: 'Requests',
    group: 'Account',
    Screen: lazyScreen(async () => (await import('./screens/requests.ts')).RequestsScreen),
  },
  {
    path: '/console/usage',
    title: 'Usage and credits',
    group: 'Account',
    Screen: lazyScreen(async () => (await import('./screens/usage.ts')).UsageScreen),
  },
  {
    path: '/console/operate',
    title: 'Operate',
    group: 'Operate',
    for: 'operator',
    Screen: lazyScreen(async () => (await import('./screens/operate.ts')).OperateScreen),
  },
  {
    path: '/console/runs',
    title: 'Runs',
    group: 'Operate',
    for: 'operator',
    Screen: lazyScreen(async () => (await import('./screens/runs.ts')).RunsScreen),
  },
];

/** The screen for a path, and the rest of the path below the screen's own path. */
export function screenAt(path: string): { screen: ListedScreen; rest: string } | undefined {
  const screen = SCREENS.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  return screen && { screen, rest: path.slice(screen.path.length + 1) };
}
