/** Every page of the app: where it is, and its title in English. */
export const pages: readonly (readonly [path: string, title: string])[] = [
  ["/", "Home"],
  ["/tutorial", "Tutorial"],
  ["/models", "Models"],
  ["/data", "Datasets"],
  ["/tasks", "Tasks"],
  ["/rewards", "Rewards"],
  ["/train", "Train"],
  ["/runs", "Runs"],
  ["/play", "Play"],
  ["/chat", "Chat"],
  ["/settings", "Settings"],
];
