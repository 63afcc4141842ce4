import { defineConfig, globalIgnores } from "eslint/config";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/** Where a program talks to a person. Everywhere else text goes through a return value, an event or an error. */
const TALKS_TO_PEOPLE = [
  "core/cli.ts",
  "core/cli/**",
  "core/bench/**",
  "test/run.ts",
  "test/e2e/screenshots.ts",
  "setup.mjs",
];

export default defineConfig(
  globalIgnores(["**/node_modules/", "**/dist/", "**/target/", "native/", "runs/", "test/fixtures/", "test/peers/"]),
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // An async method may implement an interface without awaiting anything.
      "@typescript-eslint/require-await": "off",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "error",
      "no-restricted-properties": [
        "error",
        ...["stdout", "stderr"].map((property) => ({
          object: "process",
          property,
          message: "Only the command line talks to a terminal: return the text, emit an event or throw a HoneError.",
        })),
        { object: "process", property: "exit", message: "Throw instead: exiting skips what still has to be written." },
      ],
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["renderer/**/*.{ts,tsx}"],
    plugins: { "react-hooks": { rules: reactHooks.rules } },
    rules: { "react-hooks/rules-of-hooks": "error", "react-hooks/exhaustive-deps": "error" },
  },
  { files: TALKS_TO_PEOPLE, rules: { "no-console": "off", "no-restricted-properties": "off" } },
  {
    files: ["test/**"],
    rules: {
      // Matchers and parsed JSON are typed `any`; here a wrong shape fails the test instead.
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "no-restricted-properties": "off",
    },
  },
);
