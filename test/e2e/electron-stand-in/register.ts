/** `node --import …/register.ts main.js`: what imports "electron" gets the stand-in. */

import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "electron") return next(specifier, context);
    return { url: new URL("./electron.ts", import.meta.url).href, shortCircuit: true };
  },
});
