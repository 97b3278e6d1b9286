/** The rows beside the streams, held against them: what should be found by them, and what they name (K13, K14, K19). */
import { z } from "zod";
import { isEnd, TaskRecord } from "../../schemas/task.ts";
import { readBlob } from "./blobs.ts";
import { type Finding, findingAt, type FindingCode } from "./finding.ts";
import { examineLeases } from "./leases.ts";
import { prefixes } from "./keys.ts";
import type { OpenPort } from "./open_ports.ts";
import type { Digest } from "./packed_value.ts";
import { readableRows } from "./readable_rows.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";
import type { StreamReport } from "./stream_walk.ts";

/** What the rows are held against. */
export interface RowsOrder {
  readonly store: Store;
  readonly digest: Digest;
  readonly streams: readonly StreamReport[];
  readonly now: number | undefined;
}

/** What was found of the rows, and the blobs that they name. */
export interface RowsReport {
  readonly findings: readonly Finding[];
  readonly blobs: readonly string[];
}

/** Recoveries that were begun and not ended, from which on it is told: one may be the start that runs just now. */
const recoveriesTold = 2;

const Command = z.looseObject({ root: z.string(), seq: z.number() });
const ScopeRow = z.looseObject({ task: z.string() });
const NameRow = z.looseObject({ root: z.string() });
const RecoverRow = z.looseObject({ attempts: z.number() });
const LargeRow = z.looseObject({ $blob: z.string() });

/** Holds every row against the streams. Reads only. */
export async function examineRows(order: RowsOrder): Promise<RowsReport> {
  const round = new RowsRound(order);
  round.examineRecords();
  await round.examineOpens();
  await round.examineDues();
  await round.examineQuestions();
  await round.examineTasks();
  await round.examineLetters();
  await round.examineCommands();
  await round.examineNames();
  await round.examineRecoveries();
  round.findings.push(...await examineLeases(order.store, order.now));
  return { findings: round.findings, blobs: round.blobs };
}

class RowsRound {
  readonly findings: Finding[] = [];
  readonly blobs: string[] = [];
  readonly #order: RowsOrder;
  readonly #streams: ReadonlyMap<string, StreamReport>;

  constructor(order: RowsOrder) {
    this.#order = order;
    this.#streams = new Map(order.streams.map((report) => [report.root, report]));
  }

  /** Roots out of service, roots that lost entries, and children without their parents. */
  examineRecords(): void {
    for (const { root, record } of this.#order.streams) {
      if (record === undefined) continue;
      const { status, reason = "no reason was written", cut, parent } = record;
      if (status === "quarantined") this.#tell(root, "root_quarantined", `It takes no messages: ${reason}`);
      else if (cut !== undefined) {
        this.#tell(root, "root_cut", `It was salvaged: its entries after ${cut.seq} were lost`);
      }
      if (parent !== undefined && !this.#streams.has(parent)) {
        this.#tell(root, "child_orphaned", `Its task ${parent} is not in the store`);
      }
    }
  }

