import { chromium } from '@playwright/test';
import fs from 'fs';
const base = process.env.BASE, out = process.env.OUT || '/tmp/shots';
const setup = process.env.SETUP;
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync'] });
const ctx = await b.newContext({ viewport: { width: 1320, height: 860 } });
const p = await ctx.newPage();
p.on('console', m => { if (['error','warning'].includes(m.type())) console.log('console', m.type(), m.text()); });
p.on('pageerror', e => console.log('pageerror', e.message));
const shot = async (name, page = p, full = true) => { await page.screenshot({ path: `${out}/${name}.png`, fullPage: full }); };
const all = async (name) => {
  for (const scheme of ['light','dark']) { await p.emulateMedia({ colorScheme: scheme }); await shot(`${name}-${scheme}`); }
  await p.emulateMedia({ colorScheme: 'light' });
  await p.setViewportSize({ width: 360, height: 740 }); await shot(`${name}-360`);
  const w = await p.evaluate(() => document.documentElement.scrollWidth); if (w > 360) console.log(name, 'scrolls', w);
  await p.setViewportSize({ width: 1320, height: 860 });
};
if (setup) {
  await p.goto(setup); await all('setup');
  await p.getByLabel(/name/i).first().fill('Ann Lee');
  await p.getByLabel(/e-?mail/i).fill('ann@example.org');
  await p.getByLabel(/password/i).fill('correct horse battery');
  const t = p.getByLabel(/tenant|organi/i); if (await t.count()) await t.first().fill('Acme Photos');
  await p.locator('main form button[type=submit], form button').last().click();
  await p.waitForLoadState();
} else {
  await p.goto(base + '/login'); await all('login');
  await p.getByLabel(/e-?mail/i).fill('ann@example.org'); await p.getByLabel(/password/i).fill('correct horse battery');
  await p.locator('form button[type=submit]').last().click(); await p.waitForLoadState();
}
console.log(p.url());
for (const path of (process.env.PATHS || '/t/acme-photos,/t/acme-photos/jobs,/t/acme-photos/jobs/new').split(',')) {
  await p.goto(base + path); await p.waitForTimeout(700); await all(path.replace(/[^a-z0-9]+/g, '_'));
}
await b.close();
