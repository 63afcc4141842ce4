/** Models: what is on this machine, what Hone knows well, what the hubs have, and what is on its way. */

import { Badge, Tabs } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Route, Switch, useLocation } from "wouter";
import { useApp } from "../../app/hone-context.tsx";
import { Page } from "../../components/page.tsx";
import { isUnderWay } from "../../stores/app-store.ts";
import { CatalogueView } from "./catalogue-view.tsx";
import { DownloadsView } from "./downloads-view.tsx";
import { LocalView } from "./local-view.tsx";
import { SearchView } from "./search-view.tsx";

const tabs = ["local", "catalogue", "search", "downloads"] as const;

export default function ModelsPage() {
  const { t } = useTranslation();
  const [location, navigate] = useLocation();
  const moving = useApp((state) => state.downloads.filter(isUnderWay).length);
  const tab = tabs.find((one) => location === `/models/${one}`) ?? "local";
  return (
    <Page title={t("nav.models")} lead={t("models.lead")}>
      <Tabs
        value={tab}
        onChange={(next) => navigate(next === "local" || next === null ? "/models" : `/models/${next}`)}
        keepMounted={false}
      >
        <Tabs.List>
          {tabs.map((one) => (
            <Tabs.Tab
              key={one}
              value={one}
              rightSection={
                one === "downloads" && moving > 0 ? (
                  <Badge size="sm" circle>
                    {moving}
                  </Badge>
                ) : undefined
              }
            >
              {t(`models.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          <Switch>
            <Route path="/models/catalogue" component={CatalogueView} />
            <Route path="/models/search" component={SearchView} />
            <Route path="/models/downloads" component={DownloadsView} />
            <Route component={LocalView} />
          </Switch>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
