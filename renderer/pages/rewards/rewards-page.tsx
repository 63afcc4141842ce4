import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function RewardsPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.rewards")}>{null}</Page>;
}
