// Pages everyone can use: accessible in both themes, and no wider than a small phone.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from '../support/test';
import { prepareTour } from '../support/tour';

async function expectAccessible(page: Page, name: string): Promise<void> {
  const found = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze();
  const told = found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(' | ')}`);
  expect.soft(told, `accessibility of ${name}`).toEqual([]);
}

async function expectNoSideways(page: Page, name: string): Promise<void> {
  const overhang = await page.evaluate(() => {
    const root = document.documentElement;
    return root.scrollWidth - root.clientWidth;
  });
  expect.soft(overhang, `${name} is wider than the screen by`).toBeLessThanOrEqual(0);
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page is accessible in the ${colorScheme} theme`, async ({ people: _, serve, page, complaints }) => {
    test.slow();
    complaints.allow(/nowhere.*404/);
    const server = await serve();
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.goto(`${server.url}/login`);
    await expectAccessible(page, 'login');
    for (const stop of await prepareTour(page, server)) {
      await page.goto(server.url + stop.path);
      await expectAccessible(page, stop.name);
    }
  });
}

test('no page scrolls sideways on a screen of 360 pixels', async ({ people: _, serve, page, complaints }) => {
  test.slow();
  complaints.allow(/nowhere.*404/);
  const server = await serve();
  await page.goto(`${server.url}/login`);
  const stops = await prepareTour(page, server);
  await page.setViewportSize({ width: 360, height: 740 });
  for (const stop of stops) {
    await page.goto(server.url + stop.path);
    await expectNoSideways(page, stop.name);
  }
});

test('the page of the API is in order for everyone, and leads back', async ({ people: _, serve, page }) => {
  // Some fifty operations on one page: looking at all of it takes its time.
  test.slow();
  const server = await serve();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${server.url}/api/docs`);
    // Every rule, not only those of the guidelines.
    const found = await new AxeBuilder({ page }).analyze();
    expect.soft(found.violations.map((v) => `${v.id}: ${v.nodes[0].target.join(' ')}`)).toEqual([]);
  }
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy the curl line of Enqueue a job', exact: true }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('curl -X POST "$LEASEHOLD_URL/api/v1/jobs"');
  await page.goto(`${server.url}/api/docs#cancel_job`);
  await expect(page.getByRole('heading', { name: 'Cancel a job' })).toBeInViewport();
  await page.getByRole('link', { name: 'Dashboard' }).click();
  await expect(page).toHaveURL(/login/);
});

test('the setup page is accessible and fits a small phone', async ({ serve, page }) => {
  const server = await serve();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(await server.setupLink());
  await expectAccessible(page, 'setup');
  await expectNoSideways(page, 'setup');
  await page.goto(`${server.url}/login`);
  await expectAccessible(page, 'first run');
  await expectNoSideways(page, 'first run');
});
