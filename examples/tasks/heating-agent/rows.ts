const rooms = ["kitchen", "bedroom", "office", "hall", "bathroom", "study", "attic", "cellar", "studio", "lounge"];

const requests = [
  "Please see to the {room}.",
  "Is the {room} warm enough?",
  "I will be in the {room} soon.",
  "Check the heating of the {room}.",
];

export function rows(count: number, _seed: number): object[] {
  return Array.from({ length: count }, (_, i) => {
    const room = rooms[i % rooms.length];
    // One row in three for each level.
    const least = [12, 18, 22][Math.floor(i / rooms.length) % 3];
    const degrees = least + Math.floor(Math.random() * (least === 18 ? 4 : 6));
    const request = requests[Math.floor(Math.random() * requests.length)].replace("{room}", room);
    return { room, degrees, request };
  });
}
