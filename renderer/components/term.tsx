/** A word of the field with its meaning: no jargon without a tooltip. Meanings are `terms.<name>` in the texts. */

import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import classes from "./term.module.css";

/** `name`: a key below `terms`. `children`: the word as it stands here; default is `terms.<name>.word`. */
export function Term({ name, children }: { name: string; children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Tooltip label={t(`terms.${name}.meaning`)} events={{ hover: true, focus: true, touch: true }}>
      <span className={classes.term} tabIndex={0} role="note" aria-description={t(`terms.${name}.meaning`)}>
        {children ?? t(`terms.${name}.word`)}
      </span>
    </Tooltip>
  );
}
