/** The tools that come with the runtime: as sources for catalogs, and as the dispatch map (LC-7). */
import type { CatalogSource } from "../../schemas/catalog.ts";
import { clarify } from "./clarify.ts";
import { delegateTask } from "./delegate_task.ts";
import { listFiles } from "./list_files.ts";
import { patch } from "./patch.ts";
import { readFile } from "./read_file.ts";
import { readResult } from "./read_result.ts";
import { scheduleManage } from "./schedule_manage.ts";
import { searchFiles } from "./search_files.ts";
import { sessionSearch } from "./session_search.ts";
import { skillManage } from "./skill_manage.ts";
import { skillView } from "./skill_view.ts";
import { skillsList } from "./skills_list.ts";
import { taskControl } from "./task_control.ts";
import { taskList } from "./task_list.ts";
import { taskStatus } from "./task_status.ts";
import { subagentClose } from "./subagent_close.ts";
import { subagentList } from "./subagent_list.ts";
import { subagentSend } from "./subagent_send.ts";
import { subagentSpawn } from "./subagent_spawn.ts";
import { subagentWait } from "./subagent_wait.ts";
import { terminal } from "./terminal.ts";
import type { BuiltinTool } from "./tool.ts";
import { todo } from "./todo.ts";
import { toolsList } from "./tools_list.ts";
import { webExtract } from "./web_extract.ts";
import { yieldUntil } from "./yield_until.ts";
import { writeFile } from "./write_file.ts";

const aboutChildren = [
  subagentSpawn,
  subagentSend,
  subagentWait,
  subagentClose,
  subagentList,
  delegateTask,
] as const;

/** By source kind: `troupe` tools are about the runtime itself, `runtime` tools act on the machine it runs on. */
const toolsOf = {
  troupe: [
    toolsList,
    readResult,
    todo,
    clarify,
    sessionSearch,
    taskList,
    taskStatus,
    taskControl,
    yieldUntil,
    ...aboutChildren,
    scheduleManage,
  ],
  runtime: [
    listFiles,
    readFile,
    searchFiles,
    writeFile,
    patch,
    webExtract,
    terminal,
    skillsList,
    skillView,
    skillManage,
  ],
} as const satisfies { readonly [kind in "troupe" | "runtime"]: readonly BuiltinTool[] };

/** The dispatch map, name to tool. */
export const builtinTools: ReadonlyMap<string, BuiltinTool> = new Map(
  [...toolsOf.troupe, ...toolsOf.runtime].map((tool) => [tool.definition.name, tool]),
);

/** The built-in tools as a catalog is offered them. */
export const builtinSources: readonly CatalogSource[] = [sourceOf("troupe"), sourceOf("runtime")];

function sourceOf(kind: keyof typeof toolsOf): CatalogSource {
  return {
    kind,
    provenance: { source: kind, origin: "built in", trust: "trusted_local" },
    adapter: "builtin",
    remote: false,
    tools: toolsOf[kind].map((tool) => tool.definition),
  };
}
