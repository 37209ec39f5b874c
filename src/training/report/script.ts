/** What a report does in a browser: under the pointer, a chart's legend shows the values there. Without scripts it shows the last. */

import { FRAME } from "./axis.ts";

export const SCRIPT: string = `
for (const figure of document.querySelectorAll("figure[data-points]")) {
  const curves = JSON.parse(figure.dataset.points);
  const [svg, cursor, at] = ["svg", ".cursor", ".at"].map((name) => figure.querySelector(name));
  const values = [...figure.querySelectorAll(".legend b")];
  const last = values.map((value) => value.textContent);
  svg.addEventListener("pointermove", ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    const pointer = ((clientX - left) / width) * ${FRAME.width};
    const nearest = curves.map((points) =>
      points.reduce((a, b) => (Math.abs(b[0] - pointer) < Math.abs(a[0] - pointer) ? b : a)));
    nearest.forEach(([, , text], i) => { values[i].textContent = text; });
    const [x, step] = nearest[0];
    at.textContent = "step " + step;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.style.visibility = "visible";
  });
  svg.addEventListener("pointerleave", () => {
    values.forEach((value, i) => { value.textContent = last[i]; });
    at.textContent = "";
    cursor.style.visibility = "hidden";
  });
}
`;
