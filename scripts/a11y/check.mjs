// check applies axe-core to pages in headless Chromium. It also checks rules that axe lacks:
//
//   - A page does not scroll sideways.
//   - The letters in charts are not too small.
//   - A chart is a tab stop only if it scrolls.
//   - Folded parts are printed only if the reader asks for it.
//   - A page requests nothing over the network.
//
//	node check.mjs AXE CHROMIUM PAGE...
//
// It checks each page in both themes, at the width of a phone and of a desktop, folded and
// unfolded, and printed. It also damages a page in ways that the checks must notice.
//
// It drives Chromium over the DevTools protocol on two pipes, so only axe-core has to be
// installed.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const THEMES = ['light', 'dark'];
const WIDTHS = [390, 1280];
const BETWEEN = [680, 695, 720]; // near the least width at which charts do not scroll
const PATIENCE = 600_000; // milliseconds for one answer

// Damage that the checks must notice: the expected rule, and a script that damages the page.
const DAMAGE = {
  'html-has-lang': `document.documentElement.removeAttribute('lang')`,
  'svg-img-alt': `document.querySelector('svg[role=img]').removeAttribute('aria-labelledby');
    document.querySelectorAll('svg title').forEach(t => t.remove())`,
  'color-contrast': `document.querySelector('main p').style.color = 'color-mix(in srgb, var(--paper), var(--ink) 20%)'`,
  'heading-order': `document.querySelector('h2').outerHTML = '<h5>a level too deep</h5>'`,
  'scrollable-region-focusable': `document.querySelectorAll('.scroll').forEach(s => { s.removeAttribute('tabindex'); s.style.maxWidth = '9rem' });
    document.querySelectorAll('.stop').forEach(s => s.remove())`,
  'idle tab stop': `document.querySelectorAll('.stop').forEach(s => { s.style.display = 'block' })`,
  'small text': `Object.assign(document.querySelector('figure svg').style, { minWidth: 0, width: '20rem' })`,
  'scrolls sideways': `document.querySelector('main').insertAdjacentHTML('beforeend', '<div style="width: 3000px">wide</div>')`,
};

