import type { ListedScreen } from './router.ts';

/** Every screen, in the order of the menu. The console begins with the first one. */
export const SCREENS: readonly ListedScreen[] = [
  {
    path: '/console/playground',
    title: 'Playground',
    group: 'Make',
    load: () => import('./screens/playground.ts'),
  },
  {
    path: '/console/templates',
    title: 'Templates',
    group: 'Make',
    load: () => import('./screens/templates.ts'),
  },
  {
    path: '/console/presets',
    title: 'Presets',
    group: 'Make',
    load: () => import('./screens/presets.ts'),
  },
  {
    path: '/console/jobs',
    title: 'Jobs',
    group: 'Work',
    load: () => import('./screens/jobs.ts'),
  },
  {
    path: '/console/assets',
    title: 'Assets',
    group: 'Work',
    load: () => import('./screens/assets.ts'),
  },
  {
    path: '/console/webhooks',
    title: 'Webhooks',
    group: 'Work',
    load: () => import('./screens/webhooks.ts'),
  },
  {
    path: '/console/requests',
    title: 'Requests',
    group: 'Account',
    load: () => import('./screens/requests.ts'),
  },
  {
    path: '/console/usage',
    title: 'Usage and credits',
    group: 'Account',
    load: () => import('./screens/usage.ts'),
  },
  {
    path: '/console/operate',
    title: 'Operate',
    group: 'Operate',
    for: 'operator',
    load: () => import('./screens/operate.ts'),
  },
  {
    path: '/console/runs',
    title: 'Runs',
    group: 'Operate',
    for: 'operator',
    load: () => import('./screens/runs.ts'),
  },
];

/** The screen at an address, and the rest of the path. */
export function screenAt(path: string): { screen: ListedScreen; rest: string } | undefined {
  const screen = SCREENS.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  return screen && { screen, rest: path.slice(screen.path.length + 1) };
}
