import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsPage } from './page.ts';

writeFileSync(join(import.meta.dirname, 'settings.md'), settingsPage());
