"""A reward of one's own in Python: how good is this answer?

One JSON request per line on stdin, one JSON reply per line on stdout; README.md has the protocol.
Try it with `hone reward check` and `hone reward try`. Only the standard library is needed.
"""

import json
import re
import sys


def reward(sample):
    """A number, or a dictionary of named parts. What print() writes goes to stderr, see below."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", sample["answer"])
    correct = bool(numbers) and float(numbers[-1]) == float(sample["row"]["answer"])
    short = len(sample["answer"].split()) <= 40
    return {"correct": 1.0 if correct else 0.0, "short": 0.2 if short else 0.0}


def main():
    replies = sys.stdout
    sys.stdout = sys.stderr  # stdout is for replies only
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"]}
        try:
            value = reward(request["sample"])
            reply["parts" if isinstance(value, dict) else "reward"] = value
        except Exception as error:  # this sample cannot be scored; the next one may be
            reply["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(reply), file=replies, flush=True)


main()
