/** Counts as bars with their numbers beside them: a list to a screen reader. */

import { Text } from "@mantine/core";
import { Fragment } from "react";
import { formatCount } from "../../../core/contract/units.ts";
import classes from "./data.module.css";

export function Bars({ label, of: entries }: { label: string; of: readonly { name: string; count: number }[] }) {
  const highest = Math.max(1, ...entries.map(({ count }) => count));
  return (
    <figure aria-label={label} style={{ margin: 0 }}>
      <Text fw={600} component="figcaption" mb={6}>
        {label}
      </Text>
      <div className={classes.bars}>
        {entries.map(({ name, count }) => (
          <Fragment key={name}>
            <span className="hone-numbers">{name}</span>
            <div className={classes.bar} style={{ width: `${(100 * count) / highest}%` }} aria-hidden />
            <span className="hone-numbers">{formatCount(count)}</span>
          </Fragment>
        ))}
      </div>
    </figure>
  );
}
