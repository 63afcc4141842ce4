import { Anchor } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import { EmptyState } from "../components/loaded-view.tsx";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState title={t("app.notFound")}>
      <Anchor component={Link} href="/">
        {t("app.home")}
      </Anchor>
    </EmptyState>
  );
}
