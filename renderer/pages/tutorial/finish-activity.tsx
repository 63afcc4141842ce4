/** Ways on from the end of a lesson. */

import { SimpleGrid, Text, UnstyledButton } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";

const ways = [
  ["advise", "/tasks/advise"],
  ["data", "/data"],
  ["task", "/tasks"],
  ["reward", "/rewards"],
  ["models", "/models"],
  ["slider", "/play"],
] as const;

export function FinishActivity() {
  const { t } = useTranslation();
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
      {ways.map(([id, href]) => (
        <UnstyledButton key={id} component={Link} href={href} className="hone-card">
          <Text fw={600} size="sm">
            {t(`tutorial.ways.${id}.title`)}
          </Text>
          <Text size="sm" className="hone-muted">
            {t(`tutorial.ways.${id}.text`)}
          </Text>
        </UnstyledButton>
      ))}
    </SimpleGrid>
  );
}
