/** One of several ways, each as a card with its name and a sentence. */

import { Group, Radio, Stack, Text } from "@mantine/core";

interface ChoiceCardsProps<Value extends string> {
  label: string;
  choices: readonly { value: Value; title: string; text: string }[];
  value: Value;
  onChange: (value: Value) => void;
}

export function ChoiceCards<Value extends string>({ label, choices, value, onChange }: ChoiceCardsProps<Value>) {
  return (
    <Radio.Group label={label} value={value} onChange={(chosen) => onChange(chosen)}>
      <Stack gap="xs" mt={4}>
        {choices.map((one) => (
          <Radio.Card key={one.value} value={one.value} p="sm" radius="sm">
            <Group wrap="nowrap" align="flex-start">
              <Radio.Indicator />
              <div>
                <Text fw={600} size="sm">
                  {one.title}
                </Text>
                <Text size="sm" className="hone-muted">
                  {one.text}
                </Text>
              </div>
            </Group>
          </Radio.Card>
        ))}
      </Stack>
    </Radio.Group>
  );
}
