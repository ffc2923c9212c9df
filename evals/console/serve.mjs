// Serves the Console of the npm package on loopback. Its records are in an embedded Postgres below DATA, so they
// survive the process. Tenants and tokens come from CONSOLE_* in the environment, as for any hosted Console.
// SIGUSR2 kills the database, and the next one starts it again.
//
//     node serve.mjs PACKAGES DATA PORT
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, data, port] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
// Not exported by the package, so by its place in it.
const foundation = "./node_modules/@kontourai/console/console-server/dist/src/console-foundation";
const { createConsoleHubServer } = require(`${foundation}/console-hub-server.js`);
const { applyConsoleMigrations } = require(`${foundation}/migrations.js`);

let database;
let asked = 0;
const waiting = new Map();

async function startDatabase() {
  const started = fork(new URL("database.mjs", import.meta.url), [packages, data], { serialization: "advanced" });
  started.on("message", ({ id, error, ...result }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    error ? reject(Object.assign(new Error(error.message), { code: error.code })) : resolve(result);
  });
  started.on("exit", () => {
    database = undefined;
    for (const { reject } of waiting.values()) reject(new Error("the database is gone"));
    waiting.clear();
  });
  await new Promise((resolve, reject) => waiting.set(0, { resolve, reject }));
  database = started;
}

// What the Console expects of a client of node-postgres.
const telemetrySqlClient = {
  query: (text, values) =>
    new Promise((resolve, reject) => {
      if (!database) return reject(new Error("there is no database"));
      waiting.set(++asked, { resolve, reject });
      database.send({ id: asked, text, values });
    }),
};

process.on("SIGUSR2", () => (database ? database.kill("SIGKILL") : startDatabase()));
await startDatabase();
await applyConsoleMigrations(telemetrySqlClient);
createConsoleHubServer({
  rootDir: data,
  kontourRoot: join(data, "kontour"),
  host: "127.0.0.1",
  port: Number(port),
  telemetrySqlClient,
}).listen({}, () => {});
