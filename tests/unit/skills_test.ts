/** Skills: which are found, what is read of one, and what an agent may write of them. */
import assert from "node:assert/strict";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { skillManage } from "../../src/tools/skill_manage.ts";
import { skillView } from "../../src/tools/skill_view.ts";
import { skillsList } from "../../src/tools/skills_list.ts";
import type { BuiltinTool } from "../../src/tools/tool.ts";
import { writeFile } from "../../src/tools/write_file.ts";
import { entryFor, textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

function text(name: string, description = `For ${name}`, body = "Do it."): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;
}

/** Calls a tool in the workspace `ws` of a folder, for the agent whose folder is `agent`. */
async function call(tool: BuiltinTool, folder: string, input: JsonObject): Promise<string> {
  const own = await workspaceAt(`${folder}/agent`);
  return textIn(await tool.handler(input, useIn(await workspaceAt(`${folder}/ws`), { agent_folder: own })));
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

const shelf = "ws/.troupe/skills";

Deno.test("skills_list lists what the agent and its workspace have, and says of what is broken why it cannot be used (DM-16)", async () => {
  await withFolder({
    "agent/skills/plan/SKILL.md": text("plan", '"Before work: think"'),
    "agent/skills/plan/more.md": "more",
    "agent/skills/bare/SKILL.md": "just text",
    "agent/skills/empty/": "",
    "agent/skills/other/SKILL.md": text("another"),
    "agent/skills/odd/SKILL.md": "---\nname: odd\ndescription: [1]\n---\n",
    "agent/skills/torn/SKILL.md": "---\nname: torn\ndescription: {\n---\n",
    "agent/skills/Big Name/SKILL.md": text("x"),
    "agent/skills/binary/SKILL.md": new Uint8Array([45, 45, 45, 0]),
    "agent/skills/huge/SKILL.md": "x".repeat(limits.skillBytesMax + 1),
    "agent/skills/readme.md": "no skill",
    "outside/SKILL.md": text("outside"),
    [`${shelf}/mine/SKILL.md`]: text("mine", "Mine\u202e"),
    [`${shelf}/plan/SKILL.md`]: text("plan", "A false one"),
  }, async (folder) => {
    await Deno.symlink(`${folder}/outside`, `${folder}/agent/skills/outside`);
    const listed = (await call(skillsList, folder, {})).split("\n");
    const wanted: readonly RegExp[] = [
      /^Big Name \(agent\) \[cannot be used: its folder has a name that no skill can have\]$/,
      /^bare \(agent\) \[cannot be used: it does not begin with name and description/,
      /^binary \(agent\) \[cannot be used: .*not UTF-8 text\]$/,
      /^empty \(agent\) \[cannot be used: .*there is no such file/,
      /^huge \(agent\) \[cannot be used: .*at most 262144 are read\]$/,
      /^odd \(agent\) \[cannot be used: .*odd\/SKILL\.md:3:14: "description" must be/,
      /^other \(agent\) \[cannot be used: it calls itself "another", and its folder "other"/,
      /^outside \(agent\) \[cannot be used: .*outside the workspace/,
      /^plan \(agent\): Before work: think$/,
      /^torn \(agent\) \[cannot be used: .*torn\/SKILL\.md:3/,
      /^mine \(workspace\): Mine\\u\{202e\}$/,
      /^plan \(workspace\) \[cannot be used: the agent has a skill of this name/,
    ];
    assert.equal(listed.length, wanted.length, listed.join("\n"));
    for (const [at, line] of wanted.entries()) assert.match(listed[at] ?? "", line);
  });
  await withFolder({ "agent/": "", "ws/": "" }, async (folder) => {
    assert.equal(await call(skillsList, folder, {}), "[no skills]");
  });
});

Deno.test("skills_list lists at most 100 skills, and says that there are more", async () => {
  const names = Array.from({ length: limits.skillsMax + 1 }, (_, at) => `s${at}`);
  const files = Object.fromEntries(names.map((name) => [`agent/skills/${name}/SKILL.md`, text(name)]));
  await withFolder({ ...files, "ws/": "" }, async (folder) => {
    const listed = (await call(skillsList, folder, {})).split("\n");
    assert.equal(listed.length, limits.skillsMax + 1);
    assert.equal(listed.at(-1), "[cut: more than 100 skills are not listed]");
  });
});

Deno.test("skill_view reads a skill or a file of it, at most 20,000 characters, and names the files beside it (DM-16)", async () => {
  await withFolder({
    "agent/skills/plan/SKILL.md": text("plan"),
    "agent/skills/plan/parts/a.md": "part a\n",
    "agent/skills/plan/b.md": "part b\n",
    "agent/skills/long/SKILL.md": text("long", "Long", "A line.\n".repeat(5_000)),
    "agent/skills/long/b.md": "b",
    ...Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`agent/skills/long/${"c".repeat(40)}${at}`, "c"]),
    ),
    "ws/": "",
  }, async (folder) => {
    const whole = await call(skillView, folder, { name: "plan" });
    assert.equal(whole, `${text("plan").trimEnd()}\n[files beside it: b.md, parts/a.md]`);
    assert.equal(await call(skillView, folder, { name: "plan", file: "parts/a.md" }), "part a\n");
    const long = await call(skillView, folder, { name: "long" });
    assert.ok(long.length <= 20_000 && long.length > 17_000, `${long.length}`);
    const next = /go on with offset (\d+)/.exec(long)?.[1];
    assert.match(long, /\[files beside it: b\.md, c+0, .*\]$/);
    assert.match(await call(skillView, folder, { name: "long", offset: Number(next) }), /^A line\.\n/);
    assert.equal(await call(skillView, folder, { name: "none" }), "skill_unknown");
    assert.equal(await call(skillView, folder, { name: "../../outside" }), "skill_unknown");
  });
});

Deno.test("skill_view reads nothing outside of the skill's own folder (B54, B55, B57)", async () => {
  await withFolder({
    "agent/agent.yaml": "secret: 1",
    "agent/skills/plan/SKILL.md": text("plan"),
    "agent/skills/plan-evil/SKILL.md": text("plan-evil"),
    "ws/private.txt": "private",
    [`${shelf}/mine/SKILL.md`]: text("mine"),
  }, async (folder) => {
    await Deno.symlink("../../agent.yaml", `${folder}/agent/skills/plan/link`);
    await Deno.symlink("../../../private.txt", `${folder}/${shelf}/mine/link`);
    await Deno.symlink("mine", `${folder}/${shelf}/linked`);
    for (
      const file of [
        "../../agent.yaml",
        "../plan-evil/SKILL.md",
        "link",
        `${folder}/agent/agent.yaml`,
        "a/../../../agent.yaml",
      ]
    ) assert.equal(await call(skillView, folder, { name: "plan", file }), "path_outside_root", file);
    assert.equal(await call(skillView, folder, { name: "mine", file: "link" }), "path_outside_root");
    assert.equal(await call(skillView, folder, { name: "linked" }), "path_outside_root");
    assert.equal(await call(skillView, folder, { name: "plan", file: "a\0b" }), "path_invalid");
  });
});

Deno.test("skill_manage makes a skill that is found at once, changes it by exact pieces, and deletes it (DM-16)", async () => {
  await withFolder({ "agent/": "", "ws/a.txt": "a" }, async (folder) => {
    const manage = (input: JsonObject) => call(skillManage, folder, { name: "mine", ...input });
    const description = "When: it #rains";
    assert.match(await manage({ action: "create", description, body: "# Rain\nTake a coat." }), /^Created/);
    assert.equal(await call(skillsList, folder, {}), "mine (workspace): When: it #rains");
    const written = await Deno.readTextFile(`${folder}/${shelf}/mine/SKILL.md`);
    assert.match(written, /^---\nname: mine\ndescription: .*\n---\n\n# Rain\nTake a coat\.\n$/);
    const edits = [{ old: "a coat", new: "an umbrella" }];
    assert.match(await manage({ action: "update", edits }), /^Changed the skill "mine".*\nedit 1: line 7$/s);
    assert.match(await call(skillView, folder, { name: "mine" }), /Take an umbrella/);
    assert.match(await manage({ action: "delete" }), /^Deleted/);
    assert.equal(await exists(`${folder}/${shelf}/mine`), false);
    assert.equal(await manage({ action: "delete" }), "skill_unknown");
    assert.match(await manage({ action: "create", description, body: "Again." }), /^Created/);
  });
});

Deno.test("skill_manage refuses what is there, what is not, what would be broken, and what is not an agent's to write", async () => {
  await withFolder({
    "agent/skills/plan/SKILL.md": text("plan"),
    [`${shelf}/mine/SKILL.md`]: text("mine"),
    [`${shelf}/rich/SKILL.md`]: text("rich"),
    [`${shelf}/rich/notes.md`]: "by a person",
    [`${shelf}/lost/`]: "",
  }, async (folder) => {
    const manage = (name: string, input: JsonObject) => call(skillManage, folder, { name, ...input });
    const made = { action: "create", description: "d", body: "b" };
    const edit = (old: string, more: string) => ({ action: "update", edits: [{ old, new: more }] });
    const before = await Deno.readTextFile(`${folder}/${shelf}/mine/SKILL.md`);
    assert.equal(await manage("mine", made), "skill_exists");
    assert.equal(await manage("plan", made), "skill_exists");
    assert.equal(await manage("plan", edit("Do", "Go")), "path_protected");
    assert.equal(await manage("plan", { action: "delete" }), "path_protected");
    assert.equal(await manage("none", edit("Do", "Go")), "skill_unknown");
    assert.equal(await manage("mine", edit("not there", "x")), "edit_not_found");
    assert.equal(await manage("mine", edit("name: mine", "name: other")), "skill_invalid");
    assert.equal(await manage("mine", edit("---\nname", "name")), "skill_invalid");
    assert.equal(await manage("rich", { action: "delete" }), "file_not_written");
    for (
      const wrong of [
        { action: "create", description: "d" },
        { action: "update", body: "x" },
        { action: "delete", edits: [{ old: "a", new: "b" }] },
        { ...made, body: "x".repeat(limits.skillCharactersMax + 1) },
      ]
    ) assert.equal(await manage("mine", wrong), "arguments_invalid");
    for (const name of ["..", "a/b", "Mine", ".git", ""]) {
      assert.equal(await manage(name, made), "arguments_invalid", name);
    }
    assert.equal(await Deno.readTextFile(`${folder}/${shelf}/mine/SKILL.md`), before);
    assert.ok(await exists(`${folder}/${shelf}/rich/SKILL.md`));
    // A folder that lost its text is no skill: it can be made anew.
    assert.match(await manage("lost", made), /^Created/);
    // No other tool writes there: an answer about files is none about skills.
    const path = ".troupe/skills/mine/SKILL.md";
    assert.equal(await call(writeFile, folder, { path, content: "x" }), "path_protected");
  });
});

Deno.test("skill_manage writes through no link, whatever is linked on the way (B55)", async () => {
  for (const link of ["ws/.troupe", "ws/.troupe/skills", "ws/.troupe/skills/mine"]) {
    const parent = link.slice(0, link.lastIndexOf("/"));
    await withFolder(
      { "agent/": "", "outside/skills/": "", "outside/mine/SKILL.md": text("mine"), [`${parent}/`]: "" },
      async (folder) => {
        await Deno.symlink(`${folder}/outside`, `${folder}/${link}`);
        const made = { action: "create", name: "mine", description: "d", body: "b" };
        const told = await call(skillManage, folder, made);
        assert.match(told, /^(file_not_written|path_outside_root|skill_exists)$/, link);
        const gone = await call(skillManage, folder, { action: "delete", name: "mine" });
        assert.match(gone, /^(skill_unknown|path_outside_root)$/, link);
        assert.equal(await Deno.readTextFile(`${folder}/outside/mine/SKILL.md`), text("mine"));
        assert.equal([...Deno.readDirSync(`${folder}/outside/skills`)].length, 0, link);
      },
    );
  }
});

Deno.test("approval of one skill_manage is none of another action or another skill (DM-38)", () => {
  const entry = entryFor(skillManage.definition);
  const rule = (action: string, name: string) => ruleKey(entry, { action, name });
  const rules = new Set([rule("delete", "a"), rule("update", "a"), rule("delete", "b")]);
  assert.equal(rules.size, 3);
  for (const one of rules) assert.match(one, /^skill_manage \{"action":"(delete|update)","name":"[ab]"\}$/);
});
