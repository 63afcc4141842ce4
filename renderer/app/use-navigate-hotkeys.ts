import { useHotkeys } from "@mantine/hooks";
import { useLocation } from "wouter";

/** Keys that work on every page. Those with Mod also work while a person types. */
export function useNavigateHotkeys(openShortcuts: () => void): void {
  const [, navigate] = useLocation();
  useHotkeys(
    [
      ["mod+,", () => navigate("/settings")],
      ["mod+/", openShortcuts],
    ],
    [],
    true,
  );
  useHotkeys([
    ["?", openShortcuts],
    ["shift+?", openShortcuts],
  ]);
}
