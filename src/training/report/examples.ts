/** The section of a report on its examples: how relevant passages were found, what was left out. */

import type { ExampleCounts } from "../examples/training-data.ts";
import { formatCount, type Html, html } from "./format.ts";

export function examplesSection({ sources, heldOut, measured }: ExampleCounts): Html {
  const rows = sources.map(
    ({ name, relevant, all, training, heldOut: held }) =>
      html`<tr><th>${name}</th><td class="text">${relevant}</td>${[all, training, held, all - training - held].map((count) => html`<td>${formatCount(count)}</td>`)}</tr>`,
  );
  const lost = heldOut - measured;
  return html`<h2>Examples</h2>
<div class="card scroll"><table><thead><tr><th>source</th><th class="text">relevant passages</th><th>all</th><th>to train on</th><th>held out</th><th>left out</th></tr></thead><tbody>
${rows}</tbody></table></div>
<p class="quiet">Left out: what is about near copies of held-out passages, or asks the question of a held-out example.${
    lost > 0
      ? ` ${formatCount(lost)} of ${formatCount(heldOut)} examples to measure with are not measured: their passage is unknown, or too little of it is left.`
      : ""
  }</p>`;
}
