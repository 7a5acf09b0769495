// A real Chromium that does what it is told: one JSON object a line in, one answer a line out.
// CHROMIUM and AXE name the program and the file of axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { chromium } = createRequire(process.env.MODULES + "/")("playwright-core");
const axe = readFileSync(process.env.AXE, "utf8");
const patience = Number(process.env.PATIENCE_MS);
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args });
const complaints = [];
let context = null, page = null;

const acts = {
  async open({ width = 1440, height = 900, theme = "light", javascript = true, cookies = [], forced = "none", motion = "no-preference" }) {
    const phone = width < 760;
    await context?.close();  // what nobody looks at any more would go on listening
    context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, javaScriptEnabled: javascript, hasTouch: phone, isMobile: phone, forcedColors: forced, reducedMotion: motion });
    await context.addCookies(cookies);
    context.setDefaultTimeout(patience);
    page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (line) => { if (line.type() === "error" && /Content Security Policy|Trusted/.test(line.text())) complaints.push(line.text()); });
  },
  async go({ url }) { return (await page.goto(url)).status(); },
  async see({ selector, text = "" }) { await page.locator(selector).filter({ hasText: text }).first().waitFor({ state: "visible" }); },
  async gone({ selector }) { await page.locator(selector).first().waitFor({ state: "hidden" }); },
  async click({ selector }) { await page.locator(selector).first().click(); },
  async fill({ selector, text }) { await page.locator(selector).first().fill(text); },
  async press({ key }) { await page.keyboard.press(key); },
  async tap({ selector }) { await page.locator(selector).first().tap(); },
  async down({ key }) { await page.keyboard.down(key); },
  async up({ key }) { await page.keyboard.up(key); },
  async away() { await page.mouse.move(1, 1); },
  async offline({ is }) { await context.setOffline(is); },
  async before({ script }) { await context.addInitScript(script); },
  async tab({ at }) { while (context.pages().length <= at) await context.newPage(); page = context.pages()[at]; await page.bringToFront(); },
  async hover({ selector }) { await page.locator(selector).first().hover(); },
  async until({ expression }) {  // the page's own policy forbids playwright's waitForFunction
    const end = Date.now() + patience;
    while (!(await page.evaluate(expression))) {
      if (Date.now() > end) throw new Error("it did not become true");
      await new Promise((done) => setTimeout(done, 50));
    }
  },
  async tell({ expression }) { return page.evaluate(expression); },
  async cookies() { return context.cookies(); },
  async title() { return page.title(); },
  async picture({ path }) { await page.screenshot({ path }); },
  async axe() {
    const session = await context.newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: axe });
    const tags = JSON.stringify(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]);
    const expression = `axe.run(document, { runOnly: ${tags} }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))])))`;
    const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    return JSON.parse(result.value);
  },
  async busy() {  // seconds for which the page's main thread has worked since it was asked first
    const session = page.session ??= await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });  // what others do on the machine does not count
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find((each) => each.name === "TaskDuration").value;
  },
  async complaints() { return complaints; },
};

console.log(JSON.stringify({ ready: browser.version() }));
for await (const line of createInterface({ input: process.stdin })) {
  const { act, ...given } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ value: (await acts[act](given)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: `${act} ${JSON.stringify(given)}: ${error}` }));
  }
}
await browser.close();
