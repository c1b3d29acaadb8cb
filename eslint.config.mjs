// The scripts of a component are put together with the shared ones, and those of a file's page with all of these: so each
// script's names are those of the others that it goes with, and a name that none of them uses is unused.
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

import js from "@eslint/js";
import { analyze } from "eslint-scope";
import { parse } from "espree";
import globals from "globals";

const SHARED = globSync("app/components/shared/*.js");
const START = "app/components/shared/start/start.js";
const HTML = "app/exports/html";

const folders = Map.groupBy(globSync(["app/components/*/*.js", `${HTML}/*/*.js`]), dirname);
const components = [...folders.values()].filter(([script]) => !SHARED.includes(script));
const pages = ["attention", "plain"].map((page) => ["components", "page", page].map((name) => `${HTML}/${name}.js`));
const programs = [
  ["packing", "page"].map((name) => `app/components/shared/${name}.js`).concat(START),
  ...[...components, ...pages].map((scripts) => [...SHARED, ...scripts]),
  ...globSync("tests/*/*.js").map((script) => [script]),
];

const sourceType = (script) => (script === START ? "module" : "script");

// The names that a script declares for the others, and those that it takes from elsewhere.
function namesOf(script) {
  const options = { ecmaVersion: 2023, sourceType: sourceType(script), range: true };
  const { globalScope } = analyze(parse(readFileSync(script, "utf8"), options), options);
  return { declared: new Set(globalScope.set.keys()), taken: new Set(globalScope.through.map(({ identifier }) => identifier.name)) };
}

const names = new Map([...new Set(programs.flat())].map((script) => [script, namesOf(script)]));

// What mount.py names: `mountView`, and the class that has the folder's name.
const mounted = (script) => dirname(script).split("/").at(-1).replace(/(?:^|_)(.)/g, (_, letter) => letter.toUpperCase());

function rulesOf(script) {
  const others = programs.filter((program) => program.includes(script)).map((program) => program.filter((other) => other !== script));
  const union = (program, which) => new Set(program.flatMap((other) => [...names.get(other)[which]]));
  const known = others.map((program) => union(program, "declared")).reduce((one, other) => one.intersection(other));
  const { declared } = names.get(script);
  const used = ["mountView", mounted(script), ...union(others.flat(), "taken")].filter((name) => declared.has(name));
  return {
    files: [script],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: sourceType(script),
      globals: { ...globals.browser, ...Object.fromEntries([...known].map((name) => [name, "readonly"])) },
    },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: `^(${used.join("|")})$`, ignoreRestSiblings: true }] },
  };
}

export default [
  { ignores: [".venv/", "site/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      eqeqeq: "error",
      "max-lines": ["error", { max: 300, skipComments: true }],
      "max-lines-per-function": ["error", { max: 40, skipComments: true }],
      "no-else-return": "error",
      "no-lonely-if": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-unmodified-loop-condition": "error",
      "no-unneeded-ternary": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-arrow-callback": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  ...[...names.keys()].map(rulesOf),
  { files: ["tests/**"], rules: { "max-lines-per-function": "off" } }, // each is one function, to keep its names from the page's
  { files: ["eslint.config.mjs"], languageOptions: { globals: globals.node } },
];
