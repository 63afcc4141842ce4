/** Loading, failure and emptiness, the same way on every page. */

import { Center, Loader, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Reloadable } from "../app/hone-context.tsx";
import { ErrorBox } from "./error-box.tsx";

interface LoadedViewProps<T> {
  of: Reloadable<T>;
  children: (value: T) => ReactNode;
}

export function Loading() {
  const { t } = useTranslation();
  return (
    <Center p="xl" role="status" aria-label={t("common.loading")}>
      <Loader size="sm" />
    </Center>
  );
}

export function LoadedView<T>({ of: loaded, children }: LoadedViewProps<T>) {
  switch (loaded.state) {
    case "loading":
      return <Loading />;
    case "failed":
      return <ErrorBox error={loaded.error} onRetry={loaded.reload} />;
    case "ready":
      return <>{children(loaded.value)}</>;
  }
}

interface EmptyStateProps {
  title: string;
  /** What it is for, and how to get the first one. */
  children: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <Stack align="center" gap="sm" p="xl" className="hone-card">
      <Text fw={600} size="lg">
        {title}
      </Text>
      <Text maw={520} ta="center" className="hone-muted" component="div">
        {children}
      </Text>
      {action}
    </Stack>
  );
}
