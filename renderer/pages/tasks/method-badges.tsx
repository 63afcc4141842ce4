import { Badge } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { TaskCheck } from "../../../core/contract/task.ts";
import { Term } from "../../components/term.tsx";

/** What can learn from a task. */
export function MethodBadges({ methods }: { methods: TaskCheck["methods"] }) {
  const { t } = useTranslation();
  return methods.map((method) => (
    <Badge key={method} size="sm" variant="light" autoContrast>
      <Term name={`method_${method}`}>{t(`tasks.method.${method}`)}</Term>
    </Badge>
  ));
}
