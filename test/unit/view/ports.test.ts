// ports of pages: one that cannot be is refused, in words
import { expect, test } from "vitest";
import { run as train } from "../../../src/cli/train.ts";
import { run as view } from "../../../src/cli/view.ts";
import { ViewServer } from "../../../src/view/server.ts";

test.each([70_000, -1, 1.5, NaN])("%s is no port", async (port) => {
  const opened = ViewServer.listen({} as never, port);
  await expect(opened).rejects.toMatchObject({ code: "port-not-open" });
  for (const command of [
    () => view(["CartPole", `--port=${port}`]),
    () => train(["CartPole", "--view", `--port=${port}`]),
  ])
    await expect(command()).rejects.toThrow(/--port is '.*': pass a port, an integer from 0 \(a free one\) to 65535/);
});

test("an address without its last slash leads to the one with it, and no other is told", async () => {
  const get = { "": () => ({ type: "text/html", body: "page" }) };
  await using server = await ViewServer.listen({ get, post: {} });
  const bare = await fetch(server.url.replace(/\/$/, ""), { redirect: "manual" });
  expect([bare.status, bare.headers.get("location")]).toEqual([308, new URL(server.url).pathname]);
  expect(await (await fetch(server.url.replace(/\/$/, ""))).text()).toBe("page");
  expect((await fetch(new URL("/other", server.url), { redirect: "manual" })).status).toBe(404);
});

test("one that is taken is told", async () => {
  await using first = await ViewServer.listen({} as never);
  const port = Number(new URL(first.url).port);
  await expect(ViewServer.listen({} as never, port)).rejects.toThrow(/EADDRINUSE.*Pass another --port/);
});
