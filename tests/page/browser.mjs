// node browser.mjs BROWSER FOLDER URL [SCRIPT]: opens the page in a headless browser whose profile is in FOLDER, waits
// until the page is no longer busy, runs the script, which is the body of an asynchronous function, and prints what it
// returns. Fails if the page logs anything. BROWSER_OPTIONS is one more option of the browser.
import { spawn } from "node:child_process";

const [program, profile, url, script = "return state();"] = process.argv.slice(2);
const limit = 120;  // seconds
const browser = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`,
  "--remote-debugging-pipe", ...(process.env.BROWSER_OPTIONS ? [process.env.BROWSER_OPTIONS] : []), "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

// Messages in both directions are JSON objects that end with a zero byte.
const [, , , requests, answers] = browser.stdio;
const waiting = new Map();
const logged = [];
let last = 0;
function send(method, params = {}, sessionId = undefined) {
  requests.write(JSON.stringify({ id: ++last, method, params, sessionId }) + "\0");
  return new Promise((resolve, reject) => waiting.set(last, { resolve, reject }));
}
function receive(message) {
  if (message.method === "Runtime.exceptionThrown") logged.push(message.params.exceptionDetails.exception.description);
  if (message.method === "Runtime.consoleAPICalled" || message.method === "Log.entryAdded")
    logged.push(JSON.stringify(message.params));
  const caller = waiting.get(message.id);
  if (caller === undefined) return;
  if (message.error) caller.reject(new Error(message.error.message));
  else caller.resolve(message.result);
}
let text = "";
answers.setEncoding("utf8").on("data", (more) => {
  const messages = (text + more).split("\0");
  text = messages.pop();
  for (const message of messages) receive(JSON.parse(message));
});

const helpers = `
const at = (id) => document.getElementById(id);
const state = () => document.documentElement?.dataset.state;
const until = async (condition) => { while (!condition()) await new Promise((resume) => setTimeout(resume, 20)); };
const idle = () => until(() => state() !== undefined && state() !== "writing");
const type = (id, text) => { at(id).value = text; at(id).dispatchEvent(new Event("input")); };
`;

async function run() {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  await send("Log.enable", {}, sessionId);
  await send("Runtime.enable", {}, sessionId);
  await send("Page.navigate", { url }, sessionId);
  const expression = `(async () => { ${helpers} await idle(); ${script} })()`;
  const { result, exceptionDetails } =
    await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
  if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
  console.log(result.value);
}

const watch = setTimeout(() => {
  console.error(`the page was busy for more than ${limit} s`);
  browser.kill();
  process.exit(1);
}, 1000 * limit);
try {
  await run();
} catch (error) {
  logged.push(error.message);
}
clearTimeout(watch);
for (const line of logged) console.error(line);
process.exitCode = logged.length === 0 ? 0 : 1;
await send("Browser.close").catch(() => {});
