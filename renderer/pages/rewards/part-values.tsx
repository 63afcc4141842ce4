/** What each part of a reward gave to one sample. */

import { Badge, Group } from "@mantine/core";

interface PartValuesProps {
  parts: Readonly<Record<string, number>>;
  /** Under the reward that it is compared with. */
  before: Readonly<Record<string, number>> | null;
}

export function PartValues({ parts, before }: PartValuesProps) {
  return (
    <Group gap={4}>
      {Object.entries(parts).map(([name, value]) => {
        const earlier = before?.[name];
        const changed = earlier !== undefined && earlier !== value;
        return (
          <Badge key={name} variant={changed ? "light" : "default"} tt="none" autoContrast>
            {name} {changed && `${short(earlier)} → `}
            {short(value)}
          </Badge>
        );
      })}
    </Group>
  );
}

function short(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
