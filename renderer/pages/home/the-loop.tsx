/** The loop, as the way through the app. */

import { Anchor, Group, SimpleGrid, Stack, Text, Title, UnstyledButton } from "@mantine/core";
import { Gauge, RotateCcw, SlidersHorizontal, TrendingUp, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import classes from "./the-loop.module.css";

const stations: readonly { id: string; href: string; icon: LucideIcon }[] = [
  { id: "measure", href: "/tasks", icon: Gauge },
  { id: "feedback", href: "/rewards", icon: SlidersHorizontal },
  { id: "train", href: "/train", icon: TrendingUp },
  { id: "again", href: "/runs", icon: RotateCcw },
];

/** `links`: also to the check and the tutorial, where nothing else on the page leads there. */
export function TheLoop({ links = false }: { links?: boolean }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs" component="section" aria-label={t("home.loop.title")}>
      <Title order={2} size="h5">
        {t("home.loop.title")}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="sm">
        {stations.map(({ id, href, icon: Icon }, index) => (
          <UnstyledButton key={id} component={Link} href={href} className={`hone-card ${classes.station}`}>
            <Icon size={20} aria-hidden className={classes.icon} />
            <Text fw={600} size="sm">
              {index + 1}. {t(`home.loop.${id}.title`)}
            </Text>
            <Text size="sm" className="hone-muted">
              {t(`home.loop.${id}.text`)}
            </Text>
          </UnstyledButton>
        ))}
      </SimpleGrid>
      {links && (
        <Group gap="lg">
          <Anchor component={Link} href="/tasks/advise" size="sm">
            {t("home.advise")}
          </Anchor>
          <Anchor component={Link} href="/tutorial" size="sm">
            {t("home.tutorial")}
          </Anchor>
        </Group>
      )}
    </Stack>
  );
}
