/** All keys on one sheet: Mod+/ or ? opens it. */

import { Group, Kbd, Modal, Stack, Table, Text } from "@mantine/core";
import { createStore } from "zustand/vanilla";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { useNavigateHotkeys } from "./use-navigate-hotkeys.ts";

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const mod = isMac ? "⌘" : "Ctrl";

/** By where they work; texts are `app.shortcuts.<where>.title` and `.<what>`. */
const shortcuts: readonly { where: string; keys: readonly (readonly [what: string, keys: readonly string[]])[] }[] = [
  {
    where: "everywhere",
    keys: [
      ["palette", [mod, "K"]],
      ["settings", [mod, ","]],
      ["sidebar", [mod, "B"]],
      ["list", [mod, "/"]],
      ["help", ["?"]],
    ],
  },
  { where: "train", keys: [["start", [mod, "Enter"]]] },
  {
    where: "data",
    keys: [
      ["undo", [mod, "Z"]],
      ["redo", [mod, "Shift", "Z"]],
    ],
  },
  {
    where: "play",
    keys: [
      ["square", ["1–9"]],
      ["move", ["←", "→", "↑", "↓"]],
    ],
  },
  { where: "chat", keys: [["send", ["Enter"]]] },
];

const sheet = createStore<{ open: boolean }>(() => ({ open: false }));

export function openShortcuts(): void {
  sheet.setState({ open: true });
}

export function ShortcutList() {
  const { t } = useTranslation();
  const { open } = useStore(sheet);
  useNavigateHotkeys(openShortcuts);
  return (
    <Modal opened={open} onClose={() => sheet.setState({ open: false })} title={t("app.shortcuts.title")}>
      <Stack gap="md">
        {shortcuts.map(({ where, keys }) => (
          <Table key={where} captionSide="top" verticalSpacing={4}>
            <Table.Caption ta="left" mt={0}>
              <Text fw={600} size="sm">
                {t(`app.shortcuts.${where}.title`)}
              </Text>
            </Table.Caption>
            <Table.Tbody>
              {keys.map(([what, pressed]) => (
                <Table.Tr key={what}>
                  <Table.Th scope="row" fw={400}>
                    {t(`app.shortcuts.${where}.${what}`)}
                  </Table.Th>
                  <Table.Td>
                    <Group gap={4} justify="flex-end">
                      {pressed.map((key) => (
                        <Fragment key={key}>
                          <Kbd>{key}</Kbd>
                        </Fragment>
                      ))}
                    </Group>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        ))}
      </Stack>
    </Modal>
  );
}
