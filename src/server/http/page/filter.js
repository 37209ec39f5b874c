/** A condition on metadata, put together from the fields and values of the index. */

import { byId, element } from "./dom.js";

const EQUAL = [
  ["=", "is"],
  ["!=", "is not"],
];
const ORDER = [
  [">=", "is at least"],
  ["<=", "is at most"],
];
/** The comparisons of each type of field. */
const COMPARISONS = {
  text: [...EQUAL, ["contains", "contains"], ...ORDER],
  number: [...EQUAL, ...ORDER],
  "true or false": EQUAL,
  mixed: EQUAL,
};

let fields = [];

/** @param onChange is called when the condition has changed */
export function startFilter(onChange) {
  byId("field").addEventListener("change", showField);
  byId("add").addEventListener("click", () => {
    if (byId("value").value.trim() === "") return byId("value").focus();
    const { value: before } = byId("where");
    byId("where").value = [before.trim(), condition()].filter((part) => part !== "").join(" and ");
    byId("value").value = "";
    showState();
    onChange();
  });
  byId("value").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it adds, and does not ask
    byId("add").click();
  });
  byId("clear").addEventListener("click", () => {
    byId("where").value = "";
    showState();
    onChange();
  });
  byId("where").addEventListener("input", showState);
}

export function showFields(found) {
  fields = found;
  byId("filter").hidden = fields.length === 0 && byId("where").value === "";
  byId("field").replaceChildren(
    ...fields.map(({ name }) => element("option", { value: name }, name)),
  );
  if (fields.length > 0) showField();
}

export function showWhere(where) {
  byId("where").value = where;
  if (where !== "") byId("filter").hidden = false;
  showState();
}

function showState() {
  const where = byId("where").value.trim();
  byId("filter-state").textContent = where === "" ? "" : where;
}

function showField() {
  const { type, values = [], smallest, largest } = chosen();
  const comparisons = COMPARISONS[type];
  byId("comparison").replaceChildren(
    ...comparisons.map(([sign, words]) => element("option", { value: sign }, words)),
  );
  const known = type === "true or false" ? [{ value: true }, { value: false }] : values;
  byId("values").replaceChildren(...known.map(({ value }) => element("option", { value })));
  byId("value").value = "";
  const few = known.slice(0, 3).map(({ value }) => value);
  const isRange = smallest !== undefined && (type === "number" || few.length === 0);
  const example = isRange ? `${smallest} to ${largest}` : few.join(", ");
  byId("value").setAttribute("placeholder", example);
}

const chosen = () => fields.find(({ name }) => name === byId("field").value);

function condition() {
  const { name, type, values } = chosen();
  const given = byId("value").value.trim();
  const known = values?.find(({ value }) => String(value) === given)?.value;
  const isText =
    known === undefined ? type === "text" || !isLiteral(given) : typeof known === "string";
  return `${quotedName(name)} ${byId("comparison").value} ${isText ? quoted(given) : given}`;
}

const isLiteral = (given) => /^(?:[+-]?\d+(?:\.\d+)?|true|false)$/.test(given);
const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;
/** Words of the grammar of conditions, and names that are no words, stand in quotes. */
const quotedName = (name) =>
  /^[a-z_]\w*$/i.test(name) && !/^(?:and|or|not|in|exists|contains|true|false)$/i.test(name)
    ? name
    : quoted(name);