// Browser is a Chromium with one tab.
class Browser {
  #pending = new Map();
  #events = new Map();
  #next = 1;
  #text = '';

  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), 'locklab-a11y-'));
    const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    this.process = spawn(program, ['--headless', '--disable-gpu', '--no-first-run', '--remote-debugging-pipe',
      `--user-data-dir=${this.profile}`, ...root, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.exit = new Promise((done, fail) => {
      this.process.on('error', fail);
      this.process.on('exit', done);
    });
    this.exit.then(() => this.#fail('Chromium ended'), e => this.#fail(e.message));
    [, , , this.in, this.out] = this.process.stdio;
    this.in.on('error', () => {}); // exit reports it
    this.out.setEncoding('utf8').on('data', text => this.#read(text));
  }

  #fail(why) {
    for (const { fail } of this.#pending.values()) fail(new Error(why));
    this.#pending.clear();
  }

  // #read takes messages, each of which ends in NUL.
  #read(text) {
    const parts = (this.#text + text).split('\0');
    this.#text = parts.pop();
    for (const m of parts.map(p => JSON.parse(p))) {
      this.#events.get(m.method)?.(m.params);
      const call = this.#pending.get(m.id);
      this.#pending.delete(m.id);
      if (m.error) call?.fail(new Error(m.error.message));
      else call?.done(m.result);
    }
  }

  // send calls a method of the protocol.
  send(method, params = {}) {
    const id = this.#next++;
    const answer = new Promise((done, fail) => this.#pending.set(id, { done, fail }));
    this.in.write(JSON.stringify({ id, method, params, sessionId: this.session }) + '\0');
    let timer;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`${method}: no answer`)), PATIENCE); });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  }

  on(event, f) { this.#events.set(event, f); }

  async open() {
    const { targetInfos } = await this.send('Target.getTargets');
    const { targetId } = targetInfos.find(t => t.type === 'page') ?? await this.send('Target.createTarget', { url: 'about:blank' });
    this.session = (await this.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    await this.send('Page.enable');
    await this.send('Network.enable');
    this.requests = [];
    this.on('Network.requestWillBeSent', p => { if (!/^(file|data):/.test(p.request.url)) this.requests.push(p.request.url); });
  }

  async load(url) {
    const loaded = new Promise(done => this.on('Page.loadEventFired', done));
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  // run returns the value of a script.
  async run(expression) {
    const { result, exceptionDetails: bad } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (bad) throw new Error(bad.exception?.description ?? bad.text);
    return result.value;
  }

  // look sets the theme, width and medium of the next page.
  async look(theme, width, media = '') {
    await this.send('Emulation.setEmulatedMedia', { media, features: [{ name: 'prefers-color-scheme', value: theme }] });
    await this.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
  }

  async close() {
    this.process.kill();
    await this.exit.catch(() => {});
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const UNFOLD = `document.querySelectorAll('details').forEach(d => { d.open = true })`;
const AXE = `axe.run(document, { resultTypes: ['violations'] }).then(r => ({
  rules: r.passes.length + r.violations.length,
  found: r.violations.map(v => ({ id: v.id, help: v.help, at: v.nodes.map(n => n.target.join(' ')), why: v.nodes[0].failureSummary })),
}))`;
const SIDEWAYS = `(() => {
  const root = document.documentElement, out = root.scrollWidth - root.clientWidth;
  if (out <= 0) return null;
  const at = [...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > root.clientWidth + 1);
  return { out, at: at.slice(0, 5).map(e => e.tagName.toLowerCase() + (e.className ? '.' + e.className : '')) };
})()`;
// A chart is a tab stop if it scrolls, and only then.
const IDLE = `[...document.querySelectorAll('.scroll')].filter(s => s.clientWidth > 0 && s.querySelector('svg')).filter(s => {
  const stop = s.tabIndex >= 0 || [...s.querySelectorAll('[tabindex]')].some(e => e.getClientRects().length > 0);
  return stop !== s.scrollWidth > s.clientWidth;
}).map(s => s.getAttribute('aria-label'))`;
// The least font size in charts, in pixels. axe does not check it.
const LEAST = 7;
const SMALL = `[...document.querySelectorAll('figure svg')].filter(s => s.getClientRects().length > 0).map(s => ({
  at: s.closest('[aria-label]')?.getAttribute('aria-label') ?? 'a chart',
  size: Math.min(...[...s.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize) * Math.abs(t.getScreenCTM().a))),
})).filter(c => c.size < ${LEAST}).map(c => c.at + ': ' + c.size.toFixed(1) + ' px')`;
const PRINTED = `[...document.querySelectorAll('main details')].filter(d => !d.open && d.getBoundingClientRect().height > 0).length`;
const HIDDEN = `[...document.querySelectorAll('main details')].filter(d => !d.open).filter(d => {
  const inside = d.querySelector(':scope > :not(summary)');
  return inside && inside.getBoundingClientRect().height === 0;
}).length`;

// examine returns the violations of the page that is shown.
async function examine(browser) {
  const { rules, found } = await browser.run(AXE);
  if (!(rules > 20)) throw new Error(`axe applied ${rules} rules only`);
  const wide = await browser.run(SIDEWAYS);
  if (wide) found.push({ id: 'scrolls sideways', help: `by ${wide.out} pixels`, at: wide.at, why: '' });
  await idle(browser, found);
  const small = await browser.run(SMALL);
  if (small.length > 0) found.push({ id: 'small text', help: `letters of less than ${LEAST} pixels in charts`, at: small, why: '' });
  return { rules, found };
}

async function idle(browser, found) {
  const at = await browser.run(IDLE);
  if (at.length > 0) found.push({ id: 'idle tab stop', help: 'a chart that does not scroll is a tab stop, or one that does is none', at, why: '' });
}

// show opens a page and loads axe into it.
async function show(browser, axe, url, theme, width) {
  await browser.look(theme, width);
  await browser.load(url);
  await browser.run(axe + ';0');
}

async function checkPage(browser, axe, page) {
  const url = pathToFileURL(resolve(page)).href;
  let bad = 0, rules = 0;
  const tell = (how, list) => {
    for (const v of list) {
      bad++;
      console.log(`${page} (${how}): ${v.id}: ${v.help}\n    ${v.at.length} places, first ${v.at[0]}\n    ${v.why.replaceAll('\n', '\n    ')}`);
    }
  };
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      await show(browser, axe, url, theme, width);
      for (const state of ['folded', 'unfolded']) {
        if (state === 'unfolded') await browser.run(UNFOLD);
        const got = await examine(browser);
        rules = Math.max(rules, got.rules);
        tell(`${theme}, ${width} px, ${state}`, got.found);
      }
    }
  }
  for (const width of BETWEEN) {
    await browser.look('light', width);
    await browser.load(url);
    await browser.run(UNFOLD);
    const found = [];
    await idle(browser, found);
    tell(`${width} px`, found);
  }
  await browser.look('light', 1280, 'print');
  await browser.load(url);
  const printed = await browser.run(PRINTED);
  if (printed > 0) tell('print', [{ id: 'printed', help: `${printed} folded parts are on paper`, at: ['details'], why: '' }]);
  await browser.run(`document.querySelector('#print-all').checked = true`);
  const hidden = await browser.run(HIDDEN);
  if (hidden > 0) tell('print', [{ id: 'hidden', help: `${hidden} folded parts are not on paper`, at: ['details'], why: '' }]);
  return { bad, rules };
}

// checkChecker damages the page and returns the damage that the checks missed.
async function checkChecker(browser, axe, page) {
  const url = pathToFileURL(resolve(page)).href;
  const missed = [];
  for (const [want, script] of Object.entries(DAMAGE)) {
    await show(browser, axe, url, 'light', 1280);
    await browser.run(script);
    const { found } = await examine(browser);
    if (!found.some(v => v.id === want)) missed.push(want);
  }
  return missed;
}

const [axeFile, program, ...pages] = process.argv.slice(2);
if (pages.length === 0) {
  console.error('usage: node check.mjs AXE CHROMIUM PAGE...');
  process.exit(2);
}
const axe = readFileSync(axeFile, 'utf8');
const browser = new Browser(program);
const stop = () => browser.close().then(() => process.exit(1));
process.on('SIGINT', stop).on('SIGTERM', stop);
process.stdout.on('error', stop); // the reader of the output has exited
let failed = false;
try {
  await browser.open();
  const missed = await checkChecker(browser, axe, pages[0]);
  for (const m of missed) console.log(`${pages[0]}: damaged on purpose, and not reported: ${m}`);
  failed = missed.length > 0;
  console.log(`planted violations: ${Object.keys(DAMAGE).length - missed.length} of ${Object.keys(DAMAGE).length} found`);
  for (const page of pages) {
    const { bad, rules } = await checkPage(browser, axe, page);
    failed ||= bad > 0;
    console.log(`${page}: ${bad} violations; ${rules} rules of axe, 2 themes, ${WIDTHS.join(' and ')} px, folded and unfolded, and print`);
  }
  for (const url of browser.requests) console.log(`a page asks for ${url}`);
  failed ||= browser.requests.length > 0;
} catch (err) {
  console.error(`a11y: ${err.message}`);
  failed = true;
} finally {
  await browser.close();
}
process.exitCode = failed ? 1 : 0;
