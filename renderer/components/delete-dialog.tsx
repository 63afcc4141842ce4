/** Asks before something goes for good: what goes, and whether it shall. */

import { Button, Group, Modal, Stack, type ModalProps } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "./use-action.tsx";

interface DeleteDialogProps {
  title: string;
  /** What goes with it. */
  children: ReactNode;
  /** The dialog closes when it has come to its end; an error stands in the dialog. */
  remove: () => Promise<unknown>;
  onClose: () => void;
  /** False while it is not known yet what goes. */
  ready?: boolean;
  size?: ModalProps["size"];
}

export function DeleteDialog({ title, children, remove, onClose, ready = true, size = "md" }: DeleteDialogProps) {
  const { t } = useTranslation();
  const { run, busy, problem } = useAction();
  return (
    <Modal opened onClose={onClose} title={title} size={size} closeButtonProps={{ "aria-label": t("common.close") }}>
      <Stack>
        {children}
        {problem}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t("common.cancel")}
          </Button>
          <Button color="red" loading={busy} disabled={!ready} onClick={() => run(() => remove().then(onClose))}>
            {t("common.delete")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
