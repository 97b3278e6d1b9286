/** The referential check: records refer to what is there, and agree with it (CM-2..4, CM-9, CM-11..18, CM-21, CM-22). */
import type {
  BindingRecord,
  DefinitionRecord,
  ImplementationRecord,
  InvocationRecord,
  SourceRecord,
  ToolRecords,
} from "../schemas/record.ts";

/** What is wrong with one record. */
export interface RecordProblem {
  readonly record: string;
  readonly rule: string;
}

/** The records by their ids. */
interface Index {
  readonly sources: ReadonlyMap<string, SourceRecord>;
  readonly definitions: ReadonlyMap<string, DefinitionRecord>;
  readonly implementations: ReadonlyMap<string, ImplementationRecord>;
  readonly bindings: ReadonlyMap<string, BindingRecord>;
}

/** Everything that is wrong with records; empty if nothing is. */
export function checkRecords(records: ToolRecords): readonly RecordProblem[] {
  const { sources, definitions, implementations, bindings, invocations } = records;
  const index = {
    sources: byId(sources),
    definitions: byId(definitions),
    implementations: byId(implementations),
    bindings: byId(bindings),
  };
  return [
    ...unique(sources, "source", ({ installation, kind, reference }) => [installation, kind, reference]),
    ...unique(definitions, "definition", ({ agentVersion, toolName }) => [agentVersion, toolName]),
    ...unique(implementations, "implementation", (one) => [one.definition, one.reference, one.revision]),
    ...unique(bindings, "binding", ({ execution, node, definition }) => [execution, node, definition]),
    ...unique(invocations, "attempt", ({ binding, attempt }) => [binding, attempt]),
    ...unique(
      invocations.filter(({ key }) => key !== undefined),
      "key",
      ({ binding, key }) => [binding, key],
    ),
    ...secondDefaults(implementations),
    ...implementations.flatMap((one) => told(one.id, implementationProblems(one, index))),
    ...bindings.flatMap((one) => told(one.id, bindingProblems(one, index))),
    ...invocations.flatMap((one) => told(one.id, invocationProblems(one, index))),
  ];
}

function byId<T extends { readonly id: string }>(records: readonly T[]): ReadonlyMap<string, T> {
  return new Map(records.map((one) => [one.id, one]));
}

function told(record: string, rules: readonly (string | false)[]): readonly RecordProblem[] {
  return rules.flatMap((rule) => rule === false ? [] : [{ record, rule }]);
}

/** No two records may share an id, nor what makes them one of a kind. */
function unique<T extends { readonly id: string }>(
  records: readonly T[],
  what: string,
  keyOf: (record: T) => readonly unknown[],
): readonly RecordProblem[] {
  const seen = new Set<string>();
  const problems: RecordProblem[] = [];
  for (const record of records) {
    for (const key of [record.id, JSON.stringify(keyOf(record))]) {
      if (seen.has(key)) problems.push({ record: record.id, rule: `another ${what} is the same one` });
      seen.add(key);
    }
  }
  return problems;
}

/** A definition has one default at a time; a tool that its source changed is another implementation, at another time (CM-9). */
function secondDefaults(implementations: readonly ImplementationRecord[]): readonly RecordProblem[] {
  const defaults = new Map<string, string>();
  return implementations.flatMap(({ id, definition, reference, isDefault }) => {
    if (!isDefault) return [];
    const first = defaults.get(definition) ?? reference;
    defaults.set(definition, first);
    return first === reference ? [] : [{ record: id, rule: "its definition has more than one default" }];
  });
}

function implementationProblems(one: ImplementationRecord, { definitions, sources }: Index) {
  const [definition, source] = [definitions.get(one.definition), sources.get(one.source)];
  return [
    definition === undefined && "its definition is not there",
    source === undefined && "its source is not there",
    definition !== undefined && definition.installation !== one.installation &&
    "its definition belongs to another installation",
    source !== undefined && source.installation !== one.installation &&
    "its source belongs to another installation",
    source !== undefined && !isFrom(one.reference, source) && "its source offers something else",
  ];
}

/** True if an implementation of this name may come from a source: its name says from where. */
function isFrom(reference: string, { kind, reference: source }: SourceRecord): boolean {
  if (kind === "mcp") return reference === source;
  return reference.startsWith(kind === "program" ? `${source.replace(":", "/")}/` : `${kind}/`);
}

function bindingProblems(one: BindingRecord, { definitions, implementations }: Index) {
  const definition = definitions.get(one.definition);
  const implementation = implementations.get(one.implementation);
  const usual = implementations.get(String(one.payload["default"]));
  return [
    one.execution === null && one.node === null && "it has no owner",
    definition === undefined && "its definition is not there",
    implementation === undefined && "its implementation is not there",
    [definition, implementation].some((other) =>
      other !== undefined && other.installation !== one.installation
    ) &&
    "it refers to another installation",
    implementation !== undefined && implementation.definition !== one.definition &&
    "its implementation belongs to another definition",
    definition !== undefined && definition.agentVersion !== one.agentVersion &&
    "its definition belongs to another version of the agent",
    (usual?.definition !== one.definition || !usual.isDefault) && "its definition has no default",
    implementation !== undefined && (one.reason === "snapshot_default") !== (implementation === usual) &&
    "its reason does not fit its implementation",
    definition?.governance === "reserved" && implementation !== usual &&
    "it must use the reserved implementation",
    definition?.governance === "whitelist_only" && implementation !== usual &&
    implementation?.isApproved !== true && "it must use an approved implementation",
  ];
}

function invocationProblems(one: InvocationRecord, { bindings, definitions, implementations }: Index) {
  const binding = bindings.get(one.binding);
  const isRunning = one.status === "running";
  return [
    binding === undefined && "its binding is not there",
    !definitions.has(one.definition) && "its definition is not there",
    !implementations.has(one.implementation) && "its implementation is not there",
    binding !== undefined && binding.definition !== one.definition &&
    "its definition is not that of its binding",
    binding !== undefined && binding.implementation !== one.implementation &&
    "its implementation is not that of its binding",
    binding !== undefined && binding.execution !== one.execution &&
    "its execution is not that of its binding",
    binding !== undefined && binding.node !== null && binding.node !== one.node &&
    "its node is not that of its binding",
    binding !== undefined && binding.installation !== one.installation &&
    "its binding belongs to another installation",
    isRunning && one.finishedAt !== null && "it is running and has a time of its end",
    !isRunning && one.finishedAt === null && "it has ended and has no time of its end",
    isRunning !== (one.outcome === null) && "its outcome does not fit its status",
    one.finishedAt !== null && one.finishedAt < one.startedAt && "it ended before it began",
  ];
}
