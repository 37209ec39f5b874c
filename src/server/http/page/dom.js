/** Elements of the page. */

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; text becomes text nodes. */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}
