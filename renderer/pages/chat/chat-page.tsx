import { useTranslation } from "react-i18next";
import { Page } from "../../components/page.tsx";

export default function ChatPage() {
  const { t } = useTranslation();
  return <Page title={t("nav.chat")}>{null}</Page>;
}
