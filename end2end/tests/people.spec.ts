// People: invited, given a role, handed a key; with script and without, and usable by everyone.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { administer } from '../support/leasehold';
import { LoginPage, signIn } from '../support/pages';
import { TENANT, expect, test } from '../support/test';

const EVE = { name: 'Eve Example', email: 'eve@example.org', password: 'a fine long password' };
const settings = `/t/${TENANT.slug}/settings`;

/** What the box shows that is shown once. */
async function shownOnce(page: Page): Promise<string> {
  const text = await page.locator('#shown-once').textContent();
  expect(text).toBeTruthy();
  return (text ?? '').trim();
}

async function invite(page: Page, url: string, email: string): Promise<string> {
  await page.goto(url + settings);
  await page.getByLabel('E-mail').fill(email);
  await page.getByRole('button', { name: 'Invite' }).click();
  const link = await shownOnce(page);
  await page.reload();
  await expect(page.locator('#shown-once')).toHaveCount(0);
  return link;
}

async function accept(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('Your name').fill(EVE.name);
  await page.getByLabel('Password').fill(EVE.password);
  await page.getByRole('button', { name: 'Save and sign in' }).click();
  await expect(page.getByRole('status').filter({ hasText: EVE.name })).toBeVisible();
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with script' : 'without script';

  test(`somebody is invited, comes in, and gets another role, ${how}`, async ({ people: _, serve, visit, complaints }) => {
    complaints.allow(/40[34]/);
    const server = await serve();
    const [ada, eve] = [await visit({ javaScriptEnabled }), await visit({ javaScriptEnabled })];
    await signIn(ada, server.url);
    await accept(eve, await invite(ada, server.url, EVE.email));
    await eve.goto(server.url + settings);
    await expect(eve.getByRole('heading', { name: 'Members' })).toBeVisible();
    await expect(eve.getByRole('button', { name: 'Invite' })).toHaveCount(0);
    await expect(eve.getByRole('link', { name: 'New job' })).toHaveCount(0);

    await ada.goto(server.url + settings);
    await ada.getByRole('button', { name: `Make admin ${EVE.email}` }).click();
    await expect(ada.getByRole('status')).toContainText('role was changed');
    await eve.reload();
    await expect(eve.getByRole('button', { name: 'Invite' })).toBeVisible();

    // Nobody leaves a tenant without an admin by accident.
    await ada.reload();
    await ada.locator('summary', { hasText: 'Remove' }).filter({ hasText: EVE.email }).click();
    const removal = ada.locator('form', { hasText: 'Remove this member' }).filter({ hasText: EVE.email });
    await removal.getByLabel('Leave this tenant without an admin').check();
    await removal.getByRole('button', { name: 'Remove this member' }).click();
    await expect(ada.getByRole('status')).toContainText('member was removed');
    const gone = await eve.goto(`${server.url}/t/${TENANT.slug}`);
    expect(gone?.status()).toBe(404);
  });

  test(`somebody with an account joins by the link and the password, ${how}`, async ({ people: _, database, serve, visit }) => {
    await administer(database.url, ['tenant', 'add', 'Other']);
    const person = (email: string, role: string, tenant: string) =>
      administer(database.url, ['user', 'add', email, '--role', role, '--tenant', tenant, '--password-stdin'], `${EVE.password}\n`);
    await person(EVE.email, 'viewer', 'other');
    await person('bob@example.org', 'admin', TENANT.slug);
    const server = await serve();
    const [bob, eve] = [await visit({ javaScriptEnabled }), await visit({ javaScriptEnabled })];
    await bob.goto(`${server.url}/login?next=${settings}`);
    await new LoginPage(bob).submit('bob@example.org', EVE.password);
    await expect(bob.getByRole('heading', { name: 'Members' })).toBeVisible();
    const link = await invite(bob, server.url, EVE.email);
    await expect(bob.locator('.person', { hasText: EVE.email })).toContainText('invited');

    await eve.goto(link);
    await expect(eve.getByRole('heading', { name: `Join ${TENANT.name}` })).toBeVisible();
    await eve.getByRole('link', { name: 'Sign in to join' }).click();
    await new LoginPage(eve).submit(EVE.email, EVE.password);
    await eve.getByRole('button', { name: 'Join', exact: true }).click();
    await expect(eve).toHaveURL(`${server.url}/t/${TENANT.slug}`);
    await expect(eve.getByRole('status').filter({ hasText: `member of ${TENANT.name}` })).toBeVisible();
  });

  test(`a key is made, shown once, used and revoked, ${how}`, async ({ people: _, serve, visit }) => {
    const server = await serve();
    const page = await visit({ javaScriptEnabled });
    await signIn(page, server.url);
    await page.goto(server.url + settings);
    await page.getByRole('region', { name: 'API keys' }).getByLabel('Name').fill('nightly import');
    await page.getByLabel('Scope').selectOption('worker');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await shownOnce(page);
    expect(key).toMatch(/^lh_[0-9a-f]{12}_/);
    await page.reload();
    await expect(page.locator('#shown-once')).toHaveCount(0);
    await expect(page.locator('main')).not.toContainText(key);

    const claim = () =>
      fetch(`${server.url}/api/v1/worker/jobs/claim`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ worker_id: 'one', wait_seconds: 0 }),
      }).then((answer) => answer.status);
    expect(await claim()).toBe(200);
    await page.locator('summary', { hasText: 'Revoke nightly import' }).click();
    await page.getByRole('button', { name: 'Revoke this key' }).click();
    await expect(page.locator('main')).toContainText('revoked');
    expect(await claim()).toBe(401);
  });
}

