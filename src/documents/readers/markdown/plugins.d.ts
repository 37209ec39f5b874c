declare module "markdown-it-footnote" {
  const plugin: (md: import("markdown-it").default) => void;
  export default plugin;
}

declare module "markdown-it-deflist" {
  const plugin: (md: import("markdown-it").default) => void;
  export default plugin;
}
