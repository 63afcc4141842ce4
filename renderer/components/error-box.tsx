/** An error as a person reads it: what, and the way out; the rest behind a switch. */

import { Alert, Button, Code, Collapse, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { errorKind, errorMessage, errorToData, HoneError } from "../../core/contract/errors.ts";

export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  const [open, { toggle }] = useDisclosure(false);
  if (errorKind(error) === "cancelled") return null;
  const fix = error instanceof HoneError ? error.fix : undefined;
  const isBug = errorKind(error) === "bug";
  return (
    <Alert
      color="red"
      variant="light"
      icon={<TriangleAlert size={18} aria-hidden />}
      title={isBug ? t("common.error.bug") : t("common.error.title")}
      role="alert"
    >
      <Stack gap="xs">
        <Text size="sm">{errorMessage(error)}</Text>
        {fix !== undefined && <Text size="sm">{t("common.error.fix", { fix })}</Text>}
        <Group gap="xs">
          {onRetry !== undefined && (
            <Button size="xs" variant="default" onClick={onRetry}>
              {t("common.retry")}
            </Button>
          )}
          <Button size="xs" variant="subtle" onClick={toggle} aria-expanded={open}>
            {t("common.error.details")}
          </Button>
        </Group>
        <Collapse expanded={open}>
          <Code block>{JSON.stringify(errorToData(error), undefined, 2)}</Code>
        </Collapse>
      </Stack>
    </Alert>
  );
}
