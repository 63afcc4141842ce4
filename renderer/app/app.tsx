/** The window: the list of pages at the side, the page, and what is seen everywhere (work in progress, a lost connection). */

import { AppShell, Burger, Group, NavLink, ScrollArea, Text, UnstyledButton } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Suspense } from "react";
import { useTranslation } from "react-i18next";
import { Link, Route, Router, Switch, useLocation } from "wouter";
import { Loading } from "../components/loaded-view.tsx";
import { CommandPalette } from "./command-palette.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { useHashPath, useHashQuery } from "./hash-route.ts";
import { DownloadNotices } from "./download-notices.tsx";
import { DownloadTray } from "./download-tray.tsx";
import { JobTray } from "./job-tray.tsx";
import { NotFound } from "./not-found.tsx";
import { JobNotices } from "./job-notices.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { pages } from "./pages.tsx";
import { ShortcutList } from "./shortcut-list.tsx";
import { useFocusOnPage } from "./use-focus-on-page.ts";

export function App() {
  return (
    <Router hook={useHashPath} searchHook={useHashQuery}>
      <Window />
    </Router>
  );
}

function Window() {
  const { t } = useTranslation();
  const [opened, { toggle, close }] = useDisclosure(false);
  const [hidden, { toggle: toggleSidebar }] = useDisclosure(false);
  const [location] = useLocation();
  const area = location.split("/")[1] ?? "";
  useFocusOnPage(area);
  useHotkeys([["mod+B", toggleSidebar]], [], true);
  return (
    <AppShell
      header={{ height: 44 }}
      navbar={{ width: 196, breakpoint: "sm", collapsed: { mobile: !opened, desktop: hidden } }}
      padding="md"
      transitionDuration={0}
    >
      {/* Not by an address: what follows the # is the page. */}
      <UnstyledButton className="hone-skip" onClick={() => document.getElementById("main")?.focus()}>
        {t("app.skip")}
      </UnstyledButton>
      <JobNotices />
      <DownloadNotices />
      <ShortcutList />
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t("app.menu")} />
            <UnstyledButton component={Link} href="/" aria-label={t("app.home")}>
              <Text fw={700} size="lg" span>
                Hone
              </Text>
            </UnstyledButton>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <DownloadTray />
            <JobTray />
            <CommandPalette />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label={t("app.pages")}>
        <AppShell.Section grow component={ScrollArea} p="xs">
          {pages
            .filter(({ hidden }) => hidden !== true)
            .map(({ id, path, icon: Icon }) => {
              const href = path.replace("/*?", "");
              const active = href === "/" ? location === "/" : location === href || location.startsWith(`${href}/`);
              return (
                <NavLink
                  key={id}
                  component={Link}
                  href={href}
                  label={t(`nav.${id}`)}
                  leftSection={<Icon size={18} aria-hidden />}
                  active={active}
                  {...(active && { "aria-current": "page" as const })}
                  onClick={close}
                />
              );
            })}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <ConnectionBanner />
        <PageBoundary key={area}>
          <Suspense fallback={<Loading />}>
            <Switch>
              {pages.map(({ id, path, component }) => (
                <Route key={id} path={path} component={component} />
              ))}
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </PageBoundary>
      </AppShell.Main>
    </AppShell>
  );
}
