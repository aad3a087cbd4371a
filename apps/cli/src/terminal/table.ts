// SPDX-License-Identifier: Apache-2.0

export interface Column {
  title: string;
  align?: "left" | "right";
}

/** Aligned columns under underlined titles, two spaces apart. Cells are plain text. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, i) => Math.max(width(column.title), ...rows.map((row) => width(row[i] ?? ""))));
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, i) => pad(cells[i] ?? "", widths[i] ?? 0, column.align ?? "left"))
      .join("  ")
      .trimEnd();
  return [line(columns.map((column) => column.title)), widths.map((w) => "─".repeat(w)).join("  "), ...rows.map(line)].join("\n");
}

function pad(text: string, to: number, align: "left" | "right"): string {
  const filler = " ".repeat(Math.max(0, to - width(text)));
  return align === "right" ? filler + text : text + filler;
}

/** Code points, not UTF-16 units; good enough for what we print. */
function width(text: string): number {
  return Array.from(text).length;
}
