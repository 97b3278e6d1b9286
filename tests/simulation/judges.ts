import type { Evidence } from "./simulation.ts";
export async function judge(evidence: Evidence, complain: (rule: string, message: string) => void): Promise<void> {
  void evidence; void complain;
}
