import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the same files serve http:// and the desktop's own protocol.
  base: "./",
  plugins: [react()],
  build: { outDir: "../dist/renderer", emptyOutDir: true, target: "chrome130", chunkSizeWarningLimit: 1500 },
});
