/** What stands in a fixture, and what does not: folders, hashes, states of other code, sizes. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { type ComposedFixture, composeFixture } from "../../src/fixture/compose_fixture.ts";
import { FixtureError } from "../../src/fixture/fixture_format.ts";
import { PlaceHider, placesIn } from "../../src/fixture/hide_places.ts";
import { replayFolder } from "../../src/fixture/replay_fixture.ts";
import { UnreplayableError } from "../../src/fixture/settle_stream.ts";
import { writeFixture } from "../../src/fixture/write_fixture.ts";
import { machineCode } from "../../src/machine_code.ts";
import { alterFixture, digestOf, renewManifest } from "../support/fixtures.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const answers = [{ calls: [{ tool: "look", arguments: { text: "in /srv/team/x" } }] }, { text: "Done" }];
const tools = [{
  name: "look",
  properties: { where: { type: "string", description: "Below /srv/team" } },
  work: () => Promise.resolve("/srv/team: a folder; /srv/teama: another"),
}];

interface Played {
  readonly stage: Stage;
  readonly session: RootAddress;
}

async function play(options: StageOptions = {}): Promise<Played> {
  const stage = await openStage({ tools, answers, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Look into /srv/team"));
  await settled(stage.world, report);
  return { stage, session };
}

function compose(
  { stage, session }: Played,
  options: { readonly keepsPaths?: boolean; readonly copies?: number } = {},
): Promise<ComposedFixture> {
  const { journal, kernel } = stage.runtime;
  const roots = [...kernel.records.values()];
  const [first] = roots;
  const more = Array.from({ length: options.copies ?? 0 }, (_, index) => ({
    ...first!,
    address: `connection/s${index}@${session.slice("session/".length)}`,
  }));
  const request = {
    records: {
      listRoots: () => Promise.resolve([...roots, ...more]),
      readPages: (address: RootAddress) => journal.readPages(address),
      readBlob: (hash: string) => journal.readBlob(hash),
    },
    session,
    digest: digestOf,
    places: [{ path: "/srv/team/", placeholder: "/home/user" }],
    keepsPaths: options.keepsPaths ?? false,
  };
  return settled(stage.world, composeFixture(request));
}

async function replayed(fixture: ComposedFixture, alter?: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "troupe-fixture-" });
  try {
    await writeFixture(fixture, { path: folder, force: false });
    await alter?.(folder);
    return await replayFolder(folder, digestOf);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("fixture replays without the folders of its machine, though hashes and states have other values then", async () => {
  const played = await play();
  const [hidden, plain] = [await compose(played), await compose(played, { keepsPaths: true })];
  const text = (fixture: ComposedFixture) => [...fixture.files.values()].join("\n");
  assert.deepEqual([...text(hidden).matchAll(/\/srv\/team\b/g)], []);
  assert.match(text(hidden), /\/home\/user: a folder; \/srv\/teama: another/);
  assert.ok(text(plain).includes("/srv/team/x"));
  assert.deepEqual([hidden.manifest.placeholders, plain.manifest.placeholders], [["/home/user"], []]);
  // The catalog says where its tool looks: it has another hash, and is called by that.
  const blobs = ({ manifest }: ComposedFixture) => manifest.blobs.map(({ digest }) => digest);
  assert.notDeepEqual(blobs(hidden), blobs(plain));
  for (const fixture of [hidden, plain]) {
    const { roots } = await replayed(fixture);
    assert.equal(roots.length, 2);
    for (const { report, isOtherCode } of roots) {
      assert.deepEqual([report.divergence, isOtherCode], [undefined, false]);
      assert.ok(report.states > 0);
    }
  }
  assert.deepEqual((await compose(played)).files, hidden.files);
});

Deno.test("fixture is not made where a folder's name decides what is asked, unless it may stay", async () => {
  // The refusal shows the first 100 characters of the name, and so the beginning of the folder's name.
  const name = `${"x".repeat(92)}/srv/team/y`;
  const calling = [{ calls: [{ tool: name }] }, { text: "Done" }];
  const played = await play({ answers: calling });
  // Also where other code wrote it, which may replay otherwise for reasons of its own.
  for (const one of [played, await play({ answers: calling, code: `sha256:${"c".repeat(64)}` })]) {
    await assert.rejects(compose(one), (error) => {
      assert.ok(error instanceof UnreplayableError);
      assert.equal(error.code, "fixture_paths_needed");
      assert.match(error.message, /use --keep-paths/);
      return true;
    });
  }
  const { roots } = await replayed(await compose(played, { keepsPaths: true }));
  assert.deepEqual(roots.map(({ report }) => report.divergence), [undefined, undefined]);
});

Deno.test("fixture of a session that other code wrote keeps what was asked, and claims no state (K21)", async () => {
  const code = `sha256:${"c".repeat(64)}`;
  const fixture = await compose(await play({ code }));
  for (const root of fixture.manifest.roots) assert.deepEqual([root.codes, root.end], [[code], undefined]);
  const { roots } = await replayed(fixture);
  for (const { report, isOtherCode } of roots) {
    assert.deepEqual([report.divergence, report.skipped, isOtherCode], [undefined, 0, true]);
  }
  const ours = await compose(await play());
  for (const { codes, end } of ours.manifest.roots) {
    assert.deepEqual(codes, [machineCode]);
    assert.match(end ?? "", /^sha256:/);
  }
});

Deno.test("fixture's states are compared where the machines at hand recorded them: those of entries, and the last one", async () => {
  const fixture = await compose(await play());
  const other = `sha256:${"d".repeat(64)}`;
  const whats = async (alter: (folder: string) => Promise<void>) => {
    const { roots } = await replayed(fixture, alter);
    return roots.map(({ report }) => report.divergence?.what);
  };
  const alterState = (folder: string) =>
    alterFixture(folder, "roots/session.jsonl", (line) => "state" in line ? { ...line, state: other } : line);
  assert.deepEqual(await whats(alterState), ["the state after this entry is the recorded one", undefined]);
  const alterEnd = (folder: string) =>
    renewManifest(folder, (manifest) => ({
      ...manifest,
      roots: manifest.roots.map((root) => root.kind === "catalog" ? { ...root, end: other } : root),
    }));
  assert.deepEqual(await whats(alterEnd), [undefined, "the state at the end is the recorded one"]);
});

Deno.test("fixture has bounds: a session of more streams than fit is refused", async () => {
  const played = await play();
  await assert.rejects(
    compose(played, { copies: limits.fixtureRootsMax }),
    (error) => error instanceof FixtureError && error.code === "fixture_too_large",
  );
});

Deno.test("places are hidden wherever they stand, as a whole, and the inner one before the outer one", () => {
  const hider = new PlaceHider([
    { path: "/data/team", placeholder: "/home/user" },
    { path: "/data/team/desk/", placeholder: "/workspace" },
    { path: "/", placeholder: "/never" },
    { path: "/home/é x", placeholder: "/odd" },
  ]);
  const cases: readonly (readonly [before: string, after: string])[] = [
    ["/data/team", "/home/user"],
    ["/data/team/desk/a.txt", "/workspace/a.txt"],
    ["/data/team/deskshop", "/home/user/deskshop"],
    ["/data/teama and /data/team-x", "/data/teama and /data/team-x"],
    ['{"path":"/data/team"}', '{"path":"/home/user"}'],
    ["line\\n/data/team.", "line\\n/home/user."],
    ["file:///data/team/b", "file:///home/user/b"],
    ["/home/é x file:///home/%C3%A9%20x", "/odd file:///odd"],
    ["/ and /home", "/ and /home"],
  ];
  for (const [before, after] of cases) assert.equal(hider.hideIn(before), after);
  const value = { "/data/team": ["/data/team/desk", 1, null, { a: true }] };
  assert.deepEqual(hider.hide(value), { "/home/user": ["/workspace", 1, null, { a: true }] });
  const clean = { a: ["b", { c: 1 }] };
  assert.equal(hider.hide(clean), clean);
  assert.deepEqual([...hider.used].sort(), ["/home/user", "/odd", "/workspace"]);
});

Deno.test("places of a session are its agent, its workspace, and where its servers are started", () => {
  const home = JSON.stringify({ agent: { kind: "folder", path: "/a" }, workspace: "/w" });
  const servers = [{ declaration: { cwd: "/elsewhere", command: "x" } }];
  const body = { machine: "session", code: `sha256:${"c".repeat(64)}`, input: { home, servers } };
  const entry = { v: 1, seq: 1, at: 0, kind: "created", type: "session", cause: 1, epoch: 1, body } as const;
  assert.deepEqual(placesIn([[entry]]).map(({ path, placeholder }) => `${path} ${placeholder}`), [
    "/w /workspace",
    "/a /agent",
    "/elsewhere /server",
  ]);
});
