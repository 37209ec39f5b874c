/**
 * The import rules of src, which `npm run check:imports` checks: no cycles, and imports only go
 * down. ARCHITECTURE.md explains the layers. Type-only imports count.
 */

/** From the top down. A file may import from its own layer and from the layers below it. */
const LAYERS = [
  { name: "cli", path: "^src/cli/" },
  { name: "server, training", path: "^src/(server|training)/" },
  { name: "adapters", path: "^src/adapters/" },
  { name: "reatt", path: "^src/(reatt/|(reatt|index)\\.ts$)" },
  { name: "sync", path: "^src/sync/" },
  {
    name: "retrieval, decoder, encoder, evaluation",
    path: "^src/(retrieval|decoder|encoder|evaluation)/",
  },
  { name: "documents", path: "^src/documents/" },
  { name: "model", path: "^src/model/" },
  {
    name: "hub",
    path: "^src/hub/",
  },
  {
    name: "tensor, checkpoints, text, options",
    path: "^src/(tensor|checkpoints|text|options)/",
  },
  { name: "io, math", path: "^src/(io|math)/" },
];

/** One rule for each layer: no import of a layer above it. */
const upward = LAYERS.slice(1).map(({ name, path }, i) => ({
  name: `imports-go-down: ${name}`,
  comment: `${name} may not import ${LAYERS.slice(0, i + 1)
    .map((layer) => layer.name)
    .join(", ")}. Move the shared part down, or pass it in as an argument.`,
  severity: "error",
  from: { path },
  to: { path: LAYERS.slice(0, i + 1).map((layer) => layer.path) },
}));

module.exports = {
  forbidden: [
    {
      name: "no-file-cycles",
      comment: "Two files that need each other are one file, or need a third one below both.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-folder-cycles",
      comment: "Two folders may not import each other, directly or through others.",
      severity: "error",
      scope: "folder",
      from: {},
      to: { circular: true },
    },
    {
      name: "subfolders-are-below",
      comment: "The files of retrieval and of training use their subfolders, not the reverse.",
      severity: "error",
      from: { path: "^src/(retrieval|training)/[^/]+/" },
      to: { path: "^src/$1/[^/]+\\.ts$" },
    },
    {
      name: "layers-are-below",
      comment: "The model is made of layers, which know sizes and parameters alone.",
      severity: "error",
      from: { path: "^src/model/layers/" },
      to: {
        path: "^src/model/[^/]+\\.ts$",
        pathNot: "^src/model/(config|leaf|parameters|stack)\\.ts$",
      },
    },
    {
      name: "every-file-has-a-layer",
      comment: "Add the new folder to LAYERS in .dependency-cruiser.cjs.",
      severity: "error",
      from: { path: "^src/", pathNot: LAYERS.map((layer) => layer.path) },
      to: {},
    },
    {
      name: "no-unresolved-imports",
      comment: "An import that cannot be resolved is not checked by the other rules.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "adapters-only",
      comment: "The packages of an adapter are optional: nothing else may import them.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/adapters/" },
      to: { path: "node_modules/(@langchain|@ai-sdk|ai)/" },
    },
    ...upward,
  ],
  options: {
    tsPreCompilationDeps: true, // counts type-only imports
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["node", "import"] },
    doNotFollow: { path: "node_modules" },
  },
};
