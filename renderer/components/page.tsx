/** The frame of a page: its title, what can be done on it, and its content. */

import { Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface PageProps {
  title: string;
  /** One sentence: what this page is for. */
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, lead, actions, children }: PageProps) {
  return (
    <Stack gap="md" maw={1400} mx="auto">
      <Group justify="space-between" align="flex-start" wrap="wrap">
        <Stack gap={2}>
          <Title order={1} size="h3">
            {title}
          </Title>
          {lead !== undefined && (
            <Text className="hone-muted" maw={720} component="div">
              {lead}
            </Text>
          )}
        </Stack>
        <Group gap="xs">{actions}</Group>
      </Group>
      {children}
    </Stack>
  );
}
