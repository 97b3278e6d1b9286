/** Says how one step went, on one line, or with what was found where it went wrong. */
export function tellStep(task: string, what: string, why?: string): void {
  console.log(
    why === undefined ? `compile:${task}: ok: ${what}` : `compile:${task}: FAILED: ${what}: ${why}`,
  );
}
