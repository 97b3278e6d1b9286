/** The reference server of the protocol, written by others: what it offers besides tools, and all kinds of results. */
import assert from "node:assert/strict";
import {
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  type Line,
  onMcpStage,
  sessionIn,
  trustAgent,
  until,
  writeMcpAgent,
} from "./mcp_stage.ts";

const everything = "@modelcontextprotocol/server-everything@2026.8.31";

Deno.test("reference server's resources, templates, prompts and completions are called as tools, and its results are told", async () => {
  await onMcpStage(async (stage) => {
    const picked: readonly (readonly [tool: string, given: Line, told: string])[] = [
      ["list_resources", {}, '"uri_template":"demo://resource/dynamic/text/{resourceId}"'],
      [
        "read_resource",
        { uri: "demo://resource/dynamic/text/1" },
        "Resource 1: This is a plaintext resource",
      ],
      ["read_resource", { uri: "demo://resource/dynamic/blob/1" }, "kept as resource-1]"],
      ["list_prompts", {}, '"arguments":[{"name":"city","description":"Name of the city","required":true}'],
      ["get_prompt", { name: "args-prompt", arguments: { city: "Ulm" } }, "Ulm"],
      ["get_prompt", { name: "resource-prompt", arguments: { resourceType: "Text", resourceId: "1" } }, "1"],
      [
        "complete_argument",
        { prompt: "completable-prompt", argument: "department", value: "E" },
        "Engineering",
      ],
      ["get-structured-content", { location: "Chicago" }, '{"temperature":'],
      ["get-tiny-image", {}, "kept as image-1]"],
      ["get-resource-links", { count: 2 }, "[resource link demo://resource/dynamic/"],
      ["get-resource-reference", { resourceType: "Text", resourceId: 1 }, "1"],
    ];
    await writeMcpAgent(stage, {
      servers: {
        // In its jail it cannot read its documents, and has the resources of its templates alone.
        every: { run: { npm: everything, args: ["stdio"] }, approval_policy: "auto" },
      },
      answers: [
        ...picked.map(([tool, given], index) => ({
          calls: [callOf(`every__${tool}`, given)],
          ...(index === 0 ? {} : { expect: picked[index - 1]?.[2] ?? "" }),
        })),
        { expect: picked.at(-1)?.[2] ?? "", text: "all told" },
      ],
    });
    // Fetched once, as an operator does; a turn fetches nothing.
    await stage.output(
      "mcp",
      "check",
      "every",
      "--agent",
      "./agent",
      "--workspace",
      "ws",
      "--answer",
      "allow",
    );
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(ended.out, /all told\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const session = sessionIn(ended);
    const results = bodiesOf(await entriesOf(stage, session), "outcome", "mcp.call")
      .map(({ value }) => value as Line);
    assert.deepEqual(results.map(({ isError }) => isError), picked.map(() => false));
    const root = `connection/every@${session}`;
    const [listing] = bodiesOf(await entriesOf(stage, root), "outcome", "mcp.list")
      .map(({ value }) => value as Line);
    assert.deepEqual([listing?.["rejectedCount"], listing?.["unchecked"]], [0, undefined]);
    assert.match(await stage.output("replay", session, "--strict"), /no divergence/);
  });
});

Deno.test("reference server asks a person by a form, with all kinds of fields, and by a page (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    const url = "https://example.org/consent";
    const calls = [
      callOf("every__trigger-elicitation-request"),
      callOf("every__trigger-url-elicitation", { url, message: "Open it" }),
      callOf("every__trigger-url-elicitation", {
        url,
        message: "Open it",
        errorPath: true,
        elicitationId: "e",
      }),
    ];
    await writeMcpAgent(stage, {
      servers: { every: { run: { npm: everything, args: ["stdio"] }, approval_policy: "auto" } },
      answers: [...calls.map((call) => ({ calls: [call] })), { text: "all told" }],
    });
    const check = ["mcp", "check", "every", "--agent", "./agent", "--workspace", "ws", "--answer", "allow"];
    await stage.output(...check);
    await stage.output(...trustAgent);
    const owner = stage.start(...firstTurn, "--answer", "wait");
    await owner.until("A question waits");
    const answered = new Set<string>();
    const answer = async (...given: readonly string[]) => {
      await until("another question", async () => {
        const lines = (await stage.output("questions", "--json")).split("\n").filter((line) => line !== "");
        const open = lines.map((line) => String((JSON.parse(line) as Line)["id"])).find((id) =>
          !answered.has(id)
        );
        if (open === undefined) return false;
        answered.add(open);
        await stage.output("answer", open, ...given);
        return true;
      });
    };
    await answer("accept", "name=Ada Lovelace", "check=yes");
    // One page by a request, one by an error, after which the call is made again and asks once more.
    await answer("accept");
    await answer("accept");
    await answer("decline");
    const ended = await owner.ended;
    assert.match(ended.out, /all told\nturn 1 completed: 4 steps, 3 calls/, `${ended.out}\n${ended.err}`);
    const told = bodiesOf(await entriesOf(stage, sessionIn(ended)), "outcome", "mcp.call")
      .map(({ value }) => String((value as Line)["model"] ?? ""));
    const [filled = ""] = told.filter((text) => text.includes("Ada Lovelace"));
    for (const part of ["It was a dark and stormy night.", "42", "Monica", "hero-1"]) {
      assert.ok(filled.includes(part), `${part} in ${filled}`);
    }
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});