  /** A start reads only the roots that have such a row (K19). */
  async examineOpens(): Promise<void> {
    const rows = new Set<string>();
    for await (const { key } of this.#rows(prefixes.opens)) {
      const root = String(key[1]);
      rows.add(root);
      const report = this.#streams.get(root);
      if (report === undefined) {
        this.#tell(root, "open_row_idle", "A row says that it is open, and it is not there");
      } else if (report.whole && !this.#isOpen(report)) {
        this.#tell(root, "open_row_idle", "A row says that it is open, and nothing in it is");
      }
    }
    for (const report of this.#order.streams) {
      if (!this.#isOpen(report) || rows.has(report.root) || !this.#isServed(report)) continue;
      const names = report.open.filter(({ port }) => port !== "timer.set").map(({ id, port }) =>
        `${port} ${id}`
      );
      this.#tell(report.root, "open_row_missing", `No start looks at what it waits for: ${names.join(", ")}`);
    }
  }

  async examineDues(): Promise<void> {
    await this.#matchPorts({
      prefix: prefixes.dues,
      port: "timer.set",
      nameOf: ({ key }) => `${key[2]}#${key[3]}`,
      idle: "due_row_idle",
      missing: "due_row_missing",
    });
  }

  async examineQuestions(): Promise<void> {
    await this.#matchPorts({
      prefix: prefixes.questions,
      port: "question.ask",
      nameOf: ({ key }) => String(key[1]),
      idle: "question_orphaned",
      missing: "question_missing",
    });
  }

  async examineTasks(): Promise<void> {
    const going = new Set<string>();
    for await (const { key, value } of this.#rows(prefixes.allTasks)) {
      const task = TaskRecord.safeParse(value).data;
      const place = `task ${String(key[2])}`;
      if (task === undefined) {
        this.#tell(place, "record_damaged", "Its record cannot be read");
        continue;
      }
      if (!isEnd(task.status)) going.add(task.address);
      const isMissing = !this.#streams.has(task.address);
      if (isMissing) this.#tell(place, "task_orphaned", `Its actor ${task.address} is not in the store`);
      else if (!isEnd(task.status) && !this.#streams.has(task.owner)) {
        this.#tell(place, "task_orphaned", `Its session ${task.owner} is not in the store`);
      }
    }
    for await (const { key, value } of this.#rows(prefixes.scopes)) {
      const task = ScopeRow.safeParse(value).data?.task ?? "nobody";
      if (going.has(task)) continue;
      this.#tell(`scope ${String(key[1])}`, "scope_orphaned", `It is held for ${task}, which does not run`);
    }
  }

  async examineLetters(): Promise<void> {
    const lost = new Map<string, number>();
    for await (const { key } of this.#rows(prefixes.inboxes)) {
      const to = String(key[1]);
      if (this.#streams.get(to)?.record === undefined) lost.set(to, (lost.get(to) ?? 0) + 1);
    }
    for (const [to, count] of lost) {
      this.#tell(to, "letter_lost", `${count} messages are on their way to it, and it is not there`);
    }
  }

  /** K14: a command is a row of the unit of its input, and a reply answers one. */
  async examineCommands(): Promise<void> {
    const accepted = new Set<string>();
    for await (const { key, value } of this.#rows(prefixes.commands)) {
      accepted.add(JSON.stringify(key.slice(1)));
      const { root, seq } = Command.safeParse(value).data ?? {};
      if (root === undefined || seq === undefined) continue;
      const report = this.#streams.get(root);
      if (report !== undefined && (seq <= report.end || report.record?.cut !== undefined)) continue;
      const what = `It was accepted as entry ${seq} of ${root}, which is not there`;
      this.#tell(`command ${key.slice(1).join("/")}`, "command_orphaned", what);
    }
    for await (const { key } of this.#rows(prefixes.replies)) {
      if (accepted.has(JSON.stringify(key.slice(1)))) continue;
      this.#tell(`reply ${key.slice(1).join("/")}`, "reply_orphaned", "No command of this name was accepted");
    }
  }

  /** A name that a principal gave to a session. */
  async examineNames(): Promise<void> {
    for await (const { key, value } of this.#rows(prefixes.names)) {
      const root = NameRow.safeParse(value).data?.root ?? "nobody";
      if (this.#streams.has(root)) continue;
      this.#tell(
        `name ${key.slice(1).join("/")}`,
        "name_orphaned",
        `It means ${root}, which is not in the store`,
      );
    }
  }

  async examineRecoveries(): Promise<void> {
    for await (const { key, value } of this.#rows(prefixes.recovers)) {
      const { attempts = 0 } = RecoverRow.safeParse(value).data ?? {};
      if (attempts < recoveriesTold) continue;
      this.#tell(
        String(key[1]),
        "recovery_repeated",
        `Its recovery was begun ${attempts} times and not ended`,
      );
    }
  }

  /** Rows that a port set, against the ports that are open: each must have the other. */
  async #matchPorts(
    { prefix, port, nameOf, idle, missing }: {
      readonly prefix: StoreKey;
      readonly port: OpenPort["port"];
      readonly nameOf: (row: Row) => string;
      readonly idle: FindingCode;
      readonly missing: FindingCode;
    },
  ): Promise<void> {
    const rows = new Set<string>();
    for await (const row of this.#rows(prefix)) {
      const name = nameOf(row);
      rows.add(name);
      const cut = name.lastIndexOf("#");
      const [root, id] = [name.slice(0, cut), name.slice(cut + 1)];
      const report = this.#streams.get(root);
      const isOpen = report?.open.some((one) => one.id === id && one.port === port);
      if (isOpen !== true && report?.whole !== false) {
        this.#tell(root, idle, `A row names ${port} ${id}, for which nothing waits`);
      }
    }
    for (const report of this.#order.streams) {
      for (const { id, port: of } of this.#isServed(report) ? report.open : []) {
        if (of === port && !rows.has(`${report.root}#${id}`)) {
          this.#tell(report.root, missing, `It waits for ${port} ${id}, which has no row`);
        }
      }
    }
  }

  #isOpen({ open }: StreamReport): boolean {
    return open.some(({ port }) => port !== "timer.set");
  }

  /** True if a start would go on with it: its stream is whole, and it is not out of service. */
  #isServed({ whole, record }: StreamReport): boolean {
    return whole && record?.status === "active";
  }

  /** Rows with their values, whole. */
  async *#rows(prefix: StoreKey): AsyncIterable<Row> {
    const { store, digest } = this.#order;
    for await (const row of readableRows(store, prefix, this.findings)) {
      const name = LargeRow.safeParse(row.value).data?.$blob;
      if (name === undefined) {
        yield row;
        continue;
      }
      this.blobs.push(name);
      try {
        const value = JSON.parse(new TextDecoder().decode(await readBlob(store, name, digest)));
        yield { ...row, value };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#tell(row.key.join("/"), "blob_damaged", error.message);
      }
    }
  }

  #tell(root: string, code: FindingCode, message: string): void {
    this.findings.push(findingAt(root, code, message));
  }
}
