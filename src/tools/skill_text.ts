/** `SKILL.md` as text: front matter in YAML between two lines of dashes, then Markdown. */
import { type SkillHead, SkillHead as Head } from "../../schemas/skill.ts";
import { ConfigError, readConfigFile } from "../config_file.ts";
import { stringifyYaml, YamlError } from "../yaml.ts";

/** The file that makes a folder a skill. */
export const skillFile = "SKILL.md";

const rule = "---";

/** What the front matter says, or in one line what is wrong with it. */
export async function readSkill(
  text: string,
  name: string,
): Promise<{ readonly head: SkillHead } | { readonly problem: string }> {
  const lines = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n").split("\n");
  const end = lines.indexOf(rule, 1);
  if (lines[0] !== rule || end < 0) {
    return { problem: `it does not begin with name and description between two lines ${rule}` };
  }
  try {
    // An empty line stands for the first rule, so that places are those of the file.
    const yaml = ["", ...lines.slice(1, end)].join("\n");
    const head = await readConfigFile(Head, yaml, `${name}/${skillFile}`);
    if (head.name === name) return { head };
    return { problem: `it calls itself "${head.name}", and its folder "${name}": they must be the same` };
  } catch (error) {
    if (error instanceof ConfigError || error instanceof YamlError) {
      return { problem: error.message.replace(/\s+/g, " ") };
    }
    throw error;
  }
}

/** The text of a skill. */
export function writeSkill(
  { name, description }: Pick<SkillHead, "name" | "description">,
  body: string,
): string {
  return `${rule}\n${stringifyYaml({ name, description })}${rule}\n\n${body.trim()}\n`;
}