test('tenants are switched in the menu, and found when there are many', async ({ people: _, database, serve, page }) => {
  for (let nth = 1; nth <= 14; nth += 1) {
    await administer(database.url, ['tenant', 'add', `Branch ${String(nth).padStart(2, '0')}`]);
  }
  const server = await serve();
  await signIn(page, server.url);
  await page.locator('.sidebar .switch summary').click();
  await page.locator('.sidebar').getByRole('link', { name: 'Branch 03' }).click();
  await expect(page).toHaveURL(`${server.url}/t/branch-03`);
  await page.locator('.sidebar .switch summary').click();
  await expect(page.locator('.sidebar .switch')).toContainText('and 3 more');
  await page.locator('.sidebar').getByRole('link', { name: 'All your tenants' }).click();
  await page.getByLabel('Name contains').fill('14');
  await page.getByRole('button', { name: 'Find' }).click();
  await expect(page.locator('main li')).toHaveCount(1);
  await page.locator('main').getByRole('link', { name: 'Branch 14' }).click();
  await expect(page).toHaveURL(`${server.url}/t/branch-14`);
});

test('a changed password signs other browsers out', async ({ people: _, database, serve, visit }) => {
  const words = ['user', 'add', EVE.email, '--role', 'viewer', '--tenant', TENANT.slug, '--password-stdin'];
  await administer(database.url, words, `${EVE.password}\n`);
  const server = await serve();
  const [here, there] = [await visit(), await visit()];
  for (const page of [here, there]) {
    await page.goto(`${server.url}/login?next=/account`);
    await new LoginPage(page).submit(EVE.email, EVE.password);
    await expect(page.getByRole('heading', { name: 'Your account' })).toBeVisible();
  }
  await here.getByLabel('Current password').fill(EVE.password);
  await here.getByLabel('New password').fill('another long password');
  await here.getByRole('button', { name: 'Change password' }).click();
  await expect(here.getByRole('status')).toContainText('changed');
  await there.reload();
  await expect(there).toHaveURL(/\/login/);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`what is shown once and the page behind a link are accessible, ${colorScheme}`, async ({ people: _, serve, page, visit }) => {
    const server = await serve();
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 360, height: 740 });
    await signIn(page, server.url);
    await page.goto(server.url + settings);
    await page.getByLabel('E-mail').fill(EVE.email);
    await page.getByRole('button', { name: 'Invite' }).click();
    const link = await shownOnce(page);
    const guest = await visit({ viewport: { width: 360, height: 740 }, colorScheme });
    await guest.goto(link);
    for (const looked of [page, guest]) {
      const found = await new AxeBuilder({ page: looked }).withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']).analyze();
      expect(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(' | ')}`)).toEqual([]);
      const overhang = await looked.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overhang).toBeLessThanOrEqual(0);
    }
  });
}
